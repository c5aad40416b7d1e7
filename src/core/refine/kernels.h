/* kernels.h -- the two passes of refinement over a panel of columns: residuals with what they are measured against, and
 * columns moved from one block to another. Plain C: host.c does the same on the host. Strides in elements; column
 * c of a pass is column from[c] or columns[c] of a block. */
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

/* r(:,c) = alpha b - op(A) x for columns[c] of b and x, and its size beside s = |op(A)| |x| + |alpha b|, with |z| = |re z| + |im z|. */
typedef struct {
  int32_t n, width;
  const int64_t *ptr; /* lines of op(A), but for conj */
  const int32_t *idx;
  const void *val;
  int32_t conj;
  int32_t from_zero;      /* nonzero: x is taken for zero and not read */
  const int32_t *columns; /* [width] */
  double alpha[2];        /* real and imaginary part */
  spti_refine_block b, x, r;
  spti_refine_block weight; /* real; data NULL: not wanted. |r| + growth s, lifted by `tiny` where s <= small */
  double growth, tiny, small;
  double drop; /* r is stored as zero where |r| <= drop s and s is finite: 0 for never */
  /* [width], of what is there and of all rows; NaN is greater than any number. */
  double *berr;   /* |r| / s; (|r| + tiny) / (s + tiny) where s <= small; 0 where both are zero; NaN where s is infinite */
  double *size;   /* |r| as stored */
  double *x_size; /* |x| */
} spti_residual_args;

int spti_residual_launch(const spti_residual_args *, sptrsm_dtype, void *stream);

/* to(:,to_columns[c]) = scale[c] from(:,from_columns[c]), or is increased by it. Rounds to the other type. Both real or both complex. */
typedef struct {
  int32_t n, width;
  spti_refine_block from, to;
  sptrsm_dtype from_dtype, to_dtype;
  const int32_t *from_columns, *to_columns; /* [width], NULL: 0, 1, ... */
  const double *scale;                      /* [width] */
  int32_t add;
} spti_move_columns_args;

int spti_move_columns_launch(const spti_move_columns_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
