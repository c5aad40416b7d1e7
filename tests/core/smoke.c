/* smoke.c -- the calls of the README's example on a 3 x 3 system with a known solution: every host method, both
 * layouts. */
#include <criterion/criterion.h>
#include <stdlib.h>

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
  sptrsm_context_destroy(context); /* in the wrong order on purpose: objects retain what they need */
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

/* x = b / t for a 1 x 1 matrix, or through D of a 1 x 1 factor set. */
static void divide_by(double re, double im, const char *method, int through_D) {
  static const int64_t one_ptr[] = {0, 1};
  static const int32_t one_idx[] = {0};
  const double t[2] = {re, im}, unit[2] = {1, 0}, rhs[2] = {3 * re - im, re + 3 * im}; /* (3 + i) t */
  double x[2] = {0, 0};
  sptrsm_sparse T = {.format = SPTRSM_CSR, .dtype = SPTRSM_C128, .uplo = SPTRSM_LOWER, .n = 1, .ptr = one_ptr, .idx = one_idx};
  T.val = through_D ? unit : t;
  sptrsm_block B = {.data = (void *)rhs, .ld = 1, .n = 1, .nrhs = 1, .dtype = SPTRSM_C128}, X = B;
  X.data = x;
  sptrsm_context *context;
  sptrsm_matrix *matrix = NULL;
  sptrsm_plan *plan = NULL;
  sptrsm_direct *direct = NULL;
  sptrsm_options options;
  sptrsm_factors factors;
  sptrsm_options_init(&options);
  sptrsm_factors_init(&factors);
  options.method = method;
  factors.L = &T;
  factors.u_kind = SPTRSM_U_IS_LT;
  factors.D = t;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  if (through_D) {
    cr_assert_eq(sptrsm_direct_create(&direct, context, &factors, &options), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_direct_solve(direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X), SPTRSM_OK, "%s", sptrsm_last_error());
  } else {
    cr_assert_eq(sptrsm_matrix_create(&matrix, context, &T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B, &X), SPTRSM_OK, "%s", sptrsm_last_error());
  }
  cr_assert(x[0] > 2.999999 && x[0] < 3.000001 && x[1] > 0.999999 && x[1] < 1.000001, "%s, %g%+gi, D %d: x = %g%+gi", method, re, im,
            through_D, x[0], x[1]);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_direct_destroy(direct);
  sptrsm_context_destroy(context);
}

/* Squares of these leave the range of a double: a quotient by the plain formula would be NaN. */
Test(smoke, complex_diagonals_at_the_ends_of_the_range) {
  static const char *const methods[] = {"serial", "levelset"};
  static const double sizes[] = {1e-170, 1e-300, 1e170, 1e306};
  for (int m = 0; m < 2; m++)
    for (int s = 0; s < 4; s++) {
      divide_by(sizes[s], sizes[s], methods[m], 0);
      divide_by(sizes[s], -sizes[s], methods[m], 1);
      divide_by(0.25 * sizes[s], sizes[s], methods[m], 0);
    }
}

/* B and X as columns of one larger row-major block: no element is shared, so it is allowed; one column in common is
 * not. */
Test(smoke, blocks_side_by_side) {
  double both[3 * 5] = {0};
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_sparse L = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = 3, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_block B = {.data = both, .ld = 5, .n = 3, .nrhs = 2, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR}, X = B;
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++) both[5 * i + k] = b[2 * i + k];
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &L, SPTRSM_COPY), SPTRSM_OK);
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, NULL), SPTRSM_OK);
  X.data = both + 1;
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B, &X), SPTRSM_ERR_ARGUMENT);
  X.data = both + 3;
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B, &X), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++) cr_assert(both[5 * i + 3 + k] == expected[2 * i + k] && both[5 * i + k] == b[2 * i + k]);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

/* ---- a row-major X of more than 32 MiB, whose lines are written past the caches ---- */

enum { LARGE_N = 20000, LARGE_NRHS = 211, LARGE_LD = 213 };

static double large_at(int32_t i, int64_t k) { return 1 + i % 97 + 100.0 * (double)k; }

/* X = B / 2, from the `shift`-th element of its memory on; what lies before it and between its rows stays. */
static void solve_large(const sptrsm_plan *plan, const double *B, double *memory, int shift) {
  const int64_t all = (int64_t)LARGE_N * LARGE_LD + shift;
  sptrsm_block rhs = {.data = (void *)B, .ld = LARGE_LD, .n = LARGE_N, .nrhs = LARGE_NRHS, .dtype = SPTRSM_F64}, X = rhs;
  X.data = memory + shift;
  for (int64_t e = 0; e < all; e++) memory[e] = -7;
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &rhs, &X), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int64_t e = 0; e < all; e++) {
    const int64_t i = (e - shift) / LARGE_LD, k = (e - shift) % LARGE_LD;
    const double wanted = e < shift || k >= LARGE_NRHS ? -7 : large_at((int32_t)i, k) / 2;
    cr_assert(memory[e] == wanted, "shift %d: x(%d,%d) = %g, not %g", shift, (int)i, (int)k, memory[e], wanted);
  }
}

Test(smoke, large_row_major_blocks) {
  static int64_t diagonal_ptr[LARGE_N + 1];
  static int32_t diagonal_idx[LARGE_N];
  static double twos[LARGE_N];
  double *B = malloc(sizeof(double) * LARGE_N * LARGE_LD), *memory = malloc(sizeof(double) * (LARGE_N * LARGE_LD + 8));
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  cr_assert(B && memory);
  for (int32_t i = 0; i < LARGE_N; i++) {
    diagonal_ptr[i + 1] = i + 1, diagonal_idx[i] = i, twos[i] = 2;
    for (int64_t k = 0; k < LARGE_NRHS; k++) B[(int64_t)i * LARGE_LD + k] = large_at(i, k);
  }
  const sptrsm_sparse T = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .n = LARGE_N, .ptr = diagonal_ptr, .idx = diagonal_idx, .val = twos};
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &T, SPTRSM_BORROW), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int threads = 1; threads <= 2; threads++) {
    cr_assert_eq(sptrsm_context_set_threads(context, threads), SPTRSM_OK);
    for (int shift = 0; shift < 8; shift += 3) solve_large(plan, B, memory, shift);
  }
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  free(B);
  free(memory);
}
