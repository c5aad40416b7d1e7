/* p, q and select of syncfree-csc through the library's public functions on the emulated GPU: parameters in the method's name go before
 * the options of the same names, and these before the values for the device. */
#include <criterion/criterion.h>

#include <string.h>

#include "simt/emulator/emulated_gpu.h"
#include "support/oracle.h"

enum { N = 40, NRHS = 5, LARGE = 32769 };

typedef struct {
  const char *method;
  sptrsm_select select;
  int32_t p, q;
  const char *expected; /* how the plan's parameters begin */
  int32_t n;            /* of a diagonal matrix; 0: a random one */
} parameter_case;

static const parameter_case cases[] = {
    {"syncfree-csc", SPTRSM_SELECT_ADAPTIVE, 0, 0, "select=adaptive p=8 q=8192 ", 0},
    {"syncfree-csc", SPTRSM_SELECT_RHS, 3, 5, "select=rhs p=3 q=5 ", 0},
    {"syncfree-csc:p=7,q=9,select=column", SPTRSM_SELECT_ADAPTIVE, 0, 0, "select=column p=7 q=9 ", 0},
    {"syncfree-csc:select=rhs", SPTRSM_SELECT_COLUMN, 3, 0, "select=rhs p=3 q=8192 ", 0},
    {"syncfree-csc:select=adaptive,q=9", SPTRSM_SELECT_COLUMN, 3, 5, "select=adaptive p=3 q=9 ", 0},
    {"syncfree-csc:p=2147483647,ready=1", SPTRSM_SELECT_RHS, 3, 5, "select=rhs p=2147483647 q=5 ", 0},
};

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  test_system system;
} opened;

static sptrsm_status open_plan(opened *o, const parameter_case *c) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = c->method;
  options.select = c->select;
  options.p = c->p;
  options.q = c->q;
  *o = (opened){.system = test_system_make(c->n ? TEST_DIAGONAL : TEST_RANDOM, c->n ? c->n : N, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER,
                                           TEST_NONUNIT, 3)};
  cr_assert_eq(sptrsm_context_create(&o->context, SPTRSM_CUDA, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&o->matrix, o->context, &o->system.T, SPTRSM_COPY), SPTRSM_OK);
  return sptrsm_plan_create(&o->plan, o->matrix, &options);
}

static void close_plan(opened *o) {
  sptrsm_plan_destroy(o->plan);
  sptrsm_matrix_destroy(o->matrix);
  sptrsm_context_destroy(o->context);
  test_system_free(&o->system);
}

static void expect_solves(const opened *o, const char *method) {
  static const double one[2] = {1, 0};
  sptrsm_workspace *workspace;
  test_block B = test_block_make(N, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0), X = test_block_make(N, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
  test_block_fill(&B, 1);
  cr_assert_eq(sptrsm_workspace_create(&workspace, o->plan, 0), SPTRSM_OK);
  cr_assert_eq(sptrsm_solve(o->plan, workspace, NULL, &B.block, &X.block), SPTRSM_OK);
  cr_assert_eq(sptrsm_context_sync(o->context), SPTRSM_OK);
  const double residual = test_residual(&o->system, SPTRSM_N, one, &B, &X, -1);
  cr_assert(residual <= 1, "%s: residual %g bounds", method, residual);
  sptrsm_workspace_destroy(workspace);
  test_block_free(&B);
  test_block_free(&X);
}

Test(simt_syncfree_csc_parameters, names_and_options) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const parameter_case *c = &cases[i];
    sptrsm_info info = {.size = sizeof info};
    opened o;
    cr_assert_eq(open_plan(&o, c), SPTRSM_OK, "%s: %s", c->method, sptrsm_last_error());
    cr_assert_eq(sptrsm_plan_info(&info, o.plan), SPTRSM_OK);
    cr_assert_eq(strncmp(info.parameters, c->expected, strlen(c->expected)), 0, "%s: %s, not %s", c->method, info.parameters, c->expected);
    expect_solves(&o, c->method);
    close_plan(&o);
  }
}

/* One by one: a launch for each right-hand side beside the one that clears counters. */
static int64_t launches_of(const opened *o, int32_t nrhs) {
  const int64_t before = emulated_gpu_launches;
  test_block X = test_block_make(o->system.T.n, nrhs, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
  cr_assert_eq(sptrsm_solve(o->plan, NULL, NULL, &X.block, &X.block), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_context_sync(o->context), SPTRSM_OK);
  test_block_free(&X);
  return emulated_gpu_launches - before;
}

Test(simt_syncfree_csc_parameters, few_right_hand_sides_go_one_by_one) {
  static const struct {
    parameter_case c; /* expected: how its parameters end */
    int most;         /* right-hand sides that go one by one */
  } forms[] = {{{"syncfree-csc", .expected = "order=natural parts=0 one=values"}, 3},
               {{"syncfree-csc:singly=1", .expected = "order=natural parts=0 one=values"}, 1},
               {{"syncfree-csc:singly=0", .expected = "order=natural parts=0 one=as-block"}, 0},
               {{"syncfree-csc:select=rhs", .expected = "order=natural parts=0 one=as-block"}, 0},
               {{"syncfree-csc:ready=1", .expected = "order=ready parts=0 one=as-block"}, 0},
               {{"syncfree-csc:ready=1,two=0", .expected = "order=ready parts=0 one=global"}, 3},
               {{"syncfree-csc", .expected = "order=ready parts=0 one=values", .n = LARGE}, 1}};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    sptrsm_info info = {.size = sizeof info};
    opened o;
    cr_assert_eq(open_plan(&o, &forms[i].c), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_plan_info(&info, o.plan), SPTRSM_OK);
    cr_assert(strstr(info.parameters, forms[i].c.expected), "%s: %s", forms[i].c.method, info.parameters);
    const int64_t once = launches_of(&o, 1);
    for (int32_t nrhs = 2; nrhs <= 4 && (nrhs == 2 || !forms[i].c.n); nrhs++) {
      const int64_t more = launches_of(&o, nrhs) - once;
      cr_assert_eq(more > 0, nrhs <= forms[i].most, "case %zu: %d right-hand sides take %d more launches than one", i, nrhs, (int)more);
    }
    close_plan(&o);
  }
}

Test(simt_syncfree_csc_parameters, refused) {
  static const parameter_case bad[] = {
      {"syncfree-csc:p=0", .expected = "syncfree-csc: p=0 is not in 1..2147483647"},
      {"syncfree-csc:q=-1", .expected = "syncfree-csc: q=-1 is not in 1..2147483647"},
      {"syncfree-csc:select=columns", .expected = "syncfree-csc: select=columns; known are adaptive, rhs, column"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    opened o;
    cr_assert_eq(open_plan(&o, &bad[i]), SPTRSM_ERR_ARGUMENT, "%s", bad[i].method);
    cr_assert_str_eq(sptrsm_last_error(), bad[i].expected);
    close_plan(&o);
  }
}
