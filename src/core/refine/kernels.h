/* kernels.h -- the two passes of refinement over a panel of columns: computing residuals and backward errors, and moving columns from one
 * block to another. Plain C; host.c does the same on the host. Strides count elements. The launchers queue on the stream and return a
 * cudaError_t. */
#ifndef SPTI_CORE_REFINE_KERNELS_H
#define SPTI_CORE_REFINE_KERNELS_H

#include <stdint.h>

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  void *data;
  int64_t row_stride, col_stride;
} spti_refine_block;

/* r(:,c) = alpha b - op(A) x, where b and x are column columns[c] of their blocks, and its ratio to s = |op(A)| |x| + |alpha b|. All
 * absolute values are |z| = |re z| + |im z|. */
typedef struct {
  int32_t n, width;
  const int64_t *ptr; /* lines of op(A), not yet conjugated */
  const int32_t *idx;
  const void *val;
  int32_t conj;
  int32_t from_zero;      /* nonzero: x is zero and is not read */
  const int32_t *columns; /* [width] */
  double alpha[2];        /* real and imaginary part */
  spti_refine_block b, x;
  spti_refine_block r;      /* data NULL: not wanted */
  spti_refine_block weight; /* real, |r| + growth s, plus `tiny` where s <= small; data NULL: not wanted */
  double growth, tiny, small;
  double drop; /* r is stored as zero where |r| <= drop s and s is finite; 0: never */
  /* [width]: maxima over all rows and the value that is there already; NaN counts as greater than any number. */
  double *berr;   /* |r| / s; (|r| + tiny) / (s + tiny) where s <= small; 0 where both are zero; NaN where s is infinite */
  double *size;   /* |r| as stored */
  double *x_size; /* |x| */
} spti_residual_args;

/* The lines of one matrix among many. */
typedef struct {
  const int64_t *ptr;
  const int32_t *idx;
  const void *val;
  int32_t n, longest; /* entries of the longest line */
} spti_residual_lines;

int spti_residual_launch(const spti_residual_args *, sptrsm_dtype, void *stream);

/* to(:,to_columns[c]) = scale[c] from(:,from_columns[c]), or with `add` is increased by it. Rounds to to_dtype; the types are both real or
 * both complex. */
typedef struct {
  int32_t n, width;
  spti_refine_block from, to;
  sptrsm_dtype from_dtype, to_dtype;
  const int32_t *from_columns, *to_columns; /* [width]; NULL: 0, 1, ... */
  const double *scale;                      /* [width] */
  int32_t add;
} spti_move_columns_args;

int spti_move_columns_launch(const spti_move_columns_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
