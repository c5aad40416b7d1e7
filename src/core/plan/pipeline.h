/* pipeline.h -- one pass over a panel of right-hand sides: read B, run stages in place, write X.
 *
 * sptrsm_solve is a pipeline of one stage; the direct-solver solve phase has up to three, with a permutation and a scaling
 * in its first and last pass. The panel W is row-major and private, so layouts and leading dimensions end here:
 *   first pass  W(i,k) = alpha * s(r) B(r,k), r = first.map[i]
 *   stages      W := S W
 *   last pass   X(i,k) = s(i) W(last.map[i], k)
 */
#ifndef SPTI_CORE_PLAN_PIPELINE_H
#define SPTI_CORE_PLAN_PIPELINE_H

#include "core/plan/plan.h"

/* Arrays in the context's place; NULL: identity, ones. */
typedef struct {
  const int32_t *map, *inverse; /* inverse[map[i]] = i; both or none */
  const double *scale;
  bool divide;
} spti_edge;

/* D of L D U: x = D^-1 b by 1x1 and 2x2 blocks. val and sub in the context's place, [n]; sub NULL: all blocks 1x1. */
typedef struct {
  const void *val, *sub;
  bool hermitian; /* the entry above sub(i) is its conjugate */
} spti_diagonal;

typedef struct {
  const sptrsm_plan *plan; /* solve with it, or NULL: */
  void *work;
  const spti_diagonal *diagonal; /* apply D^-1, */
  spti_op op;                    /* of this operation */
} spti_stage;

enum { SPTI_STAGES_MAX = 3 };

typedef struct {
  sptrsm_context *context;
  sptrsm_dtype dtype;
  int32_t n;
  spti_edge first, last;
  int stage_count;
  spti_stage stages[SPTI_STAGES_MAX];
} spti_pipeline;

/* Memory of a pipeline for one solve at a time: W (on the host one slab per thread), and on a GPU a staging panel for
 * blocks in host memory, made when first needed. */
typedef struct {
  int32_t panel;
  int slabs; /* panels in W: threads on the host, else 1 */
  void *W;
  void *staging; /* CUDA: one panel, or NULL */
} spti_panels;

/* nrhs_hint 0: unknown; else no more slabs than it can fill, though any number of right-hand sides may follow. */
sptrsm_status spti_panels_create(spti_panels *out, const sptrsm_context *, int32_t n, sptrsm_dtype, int32_t panel, int64_t nrhs_hint);
void spti_panels_free(spti_panels *, const sptrsm_context *);
sptrsm_status spti_panels_bytes(size_t *out, const sptrsm_context *, int32_t n, sptrsm_dtype, int32_t panel, int64_t nrhs_hint);

/* B and X against order, type and place of the pipeline, and against each other. */
sptrsm_status spti_pipeline_check(const spti_pipeline *, const sptrsm_block *B, const sptrsm_block *X);

/* Checks B and X, then runs. alpha NULL: 1. */
sptrsm_status spti_pipeline_run(const spti_pipeline *, spti_panels *, const void *alpha, const sptrsm_block *B, const sptrsm_block *X);

/* pipeline_gpu.c, or pipeline_none.c */
sptrsm_status spti_pipeline_run_gpu(const spti_pipeline *, spti_panels *, const void *alpha, const sptrsm_block *B, const sptrsm_block *X);

#endif
