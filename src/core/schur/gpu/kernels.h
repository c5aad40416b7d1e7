/* kernels.h -- the kernels of Schur complements on a GPU (gpu.h): entries of sparse columns into blocks, rows of solved blocks into
 * operands of products, and the sum of the products to S. Plain C; pointers are device pointers. A launcher queues on the stream, returns a
 * cudaError_t and allocates nothing. */
#ifndef SPTI_CORE_SCHUR_GPU_KERNELS_H
#define SPTI_CORE_SCHUR_GPU_KERNELS_H

#include <stdint.h>

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int64_t entries;
  const int64_t *to;   /* [entries]: element of the block */
  const int32_t *row;  /* [entries]: row of B or C, for scale */
  const void *val;     /* [entries] */
  const double *scale; /* NULL: none */
  int32_t divide, conj;
  void *block; /* of zeros */
} spti_schur_scatter_args;

int spti_schur_scatter_launch(const spti_schur_scatter_args *, sptrsm_dtype, void *stream);

typedef struct {
  int64_t count;
  void *values;
} spti_schur_conjugate_args;

int spti_schur_conjugate_launch(const spti_schur_conjugate_args *, sptrsm_dtype, void *stream);

/* Rows of the factors whose terms one product adds to a rectangle of the sum: rows row[line .. line + lines) of spti_schur_lines, and of
 * each side [right, left] the columns in the positions first .. first + width. The operand of a side begins at element `at`, and has a
 * row of `width` elements for each line. */
typedef struct {
  int32_t line, lines;
  int32_t first[2], width[2];
  int64_t at[2];
} spti_schur_chunk;

typedef struct {
  int32_t count;
  const int32_t *row;   /* [count] */
  const int32_t *chunk; /* [count] */
  const spti_schur_chunk *chunks;
} spti_schur_lines;

/* The solved columns of a side, `width` of them in each group. */
typedef struct {
  const void *block; /* element (row, k of a group) at row * width + k */
  int32_t width;
  int32_t runs;         /* 0: there is one group, which has all rows in their order */
  const int32_t *first; /* spti_grouped, by place */
  const int32_t *at, *run_of;
  int32_t n, backward;
} spti_schur_solved;

typedef struct {
  spti_schur_lines lines;
  spti_schur_solved solved;
  int32_t side;          /* 0 right, 1 left */
  const void *D, *D_sub; /* the operand is D^-1 times the block; NULL: the block, there are no pairs */
  int32_t hermitian;     /* of D */
  void *operand;
} spti_schur_gather_args;

int spti_schur_gather_launch(const spti_schur_gather_args *, sptrsm_dtype, void *stream);

/* S' has the sum's element (i,j) in row j and column i, by positions. Symmetric: the sum has its elements with i >= j only. */
typedef struct {
  void *S; /* element (i,j) at i * row_stride + j * col_stride */
  int64_t row_stride, col_stride;
  int32_t rows, columns;
  const void *sum; /* element (i,j) at i + j * sum_ld */
  int64_t sum_ld;
  const int32_t *right_at, *left_at; /* position of each column */
  int32_t symmetric, hermitian, upper, whole;
  int32_t transposed, conj; /* S is S' transposed, conjugated */
} spti_schur_finish_args;

int spti_schur_finish_launch(const spti_schur_finish_args *, sptrsm_dtype, void *stream);

#ifdef __cplusplus
}
#endif
#endif
