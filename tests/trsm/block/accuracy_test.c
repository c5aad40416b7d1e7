/* accuracy_test.c -- what `block` on a GPU promises for right-hand sides of four distributions, on triangles that make it hard: by the
 * kernel's operations on the host (solve_reference.h). accuracy_sets.c does the same with files. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>

#include "support/oracle.h"
#include "trsm/block/gpu/analysis_kernels.h"
#include "trsm/block/solve_reference.h"

enum { ORDER = 400, COLUMNS = 64, PROMISED = 10 };

/* A triangle that is made entry by entry, as a pull view. */
typedef struct {
  double entry[ORDER][ORDER];
  int64_t ptr[ORDER + 1];
  int32_t idx[ORDER * ORDER];
  double val[ORDER * ORDER];
  spti_view view;
} triangle;

static triangle t;

static void make_view(bool upper) {
  int64_t p = 0;
  for (int32_t i = 0; i < ORDER; i++) {
    t.ptr[i] = p;
    for (int32_t j = upper ? i : 0; j < (upper ? ORDER : i + 1); j++)
      if (t.entry[i][j] != 0) t.idx[p] = j, t.val[p++] = t.entry[i][j];
  }
  t.ptr[ORDER] = p;
  t.view = (spti_view){.n = ORDER,
                       .nnz = p,
                       .dtype = SPTRSM_F64,
                       .ptr = t.ptr,
                       .idx = t.idx,
                       .val = t.val,
                       .head = upper,
                       .tail = !upper,
                       .pull = true,
                       .backward = upper};
}

/* T(i,j) entry by entry, for j <= i. */
static void make(double (*entry)(test_random *, int32_t i, int32_t j)) {
  test_random r = {5};
  for (int32_t i = 0; i < ORDER; i++)
    for (int32_t j = 0; j <= i; j++) t.entry[i][j] = entry(&r, i, j);
  make_view(false);
}

static bool is_near(int32_t i, int32_t j) { return i - j < 6 || (i % 9 == 0 && i - j < 90 && j % 4 == 0); }

/* Three terms that cancel again and again: x(i) = b(i) + x(i-1) - x(i-2) does not grow. */
static double cancelling(test_random *r, int32_t i, int32_t j) {
  (void)r;
  return i == j ? 1 : i - j == 1 ? -1 : i - j == 2 ? 1 : 0;
}

/* Entries from 1e-6 to 1 beside the diagonal. */
static double far_apart(test_random *r, int32_t i, int32_t j) {
  if (i == j) return test_random_value(r, 1, 2);
  return is_near(i, j) ? test_random_value(r, 0.5, 1) * pow(10, -test_random_below(r, 7)) : 0;
}

/* Rows and columns scaled by powers of two from 2^-20 to 2^20, which the row sums of a panel can't tell from cancellation. */
static double badly_scaled(test_random *r, int32_t i, int32_t j) {
  const int row = i * 29 % 41 - 20, column = j * 23 % 41 - 20;
  const double value = i == j ? test_random_value(r, 1, 2) : is_near(i, j) ? test_random_value(r, 0.2, 0.6) : 0;
  return ldexp(value, row + column);
}

/* U of the factorisation, without pivoting, of a saddle point [H C'; C 0]: H of 1e-6 and C of 1, in an order that mixes the two. */
static void make_saddle(void) {
  static double a[ORDER][ORDER];
  for (int32_t i = 0; i < ORDER; i++)
    for (int32_t j = 0; j < ORDER; j++) {
      const bool low = i % 3 == 2, constraint = j % 3 == 2;
      const int32_t apart = abs(i / 3 - j / 3);
      a[i][j] = low && constraint   ? 0
                : low != constraint ? (apart == 0   ? 1
                                       : apart == 5 ? -0.25
                                                    : 0)
                : i == j            ? 1e-6
                : apart < 3         ? -1e-7
                                    : 0;
    }
  for (int32_t k = 0; k < ORDER; k++)
    for (int32_t i = k + 1; i < ORDER; i++) {
      const double factor = a[i][k] / a[k][k];
      for (int32_t j = k; j < ORDER && factor != 0; j++) a[i][j] -= factor * a[k][j];
    }
  for (int32_t i = 0; i < ORDER; i++)
    for (int32_t j = i; j < ORDER; j++) t.entry[i][j] = a[i][j];
  make_view(true);
}

/* `bound` of the method. */
enum { DEFAULT = 2, REFINES_ALL = 0, REFINES_NOTHING = INT32_MAX };

/* The largest residual of all distributions, in bounds. */
static double worst_with(double bound) {
  const block_rules rules = {.rows = SPTI_BLOCK_ROWS,
                             .least = 16,
                             .window = SPTI_BLOCK_WINDOW,
                             .bound = bound,
                             .spare = bound == REFINES_NOTHING ? 1e9 : 32,
                             .refine = 1e6};
  double worst[BLOCK_DISTRIBUTIONS], most = 0;
  block_reference b;
  cr_assert(block_reference_make(&b, &t.view, &rules));
  cr_assert(block_accuracy(worst, &b, &t.view, COLUMNS));
  for (int d = 0; d < BLOCK_DISTRIBUTIONS; d++)
    if (isnan(worst[d]) || worst[d] > most) most = isnan(most) ? most : worst[d];
  block_reference_free(&b);
  return most;
}

static void check(const char *name) {
  for (int bound = REFINES_ALL; bound <= DEFAULT; bound += DEFAULT) {
    const double worst = worst_with(bound);
    cr_assert(worst <= PROMISED, "%s, bound=%d: %g bounds", name, bound, worst);
  }
}

Test(block_accuracy, cancelling) {
  make(cancelling);
  check("cancelling");
}
Test(block_accuracy, far_apart) {
  make(far_apart);
  check("far apart");
  const double unrefined = worst_with(REFINES_NOTHING), by_rule = worst_with(DEFAULT);
  cr_assert(unrefined > 4 * by_rule, "%g bounds beside %g with no panel refined: the triangle is too easy", by_rule, unrefined);
}
Test(block_accuracy, badly_scaled) {
  make(badly_scaled);
  check("badly scaled");
}
Test(block_accuracy, saddle) {
  make_saddle();
  check("saddle");
}
