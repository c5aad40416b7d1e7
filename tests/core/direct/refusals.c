/* refusals.c -- factor sets and calls that sptrsm_direct must refuse, with their status and message. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/factor_set.h"

static sptrsm_context *context;
static factor_set s;

static void open_host(void) {
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  build_factor_set(&s, &recipes[1], SPTRSM_F64); /* LDU, permuted, scaled */
}

static void close_host(void) { sptrsm_context_destroy(context); }

TestSuite(direct_refusals, .init = open_host, .fini = close_host);

static void expect(sptrsm_status status, sptrsm_status expected, const char *message) {
  cr_assert_eq(status, expected, "%s instead of %s for \"%s\"", sptrsm_status_name(status), sptrsm_status_name(expected), message);
  cr_assert(strstr(sptrsm_last_error(), message), "\"%s\" does not say \"%s\"", sptrsm_last_error(), message);
}

static void refuse(sptrsm_status expected, const char *message) {
  sptrsm_direct *d = (sptrsm_direct *)&s;
  expect(sptrsm_direct_create(&d, context, &s.f, NULL), expected, message);
  cr_assert(d == (sptrsm_direct *)&s, "the out-parameter was written for \"%s\"", message);
}

Test(direct_refusals, permutations) {
  s.perm_row[3] = N;
  refuse(SPTRSM_ERR_STRUCTURE, "perm_row[3] = 13 is not in 0..12");
  s.perm_row[3] = -1;
  refuse(SPTRSM_ERR_STRUCTURE, "perm_row[3] = -1 is not in 0..12");
  s.perm_row[3] = s.perm_row[1];
  refuse(SPTRSM_ERR_STRUCTURE, "is there already, at 1");
  s.f.perm_row = NULL;
  s.perm_col[N - 1] = s.perm_col[0];
  refuse(SPTRSM_ERR_STRUCTURE, "perm_col[12]");
  s.f.perm_col = NULL;
  s.f.row_convention = (sptrsm_convention)2;
  refuse(SPTRSM_ERR_ARGUMENT, "unknown convention 2 of perm_row");
}

Test(direct_refusals, scalings) {
  s.scale_row[5] = 0;
  refuse(SPTRSM_ERR_SINGULAR, "scale_row[5] = 0 is zero");
  s.scale_row[5] = NAN;
  refuse(SPTRSM_ERR_SINGULAR, "scale_row[5]");
  s.scale_row[5] = 1;
  s.scale_col[0] = INFINITY;
  refuse(SPTRSM_ERR_SINGULAR, "scale_col[0] = inf is not finite");
  s.scale_col[0] = 1;
  s.f.col_op = (sptrsm_scale_op)-1;
  refuse(SPTRSM_ERR_ARGUMENT, "unknown scale operation -1 of scale_col");
  build_factor_set(&s, &recipes[0], SPTRSM_F32);
  s.scale_col[7] = 1e-60;
  refuse(SPTRSM_ERR_SINGULAR, "scale_col[7] = 1e-60 is zero in single precision");
  s.scale_col[7] = 1e60;
  refuse(SPTRSM_ERR_SINGULAR, "scale_col[7] = 1e+60 is not finite in single precision");
}

Test(direct_refusals, bad_D) {
  s.D[4] = 0;
  refuse(SPTRSM_ERR_SINGULAR, "D[4] is zero");
  s.D[4] = NAN;
  refuse(SPTRSM_ERR_SINGULAR, "D[4] is not finite");
  s.f.D = NULL;
  s.f.D_sub = s.D_sub;
  refuse(SPTRSM_ERR_ARGUMENT, "D_sub without D");
}

Test(direct_refusals, bad_pairs) {
  build_factor_set(&s, &recipes[3], SPTRSM_F64);
  double good = s.D_sub[2];
  s.D_sub[N - 1] = 1;
  refuse(SPTRSM_ERR_STRUCTURE, "D_sub[12] is not zero");
  s.D_sub[N - 1] = 0;
  s.D_sub[3] = 1;
  refuse(SPTRSM_ERR_STRUCTURE, "D_sub[2] and D_sub[3] are both nonzero");
  s.D_sub[3] = 0;
  s.D[2] = 3;
  s.D[3] = 1.0 / 3;
  s.D_sub[2] = 1;
  refuse(SPTRSM_ERR_SINGULAR, "2x2 block of rows 2 and 3 is singular");
  s.D_sub[2] = NAN;
  refuse(SPTRSM_ERR_SINGULAR, "2x2 block of rows 2 and 3");
  s.D_sub[2] = good;
  s.D[3] = INFINITY;
  refuse(SPTRSM_ERR_SINGULAR, "2x2 block of rows 2 and 3");
  s.D[2] = 1e305, s.D_sub[2] = 1e-10, s.D[3] = 5e-324; /* of either pivot the factor or the second pivot is out of range */
  refuse(SPTRSM_ERR_SINGULAR, "2x2 block of rows 2 and 3");
}

/* Blocks at the ends of single precision; all but the last are regular in double precision. */
Test(direct_refusals, pairs_in_single_precision) {
  static const struct {
    double a, s, d, d_im;
    bool good;
  } pairs[] = {{1e30, 1e-15, 0, 0, false},                             /* the factor overflows */
               {3e38, 1e-3, 1e-43, 0, false},                          /* so do both quotients, and the factor of the other pivot */
               {-1, 1.7e19, 3e38, 0, false},                           /* the second pivot overflows */
               {1, 0x1.8p-74, 5 * 0x1p-149, 0, false},                 /* it vanishes */
               {3 * 0x1p-149, 0.000383106f, 3.49117e37f, 0, true},     /* the factor is subnormal, and loses no digits */
               {3 * 0x1p-149, 0.000383099396f, 3.49117e37f, 0, false}, /* so is this one, and the second pivot vanishes */
               {1e10, 1e30, 2e38, 2e38, false},                        /* |re| + |im| overflows: another pivot, which is too large */
               {1, 1e10, 2.5e38, 2.5e38, false},                       /* |re| + |im| of the second pivot overflows */
               {2e38, 1.5e38, 3e38, 0, true},
               {1, 1e10, 1e38, 1e38, true},
               {3, 1, 1.0 / 3, 0, false}};
  const size_t count = sizeof pairs / sizeof *pairs;
  for (size_t i = 0; i < count; i++) {
    for (int single = 0; single < 2; single++) {
      const bool is_complex = pairs[i].d_im != 0;
      const sptrsm_dtype t = single ? (is_complex ? SPTRSM_C64 : SPTRSM_F32) : (is_complex ? SPTRSM_C128 : SPTRSM_F64);
      build_factor_set(&s, &recipes[3], t);
      put(s.D, 2, t, pairs[i].a), put(s.D_sub, 2, t, pairs[i].s), put(s.D, 3, t, CMPLX(pairs[i].d, pairs[i].d_im));
      if (!pairs[i].good && (single || i == count - 1)) {
        refuse(SPTRSM_ERR_SINGULAR, "2x2 block of rows 2 and 3 is singular");
        continue;
      }
      sptrsm_direct *d;
      cr_assert_eq(sptrsm_direct_create(&d, context, &s.f, NULL), SPTRSM_OK, "pair %d: %s", (int)i, sptrsm_last_error());
      sptrsm_direct_destroy(d);
    }
  }
}

/* [[1, s], [s, 1]] with s = i is singular as a Hermitian block and regular as a symmetric one; NaN in a complex D counts too. */
Test(direct_refusals, pairs_as_Hermitian_or_symmetric) {
  build_factor_set(&s, &recipes[3], SPTRSM_C128);
  put(s.D, 2, SPTRSM_C128, 1);
  put(s.D, 3, SPTRSM_C128, 1);
  put(s.D_sub, 2, SPTRSM_C128, I);
  sptrsm_direct *d;
  cr_assert_eq(sptrsm_direct_create(&d, context, &s.f, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_direct_destroy(d);
  s.f.D_hermitian = 1;
  refuse(SPTRSM_ERR_SINGULAR, "2x2 block of rows 2 and 3 is singular");
  put(s.D_sub, 2, SPTRSM_C128, 0);
  put(s.D, 0, SPTRSM_C128, CMPLX(1, NAN));
  refuse(SPTRSM_ERR_SINGULAR, "D[0] is not finite");
}

Test(direct_refusals, triangles) {
  s.U.T.dtype = SPTRSM_F32;
  refuse(SPTRSM_ERR_ARGUMENT, "different dtypes");
  s.U.T.dtype = SPTRSM_F64;
  s.U.T.n = N - 1;
  refuse(SPTRSM_ERR_ARGUMENT, "L has order 13, U has order 12");
  s.U.T.n = N;
  s.U.T.uplo = SPTRSM_LOWER;
  refuse(SPTRSM_ERR_ARGUMENT, "U is a lower triangle");
  s.U.T.uplo = SPTRSM_UPPER;
  s.L.T.uplo = SPTRSM_UPPER;
  refuse(SPTRSM_ERR_ARGUMENT, "L is an upper triangle");
  s.L.T.uplo = SPTRSM_LOWER;
  s.U.val[s.U.ptr[8] - 1] = 0;
  refuse(SPTRSM_ERR_SINGULAR, "U: diagonal entry (7,7) is zero");
  s.L.idx[s.L.ptr[4] - 1] = 9;
  refuse(SPTRSM_ERR_STRUCTURE, "L: entry (3,9) is above the diagonal");
  s.f.u_kind = SPTRSM_U_IS_LT;
  refuse(SPTRSM_ERR_ARGUMENT, "U is given, but u_kind says");
  s.f.u_kind = (sptrsm_u_kind)7;
  refuse(SPTRSM_ERR_ARGUMENT, "unknown u_kind 7");
  s.f.L = NULL;
  refuse(SPTRSM_ERR_ARGUMENT, "L is NULL");
  s.f.size = 0;
  refuse(SPTRSM_ERR_ARGUMENT, "sptrsm_factors_init");
}

Test(direct_refusals, options) {
  sptrsm_options options;
  sptrsm_direct *d;
  sptrsm_options_init(&options);
  options.method = "no-such-method";
  expect(sptrsm_direct_create(&d, context, &s.f, &options), SPTRSM_ERR_ARGUMENT, "unknown method \"no-such-method\"");
  options.method = "a-name-that-goes-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on";
  expect(sptrsm_direct_create(&d, context, &s.f, &options), SPTRSM_ERR_ARGUMENT, "unknown method \"a-name");
  options.size = 3;
  expect(sptrsm_direct_create(&d, context, &s.f, &options), SPTRSM_ERR_ARGUMENT, "sptrsm_options_init");
}

Test(direct_refusals, calls) {
  sptrsm_direct *d;
  expect(sptrsm_direct_create(NULL, context, &s.f, NULL), SPTRSM_ERR_ARGUMENT, "out, context or factors is NULL");
  expect(sptrsm_direct_create(&d, NULL, &s.f, NULL), SPTRSM_ERR_ARGUMENT, "out, context or factors is NULL");
  expect(sptrsm_direct_create(&d, context, NULL, NULL), SPTRSM_ERR_ARGUMENT, "out, context or factors is NULL");
  cr_assert_eq(sptrsm_direct_create(&d, context, &s.f, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  double data[N];
  sptrsm_block B = {.data = data, .n = N, .nrhs = 1, .ld = 1, .dtype = SPTRSM_F64}, wrong = B;
  size_t bytes;
  sptrsm_info unset = {0}, info = {.size = sizeof info};
  expect(sptrsm_direct_solve(NULL, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &B), SPTRSM_ERR_ARGUMENT, "direct, B or X is NULL");
  expect(sptrsm_direct_solve(d, SPTRSM_SYS_A, SPTRSM_N, NULL, NULL, &B), SPTRSM_ERR_ARGUMENT, "direct, B or X is NULL");
  expect(sptrsm_direct_solve(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, NULL), SPTRSM_ERR_ARGUMENT, "direct, B or X is NULL");
  expect(sptrsm_direct_solve(d, SPTRSM_SYS_COUNT, SPTRSM_N, NULL, &B, &B), SPTRSM_ERR_ARGUMENT, "unknown system 21");
  expect(sptrsm_direct_solve(d, (sptrsm_system)-1, SPTRSM_N, NULL, &B, &B), SPTRSM_ERR_ARGUMENT, "unknown system -1");
  expect(sptrsm_direct_solve(d, SPTRSM_SYS_A, (sptrsm_op)3, NULL, &B, &B), SPTRSM_ERR_ARGUMENT, "unknown op 3");
  wrong.n = N + 1;
  expect(sptrsm_direct_solve(d, SPTRSM_SYS_P, SPTRSM_N, NULL, &wrong, &B), SPTRSM_ERR_ARGUMENT, "B has 14 rows");
  expect(sptrsm_direct_set_values(NULL, NULL, NULL, NULL, NULL), SPTRSM_ERR_ARGUMENT, "direct is NULL");
  expect(sptrsm_direct_info(&info, NULL, NULL), SPTRSM_ERR_ARGUMENT, "direct is NULL");
  expect(sptrsm_direct_info(&unset, NULL, d), SPTRSM_ERR_ARGUMENT, "sizeof(sptrsm_info)");
  expect(sptrsm_direct_info(&info, &unset, d), SPTRSM_ERR_ARGUMENT, "sizeof(sptrsm_info)");
  cr_assert_null(info.method, "L's information was written although U's failed");
  expect(sptrsm_direct_workspace_bytes(NULL, d), SPTRSM_ERR_ARGUMENT, "out or direct is NULL");
  expect(sptrsm_direct_workspace_bytes(&bytes, NULL), SPTRSM_ERR_ARGUMENT, "out or direct is NULL");
  sptrsm_direct_destroy(d);
  sptrsm_direct_destroy(NULL);
  sptrsm_factors_init(NULL);
  build_factor_set(&s, &recipes[6], SPTRSM_F64); /* L only */
  cr_assert_eq(sptrsm_direct_create(&d, context, &s.f, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  expect(sptrsm_direct_info(NULL, &info, d), SPTRSM_ERR_ARGUMENT, "no U");
  sptrsm_direct_destroy(d);
}

Test(direct_refusals, names) {
  sptrsm_system system;
  for (int i = 0; i < SPTRSM_SYS_COUNT; i++) {
    char name[32];
    const char *stem = sptrsm_system_name((sptrsm_system)i), *prefixes[] = {"", "CHOLMOD_", "UMFPACK_"};
    cr_assert_not_null(stem);
    for (int p = 0; p < 3; p++) {
      snprintf(name, sizeof name, "%s%s", prefixes[p], stem);
      cr_assert_eq(sptrsm_system_from_name(&system, name), SPTRSM_OK, "%s", name);
      cr_assert_eq((int)system, i, "%s", name);
    }
  }
  cr_assert_null(sptrsm_system_name(SPTRSM_SYS_COUNT));
  cr_assert_null(sptrsm_system_name((sptrsm_system)-1));
  expect(sptrsm_system_from_name(&system, "lt"), SPTRSM_ERR_ARGUMENT, "A, At, Aat, L, Lt, Lat, U, Ut, Uat, D, LDLt, LD, DLt, P, Pt");
  expect(sptrsm_system_from_name(&system, "CHOLMOD_UMFPACK_A"), SPTRSM_ERR_ARGUMENT, "unknown system \"CHOLMOD_UMFPACK_A\"");
  expect(sptrsm_system_from_name(&system, ""), SPTRSM_ERR_ARGUMENT, "unknown system \"\"");
  expect(sptrsm_system_from_name(&system, NULL), SPTRSM_ERR_ARGUMENT, "NULL");
  expect(sptrsm_system_from_name(NULL, "A"), SPTRSM_ERR_ARGUMENT, "NULL");
}
