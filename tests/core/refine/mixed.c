/* mixed.c -- refinement with factors in single precision and solutions in double precision. */
#include "core/refine/refine_case.h"

#include "core/context/alloc.h"
#include "core/context/gpu.h"

TestSuite(refine_mixed, .init = open_context, .fini = close_context);

static sptrsm_options mixed_options(void) {
  sptrsm_options mixed;
  sptrsm_options_init(&mixed);
  mixed.precision = SPTRSM_MIXED;
  return mixed;
}

/* Random right-hand sides in double precision; tests change some of them afterwards. */
static void draw_right_hand_sides(block *B) {
  make_block(B, SPTRSM_ROW_MAJOR, NRHS, 0, SPTRSM_F64);
  draw(B);
}

/* A X = B solved and refined; berr [NRHS]. */
static sptrsm_refine_result solve_and_refine(sptrsm_direct *d, block *B, block *X, double *berr) {
  sptrsm_refine_options options;
  sptrsm_refine_options_init(&options);
  options.solve = 1;
  sptrsm_refine_result result = {.size = sizeof result, .berr = berr};
  make_block(X, SPTRSM_ROW_MAJOR, NRHS, 0, SPTRSM_F64);
  OK(refine_at(0, d, SPTRSM_SYS_A, SPTRSM_N, NULL, B, X, &options, &result));
  return result;
}

Test(refine_mixed, single_factors_give_double_solutions) {
  static factor_set s;
  static original A;
  static block B, X;
  int turn = 0;
  for (int r = 0; r < 6; r++)
    for (int t = SPTRSM_F64; t <= SPTRSM_C128; t += 2)
      for (int system = SPTRSM_SYS_A; system <= SPTRSM_SYS_Aat; system++, turn++) {
        build(&s, &A, &recipes[r], (sptrsm_dtype)t, SPTRSM_CSC, 0);
        sptrsm_direct *d = create(&s, &A, SPTRSM_MIXED, 0);
        mat S = system_of(&A.dense, (sptrsm_system)system, SPTRSM_N);
        double berr[NRHS];
        int32_t steps[NRHS];
        sptrsm_refine_options options;
        sptrsm_refine_options_init(&options);
        options.solve = 1;
        sptrsm_refine_result result = {.size = sizeof result, .berr = berr, .steps = steps};
        make_block(&B, turn & 1 ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR, NRHS, 2, (sptrsm_dtype)t);
        make_block(&X, turn & 2 ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR, NRHS, 1, (sptrsm_dtype)t);
        for (int i = 0; i < N; i++) /* columns far beyond the range of single precision */
          for (int k = 0; k < NRHS; k++) set(&B, i, k, number((sptrsm_dtype)t) * pow(10, 20 * (k % 21 - 10)));
        OK(refine_at(turn, d, (sptrsm_system)system, SPTRSM_N, NULL, &B, &X, &options, &result));
        check_columns(&S, 1, &B, &X, berr, 10 * u_of((sptrsm_dtype)t), recipes[r].name);
        check_padding(&X);
        cr_assert(result.unconverged == 0);
        bool needed = false;
        for (int k = 0; k < NRHS; k++) needed = needed || steps[k] > 0;
        cr_assert(needed, "%s: no column needed a step: are the factors single?", recipes[r].name);
        sptrsm_direct_destroy(d);
      }
}

Test(refine_mixed, too_ill_conditioned_for_single_factors_is_said) {
  static factor_set s;
  static original A;
  static block B, X;
  build(&s, &A, &recipes[2], SPTRSM_F64, SPTRSM_CSR, 0);
  mat L = {0}, U = {0}; /* U = L': the inverse of L has entries of 10^8 */
  s.L.ptr[0] = s.U.ptr[0] = 0;
  int64_t p = 0;
  for (int j = 0; j < N; j++) {
    for (int i = j; i < N; i++, p++) {
      L.a[i][j] = U.a[j][i] = i == j ? 1 : -4 * (1 - 1e-3 * ((i * 7 + j * 3) % 11));
      s.L.idx[p] = s.U.idx[p] = i;
      s.L.val[p] = s.U.val[p] = creal(L.a[i][j]);
    }
    s.L.ptr[j + 1] = s.U.ptr[j + 1] = p;
  }
  mat whole = product(L, U);
  memset(&A, 0, sizeof A);
  store_original(&A, &whole, SPTRSM_CSR, SPTRSM_GENERAL, SPTRSM_F64);
  double berr[NRHS];
  draw_right_hand_sides(&B);
  sptrsm_direct *d = create(&s, &A, SPTRSM_MIXED, 0);
  const sptrsm_refine_result result = solve_and_refine(d, &B, &X, berr);
  int64_t bad = 0;
  for (int k = 0; k < NRHS; k++) bad += !(berr[k] <= 5 * DBL_EPSILON);
  cr_assert(bad > 0 && result.unconverged == bad && result.max_berr == berr[result.worst], "%d bad columns, %d said", (int)bad,
            (int)result.unconverged);
  sptrsm_direct_destroy(d);
}

/* Factors of I for 3 I: each step doubles the residual. The first is always taken, and three without progress are allowed. */
Test(refine_mixed, steps_without_progress_are_few) {
  static factor_set s;
  static original A;
  static block B, X;
  mat triple = {0};
  double berr[NRHS];
  int32_t steps[NRHS];
  build(&s, &A, &recipes[2], SPTRSM_F64, SPTRSM_CSR, 0);
  s.L.ptr[0] = s.U.ptr[0] = 0;
  for (int i = 0; i < N; i++) {
    s.L.val[i] = s.U.val[i] = 1;
    triple.a[i][i] = 3;
    s.L.idx[i] = s.U.idx[i] = i;
    s.L.ptr[i + 1] = s.U.ptr[i + 1] = i + 1;
  }
  memset(&A, 0, sizeof A);
  store_original(&A, &triple, SPTRSM_CSR, SPTRSM_GENERAL, SPTRSM_F64);
  sptrsm_direct *d = create(&s, &A, SPTRSM_MIXED, 0);
  sptrsm_refine_options options;
  sptrsm_refine_options_init(&options);
  options.solve = 1;
  sptrsm_refine_result result = {.size = sizeof result, .berr = berr, .steps = steps};
  draw_right_hand_sides(&B);
  make_block(&X, SPTRSM_ROW_MAJOR, NRHS, 0, SPTRSM_F64);
  OK(refine_at(0, d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &options, &result));
  for (int k = 0; k < NRHS; k++) cr_assert_eq(steps[k], 4, "column %d: %d steps, berr %g", k, (int)steps[k], berr[k]);
  cr_assert_eq(result.unconverged, NRHS);
  sptrsm_direct_destroy(d);
}

/* |A| |x| + |b| overflows: the backward error is reported as NaN. */
Test(refine_mixed, overflow_is_no_small_error) {
  static factor_set s;
  static original A;
  static block B, X;
  build(&s, &A, &recipes[2], SPTRSM_F64, SPTRSM_CSR, 0);
  mat identity = {0};
  s.L.ptr[0] = s.U.ptr[0] = 0;
  for (int i = 0; i < N; i++) {
    identity.a[i][i] = s.L.val[i] = s.U.val[i] = 1;
    s.L.idx[i] = s.U.idx[i] = i;
    s.L.ptr[i + 1] = s.U.ptr[i + 1] = i + 1;
  }
  memset(&A, 0, sizeof A);
  store_original(&A, &identity, SPTRSM_CSR, SPTRSM_GENERAL, SPTRSM_F64);
  for (int precision = SPTRSM_WORKING; precision <= SPTRSM_MIXED; precision++) {
    double berr[NRHS];
    draw_right_hand_sides(&B);
    for (int i = 0; i < N; i++) set(&B, i, 4, 1.2e308);
    sptrsm_direct *d = create(&s, &A, (sptrsm_precision)precision, 0);
    const sptrsm_refine_result result = solve_and_refine(d, &B, &X, berr);
    cr_assert(isnan(berr[4]) && result.worst == 4 && result.unconverged == 1, "berr %g, %d columns", berr[4], (int)result.unconverged);
    sptrsm_direct_destroy(d);
  }
}

Test(refine_mixed, what_single_precision_can_not_hold) {
  static factor_set s;
  static original A;
  sptrsm_direct *d;
  const sptrsm_options mixed = mixed_options();
  build(&s, &A, &recipes[0], SPTRSM_F64, SPTRSM_CSR, 0);
  int64_t last = s.U.ptr[N] - 1;
  double kept = s.U.val[last];
  s.U.val[last] = -1e39;
  expect(SPTRSM_ERR_UNSUPPORTED, sptrsm_direct_create(&d, context, &s.f, &mixed), "U: entry (12,12) = -1e+39 overflows single precision");
  s.U.val[last] = 0;
  expect(SPTRSM_ERR_SINGULAR, sptrsm_direct_create(&d, context, &s.f, &mixed), "U in single precision");
  s.U.val[last] = kept;
  OK(sptrsm_direct_create(&d, context, &s.f, &mixed));
  s.U.val[last] = 1e39;
  expect(SPTRSM_ERR_UNSUPPORTED, sptrsm_direct_set_values(d, NULL, NULL, NULL, s.U.val), "U.val[");
  sptrsm_direct_destroy(d);
  build(&s, &A, &recipes[4], SPTRSM_C128, SPTRSM_CSR, 0);
  put(s.D, 4, SPTRSM_C128, CMPLX(1, 3e38 * 3));
  expect(SPTRSM_ERR_UNSUPPORTED, sptrsm_direct_create(&d, context, &s.f, &mixed), "D[4] = 9e+38");
  build(&s, &A, &recipes[0], SPTRSM_F32, SPTRSM_CSR, 0);
  expect(SPTRSM_ERR_ARGUMENT, sptrsm_direct_create(&d, context, &s.f, &mixed), "double precision");
}

/* Pivots that are zero or subnormal in single precision only: the system has a solution, but not by these factors. */
Test(refine_mixed, diagonals_that_underflow) {
  static factor_set s;
  static original A;
  sptrsm_direct *d;
  const sptrsm_options mixed = mixed_options();
  for (int t = SPTRSM_F64; t <= SPTRSM_C128; t += 2) {
    build(&s, &A, &recipes[0], (sptrsm_dtype)t, SPTRSM_CSR, 0);
    int64_t last = s.U.ptr[N] - 1;
    OK(sptrsm_direct_create(&d, context, &s.f, &mixed));
    put(s.U.val, last, (sptrsm_dtype)t, 1e-60);
    const char *message = "entry (12,12) = 1e-60 underflows single precision; use working precision";
    expect(SPTRSM_ERR_UNSUPPORTED, sptrsm_direct_set_values(d, NULL, NULL, NULL, s.U.val), message);
    sptrsm_direct_destroy(d);
    expect(SPTRSM_ERR_UNSUPPORTED, sptrsm_direct_create(&d, context, &s.f, &mixed), message);
    put(s.U.val, last, (sptrsm_dtype)t, 1e-40);
    expect(SPTRSM_ERR_UNSUPPORTED, sptrsm_direct_create(&d, context, &s.f, &mixed), "U: diagonal entry (12,12) = 1e-40 underflows");
    put(s.U.val, last, (sptrsm_dtype)t, 2e-38);
    OK(sptrsm_direct_create(&d, context, &s.f, &mixed));
    sptrsm_direct_destroy(d);
  }
}

Test(refine_mixed, pivots_of_D_that_underflow) {
  static factor_set s;
  static original A;
  sptrsm_direct *d;
  const sptrsm_options mixed = mixed_options();
  build(&s, &A, &recipes[4], SPTRSM_F64, SPTRSM_CSR, 0);
  cr_assert(s.f.D_sub, "recipe 4 has pairs no more");
  OK(sptrsm_direct_create(&d, context, &s.f, &mixed));
  for (int i = 0; i < N; i++) s.D[i] = 1, s.D_sub[i] = 0;
  s.D_sub[3] = 1e-50; /* beside ones nothing is lost */
  OK(sptrsm_direct_set_values(d, NULL, s.D, s.D_sub, NULL));
  s.D[3] = s.D[4] = 0; /* regular, but not in single precision */
  expect(SPTRSM_ERR_UNSUPPORTED, sptrsm_direct_set_values(d, NULL, s.D, s.D_sub, NULL), "D: pivot 3 = 1e-50 underflows");
  s.D[3] = s.D[4] = 1, s.D_sub[3] = 0, s.D[0] = 1e-47;
  expect(SPTRSM_ERR_UNSUPPORTED, sptrsm_direct_set_values(d, NULL, s.D, s.D_sub, NULL), "D: pivot 0 = 1e-47 underflows");
  s.D[0] = 1, s.D[6] = 1e-46;
  expect(SPTRSM_ERR_UNSUPPORTED, sptrsm_direct_set_values(d, NULL, s.D, NULL, NULL), "D: pivot 6 = 1e-46 underflows");
  sptrsm_direct_destroy(d);
  expect(SPTRSM_ERR_UNSUPPORTED, sptrsm_direct_create(&d, context, &s.f, &mixed), "D: pivot 6 = 1e-46 underflows");
  s.D_sub[5] = 2; /* a second row: its block's pivot is 2 */
  OK(sptrsm_direct_create(&d, context, &s.f, &mixed));
  sptrsm_direct_destroy(d);
  s.D_sub[5] = 0, s.D[6] = 0;
  expect(SPTRSM_ERR_SINGULAR, sptrsm_direct_create(&d, context, &s.f, &mixed), "D[6] is zero");
}

Test(refine_mixed, scales_beyond_single_precision) {
  static factor_set s;
  static original A;
  sptrsm_direct *d;
  const sptrsm_options mixed = mixed_options();
  int scaled = 0;
  while (scaled < RECIPES && !recipes[scaled].scaled) scaled++;
  build(&s, &A, &recipes[scaled], SPTRSM_F64, SPTRSM_CSR, 0);
  s.scale_row[7] = 1e50;
  expect(SPTRSM_ERR_UNSUPPORTED, sptrsm_direct_create(&d, context, &s.f, &mixed),
         "scale_row[7] = 1e+50 is not finite in single precision; use working precision");
}

Test(refine_mixed, single_factors_follow_new_values) {
  static factor_set s, other;
  static original A, B_of_other;
  static block B, X;
  build(&s, &A, &recipes[4], SPTRSM_F64, SPTRSM_CSR, 0);
  other = s; /* same pattern; points into s but for its numbers */
  sptrsm_direct *d = create(&s, &A, SPTRSM_MIXED, 0);
  for (int64_t p = 0; p < s.L.ptr[N]; p++) other.L.val[p] = 0.5 * s.L.val[p];
  for (int i = 0; i < N; i++) other.D[i] = 4 * s.D[i], other.D_sub[i] = 4 * s.D_sub[i];
  OK(sptrsm_direct_set_values(d, other.L.val, other.D, other.D_sub, NULL));
  mat L = s.dense.L, D = s.dense.D;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) L.a[i][j] *= i == j ? 1 : 0.5, D.a[i][j] *= 4; /* the unit diagonal stays */
  const dense_parts *p = &s.dense;
  mat whole = product(product(product(p->R_inverse, tr(p->P)), product(product(L, D), adj(L))), product(tr(p->Q), p->C_inverse));
  memset(&B_of_other, 0, sizeof B_of_other);
  store_original(&B_of_other, &whole, SPTRSM_CSR, SPTRSM_GENERAL, SPTRSM_F64);
  OK(sptrsm_direct_set_original(d, &B_of_other.A));
  double berr[NRHS];
  draw_right_hand_sides(&B);
  (void)solve_and_refine(d, &B, &X, berr);
  check_columns(&B_of_other.dense, 1, &B, &X, berr, 10 * u_of(SPTRSM_F64), "new values");
  expect(SPTRSM_ERR_ARGUMENT, sptrsm_direct_solve(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B.b, &X.b), "single precision");
  sptrsm_direct_destroy(d);
}

/* Triangles in device memory are rounded on the host. */
static void *on_device(const void *array, size_t bytes) {
  void *there;
  OK(spti_alloc(context, &there, 1, bytes, "test array"));
  OK(spti_gpu_copy(context, there, bytes, array, bytes, bytes, 1, SPTI_TO_DEVICE));
  return there;
}

Test(refine_mixed, factors_in_device_memory, .disabled = DIRECT_PLACE == SPTRSM_HOST) {
  static factor_set s;
  static original A;
  static block B, X;
  double berr[NRHS];
  for (int t = SPTRSM_F64; t <= SPTRSM_C128; t += 2) {
    build(&s, &A, &recipes[0], (sptrsm_dtype)t, SPTRSM_CSR, 0);
    triangle *const triangles[2] = {&s.L, &s.U};
    void *there[6];
    for (int k = 0; k < 2; k++) {
      sptrsm_sparse *T = &triangles[k]->T;
      const int64_t entries = T->ptr[N];
      there[3 * k] = on_device(T->ptr, (N + 1) * sizeof *T->ptr);
      there[3 * k + 1] = on_device(T->idx, (size_t)entries * sizeof *T->idx);
      there[3 * k + 2] = on_device(T->val, (size_t)entries * sptrsm_dtype_bytes((sptrsm_dtype)t));
      T->ptr = there[3 * k], T->idx = there[3 * k + 1], T->val = there[3 * k + 2], T->place = SPTRSM_CUDA;
    }
    sptrsm_direct *d = create(&s, &A, SPTRSM_MIXED, 0);
    make_block(&B, SPTRSM_ROW_MAJOR, NRHS, 0, (sptrsm_dtype)t);
    draw(&B);
    sptrsm_refine_options options;
    sptrsm_refine_options_init(&options);
    options.solve = 1;
    sptrsm_refine_result result = {.size = sizeof result, .berr = berr};
    make_block(&X, SPTRSM_ROW_MAJOR, NRHS, 0, (sptrsm_dtype)t);
    OK(refine_at(0, d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &options, &result));
    check_columns(&A.dense, 1, &B, &X, berr, 10 * u_of((sptrsm_dtype)t), "factors in device memory");
    sptrsm_direct_destroy(d);
    for (int k = 0; k < 6; k++) spti_free(context, there[k]);
  }
}

/* Recipe 0 has a U of its own: twice U, and A doubles. */
Test(refine_mixed, a_single_U_follows_new_values) {
  static factor_set s;
  static original A, doubled;
  static block B, X;
  double U[NNZ], berr[NRHS];
  build(&s, &A, &recipes[0], SPTRSM_F64, SPTRSM_CSR, 0);
  sptrsm_direct *d = create(&s, &A, SPTRSM_MIXED, 0);
  for (int64_t p = 0; p < s.U.ptr[N]; p++) U[p] = 2 * s.U.val[p];
  OK(sptrsm_direct_set_values(d, NULL, NULL, NULL, U));
  mat whole = A.dense;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) whole.a[i][j] *= 2;
  memset(&doubled, 0, sizeof doubled);
  store_original(&doubled, &whole, SPTRSM_CSR, SPTRSM_GENERAL, SPTRSM_F64);
  OK(sptrsm_direct_set_original(d, &doubled.A));
  draw_right_hand_sides(&B);
  (void)solve_and_refine(d, &B, &X, berr);
  check_columns(&doubled.dense, 1, &B, &X, berr, 10 * u_of(SPTRSM_F64), "new values of U");
  sptrsm_direct_destroy(d);
}
