/* conformance.c -- checks for every registered method of one place: small residuals; blocks of all layouts; the same
 * bits on every run, for methods that promise it; new values; NaN and Inf that stay where they belong.
 *
 * Each system (pattern, order, type, operation, triangle, diagonal, format) has a number. Everything else (blocks,
 * right-hand sides, alpha, threads, panel) is drawn by a generator that starts from that number, so
 * SPTRSM_CONFORMANCE_SYSTEM=<number> repeats one system and says what it does, SPTRSM_CONFORMANCE_METHOD=<name> takes only methods whose
 * names begin with it. Built twice: CONFORMANCE_PLACE is
 * SPTRSM_HOST or SPTRSM_CUDA. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/conformance_subjects.h"
#include "support/oracle.h"

enum { DRAWS = 2, FAILURES_MAX = 5 };

typedef struct {
  test_pattern pattern;
  int32_t n;
  sptrsm_dtype dtype;
  sptrsm_op op;
  sptrsm_uplo uplo;
  test_diag diag;
  sptrsm_format format;
} system_kind;

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
} solver;

static int failures;

/* Prints one text line for each failure; the tests end with a check that there was none. */
static void report(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (failures++ < FAILURES_MAX) {
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
  }
  va_end(arguments);
}

/* ---- one method ---- */

/* A context on a GPU takes milliseconds to make, so all systems of a process share one. */
static sptrsm_context *context_of(int threads) {
  static sptrsm_context *shared;
  sptrsm_context *context = shared;
  if (!context) cr_assert_eq(sptrsm_context_create(&context, CONFORMANCE_PLACE, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  if (CONFORMANCE_PLACE == SPTRSM_CUDA) shared = context;
  cr_assert_eq(sptrsm_context_set_threads(context, threads), SPTRSM_OK);
  return context;
}

/* False where the method does not support this kind of system; every other failure is reported. */
static bool solver_open(solver *s, const test_system *system, const char *method, sptrsm_op op, int threads, int panel) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.op = op;
  options.panel = panel;
  *s = (solver){.context = context_of(threads)};
  cr_assert_eq(sptrsm_matrix_create(&s->matrix, s->context, &system->T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_status status = sptrsm_plan_create(&s->plan, s->matrix, &options);
  if (status != SPTRSM_OK && status != SPTRSM_ERR_UNSUPPORTED) report("%s: plan: %s", method, sptrsm_last_error());
  return status == SPTRSM_OK;
}

static void solver_close(solver *s) {
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  if (CONFORMANCE_PLACE == SPTRSM_HOST) sptrsm_context_destroy(s->context);
}

static sptrsm_status solve(const solver *s, const void *alpha, const test_block *B, test_block *X) {
  sptrsm_status status = sptrsm_solve(s->plan, NULL, alpha, &B->block, &X->block);
  return status == SPTRSM_OK ? sptrsm_context_sync(s->context) : status;
}

/* The largest componentwise residual allowed (tests/support/oracle.h). cuSPARSE multiplies by the reciprocal of the
 * diagonal: one more rounding for each row. `block` on a GPU multiplies by inverses of diagonal blocks, unless
 * refine=0 forbids it. */
static double tolerance(sptrsm_dtype dtype, const char *method) {
  double substitution = dtype == SPTRSM_C64 || dtype == SPTRSM_C128 ? 4 : 1;
  if (strcmp(method, "cusparse") == 0) return 1.5 * substitution;
  const bool inverts = CONFORMANCE_PLACE == SPTRSM_CUDA && strncmp(method, "block", strlen("block")) == 0 && !strstr(method, "refine=0");
  return inverts ? 10 * substitution : substitution;
}

/* ---- numbering ---- */

static const int32_t small_orders[] = {0, 1, 2, 31, 32, 33}, large_orders[] = {1023, 1024, 1025};
static const int64_t counts[] = {0, 1, 2, 7, 31, 32, 33, 64, 65, 1000};
static const int panels[] = {0, 1, 3, 8, 20, 64};

#define LENGTH(array) ((int)(sizeof(array) / sizeof(array)[0]))

static int digit(int *number, int base) {
  int d = *number % base;
  *number /= base;
  return d;
}

/* How many systems there are for `orders` orders. */
static int system_count(int orders) { return TEST_PATTERNS * orders * 4 * 3 * 2 * TEST_DIAGS * 2; }

static system_kind system_at(int number) {
  system_kind k;
  int small = system_count(LENGTH(small_orders));
  const int32_t *orders = number < small ? small_orders : large_orders;
  int base = number < small ? LENGTH(small_orders) : LENGTH(large_orders);
  if (number >= small) number -= small;
  k.dtype = (sptrsm_dtype)digit(&number, 4);
  k.op = (sptrsm_op)digit(&number, 3);
  k.uplo = (sptrsm_uplo)digit(&number, 2);
  k.diag = (test_diag)digit(&number, TEST_DIAGS);
  k.format = (sptrsm_format)digit(&number, 2);
  k.n = orders[digit(&number, base)];
  k.pattern = (test_pattern)digit(&number, TEST_PATTERNS);
  return k;
}

static test_system make(const system_kind *k, uint64_t seed) {
  return test_system_make(k->pattern, k->n, k->format, k->dtype, k->uplo, k->diag, seed);
}

static const char *text(const system_kind *k) {
  static char line[160];
  snprintf(line, sizeof line, "%s n=%d %s op=%c %s %s %s", test_pattern_names[k->pattern], k->n, test_dtype_names[k->dtype], "NTC"[k->op],
           k -> uplo == SPTRSM_LOWER ? "lower" : "upper", test_diag_names[k->diag], k->format == SPTRSM_CSR ? "CSR" : "CSC");
  return line;
}

/* ---- residuals, with blocks of all layouts ---- */

typedef struct {
  int64_t nrhs;
  sptrsm_layout B_layout, X_layout;
  int B_padding, X_padding, alpha_kind;
  bool in_place;
} draw;

static draw draw_next(test_random *r, int32_t n) {
  draw d = {.nrhs = counts[test_random_below(r, n > 100 ? LENGTH(counts) - 1 : LENGTH(counts))]};
  if (d.nrhs == 1000 && test_random_below(r, 4) != 0) d.nrhs = 130; /* the widest blocks take most of the time */
  if (n > 100 && test_random_below(r, 40) == 0) d.nrhs = 1000;
  d.B_layout = (sptrsm_layout)test_random_below(r, 2);
  d.X_layout = (sptrsm_layout)test_random_below(r, 2);
  d.B_padding = test_random_below(r, 4);
  d.X_padding = test_random_below(r, 4);
  d.alpha_kind = test_random_below(r, 3);
  d.in_place = test_random_below(r, 4) == 0;
  return d;
}

/* alpha for the library and for the oracle: kind 0 none, 1 a power of two, 2 any number. */
static const void *alpha_of(double out[2], int kind, sptrsm_dtype dtype) {
  static float single[2];
  static double full[2];
  bool complex = dtype == SPTRSM_C64 || dtype == SPTRSM_C128, is_single = dtype == SPTRSM_F32 || dtype == SPTRSM_C64;
  out[0] = kind == 0 ? 1 : kind == 1 ? -0.5 : 1.7;
  out[1] = kind == 2 && complex ? 0.3 : 0;
  if (is_single)
    for (int c = 0; c < 2; c++) out[c] = single[c] = (float)out[c];
  memcpy(full, out, sizeof full);
  return kind == 0 ? NULL : is_single ? (const void *)single : (const void *)full;
}

static void check_draw(const solver *s, const test_system *system, const system_kind *k, const draw *d, const char *method,
                       const char *where) {
  double alpha[2];
  const void *alpha_value = alpha_of(alpha, d->alpha_kind, k->dtype);
  test_block B = test_block_make(k->n, d->nrhs, k->dtype, d->B_layout, d->B_padding), before, X;
  test_block_fill(&B, 17);
  before = test_block_copy(&B);
  X = d->in_place ? B : test_block_make(k->n, d->nrhs, k->dtype, d->X_layout, d->X_padding);
  char line[400];
  snprintf(line, sizeof line, "%s: %s %s: nrhs=%lld B=%s+%d X=%s+%d alpha=%g%+gi", method, where, text(k), (long long)d->nrhs,
           d->B_layout == SPTRSM_ROW_MAJOR ? "row" : "col", d->B_padding,
           d->in_place                       ? "B"
           : d->X_layout == SPTRSM_ROW_MAJOR ? "row"
                                             : "col",
           d->X_padding, alpha[0], alpha[1]);
  if (solve(s, alpha_value, &B, &X) != SPTRSM_OK) {
    report("%s: %s", line, sptrsm_last_error());
  } else {
    double ratio = test_residual(system, k->op, alpha, &before, &X, -1);
    if (!(ratio <= tolerance(k->dtype, method)))
      report("%s: componentwise residual %g is above %g", line, ratio, tolerance(k->dtype, method));
    if (!test_block_intact(&X)) report("%s: wrote outside X", line);
    if (!d->in_place && memcmp(B.memory, before.memory, B.bytes) != 0) report("%s: B was changed", line);
  }
  test_block_free(&before);
  if (!d->in_place) test_block_free(&X);
  test_block_free(&B);
}

static void check_system(int number, const char *method) {
  system_kind k = system_at(number);
  test_random r = {(uint64_t)number};
  test_system system = make(&k, (uint64_t)number);
  int threads = 1 + test_random_below(&r, 3), panel = panels[test_random_below(&r, LENGTH(panels))];
  char where[80];
  snprintf(where, sizeof where, "system %d (threads=%d panel=%d)", number, threads, panel);
  solver s;
  if (solver_open(&s, &system, method, k.op, threads, panel))
    for (int c = 0; c < DRAWS; c++) { /* all with one plan */
      draw d = draw_next(&r, k.n);
      check_draw(&s, &system, &k, &d, method, where);
    }
  solver_close(&s);
  test_system_free(&system);
}

ParameterizedTestParameters(conformance, residuals_of_all_systems) { return conformance_subjects(CONFORMANCE_PLACE, false); }

ParameterizedTest(subject *method, conformance, residuals_of_all_systems) {
  int small = system_count(LENGTH(small_orders)), large = system_count(LENGTH(large_orders)), solved = 0;
  const char *only = getenv("SPTRSM_CONFORMANCE_SYSTEM");
  test_random r = {2026};
  for (int number = 0; number < small + large && failures < FAILURES_MAX; number++) {
    bool sampled = number < small || test_random_below(&r, 16) == 0; /* all systems of small orders */
    if (only ? number != atoi(only) : !sampled || left_to_others(method, number)) continue;
    if (system_at(number).pattern == TEST_FULL && number >= small) continue; /* too many entries; a dense row is enough */
    if (only) fprintf(stderr, "system %d: %s\n", number, text(&(system_kind[]){system_at(number)}[0]));
    check_system(number, method->name);
    solved++;
  }
  cr_assert_eq(failures, 0, "%s: %d failures, see above", method->name, failures);
  cr_assert_gt(solved, 0, "SPTRSM_CONFORMANCE_SYSTEM is not in 0..%d", small + large - 1);
}

/* ---- deterministic methods ---- */

#if defined(__SANITIZE_ADDRESS__) /* which is slow */
enum { WAYS_STEP = 6, RUNS = 20 };
#else
enum { WAYS_STEP = 3, RUNS = 100 };
#endif

/* On the host each kind of system takes some widths with some threads, and another kind others; all with CONFORMANCE_ALL
 * (scripts/nightly.sh cases). */
static bool takes_way(int kind, int width, int threads) {
  return CONFORMANCE_PLACE == SPTRSM_CUDA || getenv("CONFORMANCE_ALL") || (kind + width + threads) % WAYS_STEP == 0;
}

/* Systems whose levels are wide, narrow and mixed. */
static const system_kind shared_kinds[] = {
    {TEST_DIAGONAL, 4000, SPTRSM_F64, SPTRSM_N, SPTRSM_LOWER, TEST_NONUNIT, SPTRSM_CSR},
    {TEST_ARROW, 4000, SPTRSM_C64, SPTRSM_T, SPTRSM_LOWER, TEST_NONUNIT, SPTRSM_CSR},
    {TEST_ARROW, 4000, SPTRSM_C128, SPTRSM_C, SPTRSM_UPPER, TEST_NONUNIT, SPTRSM_CSC},
    {TEST_LAYERED, 12000, SPTRSM_F64, SPTRSM_N, SPTRSM_LOWER, TEST_NONUNIT, SPTRSM_CSR},
    {TEST_LAYERED, 12000, SPTRSM_C64, SPTRSM_C, SPTRSM_LOWER, TEST_UNIT_STORED, SPTRSM_CSR},
    {TEST_RANDOM, 1500, SPTRSM_F32, SPTRSM_N, SPTRSM_UPPER, TEST_UNIT_MIXED, SPTRSM_CSC},
    {TEST_RANDOM, 1500, SPTRSM_C128, SPTRSM_C, SPTRSM_LOWER, TEST_NONUNIT, SPTRSM_CSR},
    {TEST_GRID, 4000, SPTRSM_F64, SPTRSM_T, SPTRSM_LOWER, TEST_NONUNIT, SPTRSM_CSC},
    {TEST_DENSE_ROW, 1000, SPTRSM_F32, SPTRSM_N, SPTRSM_LOWER, TEST_UNIT_IMPLICIT, SPTRSM_CSR},
    {TEST_CHAIN, 1000, SPTRSM_C64, SPTRSM_N, SPTRSM_UPPER, TEST_NONUNIT, SPTRSM_CSR},
};

/* The columns of `all` from `first` on must have the bits of X. */
static bool same_columns(const test_block *all, int64_t first, const test_block *X) {
  test_block part = *all;
  part.block.nrhs = X->block.nrhs;
  int64_t step = all->block.layout == SPTRSM_ROW_MAJOR ? 1 : all->block.ld;
  part.block.data = (char *)all->block.data + (size_t)(first * step) * sptrsm_dtype_bytes(all->block.dtype);
  return test_block_same_bits(&part, X);
}

static void check_bits(const system_kind *k, const test_system *system, const void *alpha, const test_block *B, const test_block *expected,
                       const char *method, int threads, int panel) {
  static const int64_t parts[] = {65, 1, 2, 7, 33}, firsts[] = {0, 64, 13, 5, 31};
  solver s;
  cr_assert(solver_open(&s, system, method, k->op, threads, panel));
  for (int c = 0; c < LENGTH(parts); c++) {
    test_block X = test_block_make(k->n, parts[c], k->dtype, (sptrsm_layout)(c % 2), c);
    test_block slice = *B;
    slice.block.nrhs = parts[c];
    slice.block.data = (char *)B->block.data + (size_t)(firsts[c] * B->block.ld) * sptrsm_dtype_bytes(k->dtype);
    if (solve(&s, alpha, &slice, &X) != SPTRSM_OK) report("%s: %s: %s", method, text(k), sptrsm_last_error());
    else if (!same_columns(expected, firsts[c], &X))
      report("%s: %s: other bits with threads=%d panel=%d for columns %lld..%lld", method, text(k), threads, panel, (long long)firsts[c],
             (long long)(firsts[c] + parts[c] - 1));
    test_block_free(&X);
  }
  solver_close(&s);
}

static void check_deterministic(int kind, const char *method) {
  const system_kind *k = &shared_kinds[kind];
  static const int widths[] = {0, 1, 3, 8, 20, 32, 64, 65};
  test_system system = make(k, 5);
  test_block B = test_block_make(k->n, 65, k->dtype, SPTRSM_COL_MAJOR, 1), X = test_block_make(k->n, 65, k->dtype, SPTRSM_COL_MAJOR, 0);
  test_block_fill(&B, 3);
  double factor[2];
  const void *alpha = alpha_of(factor, 2, k->dtype); /* no power of two, so the multiplication rounds, in whichever pass it takes place */
  solver s;
  if (solver_open(&s, &system, method, k->op, 1, 0)) {
    cr_assert_eq(solve(&s, alpha, &B, &X), SPTRSM_OK, "%s", sptrsm_last_error());
    for (int w = 0; w < LENGTH(widths); w++)
      for (int threads = 1; threads <= (CONFORMANCE_PLACE == SPTRSM_HOST ? 3 : 1); threads++)
        if (takes_way(kind, w, threads)) check_bits(k, &system, alpha, &B, &X, method, threads, widths[w]);
  }
  solver_close(&s);
  test_block_free(&X);
  test_block_free(&B);
  test_system_free(&system);
}

ParameterizedTestParameters(conformance, deterministic_methods_give_the_same_bits) { return conformance_subjects(CONFORMANCE_PLACE, true); }

ParameterizedTest(subject *method, conformance, deterministic_methods_give_the_same_bits) {
  for (int c = 0; c < LENGTH(shared_kinds); c++) check_deterministic(c, method->name);
  cr_assert_eq(failures, 0, "%s: %d failures, see above", method->name, failures);
}

static void check_repeats(const system_kind *k, const char *method) {
  test_system system = make(k, 9);
  test_block B = test_block_make(k->n, 7, k->dtype, SPTRSM_ROW_MAJOR, 0), X[2];
  test_block_fill(&B, 4);
  for (int x = 0; x < 2; x++) X[x] = test_block_make(k->n, 7, k->dtype, SPTRSM_COL_MAJOR, 0);
  solver s;
  if (solver_open(&s, &system, method, k->op, 3, 0))
    for (int run = 0; run < RUNS; run++) {
      cr_assert_eq(solve(&s, NULL, &B, &X[run > 0]), SPTRSM_OK, "%s", sptrsm_last_error());
      if (run > 0 && !test_block_same_bits(&X[0], &X[1])) report("%s: %s: run %d gave other bits", method, text(k), run + 1);
    }
  solver_close(&s);
  for (int x = 0; x < 2; x++) test_block_free(&X[x]);
  test_block_free(&B);
  test_system_free(&system);
}

ParameterizedTestParameters(conformance, many_runs_give_the_same_bits) { return conformance_subjects(CONFORMANCE_PLACE, true); }

ParameterizedTest(subject *method, conformance, many_runs_give_the_same_bits) {
  for (int c = 0; c < LENGTH(shared_kinds); c++) check_repeats(&shared_kinds[c], method->name);
  cr_assert_eq(failures, 0, "%s: %d failures, see above", method->name, failures);
}

/* ---- new values ---- */

static void check_new_values(int number, const subject *method) {
  system_kind k = system_at(number);
  test_system system = make(&k, 1), changed = make(&k, 1);
  test_system_new_values(&changed, 2);
  test_block B = test_block_make(k.n, 7, k.dtype, SPTRSM_ROW_MAJOR, 0), X = test_block_make(k.n, 7, k.dtype, SPTRSM_ROW_MAJOR, 0);
  test_block fresh = test_block_make(k.n, 7, k.dtype, SPTRSM_ROW_MAJOR, 0);
  const double one[2] = {1, 0};
  test_block_fill(&B, 8);
  solver old, anew = {0};
  if (solver_open(&old, &system, method->name, k.op, 2, 0) && solver_open(&anew, &changed, method->name, k.op, 2, 0)) {
    if (sptrsm_matrix_set_values(old.matrix, changed.T.val) != SPTRSM_OK || solve(&old, NULL, &B, &X) != SPTRSM_OK ||
        solve(&anew, NULL, &B, &fresh) != SPTRSM_OK)
      report("%s: system %d %s: %s", method->name, number, text(&k), sptrsm_last_error());
    else if (method->deterministic && !test_block_same_bits(&X, &fresh))
      report("%s: system %d %s: set_values then solve differs from a fresh plan", method->name, number, text(&k));
    else if (!(test_residual(&changed, k.op, one, &B, &X, -1) <= tolerance(k.dtype, method->name)))
      report("%s: system %d %s: wrong after set_values", method->name, number, text(&k));
  }
  solver_close(&old);
  solver_close(&anew);
  test_block_free(&fresh);
  test_block_free(&X);
  test_block_free(&B);
  test_system_free(&changed);
  test_system_free(&system);
}

ParameterizedTestParameters(conformance, new_values_are_as_a_fresh_plan) { return conformance_subjects(CONFORMANCE_PLACE, false); }

ParameterizedTest(subject *method, conformance, new_values_are_as_a_fresh_plan) {
  int small = system_count(LENGTH(small_orders));
  int checked = 0;
  for (int number = 0; number < small && failures < FAILURES_MAX; number += 11) { /* no divisor in common with any share */
    if (left_to_others(method, number)) continue;
    check_new_values(number, method);
    checked++;
  }
  cr_assert_eq(failures, 0, "%s: %d failures, see above", method->name, failures);
  cr_assert_gt(checked, 0);
}

/* ---- NaN and Inf ---- */

static void check_poison(int number, const char *method, double poison) {
  system_kind k = system_at(number);
  int64_t nrhs = 33, column = number % nrhs;
  int32_t row = k.n / 2;
  test_system system = make(&k, 3);
  test_block B = test_block_make(k.n, nrhs, k.dtype, SPTRSM_ROW_MAJOR, 0), X = test_block_make(k.n, nrhs, k.dtype, SPTRSM_COL_MAJOR, 0);
  const double one[2] = {1, 0};
  test_block_fill(&B, 6);
  test_block_set(&B, row, column, poison, 0.5);
  solver s;
  if (solver_open(&s, &system, method, k.op, 2, 0)) {
    double re = 0, im = 0;
    if (solve(&s, NULL, &B, &X) != SPTRSM_OK) report("%s: system %d %s: %s", method, number, text(&k), sptrsm_last_error());
    test_block_get(&re, &im, &X, row, column);
    if (isfinite(re) && isfinite(im))
      report("%s: system %d %s: %g in B(%d,%lld) was lost", method, number, text(&k), poison, row, (long long)column);
    if (!(test_residual(&system, k.op, one, &B, &X, column) <= tolerance(k.dtype, method)))
      report("%s: system %d %s: %g in column %lld of B spoiled another column", method, number, text(&k), poison, (long long)column);
  }
  solver_close(&s);
  test_block_free(&X);
  test_block_free(&B);
  test_system_free(&system);
}

ParameterizedTestParameters(conformance, a_nan_stays_in_its_column) { return conformance_subjects(CONFORMANCE_PLACE, false); }

ParameterizedTest(subject *method, conformance, a_nan_stays_in_its_column) {
  int small = system_count(LENGTH(small_orders));
  int checked = 0;
  for (int number = 0; number < small && failures < FAILURES_MAX; number += 7) {
    if (system_at(number).n == 0 || left_to_others(method, number)) continue;
    check_poison(number, method->name, number % 2 ? (double)NAN : (double)INFINITY);
    checked++;
  }
  cr_assert_eq(failures, 0, "%s: %d failures, see above", method->name, failures);
  cr_assert_gt(checked, 0);
}

/* The rows of the lower triangle, or of its transpose, that depend on an entry which is not finite, directly or
 * through other rows. */
static void find_touched(bool *touched, const test_system *system, int64_t poisoned, sptrsm_op op) {
  const sptrsm_sparse *T = &system->T;
  memset(touched, 0, (size_t)T->n * sizeof *touched);
  for (int32_t s = 0; s < T->n; s++) {
    const int32_t line = op == SPTRSM_N ? s : T->n - 1 - s;
    for (int64_t p = T->ptr[line]; p < T->ptr[line + 1]; p++) {
      const int32_t from = op == SPTRSM_N ? T->idx[p] : line, to = op == SPTRSM_N ? line : T->idx[p];
      touched[to] = touched[to] || touched[from] || p == poisoned;
    }
  }
}

/* X must be finite in all rows but those that depend on the entry. */
static void check_poisoned_entry(const system_kind *k, const char *method, double poison) {
  const int64_t nrhs = 9;
  test_system system = make(k, 3);
  const int64_t poisoned = system.T.ptr[k->n / 2 + 1] - 2; /* beside a diagonal */
  bool *touched = malloc((size_t)k->n * sizeof *touched);
  ((double *)system.T.val)[poisoned] = poison;
  cr_assert(touched);
  find_touched(touched, &system, poisoned, k->op);
  test_block B = test_block_make(k->n, nrhs, k->dtype, SPTRSM_ROW_MAJOR, 0), X = test_block_make(k->n, nrhs, k->dtype, SPTRSM_ROW_MAJOR, 0);
  test_block_fill(&B, 6);
  solver s;
  if (solver_open(&s, &system, method, k->op, 2, 0)) {
    if (solve(&s, NULL, &B, &X) != SPTRSM_OK) report("%s: %s: %s", method, text(k), sptrsm_last_error());
    for (int64_t i = 0; i < k->n * nrhs; i++) {
      double re, im;
      test_block_get(&re, &im, &X, (int32_t)(i / nrhs), i % nrhs);
      if ((isfinite(re) != 0) == touched[i / nrhs])
        report("%s: %s: %g in T: X(%d,%d) is %g", method, text(k), poison, (int)(i / nrhs), (int)(i % nrhs), re);
    }
  }
  solver_close(&s);
  test_block_free(&X);
  test_block_free(&B);
  test_system_free(&system);
  free(touched);
}

ParameterizedTestParameters(conformance, a_nan_of_the_matrix_stays_in_rows_that_need_it) {
  return conformance_subjects(CONFORMANCE_PLACE, false);
}

ParameterizedTest(subject *method, conformance, a_nan_of_the_matrix_stays_in_rows_that_need_it) {
  static const system_kind kinds[] = {{.pattern = TEST_GRID, .n = 33, .dtype = SPTRSM_F64},
                                      {.pattern = TEST_FULL, .n = 33, .dtype = SPTRSM_F64, .op = SPTRSM_T},
                                      {.pattern = TEST_RANDOM, .n = 33, .dtype = SPTRSM_F64, .op = SPTRSM_T},
                                      {.pattern = TEST_CHAIN, .n = 90, .dtype = SPTRSM_F64}};
  if (strcmp(method->name, "cusparse") == 0) return; /* NVIDIA's code decides */
  for (int c = 0; c < LENGTH(kinds); c++) check_poisoned_entry(&kinds[c], method->name, c % 2 ? (double)NAN : (double)INFINITY);
  cr_assert_eq(failures, 0, "%s: %d failures, see above", method->name, failures);
}
