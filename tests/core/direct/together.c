/* together.c -- sptrsm_direct on the host: L and U that are large enough are analysed at the same time by two threads, with the result that
 * one thread has, and errors are those of one thread, too. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/oracle.h"
#include "support/solver.h"

enum { ORDER = 25000, NRHS = 3 };

typedef struct {
  test_system L, U;
  sptrsm_factors f;
} pair;

/* Both have more entries than an analysis by two threads needs, and not the same number. */
static void open_pair(pair *p, test_pattern lower, test_pattern upper) {
  p->L = test_system_make(lower, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_UNIT_IMPLICIT, 5);
  p->U = test_system_make(upper, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_UPPER, TEST_NONUNIT, 6);
  cr_assert_geq(p->L.T.ptr[ORDER], 50000 + ORDER);
  cr_assert_geq(p->U.T.ptr[ORDER], 50000 + ORDER);
  sptrsm_factors_init(&p->f);
  p->f.L = &p->L.T, p->f.U = &p->U.T;
}

static void close_pair(pair *p) {
  test_system_free(&p->L);
  test_system_free(&p->U);
}

static sptrsm_context *open_context(int threads) {
  sptrsm_context *context;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_context_set_threads(context, threads), SPTRSM_OK);
  return context;
}

/* values: new ones of L, or NULL. */
static void solve_with(double *x, const pair *p, const sptrsm_options *options, int threads, const double *values) {
  sptrsm_context *context = open_context(threads);
  sptrsm_direct *d;
  cr_assert_eq(sptrsm_direct_create(&d, context, &p->f, options), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_context_destroy(context);
  if (values) cr_assert_eq(sptrsm_direct_set_values(d, values, NULL, NULL, NULL), SPTRSM_OK);
  for (int i = 0; i < ORDER * NRHS; i++) x[i] = 1 + i % 7;
  sptrsm_block X = {.data = x, .ld = NRHS, .n = ORDER, .nrhs = NRHS, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR};
  cr_assert_eq(sptrsm_direct_solve(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &X, &X), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_direct_destroy(d);
}

static void solve(double *x, const pair *p, const sptrsm_options *options, int threads) { solve_with(x, p, options, threads, NULL); }

Test(direct_together, the_bits_of_one_thread) {
  static const char *const methods[] = {NULL, "block", "levelset"};
  static double one[ORDER * NRHS], two[ORDER * NRHS];
  for (int larger = 0; larger < 2; larger++) { /* L or U */
    pair p;
    open_pair(&p, larger ? TEST_RANDOM : TEST_TREE, larger ? TEST_TREE : TEST_RANDOM);
    for (int m = 0; m < 3; m++) {
      sptrsm_options options;
      sptrsm_options_init(&options);
      options.method = methods[m];
      solve(one, &p, &options, 1);
      solve(two, &p, &options, 2);
      cr_assert(memcmp(one, two, sizeof one) == 0, "%s: bits differ", methods[m] ? methods[m] : "auto");
    }
    close_pair(&p);
  }
}

/* Both plans may want the lines that are not stored, and both follow new values. */
Test(direct_together, both_from_one_matrix) {
  static const char *const methods[] = {NULL, "block", "levelset"};
  static double one[ORDER * NRHS], two[ORDER * NRHS];
  sptrsm_options options;
  sptrsm_options_init(&options);
  for (int kind = 0; kind < 4; kind++) {
    pair p = {.L = test_system_make(kind & 1 ? TEST_TREE : TEST_RANDOM, ORDER, kind & 2 ? SPTRSM_CSR : SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER,
                                    TEST_NONUNIT, 5)};
    const int64_t nnz = p.L.T.ptr[ORDER];
    double *values = malloc((size_t)nnz * sizeof *values);
    cr_assert(values && nnz >= 50000);
    for (int64_t e = 0; e < nnz; e++) values[e] = 2 * ((const double *)p.L.T.val)[e];
    sptrsm_factors_init(&p.f);
    p.f.L = &p.L.T, p.f.u_kind = SPTRSM_U_IS_LT;
    for (int run = 0; run < 6; run++) {
      options.method = methods[run / 2];
      solve_with(one, &p, &options, 1, run & 1 ? values : NULL);
      solve_with(two, &p, &options, 2, run & 1 ? values : NULL);
      cr_assert(memcmp(one, two, sizeof one) == 0, "run %d: bits differ", run);
    }
    free(values);
    test_system_free(&p.L);
  }
}

/* `block` needs no values of transposed lines; `levelset`, made later, does, and then new values reach both. */
Test(direct_together, values_of_transposed_lines_come_when_they_are_needed) {
  static double x[ORDER], known[ORDER];
  test_system s = test_system_make(TEST_TREE, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 5);
  const int64_t nnz = s.T.ptr[ORDER];
  double *values = malloc((size_t)nnz * sizeof *values);
  cr_assert_not_null(values);
  sptrsm_context *context = open_context(2);
  sptrsm_matrix *matrix;
  sptrsm_plan *plan[2];
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &s.T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int step = 0; step < 4; step++) {
    sptrsm_options options;
    sptrsm_options_init(&options);
    options.op = SPTRSM_T;
    options.method = step == 0 ? "block" : "levelset";
    if (step % 2 == 0) cr_assert_eq(sptrsm_plan_create(&plan[step / 2], matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
    for (int64_t e = 0; e < nnz; e++) values[e] = (2 + step) * ((const double *)s.T.val)[e];
    cr_assert_eq(sptrsm_matrix_set_values(matrix, values), SPTRSM_OK, "%s", sptrsm_last_error());
    sptrsm_sparse T = s.T;
    T.val = values;
    for (int p = 0; p <= step / 2; p++) {
      for (int i = 0; i < ORDER; i++) x[i] = known[i] = 1 + i % 7;
      sptrsm_block X = {.data = x, .ld = 1, .n = ORDER, .nrhs = 1, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR}, Y = X;
      Y.data = known;
      test_solve(&T, &(test_choice){.method = p == 0 ? "block" : "levelset", .op = SPTRSM_T, .threads = 1}, &Y, &Y);
      cr_assert_eq(sptrsm_solve(plan[p], NULL, NULL, &X, &X), SPTRSM_OK, "%s", sptrsm_last_error());
      cr_assert(memcmp(x, known, sizeof x) == 0, "step %d, plan %d: other bits than with a new matrix", step, p);
    }
  }
  for (int p = 0; p < 2; p++) sptrsm_plan_destroy(plan[p]);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  free(values);
  test_system_free(&s);
}

static void expect_refused(const pair *p, const sptrsm_options *options, sptrsm_status status, const char *text) {
  sptrsm_context *context = open_context(2);
  sptrsm_direct *d;
  cr_assert_eq(sptrsm_direct_create(&d, context, &p->f, options), status, "%s", sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), text), "%s", sptrsm_last_error());
  sptrsm_context_destroy(context);
}

Test(direct_together, errors_of_another_thread) {
  pair p;
  sptrsm_options options;
  sptrsm_options_init(&options);
  open_pair(&p, TEST_RANDOM, TEST_TREE);
  options.method = "no-such-method";
  expect_refused(&p, &options, SPTRSM_ERR_ARGUMENT, "L: unknown method \"no-such-method\"");
  options.method = "block";
  options.memory_limit = 1;
  expect_refused(&p, &options, SPTRSM_ERR_MEMORY, "L: a workspace for 1 right-hand side takes");
  close_pair(&p);
}
