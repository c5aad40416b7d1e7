/* accuracy.c -- block_accuracy of solve_reference.h. */
#include "trsm/block/solve_reference.h"

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

static double value_of(const spti_view *v, int64_t p) { return ((const double *)v->val)[p]; }
static double diagonal_of(const spti_view *v, int32_t i) { return v->unit ? 1 : value_of(v, spti_view_diagonal(v, i)); }

/* Row i of b - T x, and of |T| |x|, for one column of AT_ONCE. */
static long double residual(const spti_view *v, int32_t i, double b, const double *x, long double *scale) {
  long double term = (long double)diagonal_of(v, i) * x[(int64_t)i * AT_ONCE], r = b - term;
  *scale = fabsl(term);
  for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++) {
    term = (long double)value_of(v, p) * x[(int64_t)v->idx[p] * AT_ONCE];
    r -= term;
    *scale += fabsl(term);
  }
  return r;
}

static void draw_block(double *B, double *X, const spti_view *v, block_distribution d, test_random *r) {
  double *to = d == BLOCK_X_NORMAL ? X : B;
  for (int64_t e = 0; e < (int64_t)v->n * AT_ONCE; e++) to[e] = draw(r, d);
  for (int32_t i = 0; i < v->n && d == BLOCK_X_NORMAL; i++)
    for (int32_t k = 0; k < AT_ONCE; k++) {
      long double scale;
      B[(int64_t)i * AT_ONCE + k] = (double)-residual(v, i, 0, X + k, &scale);
    }
}

static double worst_of(const spti_view *v, const double *B, const double *X) {
  double worst = 0;
  for (int32_t i = 0; i < v->n; i++)
    for (int32_t k = 0; k < AT_ONCE; k++) {
      long double scale;
      const long double r = residual(v, i, B[(int64_t)i * AT_ONCE + k], X + k, &scale);
      const int64_t terms = spti_view_end(v, i) - spti_view_begin(v, i) + 2;
      const double ratio = (double)(fabsl(r) / ((long double)terms * 0x1p-53L * scale));
      if (isnan(ratio) && !(r == 0 && scale == 0)) return NAN;
      if (ratio > worst) worst = ratio;
    }
  return worst;
}

bool block_accuracy(double worst[BLOCK_DISTRIBUTIONS], const block_reference *b, const spti_view *v, int64_t columns) {
  const size_t words = (size_t)v->n * AT_ONCE;
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
