/* plan.h -- an analysed triangle: method, view and the method's state. Read-only while solving. */
#ifndef SPTI_CORE_PLAN_PLAN_H
#define SPTI_CORE_PLAN_PLAN_H

#include <stdatomic.h>

#include "core/matrix/matrix.h"

struct spti_method;
struct spti_gpu_levels;
struct spti_row_panels;

struct sptrsm_plan {
  atomic_int references;
  sptrsm_matrix *matrix;
  sptrsm_context *context; /* the matrix's */
  const struct spti_method *method;
  char variant[64]; /* what follows ':' in the method's name, "" if nothing */
  spti_view view;
  spti_op op;
  sptrsm_options options;
  void *state;                        /* the method's */
  int64_t values_version;             /* counts the new values it has followed */
  int32_t panel;                      /* right-hand sides worked on at once */
  int32_t levels;                     /* -1: not computed */
  struct spti_gpu_levels *gpu_levels; /* NULL until asked for (core/levels/gpu.h) */
  struct spti_row_panels *row_panels; /* likewise (core/levels/row_panels_gpu.h) */
  int team;                           /* host: threads that can share one panel with profit, at least 1 */
  double analysis_seconds, view_seconds;
  char reason[160];
  sptrsm_workspace *own; /* made at its first use */
  sptrsm_plan *next;     /* plans of one matrix */
};

/* out = the caller's options, checked, or the defaults for NULL. */
sptrsm_status spti_options_read(sptrsm_options *out, const sptrsm_options *in);

/* sptrsm_plan_create for an operation given by its two flags. */
sptrsm_status spti_plan_create(sptrsm_plan **out, const sptrsm_matrix *, spti_op, const sptrsm_options *);
sptrsm_status spti_plan_refresh(sptrsm_plan *); /* the matrix has new values */
void spti_plan_retain(const sptrsm_plan *);     /* sptrsm_plan_destroy releases */
double spti_seconds(void);                      /* monotonic clock */

#endif
