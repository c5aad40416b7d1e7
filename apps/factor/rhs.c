/* rhs.c -- right-hand sides with a known solution, B = A X_true, for tests of the factors. */
#include <stdlib.h>

#include "factor/report.h"
#include "common/gen_pattern.h"

/* A whole number from -9 to 9 without 0. */
static double small_integer(uint64_t bits) {
  int64_t value = (int64_t)(bits % 18) - 9;
  return (double)(value < 0 ? value : value + 1);
}

static sptrsm_block new_block(const factor_matrix *A, int64_t nrhs) {
  sptrsm_block X = {.ld = nrhs, .n = A->n, .nrhs = nrhs, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_HOST};
  X.dtype = A->is_complex ? SPTRSM_C128 : SPTRSM_F64;
  X.data = calloc((size_t)A->n * (size_t)nrhs + 1, sptrsm_dtype_bytes(X.dtype));
  return X;
}

void factor_known_solution(double *X, const factor_matrix *A, int64_t nrhs) {
  int64_t width = A->is_complex ? 2 : 1, row = nrhs * width;
  for (int64_t i = 0; i < A->n; i++)
    for (int64_t k = 0; k < row; k++) X[i * row + k] = small_integer(mix(0xfac7, (uint64_t)i, (uint64_t)k));
}

/* b += a x for one entry of A and a row of X. */
static void add_row(double *b, const double *a, const double *x, int64_t nrhs, int is_complex) {
  for (int64_t k = 0; k < nrhs && !is_complex; k++) b[k] += a[0] * x[k];
  for (int64_t k = 0; k < nrhs && is_complex; k++) {
    b[2 * k] += a[0] * x[2 * k] - a[1] * x[2 * k + 1];
    b[2 * k + 1] += a[0] * x[2 * k + 1] + a[1] * x[2 * k];
  }
}

void factor_multiply(double *B, const factor_matrix *A, const double *X, int64_t nrhs) {
  int64_t width = A->is_complex ? 2 : 1, row = nrhs * width;
  for (int64_t j = 0; j < A->n; j++)
    for (int64_t p = A->ptr[j]; p < A->ptr[j + 1]; p++) add_row(B + A->idx[p] * row, A->val + p * width, X + j * row, nrhs, A->is_complex);
}

int factor_write_rhs(const char *path, const factor_matrix *A, int64_t nrhs, sptrsm_save_options save) {
  save.force = 0; /* the temporary name is new, so nothing may be overwritten */
  sptrsm_block X = new_block(A, nrhs), B = new_block(A, nrhs);
  const char *const names[] = {"B", "X_true"};
  const sptrsm_block *const blocks[] = {&B, &X};
  int code = X.data && B.data ? CLI_OK : factor_no_memory("the right-hand sides");
  if (code == CLI_OK) {
    factor_known_solution(X.data, A, nrhs);
    factor_multiply(B.data, A, X.data, nrhs);
    cli_guard_write(path);
    sptrsm_status status = sptrsm_file_blocks_save(path, 2, names, blocks, &save);
    cli_guard_end();
    code = cli_fail(status);
  }
  free(X.data);
  free(B.data);
  return code;
}
