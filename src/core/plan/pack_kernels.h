/* pack_kernels.h -- the first and the last pass of a pipeline on a GPU, which move a panel between a block of any layout and a row-major
 * work block, and the product with the inverse of D in between. Plain C; pointers are device pointers. The launchers queue on the
 * stream and return a cudaError_t. */
#ifndef SPTI_CORE_PLAN_PACK_KERNELS_H
#define SPTI_CORE_PLAN_PACK_KERNELS_H

#include <stdint.h>

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int32_t n;
  int64_t width;  /* columns of the panel */
  int64_t padded; /* pack writes zeros to columns [width, padded) of the work block; width: none */
  void *block;    /* element (i,k) at i * row_stride + k * col_stride, in elements; k counts from the panel's first column */
  int64_t row_stride, col_stride;
  void *work; /* element (i,k) at i * ld + k */
  int64_t ld;
  const int32_t *map;           /* [n] or NULL: rows stay in place */
  sptrsm_convention convention; /* of map, for "to = from": GATHER to[i] = from[map[i]], SCATTER to[map[i]] = from[i] */
  const double *scale;          /* [n] or NULL, indexed by the block's row */
  sptrsm_scale_op scale_op;
  double alpha[2]; /* pack only: real and imaginary part, 1 and 0 for none */
} spti_pack_args;

int spti_pack_launch(const spti_pack_args *, sptrsm_dtype, void *stream);   /* work = alpha scale block, rows mapped */
int spti_unpack_launch(const spti_pack_args *, sptrsm_dtype, void *stream); /* block = scale work, rows mapped */

/* W = op(D)^-1 W for the diagonal of an LDL' factorisation. */
typedef struct {
  int32_t n;
  int64_t width;
  void *work; /* element (i,k) at i * ld + k */
  int64_t ld;
  const void *D;           /* [n] */
  const void *D_sub;       /* [n] or NULL: entry i != 0 is element (i+1,i) of a 2x2 block */
  int32_t hermitian;       /* element (i,i+1) is conj(D_sub[i]), else D_sub[i] */
  int32_t transpose, conj; /* op: either, both or none */
} spti_diagonal_args;

int spti_diagonal_launch(const spti_diagonal_args *, sptrsm_dtype, void *stream);

#ifdef __cplusplus
}
#endif
#endif
