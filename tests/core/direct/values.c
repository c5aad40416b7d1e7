/* values.c -- sptrsm_direct: new values, workspaces, options, order of destruction. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/factor_set.h"

#ifndef DIRECT_PLACE
#define DIRECT_PLACE SPTRSM_HOST
#endif
enum { ON_HOST = DIRECT_PLACE == SPTRSM_HOST };

enum { NRHS = 5 };
typedef struct {
  double x[2 * N * NRHS];
} solution;

static sptrsm_context *open_context(void) {
  sptrsm_context *context;
  cr_assert_eq(sptrsm_context_create(&context, DIRECT_PLACE, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  return context;
}

static sptrsm_direct *create(sptrsm_context *context, const factor_set *s) {
  sptrsm_direct *d;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = DIRECT_PLACE == SPTRSM_CUDA ? "cusparse" : "levelset"; /* methods that repeat their bits for the same width */
  cr_assert_eq(sptrsm_direct_create(&d, context, &s->f, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  return d;
}

/* The solution of one system, always with the same right-hand sides. */
static solution solve(sptrsm_direct *d, sptrsm_system system, sptrsm_dtype t) {
  double b[2 * N * NRHS] = {0};
  solution s = {{0}};
  for (int i = 0; i < N * NRHS; i++) put(b, i, t, CMPLX(1 + i % 7, is_complex(t) ? i % 5 : 0));
  sptrsm_block B = {.data = b, .ld = NRHS, .n = N, .nrhs = NRHS, .dtype = t}, X = B;
  X.data = s.x;
  cr_assert_eq(sptrsm_direct_solve(d, system, SPTRSM_N, NULL, &B, &X), SPTRSM_OK, "%s", sptrsm_last_error());
  return s;
}

static const sptrsm_system whole[] = {SPTRSM_SYS_A, SPTRSM_SYS_Aat, SPTRSM_SYS_At};

static void expect_same(sptrsm_direct *x, sptrsm_direct *y, sptrsm_dtype t, const char *what) {
  for (int s = 0; s < 3; s++) {
    solution a = solve(x, whole[s], t), b = solve(y, whole[s], t);
    cr_assert(memcmp(&a, &b, sizeof a) == 0, "%s, type %d, system %s: bits differ", what, (int)t, sptrsm_system_name(whole[s]));
  }
}

/* Multiplies every entry by its own exact factor, which is small enough to keep the blocks of D regular. */
static void change(void *values, int64_t count, sptrsm_dtype t, double step) {
  for (int64_t p = 0; p < count; p++) put(values, p, t, get(values, p, t) * (1 + step * (double)(1 + p % 2)));
}

static void change_all(factor_set *s, sptrsm_dtype t) {
  change(s->L.val, s->L.ptr[N], t, 0.25);
  if (s->f.U) change(s->U.val, s->U.ptr[N], t, 0.5);
  if (s->f.D) change(s->D, N, t, 0.125);
  if (s->f.D_sub) change(s->D_sub, N, t, 0.0625);
}

Test(direct_values, set_values_equals_a_fresh_object) {
  sptrsm_context *context = open_context();
  static factor_set s;
  for (int r = 0; r < RECIPES; r++) {
    if (!recipes[r].has_U) continue;
    for (int type = SPTRSM_F32; type <= SPTRSM_C128; type++) {
      sptrsm_dtype t = (sptrsm_dtype)type;
      build_factor_set(&s, &recipes[r], t);
      sptrsm_direct *old = create(context, &s);
      solution before = solve(old, SPTRSM_SYS_Aat, t); /* so that the plans of A.' exist already */
      change_all(&s, t);
      cr_assert_eq(sptrsm_direct_set_values(old, s.L.val, s.f.D, s.f.D_sub, s.f.U ? s.U.val : NULL), SPTRSM_OK, "%s", sptrsm_last_error());
      sptrsm_direct *fresh = create(context, &s);
      solution after = solve(old, SPTRSM_SYS_Aat, t);
      cr_assert(memcmp(&before, &after, sizeof after) != 0, "%s: the new values change nothing", recipes[r].name);
      expect_same(old, fresh, t, recipes[r].name);
      sptrsm_direct_destroy(old);
      sptrsm_direct_destroy(fresh);
    }
  }
  sptrsm_context_destroy(context);
}

Test(direct_values, each_array_alone) {
  sptrsm_context *context = open_context();
  static factor_set s;
  build_factor_set(&s, &recipes[3], SPTRSM_F64); /* L, D, D_sub */
  sptrsm_direct *old = create(context, &s);
  change(s.D, N, SPTRSM_F64, 0.125);
  cr_assert_eq(sptrsm_direct_set_values(old, NULL, s.D, NULL, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_direct *fresh = create(context, &s);
  expect_same(old, fresh, SPTRSM_F64, "D alone");
  sptrsm_direct_destroy(fresh);
  change(s.D_sub, N, SPTRSM_F64, 0.0625);
  cr_assert_eq(sptrsm_direct_set_values(old, NULL, NULL, s.D_sub, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  fresh = create(context, &s);
  expect_same(old, fresh, SPTRSM_F64, "D_sub alone");
  sptrsm_direct_destroy(fresh);
  cr_assert_eq(sptrsm_direct_set_values(old, NULL, NULL, NULL, NULL), SPTRSM_OK);
  sptrsm_direct_destroy(old);
  sptrsm_context_destroy(context);
}

static void refuse_values(sptrsm_direct *d, const factor_set *good, sptrsm_status expected, const char *message, const void *L,
                          const void *D, const void *D_sub, const void *U) {
  sptrsm_dtype t = good->L.T.dtype;
  solution before = solve(d, SPTRSM_SYS_A, t);
  sptrsm_status status = sptrsm_direct_set_values(d, L, D, D_sub, U);
  cr_assert_eq(status, expected, "%s instead of %s", sptrsm_status_name(status), sptrsm_status_name(expected));
  cr_assert(strstr(sptrsm_last_error(), message), "\"%s\" does not say \"%s\"", sptrsm_last_error(), message);
  solution after = solve(d, SPTRSM_SYS_A, t);
  cr_assert(memcmp(&before, &after, sizeof after) == 0, "values changed although they were refused: %s", message);
}

Test(direct_values, refused_values_leave_the_old_ones) {
  sptrsm_context *context = open_context();
  static factor_set s;
  build_factor_set(&s, &recipes[1], SPTRSM_C128); /* L CSR, D, U CSC, all nonunit */
  sptrsm_direct *d = create(context, &s);
  double L[2 * NNZ], U[2 * NNZ], D[2 * N];
  memcpy(L, s.L.val, sizeof L);
  memcpy(U, s.U.val, sizeof U);
  memcpy(D, s.D, sizeof D);
  change(L, s.L.ptr[N], SPTRSM_C128, 0.25);
  put(U, s.U.ptr[5] - 1, SPTRSM_C128, 0); /* diagonal of column 4 */
  refuse_values(d, &s, SPTRSM_ERR_SINGULAR, "U: diagonal entry (4,4) is zero", L, NULL, NULL, U);
  put(D, 9, SPTRSM_C128, NAN);
  refuse_values(d, &s, SPTRSM_ERR_SINGULAR, "D[9] is not finite", L, D, NULL, NULL);
  put(L, s.L.ptr[1] - 1, SPTRSM_C128, INFINITY);
  refuse_values(d, &s, SPTRSM_ERR_SINGULAR, "L: diagonal entry (0,0) is not finite", L, NULL, NULL, s.U.val);
  refuse_values(d, &s, SPTRSM_ERR_ARGUMENT, "no D_sub", NULL, NULL, s.D_sub, NULL);
  sptrsm_direct_destroy(d);
  build_factor_set(&s, &recipes[5], SPTRSM_F32); /* Cholesky */
  d = create(context, &s);
  refuse_values(d, &s, SPTRSM_ERR_ARGUMENT, "no D", NULL, s.D, NULL, NULL);
  refuse_values(d, &s, SPTRSM_ERR_ARGUMENT, "no U of their own", NULL, NULL, NULL, s.U.val);
  sptrsm_direct_destroy(d);
  sptrsm_context_destroy(context);
}

static void *copy_of(const void *values, int64_t count, sptrsm_dtype t) {
  const size_t bytes = (size_t)count * sptrsm_dtype_bytes(t);
  return memcpy(malloc(bytes), values, bytes);
}

/* Factors that are borrowed give the bits of copies. New values are borrowed in place of the old ones, whose arrays may go. */
Test(direct_values, borrowed_factors) {
  sptrsm_context *context = open_context();
  static factor_set s;
  for (int type = SPTRSM_F32; type <= SPTRSM_C128; type++) {
    const sptrsm_dtype t = (sptrsm_dtype)type;
    build_factor_set(&s, &recipes[0], t);
    sptrsm_direct *copying = create(context, &s);
    void *L = copy_of(s.L.val, s.L.ptr[N], t), *U = copy_of(s.U.val, s.U.ptr[N], t);
    s.L.T.val = L, s.U.T.val = U, s.f.copy = SPTRSM_BORROW;
    sptrsm_direct *borrowing = create(context, &s);
    s.L.T.val = s.L.val, s.U.T.val = s.U.val, s.f.copy = SPTRSM_COPY;
    expect_same(borrowing, copying, t, "borrowed");
    sptrsm_direct_destroy(copying);
    change_all(&s, t);
    cr_assert_eq(sptrsm_direct_set_values(borrowing, s.L.val, s.f.D, s.f.D_sub, s.U.val), SPTRSM_OK, "%s", sptrsm_last_error());
    free(L), free(U);
    copying = create(context, &s);
    expect_same(borrowing, copying, t, "borrowed new values");
    sptrsm_direct_destroy(copying), sptrsm_direct_destroy(borrowing);
  }
  sptrsm_context_destroy(context);
}

/* On the host the arrays themselves are used. In single precision there are new ones, and the caller's may go. */
Test(direct_values, borrowing_copies_nothing, .disabled = !ON_HOST) {
  sptrsm_context *context = open_context();
  static factor_set s;
  build_factor_set(&s, &recipes[0], SPTRSM_F64);
  s.f.copy = SPTRSM_BORROW;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "serial";
  for (int mixed = 0; mixed < 2; mixed++) {
    sptrsm_direct *d;
    options.precision = mixed ? SPTRSM_MIXED : SPTRSM_WORKING;
    cr_assert_eq(sptrsm_direct_create(&d, context, &s.f, &options), SPTRSM_OK, "%s", sptrsm_last_error());
    const sptrsm_dtype t = mixed ? SPTRSM_F32 : SPTRSM_F64;
    const solution before = solve(d, SPTRSM_SYS_L, t);
    change(s.L.val, s.L.ptr[N], SPTRSM_F64, 0.25);
    const solution after = solve(d, SPTRSM_SYS_L, t);
    cr_assert_eq(memcmp(&before, &after, sizeof after) != 0, !mixed);
    sptrsm_direct_destroy(d);
  }
  sptrsm_context_destroy(context);
}

Test(direct_values, what_it_was_made_from_may_go, .disabled = !ON_HOST) {
  sptrsm_context *context = open_context();
  factor_set *s = malloc(sizeof *s);
  build_factor_set(s, &recipes[4], SPTRSM_C64);
  char method[16] = "serial";
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.op = SPTRSM_T; /* must be ignored */
  sptrsm_direct *d, *kept = create(context, s);
  cr_assert_eq(sptrsm_direct_create(&d, context, &s->f, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  memset(s, 0x55, sizeof *s);
  free(s);
  strcpy(method, "gone");
  sptrsm_context_destroy(context);
  sptrsm_info L = {.size = sizeof L}, U = {.size = sizeof U};
  cr_assert_eq(sptrsm_direct_info(&L, &U, d), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_str_eq(L.method, "serial");
  cr_assert_eq(L.op, SPTRSM_N);
  cr_assert_eq(U.op, SPTRSM_C, "U = L^H is read from L");
  cr_assert_eq(L.nnz, U.nnz);
  for (int w = 0; w < 3; w++) solve(d, whole[w], SPTRSM_C64);
  solve(kept, SPTRSM_SYS_A, SPTRSM_C64);
  sptrsm_direct_destroy(d);
  sptrsm_direct_destroy(kept);
}

Test(direct_values, memory_does_not_depend_on_right_hand_sides, .disabled = !ON_HOST) {
  sptrsm_context *context = open_context();
  cr_assert_eq(sptrsm_context_set_threads(context, 1), SPTRSM_OK);
  static factor_set s;
  build_factor_set(&s, &recipes[0], SPTRSM_F64);
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "serial";
  options.memory_limit = 8 * N * sizeof(double);
  sptrsm_direct *d;
  cr_assert_eq(sptrsm_direct_create(&d, context, &s.f, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  size_t before, after;
  cr_assert_eq(sptrsm_direct_workspace_bytes(&before, d), SPTRSM_OK);
  cr_assert_eq(before, options.memory_limit);
  double *data = calloc(1000 * N, sizeof *data);
  sptrsm_block B = {.data = data, .ld = 1000, .n = N, .nrhs = 1000, .dtype = SPTRSM_F64};
  cr_assert_eq(sptrsm_direct_solve(d, SPTRSM_SYS_Aat, SPTRSM_N, NULL, &B, &B), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_direct_workspace_bytes(&after, d), SPTRSM_OK);
  cr_assert_eq(before, after);
  sptrsm_info L = {.size = sizeof L};
  cr_assert_eq(sptrsm_direct_info(&L, NULL, d), SPTRSM_OK);
  cr_assert_eq(L.panel, 8);
  free(data);
  sptrsm_direct_destroy(d);
  options.memory_limit = N * sizeof(double) - 1;
  cr_assert_eq(sptrsm_direct_create(&d, context, &s.f, &options), SPTRSM_ERR_MEMORY);
  cr_assert(strstr(sptrsm_last_error(), "the limit is 103"), "%s", sptrsm_last_error());
  sptrsm_context_destroy(context);
}

/* Methods with a workspace of their own need another one for each operation; the limit is for all of them together. */
Test(direct_values, a_memory_limit_holds_while_plans_are_added) {
  sptrsm_context *context = open_context();
  static factor_set s;
  build_factor_set(&s, &recipes[1], SPTRSM_F64);
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = ON_HOST ? "levelset" : "syncfree-csc";
  sptrsm_direct *free_one, *limited;
  size_t bytes;
  cr_assert_eq(sptrsm_direct_create(&free_one, context, &s.f, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_direct_workspace_bytes(&options.memory_limit, free_one), SPTRSM_OK);
  cr_assert_eq(sptrsm_direct_create(&limited, context, &s.f, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int round = 0; round < 2; round++)
    for (int w = 0; w < 3; w++) {
      solution a = solve(free_one, whole[w], SPTRSM_F64), b = solve(limited, whole[w], SPTRSM_F64);
      for (int v = 0; v < N * NRHS; v++) {
        double x = creal(get(a.x, v, SPTRSM_F64)), y = creal(get(b.x, v, SPTRSM_F64));
        cr_assert(fabs(x - y) <= 1e-9 * fabs(x), "system %s: x[%d] = %g, with a limit %g", sptrsm_system_name(whole[w]), v, x, y);
      }
      cr_assert_eq(sptrsm_direct_workspace_bytes(&bytes, limited), SPTRSM_OK);
      cr_assert(bytes <= options.memory_limit, "%zu bytes, the limit is %zu", bytes, options.memory_limit);
    }
  sptrsm_direct_destroy(free_one);
  sptrsm_direct_destroy(limited);
  sptrsm_context_destroy(context);
}

Test(direct_values, empty_systems) {
  sptrsm_context *context = open_context();
  int64_t ptr[1] = {0};
  int32_t perm[1];
  double scale[1];
  sptrsm_sparse L = {.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = 0, .ptr = ptr}, U = L;
  U.uplo = SPTRSM_UPPER;
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &L;
  f.U = &U;
  f.perm_row = f.perm_col = perm;
  f.scale_row = f.scale_col = f.D = f.D_sub = scale;
  sptrsm_direct *d;
  cr_assert_eq(sptrsm_direct_create(&d, context, &f, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_block B = {.n = 0, .nrhs = 3, .ld = 3, .dtype = SPTRSM_F64};
  for (int s = 0; s < SPTRSM_SYS_COUNT; s++)
    cr_assert_eq(sptrsm_direct_solve(d, (sptrsm_system)s, SPTRSM_C, NULL, &B, &B), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_direct_destroy(d);
  sptrsm_context_destroy(context);
}
