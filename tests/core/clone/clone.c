/* clone.c -- matrices, plans and solvers of factor sets in another context: the same bits, the same analysis, and a life of their own. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sptrsm_multi.h>

#include "support/factor_set.h"
#include "support/oracle.h"

#ifndef CLONE_FROM
#define CLONE_FROM SPTRSM_HOST
#define CLONE_TO   SPTRSM_HOST
#endif

#ifndef CLONE_SHARE
#define CLONE_SHARE 1 /* every how many cases run; more on the emulator, which is slow */
#endif

#define ok(call) cr_assert_eq((call), SPTRSM_OK, "%s: %s", #call, sptrsm_last_error())

enum { ORDER = 300, COLUMNS = 9, SAME_PLACE = CLONE_FROM == CLONE_TO };

static const char *const host_methods[] = {"serial", "levelset", "block", "block:width=4,zeros=0", "tile-levelset", "auto"};
static const char *const cuda_methods[] = {"syncfree-csc", "levelset", "gather", "block", "auto"};
static const char *const both_methods[] = {"levelset", "block", "auto"};

static const char *method_at(size_t k) {
  const char *const *list = !SAME_PLACE ? both_methods : CLONE_FROM == SPTRSM_HOST ? host_methods : cuda_methods;
  const size_t count = !SAME_PLACE ? 3 : CLONE_FROM == SPTRSM_HOST ? 6 : 5;
  return k < count ? list[k] : NULL;
}

static bool left_out(void) {
  static int cases;
  return cases++ % CLONE_SHARE != 0;
}

static sptrsm_context *open_context(sptrsm_place place) {
  sptrsm_context *context;
  ok(sptrsm_context_create(&context, place, 0, NULL));
  ok(sptrsm_context_set_threads(context, 2));
  return context;
}

/* ---- one triangle ---- */

static test_block right_hand_sides(sptrsm_dtype dtype) {
  test_block B = test_block_make(ORDER, COLUMNS, dtype, SPTRSM_ROW_MAJOR, 1);
  test_block_fill(&B, 5);
  return B;
}

static test_block solve(const sptrsm_plan *plan, const test_block *B) {
  test_block X = test_block_copy(B);
  ok(sptrsm_solve(plan, NULL, NULL, &B->block, &X.block));
  return X;
}

static void expect_solves(const sptrsm_plan *plan, const test_system *system, sptrsm_op op, const char *what) {
  const double one[2] = {1, 0};
  test_block B = right_hand_sides(system->T.dtype), X = solve(plan, &B);
  const double residual = test_residual(system, op, one, &B, &X, -1);
  cr_assert(residual <= 100, "%s: residual %g", what, residual);
  test_block_free(&B);
  test_block_free(&X);
}

/* Where both work in one place, the bits are the same, if the method repeats its own. */
static void expect_same_bits(const sptrsm_plan *a, const sptrsm_plan *b, sptrsm_dtype dtype, const char *what) {
  sptrsm_info info = {.size = sizeof info};
  ok(sptrsm_plan_info(&info, a));
  if (!info.deterministic) return;
  test_block B = right_hand_sides(dtype), X = solve(a, &B), Y = solve(b, &B);
  cr_assert(test_block_same_bits(&X, &Y), "%s: bits differ", what);
  test_block_free(&B);
  test_block_free(&X);
  test_block_free(&Y);
}

static void expect_same_info(const sptrsm_plan *a, const sptrsm_plan *b, const char *what) {
  sptrsm_info x = {.size = sizeof x}, y = {.size = sizeof y};
  ok(sptrsm_plan_info(&x, a));
  ok(sptrsm_plan_info(&y, b));
  cr_assert_str_eq(x.method, y.method, "%s", what);
  cr_assert_str_eq(x.parameters, y.parameters, "%s", what);
  cr_assert_str_eq(x.reason, y.reason, "%s", what);
  cr_assert(x.levels == y.levels && x.panel == y.panel && x.nnz == y.nnz && x.op == y.op, "%s", what);
}

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
} solver;

static solver open_solver(const test_system *system, const char *method, sptrsm_op op, sptrsm_copy_mode mode) {
  solver s;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.op = op;
  s.context = open_context(CLONE_FROM);
  ok(sptrsm_matrix_create(&s.matrix, s.context, &system->T, mode));
  ok(sptrsm_plan_create(&s.plan, s.matrix, &options));
  return s;
}

static solver clone_solver(const solver *from) {
  solver s = {.context = open_context(CLONE_TO)};
  ok(sptrsm_matrix_clone(&s.matrix, s.context, from->matrix));
  ok(sptrsm_plan_clone(&s.plan, s.matrix, from->plan));
  return s;
}

static void close_solver(solver *s) {
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  sptrsm_context_destroy(s->context);
}

/* The clone solves, outlives the original, and follows its own new values and no others. */
static void try_clone(test_system *system, const char *method, sptrsm_op op, sptrsm_copy_mode mode) {
  char what[160];
  snprintf(what, sizeof what, "method %s, op %d, type %d, diagonal %s, mode %d", method, (int)op, (int)system->T.dtype,
           test_diag_names[system->diag], (int)mode);
  solver a = open_solver(system, method, op, mode), b = clone_solver(&a);
  if (SAME_PLACE) expect_same_bits(a.plan, b.plan, system->T.dtype, what);
  if (SAME_PLACE) expect_same_info(a.plan, b.plan, what);
  expect_solves(b.plan, system, op, what);
  test_system other = test_system_make(TEST_TREE, ORDER, system->T.format, system->T.dtype, system->T.uplo, system->diag, 9);
  test_system_new_values(&other, 31);
  ok(sptrsm_matrix_set_values(b.matrix, other.T.val));
  expect_solves(b.plan, &other, op, what);
  expect_solves(a.plan, system, op, what);
  close_solver(&a);
  expect_solves(b.plan, &other, op, what);
  close_solver(&b);
  test_system_free(&other);
}

Test(clone, a_plan_in_another_context_has_the_same_bits_and_its_own_values) {
  for (size_t m = 0; method_at(m); m++)
    for (int type = SPTRSM_F32; type <= SPTRSM_C128; type++)
      for (int op = SPTRSM_N; op <= SPTRSM_T; op++)
        for (int uplo = SPTRSM_LOWER; uplo <= SPTRSM_UPPER; uplo++) {
          if (left_out()) continue;
          test_system system =
              test_system_make(TEST_TREE, ORDER, uplo ? SPTRSM_CSC : SPTRSM_CSR, (sptrsm_dtype)type, (sptrsm_uplo)uplo, TEST_NONUNIT, 9);
          try_clone(&system, method_at(m), (sptrsm_op)op, SPTRSM_COPY);
          test_system_free(&system);
        }
}

Test(clone, diagonals_that_are_not_stored_and_arrays_that_are_borrowed) {
  for (size_t m = 0; method_at(m); m++)
    for (int diag = 0; diag < TEST_DIAGS; diag++)
      for (int mode = SPTRSM_COPY; mode <= SPTRSM_BORROW; mode++) {
        if (left_out()) continue;
        test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, (test_diag)diag, 9);
        try_clone(&system, method_at(m), SPTRSM_N, (sptrsm_copy_mode)mode);
        test_system_free(&system);
      }
}

/* What `auto` chose for another place is of no use there: the clone is the plan that `auto` makes. */
Test(clone, auto_chooses_anew_in_another_place, .disabled = SAME_PLACE) {
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  solver a = open_solver(&system, "auto", SPTRSM_N, SPTRSM_COPY), b = clone_solver(&a);
  sptrsm_plan *fresh;
  sptrsm_info cloned = {.size = sizeof cloned}, made = {.size = sizeof made};
  ok(sptrsm_plan_create(&fresh, b.matrix, NULL));
  ok(sptrsm_plan_info(&cloned, b.plan));
  ok(sptrsm_plan_info(&made, fresh));
  cr_assert(strcmp(cloned.method, made.method) == 0 && strcmp(cloned.reason, made.reason) == 0, "%s (%s), not %s (%s)", cloned.method,
            cloned.reason, made.method, made.reason);
  sptrsm_plan_destroy(fresh);
  close_solver(&a);
  close_solver(&b);
  test_system_free(&system);
}

/* Is it a plan whose panels several threads share? */
static bool is_shared(const sptrsm_plan *plan) {
  sptrsm_info info = {.size = sizeof info};
  ok(sptrsm_plan_info(&info, plan));
  return strstr(info.parameters, "team=") && !strstr(info.parameters, "team=1 ") &&
         !strstr(info.parameters + strlen(info.parameters) - 6, "team=1");
}

/* Large enough that several threads share a panel, by levels, and by trees in both orientations of supernodes. */
Test(clone, schedules_come_along) {
  enum { LARGE = 60000 };
  static const struct {
    const char *method;
    test_pattern pattern;
    sptrsm_op op;
  } cases[] = {{"levelset", TEST_LAYERED, SPTRSM_N},
               {"levelset", TEST_TREE, SPTRSM_N},
               {"block", TEST_TREE, SPTRSM_N},
               {"block", TEST_TREE, SPTRSM_T}};
  if (CLONE_FROM != SPTRSM_HOST || !SAME_PLACE) return;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    test_system system = test_system_make(cases[c].pattern, LARGE, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3);
    solver a = open_solver(&system, cases[c].method, cases[c].op, SPTRSM_COPY), b = clone_solver(&a);
    cr_assert(is_shared(a.plan), "case %zu", c);
    expect_same_info(a.plan, b.plan, cases[c].method);
    test_block B = test_block_make(LARGE, 1, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0), X, Y;
    test_block_fill(&B, 8);
    X = solve(a.plan, &B), Y = solve(b.plan, &B);
    cr_assert(test_block_same_bits(&X, &Y), "case %zu: bits differ", c);
    test_block_free(&B);
    test_block_free(&X);
    test_block_free(&Y);
    close_solver(&a);
    close_solver(&b);
    test_system_free(&system);
  }
}

/* A plan may also be cloned for a matrix that has had new values since it was cloned, or that was never a clone. All values differ, or the
 * last one alone. */
Test(clone, a_plan_takes_the_values_of_the_matrix_that_it_is_cloned_for) {
  for (size_t k = 0; method_at(k / 2); k++) {
    const size_t m = k / 2;
    test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
    test_system other = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
    if (k % 2 == 0) test_system_new_values(&other, 4);
    else ((double *)other.T.val)[other.T.ptr[ORDER] - 1] *= 2;
    solver a = open_solver(&system, method_at(m), SPTRSM_N, SPTRSM_COPY), b = {.context = open_context(CLONE_TO)};
    ok(sptrsm_matrix_create(&b.matrix, b.context, &other.T, SPTRSM_COPY));
    ok(sptrsm_plan_clone(&b.plan, b.matrix, a.plan));
    expect_solves(b.plan, &other, SPTRSM_N, method_at(m));
    close_solver(&a);
    close_solver(&b);
    test_system_free(&system);
    test_system_free(&other);
  }
}

Test(clone, empty_and_refused) {
  sptrsm_plan *plan = NULL;
  sptrsm_matrix *matrix = NULL;
  test_system none = test_system_make(TEST_DIAGONAL, 0, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 1);
  test_system tree = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  test_system chain = test_system_make(TEST_CHAIN, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  solver a = open_solver(&none, "levelset", SPTRSM_N, SPTRSM_COPY), b = clone_solver(&a);
  solver c = open_solver(&tree, "levelset", SPTRSM_N, SPTRSM_COPY), d = open_solver(&chain, "levelset", SPTRSM_N, SPTRSM_COPY);
  cr_assert_eq(sptrsm_plan_clone(&plan, a.matrix, c.plan), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "differs from the plan's in order"), "%s", sptrsm_last_error());
  if (CLONE_FROM == SPTRSM_HOST) {
    cr_assert_eq(sptrsm_plan_clone(&plan, d.matrix, c.plan), SPTRSM_ERR_ARGUMENT);
    cr_assert(strstr(sptrsm_last_error(), "another pattern"), "%s", sptrsm_last_error());
  }
  cr_assert_eq(sptrsm_plan_clone(NULL, c.matrix, c.plan), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_plan_clone(&plan, NULL, c.plan), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_plan_clone(&plan, c.matrix, NULL), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_matrix_clone(NULL, c.context, c.matrix), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_matrix_clone(&matrix, NULL, c.matrix), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_matrix_clone(&matrix, c.context, NULL), SPTRSM_ERR_ARGUMENT);
  cr_assert(!plan && !matrix);
  solver *all[] = {&a, &b, &c, &d};
  for (int s = 0; s < 4; s++) close_solver(all[s]);
  test_system_free(&none);
  test_system_free(&tree);
  test_system_free(&chain);
}

/* ---- factor sets ---- */

enum { NRHS = 5 };

typedef struct {
  double x[2 * N * NRHS];
} solution;

static solution solve_set(sptrsm_direct *d, sptrsm_system system, sptrsm_dtype t) {
  double b[2 * N * NRHS] = {0};
  solution s = {{0}};
  for (int i = 0; i < N * NRHS; i++) put(b, i, t, CMPLX(1 + i % 7, is_complex(t) ? i % 5 : 0));
  sptrsm_block B = {.data = b, .ld = NRHS, .n = N, .nrhs = NRHS, .dtype = t}, X = B;
  X.data = s.x;
  ok(sptrsm_direct_solve(d, system, SPTRSM_N, NULL, &B, &X));
  return s;
}

static sptrsm_direct *open_set(sptrsm_context *context, const factor_set *s, bool mixed) {
  sptrsm_direct *d;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "levelset";
  options.precision = mixed ? SPTRSM_MIXED : SPTRSM_WORKING;
  ok(sptrsm_direct_create(&d, context, &s->f, &options));
  return d;
}

static const sptrsm_system systems[] = {SPTRSM_SYS_A, SPTRSM_SYS_Aat, SPTRSM_SYS_At, SPTRSM_SYS_L, SPTRSM_SYS_P};

/* Bits of one place and another may differ. */
static void expect_equal(const solution *a, const solution *b, sptrsm_dtype t, const char *what) {
  if (SAME_PLACE) cr_assert(memcmp(a, b, sizeof *a) == 0, "%s: bits differ", what);
  for (int i = 0; i < N * NRHS; i++) {
    const double error = cabs(get(a->x, i, t) - get(b->x, i, t)), size = cabs(get(a->x, i, t));
    cr_assert(error <= (is_single(t) ? 1e-3 : 1e-9) * (1 + size), "%s: element %d differs by %g of %g", what, i, error, size);
  }
}

static void try_set(factor_set *s, const recipe *r, sptrsm_dtype t, bool mixed) {
  const sptrsm_dtype kept = !mixed ? t : t == SPTRSM_F64 ? SPTRSM_F32 : SPTRSM_C64;
  sptrsm_context *here = open_context(CLONE_FROM), *there = open_context(CLONE_TO);
  build_factor_set(s, r, t);
  sptrsm_direct *a = open_set(here, s, mixed), *b;
  solution before[5], after;
  for (int k = 0; k < 5; k++) before[k] = solve_set(a, systems[k], kept);
  ok(sptrsm_direct_clone(&b, there, a));
  for (int p = 0; s->f.D && p < N; p++) put(s->D, p, t, get(s->D, p, t) * 2);
  for (int64_t p = 0; p < s->L.ptr[N]; p++) put(s->L.val, p, t, get(s->L.val, p, t) * 0.5);
  ok(sptrsm_direct_set_values(a, s->L.val, s->f.D, NULL, NULL));
  after = solve_set(a, SPTRSM_SYS_L, kept);
  cr_assert(memcmp(&after, &before[3], sizeof after) != 0, "%s: new values change nothing", r->name);
  sptrsm_direct_destroy(a);
  for (int k = 0; k < 5; k++) {
    const solution x = solve_set(b, systems[k], kept);
    expect_equal(&before[k], &x, kept, r->name);
  }
  ok(sptrsm_direct_set_values(b, s->L.val, s->f.D, NULL, NULL));
  const solution x = solve_set(b, SPTRSM_SYS_L, kept);
  expect_equal(&after, &x, kept, r->name);
  sptrsm_direct_destroy(b);
  sptrsm_context_destroy(here);
  sptrsm_context_destroy(there);
}

Test(clone, factor_sets) {
  static factor_set s;
  for (int r = 0; r < RECIPES; r++)
    for (int type = SPTRSM_F32; type <= SPTRSM_C128; type++)
      if (recipes[r].has_U && !left_out()) try_set(&s, &recipes[r], (sptrsm_dtype)type, false);
}

Test(clone, factor_sets_in_mixed_precision) {
  static factor_set s;
  for (int r = 0; r < RECIPES; r++)
    for (int type = 0; type < 2; type++)
      if (recipes[r].has_U && !left_out()) try_set(&s, &recipes[r], type ? SPTRSM_C128 : SPTRSM_F64, true);
}
