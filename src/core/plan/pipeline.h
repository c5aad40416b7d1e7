/* pipeline.h -- from B to X: a panel of right-hand sides is read from B, solved in place by one stage or more, and
 * written to X.
 *
 * sptrsm_solve is a pipeline of one stage; the solve phase of a direct solver has up to three, with a permutation and
 * a scaling in its first and last pass. The panel W is row-major and private, so no method needs to know the layout
 * and leading dimension of B and X:
 *   first pass  W(i,k) = alpha * s(r) B(r,k), r = first.map[i]
 *   stages      W := S W
 *   last pass   X(i,k) = s(i) W(last.map[i], k)
 */
#ifndef SPTI_CORE_PLAN_PIPELINE_H
#define SPTI_CORE_PLAN_PIPELINE_H

#include "core/context/gpu_copies.h"
#include "core/plan/plan.h"

/* Permutation and scaling of the first or last pass. Arrays in the memory of the context's place; NULL: the identity,
 * ones. */
typedef struct {
  const int32_t *map, *inverse; /* inverse[map[i]] = i; both or none */
  const double *scale;
  bool divide; /* by scale, instead of multiplying by it */
} spti_edge;

/* The D of L D U, with blocks of 1x1 and 2x2. val [n], its diagonal, and sub [n], the entries sub(i) = D(i+1,i), are
 * in the memory of the context's place; sub NULL: all blocks are 1x1. */
typedef struct {
  const void *val, *sub;
  bool hermitian; /* D(i,i+1) is the conjugate of sub(i), else equal to it */
} spti_diagonal;

typedef struct {
  const sptrsm_plan *plan; /* solve with this plan; */
  void *work;
  const spti_diagonal *diagonal; /* or, if plan is NULL, apply D^-1, */
  spti_op op;                    /* D^-T or D^-H, by this operation */
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

/* The memory of a pipeline, for one solve at a time. On the host every thread has a slab of its own in W, one panel;
 * on a GPU there is one panel, and staging memory for blocks in host memory, made when the first of these comes. */
typedef struct {
  int32_t panel;
  int32_t narrow; /* host: columns of a slab where B and X are column-major, but for methods with a small panel of their own */
  int slabs;      /* panels in W: up to one for each thread on the host, else 1 */
  bool lent;      /* host: to one thread of a job that solves with many pipelines; it works alone */
  void *W;
  bool limited;            /* CUDA: memory is limited, so there is one staging panel at most, and copies and solves take turns */
  int64_t part;            /* CUDA: values of the staging memory, through which blocks in host memory pass in parts; 0: it has the columns
                            * of a panel, or more */
  int64_t staged;          /* CUDA: values that staging has room for */
  void *staging;           /* CUDA: for columns of blocks in host memory, or NULL */
  spti_gpu_copies *copies; /* CUDA: copies go beside the solves by it; NULL until needed */
  const void *known[2];    /* CUDA: data of the latest B and X, which are in reach of the device */
} spti_panels;

/* Of the options, nrhs_hint (if it is known, there are no more slabs than that many right-hand sides fill; solves may have any number
 * all the same) and panel (if it is given, no slab is narrower). */
sptrsm_status spti_panels_create(spti_panels *out, const sptrsm_context *, int32_t n, sptrsm_dtype, int32_t panel, const sptrsm_options *);
/* spti_panels.narrow: a column-major block is read and written by columns, so its slabs need not be wide, and narrower ones stay in nearer
 * caches. */
int32_t spti_narrow_panel(int32_t n, sptrsm_dtype, int32_t panel, const sptrsm_options *);
void spti_panels_free(spti_panels *, const sptrsm_context *);
sptrsm_status spti_panels_bytes(size_t *out, const sptrsm_context *, int32_t n, sptrsm_dtype, int32_t panel, const sptrsm_options *);

/* Checks a block against the context's place and the type, and that its layout, ld and data make sense; n is not compared with anything. */
sptrsm_status spti_block_check(const sptrsm_block *, const sptrsm_context *, sptrsm_dtype, const char *name);

/* Widths that fill vector registers: 1, 2, 4 or a multiple of 8, unless the panel is narrower. */
int32_t spti_padded_width(int32_t width, int32_t panel);

/* Checks B and X against order, type and place of the pipeline, and against each other. Reads context, dtype and n of the pipeline. */
sptrsm_status spti_pipeline_check(const spti_pipeline *, const sptrsm_block *B, const sptrsm_block *X);

/* Checks B and X, then runs. alpha NULL: 1. */
sptrsm_status spti_pipeline_run(const spti_pipeline *, spti_panels *, const void *alpha, const sptrsm_block *B, const sptrsm_block *X);

/* pipeline_gpu.c, or none.c */
sptrsm_status spti_pipeline_run_gpu(const spti_pipeline *, spti_panels *, const void *alpha, const sptrsm_block *B, const sptrsm_block *X);
/* pack.c: the real and the imaginary part of alpha, as kernels take them; alpha NULL: 1. */
void spti_split_alpha(double parts[2], const void *alpha, sptrsm_dtype);

#endif
