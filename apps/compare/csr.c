/* csr.c -- A by rows with 32-bit offsets, for solvers that take it so, and its kind. */
#include <stdlib.h>

#include "compare/compare.h"

compare_symmetry compare_symmetry_of(const factor_matrix *A, const factor_request *r) {
  if (!A->hermitian) return COMPARE_UNSYMMETRIC;
  if (r->ldl) return COMPARE_INDEFINITE;
  return A->positive_diagonal ? COMPARE_POSITIVE : COMPARE_UNSYMMETRIC;
}

/* PARDISO wants the whole diagonal of a symmetric matrix, so zeros are put where it is not stored. */
static bool lacks_diagonal(const factor_matrix *A, int32_t j) {
  int64_t p = A->ptr[j];
  while (p < A->ptr[j + 1] && A->idx[p] < j) p++;
  return p == A->ptr[j + 1] || A->idx[p] > j;
}

static void put(compare_csr *out, int64_t row, int32_t column, double value) {
  int32_t at = out->ptr[row + 1]++;
  out->idx[at] = column;
  out->val[at] = value;
}

/* Rows are counted in ptr[i+2], and filling advances ptr[i+1], so that in the end ptr[i] is the start of row i. */
int compare_csr_make(compare_csr *out, const factor_matrix *A, bool upper, const char *option) {
  int64_t nnz = A->ptr[A->n] + A->n; /* at most */
  if (nnz > INT32_MAX) {
    cli_error("%s: %lld entries are more than 32-bit offsets take", option, (long long)nnz);
    return CLI_USAGE;
  }
  out->ptr = calloc((size_t)A->n + 2, sizeof *out->ptr);
  out->idx = malloc(((size_t)nnz + 1) * sizeof *out->idx);
  out->val = malloc(((size_t)nnz + 1) * sizeof *out->val);
  if (!out->ptr || !out->idx || !out->val) return factor_no_memory("the rows of A");
  for (int32_t j = 0; j < A->n; j++) {
    if (upper && lacks_diagonal(A, j)) out->ptr[j + 2]++;
    for (int64_t p = A->ptr[j]; p < A->ptr[j + 1]; p++)
      if (!upper || A->idx[p] <= j) out->ptr[A->idx[p] + 2]++;
  }
  for (int32_t i = 0; i < A->n; i++) out->ptr[i + 2] += out->ptr[i + 1];
  for (int32_t j = 0; j < A->n; j++) {
    if (upper && lacks_diagonal(A, j)) put(out, j, j, 0);
    for (int64_t p = A->ptr[j]; p < A->ptr[j + 1]; p++)
      if (!upper || A->idx[p] <= j) put(out, A->idx[p], j, A->val[p]);
  }
  return CLI_OK;
}

void compare_csr_free(compare_csr *a) {
  free(a->ptr);
  free(a->idx);
  free(a->val);
}
