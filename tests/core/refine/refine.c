/* refine.c -- iterative refinement with deliberately inexact factors; results are checked by residuals in long double and by known
 * solutions. */
#include <sptrsm_refine.h>

#include "core/refine/refine_case.h"

TestSuite(refine, .init = open_context, .fini = close_context);

/* ---- dgerfs ---- */

static void try_system(sptrsm_direct *d, const original *A, sptrsm_system system, sptrsm_op op, int turn, const char *what) {
  static block B, X;
  double berr[NRHS], alpha_data[2];
  int32_t steps[NRHS];
  sptrsm_dtype t = A->A.dtype;
  double u = u_of(t);
  double complex alpha = turn % 3 == 0 ? 1 : is_complex(t) ? CMPLX(-0.5, 2) : -0.5;
  mat S = system_of(&A->dense, system, op);
  make_block(&B, turn & 1 ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR, NRHS, turn % 4, t);
  make_block(&X, turn & 2 ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR, NRHS, 3 - turn % 4, t);
  draw(&B);
  put(alpha_data, 0, t, alpha);
  const void *given = alpha == 1 ? NULL : alpha_data;
  sptrsm_refine_options options;
  sptrsm_refine_options_init(&options);
  options.solve = 1;
  options.max_steps = 0;
  sptrsm_refine_result result = {.size = sizeof result, .berr = berr, .steps = steps};
  OK(refine_at(turn, d, system, op, given, &B, &X, &options, &result));
  check_columns(&S, alpha, &B, &X, berr, 1, what);
  cr_assert(result.max_berr > 100 * u && result.unconverged > 0, "%s: the factors are too good: %g", what, result.max_berr);
  options.solve = 0;
  options.max_steps = 12;
  OK(refine_at(turn >> 1, d, system, op, given, &B, &X, &options, &result));
  check_columns(&S, alpha, &B, &X, berr, 10 * u, what);
  check_padding(&B);
  check_padding(&X);
  cr_assert(result.unconverged == 0 && result.max_berr == berr[result.worst], "%s: %g", what, result.max_berr);
  for (int k = 0; k < NRHS; k++) cr_assert(steps[k] >= 1 && steps[k] < 12 && berr[k] <= result.max_berr, "%s: %d steps", what, steps[k]);
}

Test(refine, brings_bad_solutions_to_working_precision) {
  static factor_set s;
  static original A;
  int turn = 0;
  for (int r = 0; r < RECIPES; r++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128 && recipes[r].has_U; t++) {
      build(&s, &A, &recipes[r], (sptrsm_dtype)t, r % 2 ? SPTRSM_CSR : SPTRSM_CSC, is_single((sptrsm_dtype)t) ? 1e-3 : 1e-4);
      sptrsm_direct *d = create(&s, &A, SPTRSM_WORKING, turn % 2 ? 0 : 8);
      for (int system = SPTRSM_SYS_A; system <= SPTRSM_SYS_Aat; system++)
        for (int op = SPTRSM_N; op <= SPTRSM_C; op++) {
          char what[128];
          if (turn++ % DIRECT_SHARE != 0) continue;
          snprintf(what, sizeof what, "%s, type %d, system %s, op %d", recipes[r].name, t, sptrsm_system_name((sptrsm_system)system), op);
          try_system(d, &A, (sptrsm_system)system, (sptrsm_op)op, turn, what);
        }
      sptrsm_direct_destroy(d);
    }
}

/* The errors after k = 0, 1, ... corrections show where dgerfs would have stopped. */
Test(refine, stops_as_dgerfs_does) {
  static factor_set s;
  static original A;
  static block B, X;
  double berr[9][NRHS], full[NRHS];
  int32_t steps[NRHS];
  bool ends_early = false, ends_exact = false;
  for (int by = 0; by < 6; by++) { /* from fast convergence to none */
    build(&s, &A, &recipes[2], SPTRSM_F64, SPTRSM_CSR, pow(10, -6 + by));
    sptrsm_direct *d = create(&s, &A, SPTRSM_WORKING, 0);
    make_block(&B, SPTRSM_ROW_MAJOR, NRHS, 0, SPTRSM_F64);
    make_block(&X, SPTRSM_ROW_MAJOR, NRHS, 0, SPTRSM_F64);
    draw(&B);
    sptrsm_refine_options options;
    sptrsm_refine_options_init(&options);
    options.solve = 1;
    sptrsm_refine_result result = {.size = sizeof result, .berr = full, .steps = steps};
    OK(refine_at(by, d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &options, &result));
    for (int k = 0; k <= 5; k++) {
      options.max_steps = k;
      result.berr = berr[k];
      result.steps = NULL;
      OK(refine_at(by, d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &options, &result));
    }
    for (int c = 0; c < NRHS; c++) {
      int k = 0;
      double last = 3, u = DBL_EPSILON / 2;
      while (k < 5 && berr[k][c] > u && 2 * berr[k][c] <= last) last = berr[k++][c];
      cr_assert(steps[c] == k && full[c] == berr[k][c], "disturbed by 1e%d, column %d: %d steps, not %d", -6 + by, c, steps[c], k);
      ends_early = ends_early || (k < 5 && berr[k][c] > u);
      ends_exact = ends_exact || (k < 5 && berr[k][c] <= u);
    }
    sptrsm_direct_destroy(d);
  }
  cr_assert(ends_early && ends_exact, "both ends should have been seen");
}

Test(refine, a_panel_changes_no_bits) {
  static factor_set s;
  static original A;
  static block B, X, Y;
  build(&s, &A, &recipes[0], SPTRSM_F64, SPTRSM_CSC, 1e-3);
  static const int32_t panels[] = {32, 1, 8};
  make_block(&B, SPTRSM_COL_MAJOR, NRHS, 1, SPTRSM_F64);
  draw(&B);
  if (DIRECT_PLACE == SPTRSM_HOST) OK(sptrsm_context_set_threads(context, 2)); /* each has memory of its own */
  for (int i = 0; i < 3; i++) {
    sptrsm_options options;
    sptrsm_options_init(&options);
    options.method = DIRECT_PLACE == SPTRSM_HOST ? "levelset" : "gather";
    options.panel = panels[i];
    if (panels[i] == 8 && DIRECT_PLACE == SPTRSM_HOST) options.memory_limit = 2048; /* of 16 bytes a row and column: 9 columns at most */
    sptrsm_direct *d;
    OK(sptrsm_direct_create(&d, context, &s.f, &options));
    OK(sptrsm_direct_set_original(d, &A.A));
    block *x = i == 0 ? &X : &Y;
    make_block(x, SPTRSM_ROW_MAJOR, NRHS, 2, SPTRSM_F64);
    sptrsm_refine_options how;
    sptrsm_refine_options_init(&how);
    how.solve = 1;
    OK(sptrsm_direct_refine(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B.b, &x->b, &how, NULL));
    cr_assert(i == 0 || memcmp(X.data, Y.data, sizeof X.data) == 0, "panel %d gives other bits", panels[i]);
    sptrsm_direct_destroy(d);
  }
}

/* Residuals in double and corrections in single precision, of one right-hand side. */
Test(refine, a_limit_below_one_right_hand_side_is_refused) {
  static factor_set s;
  static original A;
  static block B, X;
  build(&s, &A, &recipes[0], SPTRSM_F64, SPTRSM_CSC, 1e-3);
  make_block(&B, SPTRSM_COL_MAJOR, NRHS, 1, SPTRSM_F64);
  make_block(&X, SPTRSM_COL_MAJOR, NRHS, 1, SPTRSM_F64);
  draw(&B);
  if (DIRECT_PLACE == SPTRSM_HOST) OK(sptrsm_context_set_threads(context, 2));
  for (int enough = 0; enough < 2 && DIRECT_PLACE == SPTRSM_HOST; enough++) {
    sptrsm_options options;
    sptrsm_options_init(&options);
    options.method = "serial";
    options.precision = SPTRSM_MIXED;
    options.memory_limit = 2 * N * sizeof(double) - !enough; /* a correction has the room of a weight of the error bound */
    sptrsm_direct *d;
    OK(sptrsm_direct_create(&d, context, &s.f, &options));
    OK(sptrsm_direct_set_original(d, &A.A));
    const sptrsm_status status = sptrsm_direct_refine(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B.b, &X.b, NULL, NULL);
    cr_assert_eq(status, enough ? SPTRSM_OK : SPTRSM_ERR_MEMORY, "%s", sptrsm_last_error());
    cr_assert(enough || strstr(sptrsm_last_error(), "refinement of one right-hand side"), "%s", sptrsm_last_error());
    sptrsm_direct_destroy(d);
  }
}

Test(refine, zeros_and_what_is_not_finite_stay_in_their_columns) {
  static factor_set s;
  static original A;
  static block B, X, Y;
  for (int precision = SPTRSM_WORKING; precision <= SPTRSM_MIXED; precision++) {
    build(&s, &A, &recipes[0], SPTRSM_C128, SPTRSM_CSR, 1e-5);
    sptrsm_direct *d = create(&s, &A, (sptrsm_precision)precision, 0);
    double berr[NRHS], ferr[NRHS];
    int32_t steps[NRHS];
    sptrsm_refine_options options;
    sptrsm_refine_options_init(&options);
    options.solve = 1;
    sptrsm_refine_result result = {.size = sizeof result, .berr = berr, .steps = steps};
    make_block(&B, SPTRSM_ROW_MAJOR, NRHS, 0, SPTRSM_C128);
    make_block(&X, SPTRSM_ROW_MAJOR, NRHS, 0, SPTRSM_C128);
    make_block(&Y, SPTRSM_ROW_MAJOR, NRHS, 0, SPTRSM_C128);
    draw(&B);
    OK(refine_at(0, d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &options, &result));
    cr_assert_eq(result.unconverged, 0);
    for (int i = 0; i < N; i++) set(&B, i, 3, 0);
    set(&B, 5, 7, NAN);
    set(&B, 2, 11, INFINITY);
    result.ferr = ferr;
    OK(refine_at(3, d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &Y, &options, &result));
    cr_assert(berr[3] == 0 && steps[3] == 0 && ferr[3] < 1e-290, "zeros: berr %g, %d steps, ferr %g", berr[3], steps[3], ferr[3]);
    cr_assert(isnan(berr[7]) && isnan(berr[11]) && isnan(ferr[7]) && isnan(result.max_berr), "NaN: %g %g %g", berr[7], berr[11], ferr[7]);
    cr_assert(result.worst == 7 && result.unconverged == 2, "column %d, %d of them", (int)result.worst, (int)result.unconverged);
    bool found = false, shown = false;
    for (int i = 0; i < N; i++) {
      cr_assert(at(&Y, i, 3) == 0);
      found = found || isnan(creal(at(&Y, i, 7)));
      shown = shown || !isfinite(cabs1(at(&Y, i, 11)));
      for (int k = 0; k < NRHS; k++) {
        double complex x = at(&X, i, k), y = at(&Y, i, k);
        cr_assert(k == 3 || k == 7 || k == 11 || cabs(x - y) <= 1e-12 * cabs(x), "column %d changed", k);
      }
    }
    cr_assert(found && shown, "the NaN or the infinity is lost, precision %d", precision);
    sptrsm_direct_destroy(d);
  }
}

Test(refine, nothing_to_do) {
  static factor_set s;
  static original A;
  static block B, X;
  build(&s, &A, &recipes[0], SPTRSM_F64, SPTRSM_CSR, 0);
  sptrsm_direct *d = create(&s, &A, SPTRSM_WORKING, 0);
  make_block(&B, SPTRSM_COL_MAJOR, 0, 0, SPTRSM_F64);
  make_block(&X, SPTRSM_COL_MAJOR, 0, 0, SPTRSM_F64);
  sptrsm_refine_result result = {.size = sizeof result};
  OK(sptrsm_direct_refine(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B.b, &X.b, NULL, &result));
  cr_assert(result.worst == -1 && result.max_berr == 0 && result.unconverged == 0);
  sptrsm_direct_destroy(d);

  static const int64_t none[1];
  sptrsm_sparse L = {.dtype = SPTRSM_F64, .ptr = none}, U = L;
  U.uplo = SPTRSM_UPPER;
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &L, f.U = &U;
  double berr[2] = {1, 1}, ferr[2] = {1, 1};
  result.berr = berr, result.ferr = ferr;
  OK(sptrsm_direct_create(&d, context, &f, NULL));
  OK(sptrsm_direct_set_original(d, &(sptrsm_square){.dtype = SPTRSM_F64, .ptr = none}));
  sptrsm_block b = {.ld = 2, .nrhs = 2, .dtype = SPTRSM_F64}, x = b;
  OK(sptrsm_direct_refine(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &b, &x, NULL, &result));
  cr_assert(berr[0] == 0 && berr[1] == 0 && ferr[1] == 0 && result.worst == 0);
  sptrsm_direct_destroy(d);
}

/* Residuals and corrections of as many columns as all threads solve at once, or as are expected; on a device, both blocks besides. */
Test(refine, a_workspace_has_room_for_its_panels) {
  static factor_set s;
  static original A;
  const int threads = DIRECT_PLACE == SPTRSM_HOST ? 3 : 1, blocks = DIRECT_PLACE == SPTRSM_HOST ? 2 : 4;
  build(&s, &A, &recipes[0], SPTRSM_F64, SPTRSM_CSR, 0);
  OK(sptrsm_context_set_threads(context, threads));
  for (int hint = 0; hint < 3; hint++) {
    sptrsm_options options;
    sptrsm_options_init(&options);
    options.nrhs_hint = hint;
    sptrsm_direct *d;
    sptrsm_info info = {.size = sizeof info};
    size_t before, after;
    OK(sptrsm_direct_create(&d, context, &s.f, &options));
    OK(sptrsm_direct_info(&info, NULL, d));
    OK(sptrsm_direct_workspace_bytes(&before, d));
    OK(sptrsm_direct_set_original(d, &A.A));
    OK(sptrsm_direct_workspace_bytes(&after, d));
    const int64_t most = (int64_t)info.panel * threads, columns = hint > 0 && hint < most ? hint : most;
    cr_assert_eq(after - before, (size_t)(blocks * N * columns) * sizeof(double), "hint %d, panel %d: %zu bytes, then %zu", hint,
                 (int)info.panel, before, after);
    sptrsm_direct_destroy(d);
  }
}

/* ---- symmetric originals ---- */

Test(refine, one_triangle_stands_for_both) {
  static factor_set s;
  static original A, half;
  static block B, X;
  static const int kinds[] = {3, 4, 5}; /* LDL.', LDL', Cholesky */
  for (int k = 0; k < 3; k++)
    for (int format = SPTRSM_CSR; format <= SPTRSM_CSC; format++) {
      build(&s, &A, &recipes[kinds[k]], SPTRSM_C128, SPTRSM_CSR, 1e-4);
      s.f.perm_row = s.f.perm_col = NULL; /* the original of the factors alone, which is symmetric */
      s.f.scale_row = s.f.scale_col = NULL;
      mat whole = product(product(s.dense.L, s.dense.D), s.dense.U);
      sptrsm_symmetry symmetry = recipes[kinds[k]].u_kind == SPTRSM_U_IS_LT ? SPTRSM_SYMMETRIC : SPTRSM_HERMITIAN;
      memset(&half, 0, sizeof half);
      if (symmetry == SPTRSM_HERMITIAN)
        for (int i = 0; i < N; i++) whole.a[i][i] = creal(whole.a[i][i]);
      store_original(&half, &whole, (sptrsm_format)format, symmetry, SPTRSM_C128);
      sptrsm_direct *d = create(&s, &half, SPTRSM_WORKING, 0);
      for (int op = SPTRSM_N; op <= SPTRSM_C; op++) {
        double berr[NRHS];
        sptrsm_refine_options options;
        sptrsm_refine_options_init(&options);
        options.solve = 1;
        options.max_steps = 12;
        sptrsm_refine_result result = {.size = sizeof result, .berr = berr};
        make_block(&B, SPTRSM_COL_MAJOR, NRHS, 0, SPTRSM_C128);
        make_block(&X, SPTRSM_ROW_MAJOR, NRHS, 0, SPTRSM_C128);
        draw(&B);
        OK(refine_at(op, d, SPTRSM_SYS_A, (sptrsm_op)op, NULL, &B, &X, &options, &result));
        mat S = system_of(&half.dense, SPTRSM_SYS_A, (sptrsm_op)op);
        check_columns(&S, 1, &B, &X, berr, 10 * u_of(SPTRSM_C128), recipes[kinds[k]].name);
      }
      sptrsm_direct_destroy(d);
    }
}

Test(refine, a_skew_part_is_mirrored_with_its_sign) {
  static factor_set s;
  static original A;
  static block B, X;
  build(&s, &A, &recipes[2], SPTRSM_F64, SPTRSM_CSR, 0);
  mat skew = {0};
  for (int i = 0; i < N; i++)
    for (int j = 0; j < i; j++) skew.a[i][j] = i + 2 * j;
  memset(&A, 0, sizeof A);
  store_original(&A, &skew, SPTRSM_CSC, SPTRSM_SKEW, SPTRSM_F64);
  sptrsm_direct *d = create(&s, &A, SPTRSM_WORKING, 0);
  double berr[NRHS];
  sptrsm_refine_options options;
  sptrsm_refine_options_init(&options);
  options.max_steps = 0;
  sptrsm_refine_result result = {.size = sizeof result, .berr = berr};
  make_block(&B, SPTRSM_COL_MAJOR, NRHS, 0, SPTRSM_F64);
  make_block(&X, SPTRSM_COL_MAJOR, NRHS, 0, SPTRSM_F64);
  draw(&B);
  draw(&X);
  OK(refine_at(0, d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &options, &result));
  check_columns(&A.dense, 1, &B, &X, berr, 1, "skew");
  sptrsm_direct_destroy(d);
}

/* ---- refusals ---- */

Test(refine, wrong_calls_are_refused) {
  static factor_set s;
  static original A;
  static block B, X;
  build(&s, &A, &recipes[0], SPTRSM_F64, SPTRSM_CSR, 0);
  sptrsm_direct *d = create(&s, NULL, SPTRSM_WORKING, 0);
  make_block(&B, SPTRSM_ROW_MAJOR, 2, 0, SPTRSM_F64);
  make_block(&X, SPTRSM_ROW_MAJOR, 2, 0, SPTRSM_F64);
  draw(&B);
  sptrsm_refine_result result = {.size = sizeof result};
  sptrsm_refine_options options;
  sptrsm_refine_options_init(&options);
#define REFINE(system, b, x, o, r) sptrsm_direct_refine(d, system, SPTRSM_N, NULL, b, x, o, r)
  expect(SPTRSM_ERR_ARGUMENT, REFINE(SPTRSM_SYS_A, &B.b, &X.b, NULL, &result), "sptrsm_direct_set_original");
  original bad = A;
  bad.A.ptr = bad.ptr, bad.A.idx = bad.idx;
  bad.idx[0] = -1;
  expect(SPTRSM_ERR_STRUCTURE, sptrsm_direct_set_original(d, &bad.A), "idx[0] = -1");
  bad.idx[0] = A.idx[0];
  bad.idx[3] = N;
  expect(SPTRSM_ERR_STRUCTURE, sptrsm_direct_set_original(d, &bad.A), "idx[3] = 13");
  bad.ptr[4] = 0;
  expect(SPTRSM_ERR_STRUCTURE, sptrsm_direct_set_original(d, &bad.A), "ptr[4] = 0");
  bad.A.n = N - 1;
  expect(SPTRSM_ERR_ARGUMENT, sptrsm_direct_set_original(d, &bad.A), "order 12");
  bad.A.n = N, bad.A.dtype = SPTRSM_F32;
  expect(SPTRSM_ERR_ARGUMENT, sptrsm_direct_set_original(d, &bad.A), "dtype");
  bad.A.dtype = SPTRSM_F64, bad.A.symmetry = (sptrsm_symmetry)(SPTRSM_SKEW + 1);
  expect(SPTRSM_ERR_ARGUMENT, sptrsm_direct_set_original(d, &bad.A), "unknown symmetry");
  bad.A.symmetry = SPTRSM_GENERAL, bad.A.format = (sptrsm_format)2;
  expect(SPTRSM_ERR_ARGUMENT, sptrsm_direct_set_original(d, &bad.A), "unknown format 2");
  bad.A.format = SPTRSM_CSR, bad.A.place = (sptrsm_place)2;
  expect(SPTRSM_ERR_ARGUMENT, sptrsm_direct_set_original(d, &bad.A), "unknown place 2");
  bad.A.place = SPTRSM_CUDA;
  if (DIRECT_PLACE == SPTRSM_HOST) expect(SPTRSM_ERR_ARGUMENT, sptrsm_direct_set_original(d, &bad.A), "A is in device memory");
  OK(sptrsm_direct_set_original(d, &A.A));
  expect(SPTRSM_ERR_ARGUMENT, REFINE(SPTRSM_SYS_L, &B.b, &X.b, NULL, &result), "not L");
  expect(SPTRSM_ERR_ARGUMENT, sptrsm_direct_refine(d, SPTRSM_SYS_A, (sptrsm_op)3, NULL, &B.b, &X.b, NULL, &result), "unknown op 3");
  expect(SPTRSM_ERR_ARGUMENT, REFINE(SPTRSM_SYS_A, &B.b, &B.b, NULL, &result), "X must be another block");
  sptrsm_block narrow = X.b;
  narrow.nrhs = 1;
  expect(SPTRSM_ERR_ARGUMENT, REFINE(SPTRSM_SYS_A, &B.b, &narrow, NULL, &result), "right-hand sides");
  options.tolerance = NAN;
  expect(SPTRSM_ERR_ARGUMENT, REFINE(SPTRSM_SYS_A, &B.b, &X.b, &options, &result), "tolerance");
  options.tolerance = 0, options.max_steps = -2;
  expect(SPTRSM_ERR_ARGUMENT, REFINE(SPTRSM_SYS_A, &B.b, &X.b, &options, &result), "max_steps");
  options.size = 1;
  expect(SPTRSM_ERR_ARGUMENT, REFINE(SPTRSM_SYS_A, &B.b, &X.b, &options, &result), "sptrsm_refine_options_init");
  result.size = 0;
  expect(SPTRSM_ERR_ARGUMENT, REFINE(SPTRSM_SYS_A, &B.b, &X.b, NULL, &result), "sptrsm_refine_result");
  OK(sptrsm_direct_set_original(d, NULL));
  result.size = sizeof result;
  expect(SPTRSM_ERR_ARGUMENT, REFINE(SPTRSM_SYS_A, &B.b, &X.b, NULL, &result), "sptrsm_direct_set_original");
#undef REFINE
  sptrsm_direct_destroy(d);
}
