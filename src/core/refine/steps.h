/* steps.h -- one call of sptrsm_direct_refine: what refine.c settles and steps.c carries out, panel by panel. */
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
  double u, tolerance;
  spti_residual_args residual; /* what all passes share */
  spti_refine_lists host, device;
  size_t image_bytes;
} spti_refine_job;

/* What is remembered of the columns of a panel, by column of the call: out's arrays, or these. */
typedef struct {
  double *berr, *last, *last_size;
  int32_t *steps, *idle;
} spti_refine_history;

/* Memory of a panel, unless there is enough already. */
sptrsm_status spti_refine_make_panels(spti_refine_job *);
/* Columns [first, first + width) of the call, at most a panel; out->ferr too. Fills history's berr and steps. */
sptrsm_status spti_refine_run_panel(const spti_refine_job *, int64_t first, int32_t width, const spti_refine_history *);

#endif
