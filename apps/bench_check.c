/* bench_check.c -- see bench_check.h. */
#include "bench_check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { CHECKED_COLUMNS = 8 };

static long double get(const void *values, int64_t p, sptrsm_dtype dtype) {
  return dtype == SPTRSM_F32 ? (long double)((const float *)values)[p] : (long double)((const double *)values)[p];
}

void bench_fill(void *B, int32_t n, int64_t nrhs, sptrsm_dtype dtype) {
  for (int64_t e = 0; e < n * nrhs; e++) {
    uint64_t mixed = (uint64_t)e * 0x9E3779B97F4A7C15u;
    double value = 0.5 + (double)(mixed >> 40) / (double)(1 << 24);
    if (dtype == SPTRSM_F32) ((float *)B)[e] = (float)value;
    else ((double *)B)[e] = value;
  }
}

/* One column: r = b - T x and scale = |T| |x|, row by row whatever the format. */
static double column_g1(const sptrsm_sparse *T, const void *B, const void *X, int64_t nrhs, int64_t k, long double *r, long double *scale,
                        int32_t *count) {
  double unit = T->dtype == SPTRSM_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2, worst = 0;
  for (int32_t i = 0; i < T->n; i++) {
    long double x = T->diag == SPTRSM_UNIT ? get(X, i * nrhs + k, T->dtype) : 0;
    r[i] = get(B, i * nrhs + k, T->dtype) - x;
    scale[i] = fabsl(x);
    count[i] = T->diag == SPTRSM_UNIT;
  }
  for (int32_t line = 0; line < T->n; line++)
    for (int64_t p = T->ptr[line]; p < T->ptr[line + 1]; p++) {
      int32_t i = T->format == SPTRSM_CSR ? line : T->idx[p], j = T->format == SPTRSM_CSR ? T->idx[p] : line;
      if (i == j && T->diag == SPTRSM_UNIT) continue;
      long double term = get(T->val, p, T->dtype) * get(X, j * nrhs + k, T->dtype);
      r[i] -= term;
      scale[i] += fabsl(term);
      count[i]++;
    }
  for (int32_t i = 0; i < T->n; i++) {
    double bound = (double)((count[i] + 1) * unit * scale[i]), error = (double)fabsl(r[i]);
    double ratio = error == 0 ? 0 : error / bound;
    if (!(ratio <= worst)) worst = ratio;
  }
  return worst;
}

static int all_finite(const void *X, int64_t count, sptrsm_dtype dtype) {
  for (int64_t e = 0; e < count; e++)
    if (!isfinite((double)get(X, e, dtype))) return 0;
  return 1;
}

double bench_g1(const sptrsm_sparse *T, const void *B, const void *X, int64_t nrhs) {
  if (!all_finite(X, T->n * nrhs, T->dtype)) return NAN;
  size_t n = T->n > 0 ? (size_t)T->n : 1;
  long double *r = malloc(n * sizeof *r), *scale = malloc(n * sizeof *scale);
  int32_t *count = malloc(n * sizeof *count);
  double worst = r && scale && count ? 0 : NAN;
  int64_t step = nrhs > CHECKED_COLUMNS ? nrhs / CHECKED_COLUMNS : 1;
  for (int64_t k = nrhs - 1; k >= 0 && !isnan(worst); k -= step) {
    double g1 = column_g1(T, B, X, nrhs, k, r, scale, count);
    if (!(g1 <= worst)) worst = g1;
  }
  free(r);
  free(scale);
  free(count);
  return worst;
}
