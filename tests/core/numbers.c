/* numbers.c -- what the host methods make of unusual numbers and modes: the same bits for both formats of a matrix; subnormal numbers
 * within the bound of substitution plus one rounding of underflow for each operation; overflow only in the columns where it happens; and
 * the caller's rounding mode and flush-to-zero in every thread. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "support/oracle.h"
#include "support/solver.h"

enum { N = 700, NRHS = 64, THREADS = 4 };

static void solve(const sptrsm_sparse *T, sptrsm_op op, const char *method, int threads, const test_block *B, test_block *X) {
  test_solve(T, &(test_choice){.method = method, .op = op, .threads = threads}, &B->block, &X->block);
}

/* Calls visit for each method of the host; returns how many there are. */
static int for_methods(void (*visit)(const char *method)) {
  int count = 0;
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    cr_assert_eq(sptrsm_method_at(&info, m), SPTRSM_OK);
    if (info.place != SPTRSM_HOST || !info.deterministic) continue;
    visit(info.name);
    count++;
  }
  return count;
}

/* The same triangle in the other format. */
static test_system other_format(const test_system *s) {
  const sptrsm_sparse *T = &s->T;
  test_system to = *s;
  const size_t bytes = sptrsm_dtype_bytes(T->dtype);
  int64_t *ptr = calloc((size_t)T->n + 2, sizeof *ptr);
  int32_t *idx = calloc((size_t)T->ptr[T->n] + 1, sizeof *idx);
  char *val = calloc((size_t)T->ptr[T->n] + 1, bytes);
  cr_assert(ptr && idx && val);
  for (int64_t p = 0; p < T->ptr[T->n]; p++) ptr[T->idx[p] + 2]++;
  for (int32_t i = 0; i < T->n; i++) ptr[i + 2] += ptr[i + 1];
  for (int32_t i = 0; i < T->n; i++)
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++) {
      const int64_t at = ptr[T->idx[p] + 1]++;
      idx[at] = i;
      for (size_t b = 0; b < bytes; b++) val[(size_t)at * bytes + b] = ((const char *)T->val)[(size_t)p * bytes + b];
    }
  to.T.format = T->format == SPTRSM_CSR ? SPTRSM_CSC : SPTRSM_CSR;
  to.T.ptr = ptr, to.T.idx = idx, to.T.val = val;
  return to;
}

/* ---- formats ---- */

static void check_formats(const char *method) {
  for (int c = 0; c < 24; c++) {
    const sptrsm_op op = (sptrsm_op)(c % 3);
    const sptrsm_dtype dtype = (sptrsm_dtype)(c / 6);
    const sptrsm_uplo uplo = c / 3 % 2 ? SPTRSM_UPPER : SPTRSM_LOWER;
    test_system rows = test_system_make(TEST_RANDOM, N, SPTRSM_CSR, dtype, uplo, TEST_NONUNIT, 3), columns = other_format(&rows);
    test_block B = test_block_make(N, NRHS, dtype, SPTRSM_ROW_MAJOR, 0);
    test_block_fill(&B, 5);
    test_block X = test_block_copy(&B), Y = test_block_copy(&B);
    solve(&rows.T, op, method, 1, &B, &X);
    solve(&columns.T, op, method, 1, &B, &Y);
    cr_expect(test_block_same_bits(&X, &Y), "%s, %s, %s, op %d: other bits for CSC than for CSR", method, test_dtype_names[dtype],
              uplo == SPTRSM_LOWER ? "lower" : "upper", op);
    test_block_free(&B);
    test_block_free(&X);
    test_block_free(&Y);
    test_system_free(&rows);
    test_system_free(&columns);
  }
}

Test(numbers, both_formats_give_the_same_bits) { cr_assert_gt(for_methods(check_formats), 3); }

/* ---- modes and magnitudes ---- */

static test_block scaled_block(double scale) {
  test_block B = test_block_make(N, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
  test_block_fill(&B, 5);
  for (int32_t i = 0; i < N; i++)
    for (int64_t k = 0; k < NRHS; k++) {
      double re, im;
      test_block_get(&re, &im, &B, i, k);
      test_block_set(&B, i, k, re * scale, 0);
    }
  return B;
}

/* max |b - T x|(i,k) / ((entries of row i + 1) (u |T| |x| + 8 tiny)): an operation has a relative rounding of u and loses up to `tiny`. */
static double ratio(const sptrsm_sparse *T, const test_block *B, const test_block *X, double u, double tiny) {
  double most = 0, b, x, im;
  for (int64_t k = 0; k < NRHS; k++)
    for (int32_t i = 0; i < N; i++) {
      test_block_get(&b, &im, B, i, k);
      long double r = b, size = 0;
      for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++) {
        test_block_get(&x, &im, X, T->idx[p], k);
        r -= (long double)((const double *)T->val)[p] * x;
        size += fabsl((long double)((const double *)T->val)[p] * x);
      }
      const double now = (double)(fabsl(r) / ((long double)(T->ptr[i + 1] - T->ptr[i] + 1) * (u * size + 8 * (long double)tiny)));
      if (!(now <= most)) most = now;
    }
  return most;
}

typedef struct {
  const char *name;
  int rounding;
  bool flushes;
  double scale, u, tiny;
} mode;

static const mode modes[] = {
    {"subnormal numbers", FE_TONEAREST, false, 1e-310, DBL_EPSILON / 2, DBL_TRUE_MIN},
    {"numbers that become subnormal", FE_TONEAREST, false, 1e-307, DBL_EPSILON / 2, DBL_TRUE_MIN},
    {"upward", FE_UPWARD, false, 1, DBL_EPSILON, 0},
    {"downward", FE_DOWNWARD, false, 1, DBL_EPSILON, 0},
    {"towards zero", FE_TOWARDZERO, false, 1, DBL_EPSILON, 0},
    {"upward, subnormal numbers", FE_UPWARD, false, 1e-310, DBL_EPSILON, DBL_TRUE_MIN},
#ifdef __SSE2__
    {"flush to zero", FE_TONEAREST, true, 1, DBL_EPSILON / 2, 0},
    {"flush to zero, numbers that become subnormal", FE_TONEAREST, true, 1e-307, DBL_EPSILON / 2, DBL_MIN},
#endif
};

static void enter(const mode *m) {
  cr_assert_eq(fesetround(m->rounding), 0);
#ifdef __SSE2__
  if (m->flushes) _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
#endif
}

static void leave(void) { fesetenv(FE_DFL_ENV); }

static void check_mode(const char *method, const mode *m, const test_system *s) {
  test_block B = scaled_block(m->scale), X = test_block_copy(&B), Y = test_block_copy(&B), Z = test_block_copy(&B);
  enter(m);
  solve(&s->T, SPTRSM_N, method, 1, &B, &X);
  solve(&s->T, SPTRSM_N, method, THREADS, &B, &Y);
  leave();
  const double most = ratio(&s->T, &B, &X, m->u, m->tiny);
  cr_expect(most <= 1, "%s, %s: residual %g of its bound", method, m->name, most);
  cr_expect(test_block_same_bits(&X, &Y), "%s, %s: threads give other bits than one", method, m->name);
  solve(&s->T, SPTRSM_N, method, 1, &B, &Z);
  cr_expect(test_block_same_bits(&X, &Z) == (m->rounding == FE_TONEAREST && !(m->flushes && m->scale < 1)),
            "%s, %s: the mode made no difference, or should have made none", method, m->name);
  test_block_free(&B);
  test_block_free(&X);
  test_block_free(&Y);
  test_block_free(&Z);
}

static void check_modes(const char *method) {
  for (int upper = 0; upper < 2; upper++) {
    test_system s = test_system_make(TEST_RANDOM, N, SPTRSM_CSR, SPTRSM_F64, upper ? SPTRSM_UPPER : SPTRSM_LOWER, TEST_NONUNIT, 3);
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) check_mode(method, &modes[m], &s);
    test_system_free(&s);
  }
}

Test(numbers, modes_of_the_caller_hold_in_all_threads) { cr_assert_gt(for_methods(check_modes), 3); }

/* ---- overflow ---- */

static void check_overflow(const char *method) {
  test_system s = test_system_make(TEST_RANDOM, N, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3);
  test_block B = scaled_block(1), X = test_block_copy(&B), Y = test_block_copy(&B);
  solve(&s.T, SPTRSM_N, method, THREADS, &B, &X);
  for (int32_t i = 0; i < N; i++) test_block_set(&B, i, 7, i % 2 ? DBL_MAX : -DBL_MAX, 0);
  solve(&s.T, SPTRSM_N, method, THREADS, &B, &Y);
  bool overflowed = false;
  for (int32_t i = 0; i < N; i++)
    for (int64_t k = 0; k < NRHS; k++) {
      double x, y, im;
      test_block_get(&x, &im, &X, i, k);
      test_block_get(&y, &im, &Y, i, k);
      if (k == 7) overflowed |= !isfinite(y);
      else cr_assert(x == y, "%s: overflow in column 7 changed column %d", method, (int)k);
    }
  cr_assert(overflowed, "%s: nothing overflowed", method);
  test_block_free(&B);
  test_block_free(&X);
  test_block_free(&Y);
  test_system_free(&s);
}

Test(numbers, overflow_stays_in_its_column) { cr_assert_gt(for_methods(check_overflow), 3); }
