/* check.c -- see check.h. */
#include "bench/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/residual/residual.h"

enum { CHECKED_COLUMNS = 8 };

static bool is_complex(sptrsm_dtype t) { return t == SPTRSM_C64 || t == SPTRSM_C128; }
static bool is_double(sptrsm_dtype t) { return t == SPTRSM_F64 || t == SPTRSM_C128; }

double bench_g1_bound(sptrsm_dtype dtype, bool inverts) { return (is_complex(dtype) ? 4 : 1) * (inverts ? 10 : 1.5); }

enum { PIECE = 1 << 16 /* numbers, or rows, that a thread takes at once */ };

static int64_t pieces_of(int64_t count) { return (count + PIECE - 1) / PIECE; }
static int64_t piece_end(int64_t piece, int64_t count) { return count - piece * PIECE < PIECE ? count : (piece + 1) * PIECE; }

typedef struct {
  void *to;
  const void *numbers;
  int64_t count;
  bool is_wide;
  _Atomic int64_t bad;
} numbers_job;

static void fill_piece(void *argument, int64_t piece, int member) {
  const numbers_job *j = argument;
  (void)member;
  for (int64_t e = piece * PIECE; e < piece_end(piece, j->count); e++) {
    double value = 0.5 + (double)(((uint64_t)e * 0x9E3779B97F4A7C15u) >> 40) / (double)(1 << 24);
    if (j->is_wide) ((double *)j->to)[e] = value;
    else ((float *)j->to)[e] = (float)value;
  }
}

void bench_fill(void *B, int32_t n, int64_t nrhs, sptrsm_dtype dtype) {
  numbers_job j = {.to = B, .count = n * nrhs * (is_complex(dtype) ? 2 : 1), .is_wide = is_double(dtype)};
  cli_share(cli_threads(), pieces_of(j.count), fill_piece, &j);
}

static int64_t stored_diagonals(const sptrsm_sparse *T) {
  if (T->diag == SPTRSM_NONUNIT) return T->n;
  int64_t found = 0;
  for (int32_t i = 0; i < T->n; i++)
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++) found += T->idx[p] == i;
  return found;
}

/* A multiply-add for each entry off the diagonal, and a division for each row, but not in unit triangles. */
double bench_flops(const bench_case *c) {
  const sptrsm_sparse *T = c->T;
  const double beside = (double)(T->ptr[T->n] - stored_diagonals(T)), divisions = T->diag == SPTRSM_UNIT ? 0 : T->n;
  return (2 * beside + divisions) * (is_complex(T->dtype) ? 4 : 1) * (double)c->nrhs;
}

static void count_bad(void *argument, int64_t piece, int member) {
  numbers_job *j = argument;
  int64_t bad = 0;
  (void)member;
  for (int64_t e = piece * PIECE; e < piece_end(piece, j->count); e++)
    bad += !isfinite(j->is_wide ? ((const double *)j->numbers)[e] : (double)((const float *)j->numbers)[e]);
  j->bad += bad;
}

static bool all_finite(const void *X, int64_t count, bool is_wide) {
  numbers_job j = {.numbers = X, .count = count, .is_wide = is_wide};
  cli_share(cli_threads(), pieces_of(count), count_bad, &j);
  return j.bad == 0;
}

/* Packs columns nrhs-1, nrhs-1-step, ... of a block in column-major order. */
static void pack(char *to, const char *from, const bench_case *c, sptrsm_layout layout, int columns, int64_t step) {
  const size_t each = sptrsm_dtype_bytes(c->T->dtype);
  const int64_t n = c->T->n;
  for (int64_t i = 0; i < n; i++)
    for (int s = 0; s < columns; s++) {
      int64_t k = c->nrhs - 1 - s * step, at = layout == SPTRSM_ROW_MAJOR ? i * c->nrhs + k : i + k * n;
      memcpy(to + (size_t)(i + s * n) * each, from + (size_t)at * each, each);
    }
}

/* False: no memory. */
static bool packed_g1(double *g1, const bench_case *c, void *B, void *X, int columns) {
  const sptrsm_sparse *T = c->T;
  const chain S = {.dtype = T->dtype,
                   .n = T->n,
                   .count = 1,
                   .is_triangle = true,
                   .links = {{.kind = LINK_SPARSE,
                              .transposed = c->op != SPTRSM_N,
                              .conjugated = c->op == SPTRSM_C,
                              .format = T->format,
                              .ptr = T->ptr,
                              .idx = T->idx,
                              .val = T->val,
                              .unit = T->diag == SPTRSM_UNIT}}};
  sptrsm_block of_B = {.data = B, .ld = T->n, .n = T->n, .nrhs = columns, .dtype = T->dtype, .layout = SPTRSM_COL_MAJOR};
  sptrsm_block of_X = of_B;
  residual R;
  of_X.data = X;
  if (!residual_compute(&R, &S, NULL, &of_B, &of_X)) return false;
  *g1 = R.g1;
  residual_free(&R);
  return true;
}

sptrsm_status bench_g1(double *g1, const bench_case *c, const void *B, const void *X, sptrsm_layout layout) {
  const int64_t n = c->T->n, nrhs = c->nrhs;
  *g1 = NAN;
  if (!all_finite(X, n * nrhs * (is_complex(c->T->dtype) ? 2 : 1), is_double(c->T->dtype))) return SPTRSM_OK;
  const int columns = nrhs < CHECKED_COLUMNS ? (int)nrhs : CHECKED_COLUMNS;
  const size_t bytes = (size_t)n * (size_t)columns * sptrsm_dtype_bytes(c->T->dtype);
  char *some_B = malloc(bytes + 1), *some_X = malloc(bytes + 1);
  bool good = some_B && some_X;
  if (good) {
    pack(some_B, B, c, layout, columns, nrhs / (columns > 0 ? columns : 1));
    pack(some_X, X, c, layout, columns, nrhs / (columns > 0 ? columns : 1));
    good = packed_g1(g1, c, some_B, some_X, columns);
  }
  free(some_B);
  free(some_X);
  return good ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory to check %d columns on the host", columns);
}
