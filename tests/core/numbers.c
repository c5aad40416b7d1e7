/* numbers.c -- what the host methods, alone and in a factor set with scalings, make of unusual numbers and modes: the same bits for both
 * formats of a matrix; numbers that are subnormal, near overflow or of very different size within the bound of substitution plus one
 * rounding of underflow for each operation; overflow only in the columns where it happens; and the caller's rounding mode, flush-to-zero
 * and denormals-are-zero in every thread. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <pmmintrin.h>
#endif

#include "support/exact.h"
#include "support/oracle.h"
#include "support/solver.h"

enum { N = 700, NRHS = 64, THREADS = 4 };

static bool is_single(sptrsm_dtype dtype) { return dtype == SPTRSM_F32 || dtype == SPTRSM_C64; }
static bool is_complex(sptrsm_dtype dtype) { return dtype == SPTRSM_C64 || dtype == SPTRSM_C128; }

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
    const test_choice choice = {.method = method, .op = op, .threads = 1};
    test_solve(&rows.T, &choice, &B.block, &X.block);
    test_solve(&columns.T, &choice, &B.block, &Y.block);
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

/* ---- systems: op(T) X = B, or op(A) X = B with L U = R A C ---- */

enum { SYSTEMS = 24 };

typedef struct {
  const char *method;
  sptrsm_op op;
  bool direct;
  test_system T, U;                   /* T is L of a factor set */
  double R[N], C[N], inverse_of_C[N]; /* powers of two */
} subject;

static subject subject_make(const char *method, bool direct, int number) {
  const sptrsm_dtype dtype = (sptrsm_dtype)(number / 6);
  const sptrsm_format format = (sptrsm_format)(number / 3 % 2);
  const bool upper = !direct && (number + number / 6) % 2;
  return (subject){.method = method,
                   .op = (sptrsm_op)(number % 3),
                   .direct = direct,
                   .T = test_system_make(TEST_RANDOM, N, format, dtype, upper ? SPTRSM_UPPER : SPTRSM_LOWER, TEST_NONUNIT, 3),
                   .U = test_system_make(TEST_RANDOM, direct ? N : 0, SPTRSM_CSR, dtype, SPTRSM_UPPER, TEST_NONUNIT, 4)};
}

static void subject_free(subject *s) {
  test_system_free(&s->T);
  test_system_free(&s->U);
}

static const char *name_of(const subject *s) {
  static char name[96];
  snprintf(name, sizeof name, "%s%s, %s, op %d, %s", s->method, s->direct ? " with scalings" : "", test_dtype_names[s->T.T.dtype],
           (int)s->op, s->T.T.format == SPTRSM_CSR ? "CSR" : "CSC");
  return name;
}

static bool line_is_row(const subject *s) { return (s->T.T.format == SPTRSM_CSR) == (s->op == SPTRSM_N); }

/* Its columns are enough work for several threads. */
static test_block block_for(const subject *s) {
  const sptrsm_dtype dtype = s->T.T.dtype;
  return test_block_make(N, NRHS * 8 / (int64_t)sptrsm_dtype_bytes(dtype), dtype, SPTRSM_ROW_MAJOR, 0);
}

typedef struct {
  test_solver triangle;
  sptrsm_direct *direct; /* NULL: the triangle is solved */
} solver;

static sptrsm_direct *open_direct(sptrsm_context *context, const subject *s) {
  sptrsm_factors f;
  sptrsm_options options;
  sptrsm_direct *direct;
  sptrsm_factors_init(&f);
  sptrsm_options_init(&options);
  options.method = s->method;
  f.L = &s->T.T, f.U = &s->U.T;
  f.scale_row = s->R, f.scale_col = s->inverse_of_C, f.col_op = SPTRSM_DIVIDE;
  cr_assert_eq(sptrsm_direct_create(&direct, context, &f, &options), SPTRSM_OK, "%s: %s", name_of(s), sptrsm_last_error());
  return direct;
}

static solver open_solver(const subject *s, int threads) {
  const test_choice choice = {.method = s->method, .op = s->op, .threads = threads};
  solver v = {.triangle = test_solver_open(&s->T.T, &choice)};
  if (s->direct) v.direct = open_direct(v.triangle.context, s);
  return v;
}

static void close_solver(solver *v) {
  sptrsm_direct_destroy(v->direct);
  test_solver_close(&v->triangle);
}

static void solve(const solver *v, const subject *s, const test_block *B, test_block *X) {
  if (!v->direct) test_solver_solve(&v->triangle, &B->block, &X->block);
  else cr_assert_eq(sptrsm_direct_solve(v->direct, SPTRSM_SYS_A, s->op, NULL, &B->block, &X->block), SPTRSM_OK, "%s", sptrsm_last_error());
}

/* max |b - op(T) x| / what it may be; NaN where x has one. */
static double ratio(const subject *s, const test_block *B, const test_block *X, test_rounding r) {
  const bool plain = s->op == SPTRSM_N;
  test_exact b = test_exact_of(B), y = test_exact_of(X);
  if (s->direct) test_exact_scale(&b, plain ? s->R : s->C, false, r);
  if (s->direct) test_exact_scale(&y, plain ? s->C : s->R, true, r);
  if (s->direct && plain) test_exact_multiply(&y, &s->U.T, s->op, r);
  test_exact_multiply(&y, &s->T.T, s->op, r);
  if (s->direct && !plain) test_exact_multiply(&y, &s->U.T, s->op, r);
  const double most = test_exact_ratio(&b, &y);
  test_exact_free(&b);
  test_exact_free(&y);
  return most;
}

/* ---- modes and magnitudes ---- */

typedef enum { ORDINARY, SUBNORMAL, SMALL, LARGE, STRETCHED } size_of_numbers;
typedef enum { KEEP, FLUSH = 1, IGNORE = 2 } underflow; /* flush-to-zero, denormals-are-zero */

typedef struct {
  const char *name;
  int direction;
  underflow underflow;
  size_of_numbers size;
} mode;

static const mode modes[] = {
    {"subnormal numbers", FE_TONEAREST, KEEP, SUBNORMAL},
    {"numbers that become subnormal", FE_TONEAREST, KEEP, SMALL},
    {"numbers near overflow", FE_TONEAREST, KEEP, LARGE},
    {"numbers of very different size", FE_TONEAREST, KEEP, STRETCHED},
    {"upward", FE_UPWARD, KEEP, ORDINARY},
    {"downward", FE_DOWNWARD, KEEP, ORDINARY},
    {"towards zero", FE_TOWARDZERO, KEEP, ORDINARY},
    {"upward, subnormal numbers", FE_UPWARD, KEEP, SUBNORMAL},
    {"downward, numbers near overflow", FE_DOWNWARD, KEEP, LARGE},
#ifdef __SSE2__
    {"flush to zero", FE_TONEAREST, FLUSH, ORDINARY},
    {"flush to zero, numbers that become subnormal", FE_TONEAREST, FLUSH, SMALL},
    {"flush to zero, numbers of very different size", FE_TONEAREST, FLUSH, STRETCHED},
    {"denormals are zero, numbers that become subnormal", FE_TONEAREST, IGNORE, SMALL},
    {"both, subnormal numbers", FE_TONEAREST, FLUSH | IGNORE, SUBNORMAL},
    {"both, upward, numbers that become subnormal", FE_UPWARD, FLUSH | IGNORE, SMALL},
#endif
};
enum { MODES = sizeof modes / sizeof *modes };

static void enter(const mode *m) {
  cr_assert_eq(fesetround(m->direction), 0);
#ifdef __SSE2__
  _MM_SET_FLUSH_ZERO_MODE(m->underflow & FLUSH ? _MM_FLUSH_ZERO_ON : _MM_FLUSH_ZERO_OFF);
  _MM_SET_DENORMALS_ZERO_MODE(m->underflow & IGNORE ? _MM_DENORMALS_ZERO_ON : _MM_DENORMALS_ZERO_OFF);
#endif
}

static void leave(void) { fesetenv(FE_DFL_ENV); }

static test_rounding rounding_of(const mode *m, sptrsm_dtype dtype) {
  test_rounding r = test_rounding_of(dtype);
  if (m->direction != FE_TONEAREST) r.u *= 2;
  if (m->underflow != KEEP) r.tiny = is_single(dtype) ? (double)FLT_MIN : DBL_MIN;
  return r;
}

/* About how large the numbers of B are. */
static double scale_of(size_of_numbers size, sptrsm_dtype dtype) {
  const double least = is_single(dtype) ? (double)FLT_MIN : DBL_MIN, most = is_single(dtype) ? (double)FLT_MAX : DBL_MAX;
  return size == SUBNORMAL ? least / 200 : size == SMALL ? least * 5 : size == LARGE ? most / (1 << 20) : 1;
}

/* Of line i of a stretched triangle. */
static int stretch(int32_t i, sptrsm_dtype dtype) { return (i * 7 % 5 - 2) * (is_single(dtype) ? 50 : 450); }

static void stretch_lines(sptrsm_sparse *T) {
  const int64_t parts = is_complex(T->dtype) ? 2 : 1;
  for (int32_t i = 0; i < T->n; i++)
    for (int64_t p = T->ptr[i] * parts; p < T->ptr[i + 1] * parts; p++)
      if (is_single(T->dtype)) ((float *)T->val)[p] = ldexpf(((float *)T->val)[p], stretch(i, T->dtype));
      else ((double *)T->val)[p] = ldexp(((double *)T->val)[p], stretch(i, T->dtype));
}

/* The scalings of a factor set lead to numbers of this size, and back. */
static test_block right_hand_sides(subject *s, size_of_numbers size) {
  const sptrsm_dtype dtype = s->T.T.dtype;
  const int moved_by_scaling = size == LARGE ? 30 : -30, by_rows = s->op == SPTRSM_N ? moved_by_scaling : -moved_by_scaling;
  for (int32_t i = 0; i < N; i++) {
    s->R[i] = ldexp(1, by_rows + i % 5 - 2);
    s->C[i] = ldexp(1, -by_rows + i % 5 - 2);
    s->inverse_of_C[i] = 1 / s->C[i];
  }
  test_block B = block_for(s);
  test_block_fill(&B, 5);
  for (int32_t i = 0; i < N; i++) {
    const int moved = s->direct ? -moved_by_scaling : size == STRETCHED && line_is_row(s) ? stretch(i, dtype) : 0;
    const double factor = ldexp(scale_of(size, dtype), moved);
    for (int64_t k = 0; k < B.block.nrhs; k++) {
      double re, im;
      test_block_get(&re, &im, &B, i, k);
      test_block_set(&B, i, k, re * factor, im * factor);
    }
  }
  return B;
}

static void check_mode(subject *s, const mode *m) {
  if (m->size == STRETCHED) stretch_lines(&s->T.T);
  test_block B = right_hand_sides(s, m->size), X = test_block_copy(&B), Y = test_block_copy(&B), Z = test_block_copy(&B);
  solver one = open_solver(s, 1), several = open_solver(s, THREADS);
  solve(&several, s, &B, &Z); /* starts the threads, with another mode */
  enter(m);
  solve(&one, s, &B, &X);
  solve(&several, s, &B, &Y);
  leave();
  close_solver(&one);
  close_solver(&several);
  const double most = ratio(s, &B, &X, rounding_of(m, s->T.T.dtype)), allowed = is_complex(s->T.T.dtype) ? 4 : 1;
  const bool plain = m->direction == FE_TONEAREST && (m->underflow == KEEP || m->size == ORDINARY || m->size == STRETCHED);
  cr_expect(most <= allowed, "%s, %s: residual %g of its bound", name_of(s), m->name, most);
  cr_expect(test_block_same_bits(&X, &Y), "%s, %s: threads give other bits than one", name_of(s), m->name);
  cr_expect(test_block_same_bits(&X, &Z) == plain, "%s, %s: the mode made no difference, or should have made none", name_of(s), m->name);
  test_block_free(&B);
  test_block_free(&X);
  test_block_free(&Y);
  test_block_free(&Z);
}

/* One case in NUMBERS_STEP, others for each method, so that each mode meets each type, operation and format. */
static void check_modes(const char *method) {
  static int next;
  const char *text = getenv("NUMBERS_STEP");
  const int step = text ? atoi(text) : 19;
  for (int c = 0; c < 2 * SYSTEMS * MODES; c++) {
    const mode *m = &modes[c % MODES];
    const bool direct = c / MODES % 2;
    if (next++ % step != 0 || (direct && m->size == STRETCHED)) continue;
    subject s = subject_make(method, direct, c / MODES / 2);
    check_mode(&s, m);
    subject_free(&s);
  }
}

Test(numbers, modes_of_the_caller_hold_in_all_threads) { cr_assert_gt(for_methods(check_modes), 3); }

/* ---- overflow ---- */

static void check_overflow(subject *s) {
  const sptrsm_dtype dtype = s->T.T.dtype;
  const double most = is_single(dtype) ? (double)FLT_MAX : DBL_MAX;
  test_block B = right_hand_sides(s, ORDINARY), X = test_block_copy(&B), Y = test_block_copy(&B);
  solver v = open_solver(s, THREADS);
  solve(&v, s, &B, &X);
  for (int32_t i = 0; i < N; i++) test_block_set(&B, i, 7, i % 2 ? most : -most, 0);
  solve(&v, s, &B, &Y);
  close_solver(&v);
  bool overflowed = false;
  for (int32_t i = 0; i < N; i++)
    for (int64_t k = 0; k < X.block.nrhs; k++) {
      double x[2], y[2];
      test_block_get(&x[0], &x[1], &X, i, k);
      test_block_get(&y[0], &y[1], &Y, i, k);
      if (k == 7) overflowed |= !isfinite(y[0]);
      else cr_assert(x[0] == y[0] && x[1] == y[1], "%s: overflow in column 7 changed column %d", name_of(s), (int)k);
    }
  cr_assert(overflowed, "%s: nothing overflowed", name_of(s));
  test_block_free(&B);
  test_block_free(&X);
  test_block_free(&Y);
}

static void check_overflows(const char *method) {
  for (int c = 0; c < 2 * SYSTEMS; c++) {
    subject s = subject_make(method, c % 2, c / 2);
    check_overflow(&s);
    subject_free(&s);
  }
}

Test(numbers, overflow_stays_in_its_column) { cr_assert_gt(for_methods(check_overflows), 3); }
