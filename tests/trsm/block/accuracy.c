/* accuracy.c -- block_accuracy of solve_reference.h. */
#include "trsm/block/solve_reference.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "support/oracle.h"

const char *const block_distribution_names[BLOCK_DISTRIBUTIONS] = {"b 0.5 to 1.5", "x normal", "b -1 to 1", "b normal"};

enum { AT_ONCE = 16 }; /* columns */

static double uniform(test_random *r) { return (double)(test_random_next(r) >> 11) * 0x1p-53; }

static double draw(test_random *r, block_distribution d) {
  if (d == BLOCK_B_POSITIVE) return 0.5 + uniform(r);
  if (d == BLOCK_B_UNIFORM) return 2 * uniform(r) - 1;
  const double u = 1 - uniform(r), angle = 2 * 3.14159265358979323846 * uniform(r);
  return sqrt(-2 * log(u)) * cos(angle);
}

/* Values are taken as complex ones, whatever their type. */
typedef long double _Complex wide;

static int planes_of(const spti_view *v) { return v->dtype == SPTRSM_C128 ? 2 : 1; }

static wide value_at(const spti_view *v, const void *array, int64_t p) {
  if (v->dtype == SPTRSM_F64) return ((const double *)array)[p];
  return CMPLXL(((const double *)array)[2 * p], ((const double *)array)[2 * p + 1]);
}

static wide entry(const spti_view *v, int64_t p) { return v->conj ? conjl(value_at(v, v->val, p)) : value_at(v, v->val, p); }
static wide diagonal_of(const spti_view *v, int32_t i) { return v->unit ? 1 : entry(v, spti_view_diagonal(v, i)); }

/* Row i of b - T x for one column of AT_ONCE, and of |T| |x|. */
static wide residual(const spti_view *v, int32_t i, wide b, const double *X, int32_t k, long double *scale) {
  wide term = diagonal_of(v, i) * value_at(v, X, (int64_t)i * AT_ONCE + k), r = b - term;
  *scale = cabsl(term);
  for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++) {
    term = entry(v, p) * value_at(v, X, (int64_t)v->idx[p] * AT_ONCE + k);
    r -= term;
    *scale += v->dtype == SPTRSM_F64 ? fabsl(creall(term)) : hypot((double)creall(term), (double)cimagl(term));
  }
  return r;
}

static void draw_block(double *B, double *X, const spti_view *v, block_distribution d, test_random *r) {
  double *to = d == BLOCK_X_NORMAL ? X : B;
  for (int64_t e = 0; e < (int64_t)v->n * AT_ONCE * planes_of(v); e++) to[e] = draw(r, d);
  for (int32_t i = 0; i < v->n && d == BLOCK_X_NORMAL; i++)
    for (int32_t k = 0; k < AT_ONCE; k++) {
      long double scale;
      const int64_t at = ((int64_t)i * AT_ONCE + k) * planes_of(v);
      const wide b = -residual(v, i, 0, X, k, &scale);
      B[at] = (double)creall(b);
      if (planes_of(v) == 2) B[at + 1] = (double)cimagl(b);
    }
}

static double worst_of(const spti_view *v, const double *B, const double *X) {
  double worst = 0;
  for (int32_t i = 0; i < v->n; i++)
    for (int32_t k = 0; k < AT_ONCE; k++) {
      long double scale;
      const wide r = residual(v, i, value_at(v, B, (int64_t)i * AT_ONCE + k), X, k, &scale);
      const int64_t terms = spti_view_end(v, i) - spti_view_begin(v, i) + 2;
      const double ratio = (double)(cabsl(r) / ((long double)terms * 0x1p-53L * scale));
      if (isnan(ratio) && !(r == 0 && scale == 0)) return NAN;
      if (ratio > worst) worst = ratio;
    }
  return worst;
}

bool block_accuracy(double worst[BLOCK_DISTRIBUTIONS], const block_reference *b, const spti_view *v, int64_t columns) {
  const size_t words = (size_t)v->n * AT_ONCE * (size_t)planes_of(v);
  double *B = calloc(2 * words + 1, sizeof *B), *X = B ? B + words : NULL;
  bool made = B != NULL;
  for (int d = 0; d < BLOCK_DISTRIBUTIONS; d++) {
    test_random r = {(uint64_t)d};
    worst[d] = 0;
    for (int64_t k = 0; made && k < columns; k += AT_ONCE) {
      draw_block(B, X, v, (block_distribution)d, &r);
      made = block_reference_solve(b, v, AT_ONCE, B, X);
      const double found = made ? worst_of(v, B, X) : 0;
      if (isnan(found) || found > worst[d]) worst[d] = found;
      if (isnan(found)) break;
    }
  }
  free(B);
  return made;
}
