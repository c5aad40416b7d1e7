/* state.h -- recblock's plan: what the analysis (method.c) makes and the solve (solve.c) reads. */
#ifndef SPTI_TRSV_RECBLOCK_STATE_H
#define SPTI_TRSV_RECBLOCK_STATE_H

#include "core/plan/method.h"
#include "trsv/recblock/kernels.h"

typedef struct {
  spti_recblock_limits limits;
  spti_recblock_tree tree; /* in host memory */
  spti_recblock_summary summary;
  spti_recblock_step *steps; /* host, [step_count] */
  int32_t step_count, segments;
  int64_t entries;     /* off the diagonal */
  int32_t *cuts;       /* from here on device memory: bound, then base */
  int32_t *order;      /* [n] */
  int32_t *start;      /* [segments + 1] */
  int32_t *from;       /* [entries] */
  void *val, *diag;    /* [entries], [n] */
  int32_t *list_words; /* the four lists, one after another */
} spti_recblock_state;

/* The four lists that list_words holds. */
spti_recblock_lists spti_recblock_lists_of(const spti_recblock_state *);

/* solve.c: as in spti_method. */
sptrsm_status spti_recblock_work_bytes(size_t *out, const sptrsm_plan *, int32_t panel);
sptrsm_status spti_recblock_work_create(void **work, const sptrsm_plan *, int32_t panel);
void spti_recblock_work_free(void *work, const sptrsm_plan *);
sptrsm_status spti_recblock_solve_between(const sptrsm_plan *, void *work, const spti_transfer *);

#endif
