/* rhs.c -- X_true and B = T X_true of a generated system. */
#include <stdlib.h>

#include "gen/gen.h"

static int64_t position(const sptrsm_block *X, int64_t i, int64_t k) {
  return X->layout == SPTRSM_ROW_MAJOR ? i * X->ld + k : i + k * X->ld;
}

/* A whole number from -9 to 9 except 0. */
static double small_integer(uint64_t bits) {
  int64_t value = (int64_t)(bits % 18) - 9;
  return (double)(value < 0 ? value : value + 1);
}

static void fill_row(const sptrsm_block *X, uint64_t seed, int32_t i) {
  for (int64_t k = 0; k < X->nrhs; k++) {
    uint64_t bits = mix(seed ^ 0x50137, (uint64_t)i, (uint64_t)k);
    put_value(X->data, X->dtype, position(X, i, k), small_integer(bits >> 32) + small_integer(bits & 0xffffffff) * I);
  }
}

/* Row i of B = T X, with sums in double. */
static void multiply_row(const sptrsm_block *B, const sptrsm_sparse *T, const sptrsm_block *X, int32_t i) {
  for (int64_t k = 0; k < X->nrhs; k++) {
    double complex sum = T->diag == SPTRSM_UNIT ? get_value(X->data, X->dtype, position(X, i, k)) : 0;
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++)
      sum += get_value(T->val, T->dtype, p) * get_value(X->data, X->dtype, position(X, T->idx[p], k));
    put_value(B->data, B->dtype, position(B, i, k), sum);
  }
}

typedef struct {
  const sptrsm_block *B, *X;
  const sptrsm_sparse *T;
  uint64_t seed;
} rhs_job;

enum { ROWS = 256 /* of a piece */ };

static int32_t piece_end(const rhs_job *j, int64_t piece) {
  return j->X->n - piece * ROWS < ROWS ? j->X->n : (int32_t)((piece + 1) * ROWS);
}

static void fill_rows(void *argument, int64_t piece, int member) {
  const rhs_job *j = argument;
  (void)member;
  for (int32_t i = (int32_t)(piece * ROWS); i < piece_end(j, piece); i++) fill_row(j->X, j->seed, i);
}

static void multiply_rows(void *argument, int64_t piece, int member) {
  const rhs_job *j = argument;
  (void)member;
  for (int32_t i = (int32_t)(piece * ROWS); i < piece_end(j, piece); i++) multiply_row(j->B, j->T, j->X, i);
}

sptrsm_block rhs_block(const settings *s) {
  int32_t n = s->spec.pattern.n;
  int64_t ld = s->order == SPTRSM_ROW_MAJOR ? s->nrhs : n;
  sptrsm_block X = {.ld = ld > 0 ? ld : 1, .n = n, .nrhs = s->nrhs, .dtype = s->spec.dtype, .layout = s->order, .place = SPTRSM_HOST};
  X.data = calloc((size_t)n * (size_t)s->nrhs + 1, sptrsm_dtype_bytes(s->spec.dtype)); /* n and nrhs are below 2^31 */
  return X;
}

void rhs_fill(const sptrsm_block *B, const sptrsm_block *X, const sptrsm_sparse *T, uint64_t seed) {
  rhs_job job = {.B = B, .X = X, .T = T, .seed = seed};
  const int64_t pieces = ((int64_t)X->n + ROWS - 1) / ROWS;
  cli_share(cli_threads(), pieces, fill_rows, &job);
  cli_share(cli_threads(), pieces, multiply_rows, &job);
}
