/* steps.h -- one call of sptrsm_direct_refine: refine.c checks the arguments and fills a job, steps.c carries it out panel by panel. */
#ifndef SPTI_CORE_REFINE_STEPS_H
#define SPTI_CORE_REFINE_STEPS_H

#include "core/direct/direct.h"
#include "core/refine/refine.h"

typedef struct {
  sptrsm_direct *d;
  spti_refiner *r;
  sptrsm_system system;
  sptrsm_op op;
  const void *alpha;
  const sptrsm_block *B;
  sptrsm_block *X;
  sptrsm_refine_result *out;
  bool mixed, solve, transposed;
  int32_t max_steps;
  double u, tolerance;         /* u: unit roundoff of the type of B */
  spti_residual_args residual; /* members that are the same in all passes */
  spti_refine_lists host, device;
  size_t image_bytes;
} spti_refine_job;

/* State of each column of a panel, [panel] each: backward error; error and size of the residual before the latest step; number of steps
 * taken; number of latest steps without progress. */
typedef struct {
  double *berr, *last, *last_size;
  int32_t *steps, *idle;
} spti_refine_history;

/* Allocates the memory of a panel, unless there is enough already. */
sptrsm_status spti_refine_make_panels(spti_refine_job *);
/* Refines columns [first, first + width) of the call, at most a panel, and computes out->ferr where it is wanted. Fills berr and steps
 * of the history. */
sptrsm_status spti_refine_run_panel(const spti_refine_job *, int64_t first, int32_t width, const spti_refine_history *);

#endif
