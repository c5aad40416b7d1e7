/* smoke.c -- the life cycle of README's example on a 3 x 3 system with a known solution, every host method, both layouts. */
#include <criterion/criterion.h>

#include <sptrsm.h>

static const int64_t ptr[] = {0, 1, 3, 6};
static const int32_t idx[] = {0, 0, 1, 0, 1, 2};
static const double val[] = {2, 1, 4, -1, 3, 5};
/* X = [[1,2],[3,4],[5,6]]: B = L X */
static const double b[] = {2, 4, 13, 18, 33, 40}, expected[] = {1, 2, 3, 4, 5, 6};

static void solve_with(const char *method, sptrsm_layout layout) {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_options options;
  double B[6], X[6];
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++) B[layout == SPTRSM_ROW_MAJOR ? 2 * i + k : i + 3 * k] = b[2 * i + k];
  sptrsm_sparse L = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = 3, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_block rhs = {.data = B, .ld = layout == SPTRSM_ROW_MAJOR ? 2 : 3, .n = 3, .nrhs = 2, .dtype = SPTRSM_F64, .layout = layout};
  sptrsm_block solution = rhs;
  solution.data = X;
  sptrsm_options_init(&options);
  options.method = method;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &L, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &rhs, &solution), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++) {
      double x = X[layout == SPTRSM_ROW_MAJOR ? 2 * i + k : i + 3 * k];
      cr_assert(x == expected[2 * i + k], "%s: x(%d,%d) = %g, not %g", method, i, k, x, expected[2 * i + k]);
    }
  sptrsm_context_destroy(context); /* in the wrong order on purpose: objects keep what they need alive */
  sptrsm_matrix_destroy(matrix);
  sptrsm_plan_destroy(plan);
}

Test(smoke, every_host_method_solves) {
  int solved = 0;
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    cr_assert_eq(sptrsm_method_at(&info, m), SPTRSM_OK);
    if (info.place != SPTRSM_HOST) continue;
    solve_with(info.name, SPTRSM_ROW_MAJOR);
    solve_with(info.name, SPTRSM_COL_MAJOR);
    solved++;
  }
  cr_assert_gt(solved, 0);
  solve_with("auto", SPTRSM_ROW_MAJOR);
}
