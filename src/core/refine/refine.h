/* refine.h -- iterative refinement: the original matrix, the passes over a panel in either place, and the error bound. */
#ifndef SPTI_CORE_REFINE_REFINE_H
#define SPTI_CORE_REFINE_REFINE_H

#include <sptrsm_refine.h>

#include "core/matrix/matrix.h"
#include "core/refine/kernels.h"

enum { SPTI_LINES_OF_A, SPTI_LINES_OF_AT }; /* rows of A, rows of its transpose */

/* Both orientations in both places are made when first asked for; the caller's orientation is on the host from the start. */
typedef struct {
  sptrsm_dtype dtype;
  int32_t n;
  int64_t nnz;
  int32_t given;            /* SPTI_LINES_OF_A or _AT */
  int32_t longest[2];       /* entries of the longest line, -1: not counted */
  spti_storage lines[2][2]; /* [orientation][place] */
} spti_original;

sptrsm_status spti_original_create(spti_original *out, const sptrsm_context *, const sptrsm_square *A);
void spti_original_free(spti_original *, const sptrsm_context *);
sptrsm_status spti_original_lines(const spti_storage **out, spti_original *, const sptrsm_context *, int orientation);

/* Lists and figures of one step, [panel] each. On a CUDA context they lie there; the host's image is copied as a whole. */
typedef struct {
  double *scale, *unscale, *berr, *size, *x_size;
  int32_t *columns, *pick;
} spti_refine_lists;

/* A direct solver's means of refinement. Memory is made for a panel of `panel` columns when it is first needed. */
typedef struct spti_refiner {
  spti_original A;
  int32_t panel;
  void *R, *D;      /* residuals in B's type, corrections in that of the factors */
  void *staging[2]; /* CUDA: panels of B and X in host memory, or NULL */
  void *image[2];   /* of the lists: on the host, and on the device or NULL */
} spti_refiner;

/* Of the panels, with blocks where the context works; by the hint, or without one the most there can be. */
sptrsm_status spti_refiner_bytes(size_t *out, const sptrsm_direct *);
void spti_refiner_free(spti_refiner *, const sptrsm_context *); /* accepts NULL */

/* host.c: the passes of kernels.h by that many threads. */
void spti_residual_host(const spti_residual_args *, sptrsm_dtype, int threads);
void spti_move_columns_host(const spti_move_columns_args *, int threads);

/* bound.c: out[c] = est || |op(A)^-1| w(:,c) ||_inf. w: [n,width] column-major, in host memory, is used up. */
sptrsm_status spti_error_bound(double *out, sptrsm_direct *, bool transposed, int32_t width, double *w);

#endif
