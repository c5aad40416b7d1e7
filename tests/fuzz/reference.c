/* reference.c -- a plain solve in long double, which tells what a solution must satisfy, and the check of a solution. */
#include <common/residual/residual.h>
#include <common/solver.h>
#include <complex.h>
#include <float.h>
#include <math.h>

#include "fuzz.h"

typedef long double complex number;

enum { ORDER_MAX = 64 };

static bool is_single(sptrsm_dtype dtype) { return dtype == SPTRSM_F32 || dtype == SPTRSM_C64; }

/* Zero, or far from overflow and underflow in the type. False for NaN. */
static bool is_tame(number z, sptrsm_dtype dtype) {
  const long double size = cabsl(z), most = is_single(dtype) ? 1e12L : 1e100L;
  return size == 0 || (size >= 1 / most && size <= most);
}

static number element(const void *val, sptrsm_dtype dtype, int64_t p) {
  switch (dtype) {
  case SPTRSM_F32: return ((const float *)val)[p];
  case SPTRSM_F64: return ((const double *)val)[p];
  case SPTRSM_C64: return ((const float complex *)val)[p];
  default: return ((const double complex *)val)[p];
  }
}

/* m = the triangular factor as it is applied: transposed and conjugated, with its diagonal. */
static void fill(number m[ORDER_MAX][ORDER_MAX], const chain_link *link, int n, sptrsm_dtype dtype) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) m[i][j] = link->unit && i == j;
  for (int line = 0; line < n; line++)
    for (int64_t p = link->ptr[line]; p < link->ptr[line + 1]; p++) {
      const bool by_rows = (link->format == SPTRSM_CSR) != link->transposed;
      const number z = element(link->val, dtype, p);
      if (link->unit && link->idx[p] == line) continue;
      m[by_rows ? line : link->idx[p]][by_rows ? link->idx[p] : line] = link->conjugated ? conjl(z) : z;
    }
}

static bool solve_triangle(number *x, const chain_link *link, int n, sptrsm_dtype dtype) {
  static number m[ORDER_MAX][ORDER_MAX];
  bool upper = false;
  fill(m, link, n, dtype);
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) upper = upper || m[i][j] != 0;
  for (int step = 0; step < n; step++) {
    const int i = upper ? n - 1 - step : step;
    for (int j = upper ? i + 1 : 0; j < (upper ? n : i); j++) {
      if (!is_tame(m[i][j], dtype) || !is_tame(m[i][j] * x[j], dtype)) return false;
      x[i] -= m[i][j] * x[j];
    }
    if (!is_tame(m[i][i], dtype)) return false;
    x[i] /= m[i][i];
    if (!is_tame(x[i], dtype)) return false;
  }
  return true;
}

/* Blocks of two that are nearly singular are not tame. */
static bool solve_diagonal(number *x, const chain_link *link, int n, sptrsm_dtype dtype) {
  for (int i = 0; i < n; i++) {
    const bool two = i + 1 < n && link->sub && element(link->sub, dtype, i) != 0;
    number a = element(link->d, dtype, i), c = two ? element(link->sub, dtype, i) : 0, d = two ? element(link->d, dtype, i + 1) : 1;
    number b = link->hermitian ? conjl(c) : c;
    if (link->conjugated) a = conjl(a), b = conjl(b), c = conjl(c), d = conjl(d);
    if (link->transposed && link->hermitian) c = conjl(c), b = conjl(b);
    const number det = a * d - b * c, first = x[i], second = two ? x[i + 1] : 0;
    if (!is_tame(a, dtype) || !is_tame(c, dtype) || !is_tame(d, dtype) || cabsl(det) < 0.01L * (cabsl(a * d) + cabsl(b * c))) return false;
    x[i] = (d * first - b * second) / det;
    if (two) x[++i] = (a * second - c * first) / det;
  }
  return true;
}

/* x := M^-1 x for one factor M of the chain. False: a number is not tame. */
static bool solve_link(number *x, const chain_link *link, int n, sptrsm_dtype dtype) {
  number old[ORDER_MAX];
  switch (link->kind) {
  case LINK_SPARSE: return solve_triangle(x, link, n, dtype);
  case LINK_DIAGONAL: return solve_diagonal(x, link, n, dtype);
  case LINK_PERMUTE:
    for (int i = 0; i < n; i++) old[i] = x[i];
    for (int i = 0; i < n; i++) x[link->transposed ? i : link->map[i]] = old[link->transposed ? link->map[i] : i];
    return true;
  case LINK_SCALE:
    for (int i = 0; i < n; i++) {
      x[i] = link->divide ? x[i] * link->scale[i] : x[i] / link->scale[i];
      if (!is_tame(link->scale[i], dtype)) return false;
    }
  }
  return true;
}

static bool solve_column(const chain *S, number *x) {
  for (int k = 0; k < S->count; k++) {
    for (int i = 0; i < S->n; i++)
      if (!is_tame(x[i], S->dtype)) return false;
    if (!solve_link(x, &S->links[k], S->n, S->dtype)) return false;
  }
  for (int i = 0; i < S->n; i++)
    if (!is_tame(x[i], S->dtype)) return false;
  return true;
}

static number block_element(const test_block *b, int32_t i, int64_t k) {
  double re, im;
  test_block_get(&re, &im, b, i, k);
  return re + I * (number)im;
}

chain fuzz_chain_of(const sptrsm_sparse *T, sptrsm_op op) {
  return (chain){.dtype = T->dtype,
                 .n = T->n,
                 .count = 1,
                 .links = {{.kind = LINK_SPARSE,
                            .transposed = op != SPTRSM_N,
                            .conjugated = op == SPTRSM_C,
                            .format = T->format,
                            .ptr = T->ptr,
                            .idx = T->idx,
                            .val = T->val,
                            .unit = T->diag == SPTRSM_UNIT}},
                 .is_triangle = true,
                 .name = "T"};
}

static void check_column(const chain *S, const void *alpha, const test_block *B, const test_block *X, int64_t k) {
  const bool complex_type = S->dtype == SPTRSM_C64 || S->dtype == SPTRSM_C128;
  const double u = is_single(S->dtype) ? FLT_EPSILON / 2 : DBL_EPSILON / 2, factor = complex_type ? 4 : 1;
  const sptrsm_block b = block_columns(&B->block, k, k + 1), x = block_columns(&X->block, k, k + 1);
  number reference[ORDER_MAX];
  residual r;
  for (int i = 0; i < S->n; i++) {
    reference[i] = block_element(B, i, k);
    if (!is_tame(reference[i], S->dtype)) return; /* alpha 0 would hide it, but a scaling of rows comes before alpha */
    if (alpha) reference[i] *= element(alpha, S->dtype, 0);
  }
  if (alpha && !is_tame(element(alpha, S->dtype, 0), S->dtype)) return;
  if (!solve_column(S, reference)) return;
  FUZZ_CHECK(residual_of_panel(&r, S, alpha, &b, &x, 1), "no memory");
  FUZZ_CHECK(nonfinite_columns(&x, NULL, 0) == 0, "column %lld", (long long)k);
  if (S->is_triangle) FUZZ_CHECK(r.g1 <= factor, "column %lld, row %lld: %g", (long long)k, (long long)r.g1_row, r.g1);
  FUZZ_CHECK(r.max_berr <= factor * (S->count + 1) * (S->n + 8) * u, "column %lld: %g", (long long)k, r.max_berr);
  residual_free(&r);
}

void fuzz_check_solution(const chain *S, const void *alpha, const test_block *B, const test_block *X) {
  FUZZ_CHECK(test_block_intact(X), "something was written outside of X");
  for (int64_t k = 0; k < B->block.nrhs && S->n <= ORDER_MAX; k++) check_column(S, alpha, B, X, k);
}
