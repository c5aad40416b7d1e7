/* matrix.c -- the matrix to factorise: converts a matrix of a file to CSC in f64 or c128, sorted, with both triangles. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "factor/factor.h"

static int dtype_is_complex(sptrsm_dtype t) { return t == SPTRSM_C64 || t == SPTRSM_C128; }

/* Entry p of a stored matrix as (re, im). */
static void stored_value(double out[2], const sptrsm_file_matrix *M, int64_t p) {
  out[1] = 0;
  switch (M->dtype) {
  case SPTRSM_F32: out[0] = ((const float *)M->val)[p]; return;
  case SPTRSM_F64: out[0] = ((const double *)M->val)[p]; return;
  case SPTRSM_C64: out[0] = ((const float *)M->val)[2 * p], out[1] = ((const float *)M->val)[2 * p + 1]; return;
  case SPTRSM_C128: out[0] = ((const double *)M->val)[2 * p], out[1] = ((const double *)M->val)[2 * p + 1]; return;
  }
}

typedef struct {
  int64_t *ptr, *idx;
  double *val;
} columns;

static bool columns_allocate(columns *c, int64_t n, int64_t nnz, int width) {
  c->ptr = calloc((size_t)n + 2, sizeof *c->ptr); /* one more, see columns_start */
  c->idx = malloc(((size_t)nnz + 1) * sizeof *c->idx);
  c->val = malloc(((size_t)nnz + 1) * (size_t)width * sizeof *c->val);
  return c->ptr && c->idx && c->val;
}

static void columns_free(columns *c) {
  free(c->ptr);
  free(c->idx);
  free(c->val);
  *c = (columns){0};
}

/* Turns the counts in ptr[j+2] into starts in ptr[j+1]. columns_put advances ptr[j+1], so that in the end ptr[j] is the start of column
 * j. */
static void columns_start(columns *c, int64_t n) {
  for (int64_t j = 0; j < n; j++) c->ptr[j + 2] += c->ptr[j + 1];
}

static void columns_put(columns *c, int width, int64_t row, int64_t column, const double *value) {
  int64_t at = c->ptr[column + 1]++;
  c->idx[at] = row;
  memcpy(c->val + at * width, value, (size_t)width * sizeof *value);
}

/* The value of the mirror image of an entry. */
static void mirrored(double out[2], const double value[2], sptrsm_symmetry symmetry) {
  out[0] = symmetry == SPTRSM_SKEW ? -value[0] : value[0];
  out[1] = symmetry == SPTRSM_GENERAL || symmetry == SPTRSM_SYMMETRIC ? value[1] : -value[1];
}

/* Puts every entry of M, and its mirror image, into the bucket of its row (by_row) or column. Entries of a bucket are unsorted. */
static bool columns_of_file(columns *c, const sptrsm_file_matrix *M, int width, bool by_row) {
  int64_t n = M->rows, nnz = M->ptr[n];
  bool mirror = M->symmetry != SPTRSM_GENERAL, lines_are_buckets = (M->format == SPTRSM_CSR) == by_row;
  if (!columns_allocate(c, n, mirror ? 2 * nnz : nnz, width)) return false;
  for (int64_t line = 0; line < n; line++)
    for (int64_t p = M->ptr[line]; p < M->ptr[line + 1]; p++) {
      c->ptr[(lines_are_buckets ? line : M->idx[p]) + 2]++;
      if (mirror && M->idx[p] != line) c->ptr[(lines_are_buckets ? M->idx[p] : line) + 2]++;
    }
  columns_start(c, n);
  for (int64_t line = 0; line < n; line++)
    for (int64_t p = M->ptr[line]; p < M->ptr[line + 1]; p++) {
      double value[2], image[2];
      int64_t bucket = lines_are_buckets ? line : M->idx[p], other = lines_are_buckets ? M->idx[p] : line;
      stored_value(value, M, p);
      columns_put(c, width, other, bucket, value);
      if (!mirror || bucket == other) continue;
      mirrored(image, value, M->symmetry);
      columns_put(c, width, bucket, other, image);
    }
  return true;
}

/* out = the transpose of in, without conjugation. Its columns are sorted, even if those of `in` are not. */
static bool columns_transpose(columns *out, const columns *in, int64_t n, int width) {
  int64_t nnz = in->ptr[n];
  if (!columns_allocate(out, n, nnz, width)) return false;
  for (int64_t p = 0; p < nnz; p++) out->ptr[in->idx[p] + 2]++;
  columns_start(out, n);
  for (int64_t j = 0; j < n; j++)
    for (int64_t p = in->ptr[j]; p < in->ptr[j + 1]; p++) columns_put(out, width, j, in->idx[p], in->val + p * width);
  return true;
}

/* Whether A = A^H. T is the transpose of A; both are sorted. */
static bool is_hermitian(const columns *A, const columns *T, int64_t n, int width) {
  if (memcmp(A->ptr, T->ptr, ((size_t)n + 1) * sizeof *A->ptr) != 0) return false;
  for (int64_t p = 0; p < A->ptr[n]; p++) {
    if (A->idx[p] != T->idx[p] || A->val[p * width] != T->val[p * width]) return false;
    if (width == 2 && A->val[p * 2 + 1] != -T->val[p * 2 + 1]) return false;
  }
  return true;
}

static bool has_positive_diagonal(const columns *A, int64_t n, int width) {
  for (int64_t j = 0; j < n; j++) {
    int64_t p = A->ptr[j];
    while (p < A->ptr[j + 1] && A->idx[p] != j) p++;
    if (p == A->ptr[j + 1] || !(A->val[p * width] > 0) || (width == 2 && A->val[p * 2 + 1] != 0)) return false;
  }
  return true;
}

static int check(const sptrsm_file_matrix *M) {
  if (M->rows != M->cols) {
    cli_error("%s: is %lld x %lld; only square matrices have the factors that a solve needs", M->where, (long long)M->rows,
              (long long)M->cols);
    return CLI_INPUT;
  }
  if (M->rows == 0) {
    cli_error("%s: has no rows; there is nothing to factorise", M->where);
    return CLI_INPUT;
  }
  for (int64_t line = 0; line < M->rows; line++)
    for (int64_t p = M->ptr[line]; p < M->ptr[line + 1]; p++) {
      double value[2];
      stored_value(value, M, p);
      if (isfinite(value[0]) && isfinite(value[1])) continue;
      int64_t row = M->format == SPTRSM_CSR ? line : M->idx[p], column = M->format == SPTRSM_CSR ? M->idx[p] : line;
      cli_error("%s: entry (%lld,%lld) is not finite; there is no factorisation with it", M->where, (long long)row, (long long)column);
      return CLI_INPUT;
    }
  return CLI_OK;
}

int factor_matrix_make(factor_matrix *out, const sptrsm_file_matrix *M) {
  columns rows = {0}, A = {0}, T = {0};
  int width = dtype_is_complex(M->dtype) ? 2 : 1;
  int64_t n = M->rows;
  int code = check(M);
  if (code != CLI_OK) return code;
  bool good = columns_of_file(&rows, M, width, true) && columns_transpose(&A, &rows, n, width);
  columns_free(&rows);
  good = good && columns_transpose(&T, &A, n, width);
  if (good) {
    *out = (factor_matrix){.where = M->where, .n = (int32_t)n, .is_complex = width == 2, .ptr = A.ptr, .idx = A.idx, .val = A.val};
    out->hermitian = is_hermitian(&A, &T, n, width);
    out->positive_diagonal = has_positive_diagonal(&A, n, width);
  } else {
    columns_free(&A);
  }
  columns_free(&T);
  return good ? CLI_OK : factor_no_memory("the matrix");
}

void factor_matrix_free(factor_matrix *A) {
  free(A->ptr);
  free(A->idx);
  free(A->val);
  *A = (factor_matrix){0};
}
