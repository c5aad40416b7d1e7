/* exact.c -- see exact.h. */
#include "support/exact.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static void *need(size_t count, size_t bytes) {
  void *memory = calloc(count ? count : 1, bytes);
  if (!memory) abort();
  return memory;
}

test_rounding test_rounding_of(sptrsm_dtype dtype) {
  const bool single = dtype == SPTRSM_F32 || dtype == SPTRSM_C64;
  return single ? (test_rounding){FLT_EPSILON / 2, FLT_TRUE_MIN} : (test_rounding){DBL_EPSILON / 2, DBL_TRUE_MIN};
}

/* |re + i im|; long double cannot overflow here, and hypotl takes ten times as long. */
static long double magnitude(long double re, long double im) { return im == 0 ? fabsl(re) : sqrtl(re * re + im * im); }

static int64_t count_of(const test_exact *e) { return e->n * e->columns; }

static test_exact make(int32_t n, int64_t columns, bool complex) {
  test_exact e = {.n = n, .columns = columns, .complex = complex};
  const size_t count = (size_t)count_of(&e);
  e.re = need(count, 4 * sizeof *e.re);
  e.im = e.re + count, e.size = e.im + count, e.off = e.size + count;
  return e;
}

static void set_sizes(test_exact *e) {
  for (int64_t at = 0; at < count_of(e); at++) e->size[at] = magnitude(e->re[at], e->im[at]);
}

test_exact test_exact_of(const test_block *B) {
  const sptrsm_dtype dtype = B->block.dtype;
  test_exact e = make(B->block.n, B->block.nrhs, dtype == SPTRSM_C64 || dtype == SPTRSM_C128);
  for (int32_t i = 0; i < e.n; i++)
    for (int64_t k = 0, at = i * e.columns; k < e.columns; k++, at++) {
      double re, im;
      test_block_get(&re, &im, B, i, k);
      e.re[at] = re, e.im[at] = im;
    }
  set_sizes(&e);
  return e;
}

void test_exact_free(test_exact *e) {
  free(e->re);
  *e = (test_exact){0};
}

static void replace(test_exact *e, test_exact by) {
  free(e->re);
  *e = by;
}

void test_exact_times(test_exact *e, const double alpha[2], test_rounding r) {
  const long double size = magnitude(alpha[0], alpha[1]);
  for (int64_t at = 0; at < count_of(e); at++) {
    const long double re = alpha[0] * e->re[at] - alpha[1] * e->im[at], im = alpha[0] * e->im[at] + alpha[1] * e->re[at];
    e->off[at] = size * (e->off[at] + 2 * r.u * e->size[at]) + 8 * r.tiny;
    e->re[at] = re, e->im[at] = im;
  }
  set_sizes(e);
}

void test_exact_scale(test_exact *e, const double *scale, bool divide, test_rounding r) {
  for (int64_t at = 0; at < count_of(e); at++) {
    const long double given = scale[at / e->columns], factor = divide ? 1 / given : given, size = fabsl(factor);
    e->re[at] *= factor, e->im[at] *= factor, e->size[at] *= size;
    e->off[at] = size * e->off[at] + 3 * r.u * e->size[at] + 8 * r.tiny * (1 + size);
  }
}

void test_exact_permute(test_exact *e, const int32_t *from) {
  test_exact to = make(e->n, e->columns, e->complex);
  for (int64_t at = 0; at < count_of(e); at++) {
    const int64_t old = from[at / e->columns] * e->columns + at % e->columns;
    to.re[at] = e->re[old], to.im[at] = e->im[old], to.size[at] = e->size[old], to.off[at] = e->off[old];
  }
  replace(e, to);
}

void test_exact_conjugate(test_exact *e) {
  for (int64_t at = 0; at < count_of(e); at++) e->im[at] = -e->im[at];
}

/* y(i) += t x(j), where `roundings` are relative to the product. */
static void add_product(test_exact *y, int32_t i, const test_exact *x, int32_t j, const long double t[2], long double roundings) {
  const long double re = t[0], im = t[1], size = magnitude(re, im);
  for (int64_t k = 0, from = j * x->columns, to = i * x->columns; k < y->columns; k++, from++, to++) {
    y->off[to] += size * (x->off[from] + roundings * x->size[from]);
    y->re[to] += re * x->re[from];
    if (!y->complex) continue;
    y->re[to] -= im * x->im[from];
    y->im[to] += re * x->im[from] + im * x->re[from];
  }
}

/* operations[i]: entries of row i, its diagonal included, and one more. */
static void count_operations(int64_t *operations, const sptrsm_sparse *T, bool by_rows) {
  for (int32_t i = 0; i < T->n; i++) operations[i] = T->diag == SPTRSM_UNIT ? 2 : 1;
  for (int32_t line = 0; line < T->n; line++)
    for (int64_t p = T->ptr[line]; p < T->ptr[line + 1]; p++)
      if (T->diag != SPTRSM_UNIT || T->idx[p] != line) operations[by_rows ? line : T->idx[p]]++;
}

void test_exact_multiply(test_exact *x, const sptrsm_sparse *T, sptrsm_op op, test_rounding r) {
  const bool by_rows = (T->format == SPTRSM_CSR) == (op == SPTRSM_N), unit = T->diag == SPTRSM_UNIT;
  const test_block values = {.block = {.data = (void *)T->val, .ld = 1, .nrhs = 1, .dtype = T->dtype}};
  test_exact y = make(x->n, x->columns, x->complex);
  int64_t *operations = need((size_t)T->n, sizeof *operations);
  count_operations(operations, T, by_rows);
  for (int32_t line = 0; line < T->n; line++) {
    if (unit) add_product(&y, line, x, line, (long double[]){1, 0}, operations[line] * r.u);
    for (int64_t p = T->ptr[line]; p < T->ptr[line + 1]; p++) {
      const int32_t i = by_rows ? line : T->idx[p], j = by_rows ? T->idx[p] : line;
      double re, im;
      if (unit && i == j) continue;
      test_block_get(&re, &im, &values, (int32_t)p, 0);
      add_product(&y, i, x, j, (long double[]){re, op == SPTRSM_C ? -im : im}, operations[i] * r.u);
    }
  }
  for (int64_t at = 0; at < count_of(&y); at++) y.off[at] += operations[at / y.columns] * 8 * r.tiny;
  free(operations);
  set_sizes(&y);
  replace(x, y);
}

double test_exact_ratio(const test_exact *a, const test_exact *b) {
  double most = 0;
  for (int64_t at = 0; at < count_of(a); at++) {
    const long double difference = magnitude(a->re[at] - b->re[at], a->im[at] - b->im[at]);
    const double ratio = difference == 0 ? 0 : (double)(difference / (a->off[at] + b->off[at]));
    if (isnan(ratio) || ratio > most) most = ratio;
  }
  return most;
}
