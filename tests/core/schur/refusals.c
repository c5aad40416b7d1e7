/* refusals.c -- requests and calls that sptrsm_schur must refuse, with status and message, and the smallest cases that it must not. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm_schur.h>

#include "core/base/clock.h"
#include "core/schur/schur.h"
#include "support/factor_set.h"

static sptrsm_context *context;
static sptrsm_direct *direct;
static factor_set set;
static sptrsm_schur_columns B, C;
static sptrsm_schur_request request;
static int64_t ptr[4] = {0, 2, 2, 3};
static int32_t idx[3] = {1, 7, 12};
static double val[6] = {1, 2, 3, 4, 5, 6};

/* The solver of one of the recipes; symmetric ones have A = A.' or A'. */
static void open_solver(int kind, sptrsm_dtype t, const sptrsm_options *options) {
  sptrsm_direct_destroy(direct);
  build_factor_set(&set, &recipes[kind], t);
  memcpy(set.perm_col, set.perm_row, sizeof set.perm_col);
  memcpy(set.scale_col, set.scale_row, sizeof set.scale_col);
  cr_assert_eq(sptrsm_direct_create(&direct, context, &set.f, options), SPTRSM_OK, "%s", sptrsm_last_error());
}

static void begin(void) {
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_context_set_threads(context, 2), SPTRSM_OK); /* a limit of memory is for all */
  direct = NULL;
  open_solver(5, SPTRSM_F64, NULL);
  sptrsm_schur_columns_init(&B);
  B.count = 3, B.ptr = ptr, B.idx = idx, B.val = val;
  C = B;
  sptrsm_schur_request_init(&request);
  request.B = &B;
}

static void end(void) {
  sptrsm_direct_destroy(direct);
  sptrsm_context_destroy(context);
}

TestSuite(schur_refusals, .init = begin, .fini = end);

static void expect(sptrsm_status status, sptrsm_status expected, const char *message) {
  cr_assert_eq(status, expected, "%s instead of %s for \"%s\"", sptrsm_status_name(status), sptrsm_status_name(expected), message);
  cr_assert(strstr(sptrsm_last_error(), message), "\"%s\" does not say \"%s\"", sptrsm_last_error(), message);
}

static void refuse(sptrsm_status expected, const char *message) {
  sptrsm_schur *s = (sptrsm_schur *)&set;
  expect(sptrsm_schur_create(&s, direct, &request), expected, message);
  cr_assert(s == (sptrsm_schur *)&set, "the out-parameter was written for \"%s\"", message);
}

static sptrsm_schur *create(void) {
  sptrsm_schur *s;
  cr_assert_eq(sptrsm_schur_create(&s, direct, &request), SPTRSM_OK, "%s", sptrsm_last_error());
  return s;
}

Test(schur_refusals, requests) {
  sptrsm_schur *s;
  expect(sptrsm_schur_create(NULL, direct, &request), SPTRSM_ERR_ARGUMENT, "out, direct or request is NULL");
  expect(sptrsm_schur_create(&s, NULL, &request), SPTRSM_ERR_ARGUMENT, "out, direct or request is NULL");
  expect(sptrsm_schur_create(&s, direct, NULL), SPTRSM_ERR_ARGUMENT, "out, direct or request is NULL");
  request.op = (sptrsm_op)3;
  refuse(SPTRSM_ERR_ARGUMENT, "unknown op 3");
  request.op = SPTRSM_T;
  refuse(SPTRSM_ERR_ARGUMENT, "without C, op must be N");
  request.op = SPTRSM_N;
  request.uplo = (sptrsm_uplo)2;
  refuse(SPTRSM_ERR_ARGUMENT, "unknown triangle 2");
  request.uplo = SPTRSM_LOWER;
  request.B = NULL;
  refuse(SPTRSM_ERR_ARGUMENT, "no B");
  request.size = 0;
  refuse(SPTRSM_ERR_ARGUMENT, "call sptrsm_schur_request_init first");
}

Test(schur_refusals, columns) {
  B.size = 0;
  refuse(SPTRSM_ERR_ARGUMENT, "call sptrsm_schur_columns_init first");
  B.size = sizeof B;
  B.count = -1;
  refuse(SPTRSM_ERR_ARGUMENT, "B: count = -1");
  B.count = (int64_t)INT32_MAX + 1;
  refuse(SPTRSM_ERR_ARGUMENT, "B: count = 2147483648");
  B.ptr = NULL;
  B.count = INT32_MAX;
  refuse(SPTRSM_ERR_ARGUMENT, "B: ptr is NULL");
  B.count = 3;
  refuse(SPTRSM_ERR_ARGUMENT, "B: ptr is NULL");
  B.ptr = ptr;
  B.val = NULL;
  refuse(SPTRSM_ERR_ARGUMENT, "B: idx or val is NULL");
  B.val = val;
  ptr[0] = 1;
  refuse(SPTRSM_ERR_STRUCTURE, "B: ptr[0] = 1 is not 0");
  ptr[0] = 0, ptr[2] = 1;
  refuse(SPTRSM_ERR_STRUCTURE, "B: ptr[2] = 1 is less than the one before, 2");
  ptr[2] = 2, idx[1] = N;
  refuse(SPTRSM_ERR_STRUCTURE, "B: idx[1] = 13 in column 0 is not in 0..12");
  idx[1] = -1;
  refuse(SPTRSM_ERR_STRUCTURE, "B: idx[1] = -1 in column 0");
  idx[1] = 1;
  refuse(SPTRSM_ERR_STRUCTURE, "B: idx[1] = 1 in column 0 comes after 1");
  idx[1] = 7;
  int64_t reversed[2] = {0, 2};
  int32_t rows[2] = {5, 4};
  C.count = 1, C.ptr = reversed, C.idx = rows;
  request.C = &C;
  refuse(SPTRSM_ERR_STRUCTURE, "C: idx[1] = 4 in column 0 comes after 5");
}

Test(schur_refusals, dense_columns) {
  sptrsm_block dense = {val, 2, N, 2, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  B.dense = &dense;
  refuse(SPTRSM_ERR_ARGUMENT, "B is given both dense and sparse");
  sptrsm_schur_columns_init(&B);
  B.dense = &dense;
  dense.n = 3;
  refuse(SPTRSM_ERR_ARGUMENT, "B has 3 rows, the factors have order 13");
  dense.n = N, dense.ld = 1;
  refuse(SPTRSM_ERR_ARGUMENT, "B: ld = 1 is less than 2");
  dense.ld = 2, dense.dtype = SPTRSM_F32;
  refuse(SPTRSM_ERR_ARGUMENT, "B has another dtype");
  dense.dtype = SPTRSM_F64, dense.place = SPTRSM_CUDA;
  refuse(SPTRSM_ERR_ARGUMENT, "B is in device memory");
}

Test(schur_refusals, factors_without_symmetry) {
  open_solver(0, SPTRSM_F64, NULL);
  refuse(SPTRSM_ERR_ARGUMENT, "without C, U must be L^T or L^H");
  open_solver(6, SPTRSM_F64, NULL);
  refuse(SPTRSM_ERR_ARGUMENT, "the factors have only L");
  open_solver(5, SPTRSM_F64, NULL);
  int32_t swap = set.perm_col[3];
  set.perm_col[3] = set.perm_col[4], set.perm_col[4] = swap;
  sptrsm_direct_destroy(direct);
  cr_assert_eq(sptrsm_direct_create(&direct, context, &set.f, NULL), SPTRSM_OK);
  refuse(SPTRSM_ERR_ARGUMENT, "row 3 of L is row");
  build_factor_set(&set, &recipes[4], SPTRSM_F64);
  memcpy(set.perm_col, set.perm_row, sizeof set.perm_col);
  set.scale_col[6] = 3;
  sptrsm_direct_destroy(direct);
  cr_assert_eq(sptrsm_direct_create(&direct, context, &set.f, NULL), SPTRSM_OK);
  refuse(SPTRSM_ERR_ARGUMENT, "scale row and column 6 by");
}

/* A multiplication on the left and a division by the inverse on the right. */
Test(schur_refusals, scalings_that_are_alike_in_effect_are_taken) {
  build_factor_set(&set, &recipes[4], SPTRSM_F64);
  memcpy(set.perm_col, set.perm_row, sizeof set.perm_col);
  set.f.row_op = SPTRSM_MULTIPLY, set.f.col_op = SPTRSM_DIVIDE;
  for (int i = 0; i < N; i++) set.scale_row[i] = ldexp(1, i % 5 - 2), set.scale_col[i] = ldexp(1, 2 - i % 5);
  sptrsm_direct_destroy(direct);
  cr_assert_eq(sptrsm_direct_create(&direct, context, &set.f, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_schur_destroy(create());
  set.f.col_op = SPTRSM_MULTIPLY;
  sptrsm_direct_destroy(direct);
  cr_assert_eq(sptrsm_direct_create(&direct, context, &set.f, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  refuse(SPTRSM_ERR_ARGUMENT, "scale row and column 0 by 0.25 and 4");
}

Test(schur_refusals, D_without_symmetry) {
  open_solver(4, SPTRSM_C128, NULL);
  set.D[2 * 5 + 1] = 0.25;
  sptrsm_direct_destroy(direct);
  cr_assert_eq(sptrsm_direct_create(&direct, context, &set.f, NULL), SPTRSM_OK);
  refuse(SPTRSM_ERR_ARGUMENT, "D[5] is not real");
  open_solver(3, SPTRSM_C128, NULL);
  set.f.D_hermitian = 1;
  sptrsm_direct_destroy(direct);
  cr_assert_eq(sptrsm_direct_create(&direct, context, &set.f, NULL), SPTRSM_OK);
  refuse(SPTRSM_ERR_ARGUMENT, "the 2x2 blocks of D are Hermitian and U is L^T");
}

Test(schur_refusals, single_precision_and_limits) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.precision = SPTRSM_MIXED;
  open_solver(5, SPTRSM_F64, &options);
  refuse(SPTRSM_ERR_UNSUPPORTED, "kept in single precision");
  options.precision = SPTRSM_WORKING;
  options.memory_limit = 2000;
  open_solver(5, SPTRSM_F64, &options);
  refuse(SPTRSM_ERR_MEMORY, "the limit is 2000");
}

/* More threads work only where the limit allows it, and a limit for one thread is enough. */
Test(schur_refusals, threads_keep_the_limit) {
  double data[9];
  sptrsm_block S = {data, 3, 3, 3, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  static const size_t limits[] = {0, 5, 12, 0}; /* quarters of what one thread needs; 0: none */
  size_t bytes[4];
  for (int k = 0; k < 4; k++) {
    sptrsm_options options;
    sptrsm_schur_facts facts = {.size = sizeof facts};
    sptrsm_options_init(&options);
    options.memory_limit = k > 0 ? limits[k] * bytes[0] / 4 : 0;
    open_solver(5, SPTRSM_F64, &options);
    sptrsm_schur *s = create();
    cr_assert_eq(sptrsm_context_set_threads(context, k > 0 ? 16 : 1), SPTRSM_OK);
    cr_assert_eq(sptrsm_schur_info(&facts, s), SPTRSM_OK);
    cr_assert_eq(sptrsm_schur_solve(s, &S), SPTRSM_OK, "%s", sptrsm_last_error());
    bytes[k] = facts.workspace_bytes;
    cr_assert(limits[k] == 0 || bytes[k] <= options.memory_limit, "%zu bytes, the limit is %zu", bytes[k], options.memory_limit);
    sptrsm_schur_destroy(s);
  }
  cr_assert(bytes[1] < bytes[2] && bytes[2] < bytes[3], "%zu, %zu and %zu bytes", bytes[1], bytes[2], bytes[3]);
}

/* Both are of one clock, and the analysis is a part of the call. */
Test(schur_refusals, an_analysis_takes_no_longer_than_the_call) {
  sptrsm_schur_facts facts = {.size = sizeof facts};
  const double begin_of_call = spti_seconds();
  sptrsm_schur *s = create();
  const double most = spti_seconds() - begin_of_call;
  cr_assert_eq(sptrsm_schur_info(&facts, s), SPTRSM_OK);
  cr_assert(facts.analysis_seconds >= 0 && facts.analysis_seconds <= most, "%g of %g s", facts.analysis_seconds, most);
  sptrsm_schur_destroy(s);
}

/* ---- calls ---- */

Test(schur_refusals, blocks) {
  double data[9];
  sptrsm_block S = {data, 3, 3, 3, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  sptrsm_schur *s = create();
  expect(sptrsm_schur_solve(NULL, &S), SPTRSM_ERR_ARGUMENT, "schur or S is NULL");
  expect(sptrsm_schur_solve(s, NULL), SPTRSM_ERR_ARGUMENT, "schur or S is NULL");
  S.n = 2;
  expect(sptrsm_schur_solve(s, &S), SPTRSM_ERR_ARGUMENT, "S is 2 x 3, but C has 3 rows and B 3 columns");
  S.n = 3, S.dtype = SPTRSM_C128;
  expect(sptrsm_schur_solve(s, &S), SPTRSM_ERR_ARGUMENT, "S has another dtype");
  S.dtype = SPTRSM_F64, S.ld = 2;
  expect(sptrsm_schur_solve(s, &S), SPTRSM_ERR_ARGUMENT, "S: ld = 2 is less than 3");
  S.ld = 3, S.data = NULL;
  expect(sptrsm_schur_solve(s, &S), SPTRSM_ERR_ARGUMENT, "S: data is NULL");
  sptrsm_schur_facts facts = {.size = 1};
  expect(sptrsm_schur_info(&facts, s), SPTRSM_ERR_ARGUMENT, "set out->size");
  expect(sptrsm_schur_info(&facts, NULL), SPTRSM_ERR_ARGUMENT, "schur is NULL");
  sptrsm_schur_destroy(s);
  sptrsm_schur_destroy(NULL);
}

Test(schur_refusals, many) {
  double data[18] = {0};
  sptrsm_block S[2];
  sptrsm_schur *s = create(), *items[2] = {s, NULL};
  for (int i = 0; i < 2; i++) S[i] = (sptrsm_block){data + 9 * i, 3, 3, 3, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  cr_assert_eq(sptrsm_schur_solve_many(NULL, 0, NULL), SPTRSM_OK);
  expect(sptrsm_schur_solve_many(NULL, 2, S), SPTRSM_ERR_ARGUMENT, "2 items, items or S is NULL");
  expect(sptrsm_schur_solve_many(items, -1, S), SPTRSM_ERR_ARGUMENT, "-1 items");
  expect(sptrsm_schur_solve_many(items, 2, S), SPTRSM_ERR_ARGUMENT, "item 1 is NULL");
  items[1] = s;
  S[1].nrhs = 4;
  expect(sptrsm_schur_solve_many(items, 2, S), SPTRSM_ERR_ARGUMENT, "item 1: S is 3 x 4");
  S[1].nrhs = 3;
  for (int k = 0; k < 18; k++) cr_assert(data[k] == 0, "element %d was written", k);
  sptrsm_schur_destroy(s);
}

static double shared[200];

Test(schur_refusals, blocks_that_overlap) {
  sptrsm_block dense = {shared, 3, N, 3, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST}, S[2];
  for (int i = 0; i < 2; i++) S[i] = (sptrsm_block){shared + 60 + 9 * i, 3, 3, 3, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  for (int k = 0; k < 200; k++) shared[k] = k % 5;
  sptrsm_schur *sparse = create();
  sptrsm_schur_columns_init(&B);
  B.dense = &dense;
  sptrsm_schur *s = create(), *items[2] = {sparse, s};
  S[0].data = shared + 3 * N - 1;
  expect(sptrsm_schur_solve(s, &S[0]), SPTRSM_ERR_ARGUMENT, "S overlaps dense B, which is read while S is written");
  expect(sptrsm_schur_solve_many(items, 2, S), SPTRSM_ERR_ARGUMENT, "item 0: S overlaps dense B of item 1");
  S[0].data = (double *)S[1].data + 8;
  expect(sptrsm_schur_solve_many(items, 2, S), SPTRSM_ERR_ARGUMENT, "item 1: S overlaps S of item 0");
  for (int k = 0; k < 200; k++) cr_assert(shared[k] == k % 5, "element %d was written", k);
  S[0].data = (double *)S[1].data + 9;
  cr_assert_eq(sptrsm_schur_solve_many(items, 2, S), SPTRSM_OK, "%s", sptrsm_last_error());
  S[0].data = (double *)S[1].data + 3; /* side by side */
  S[0].ld = S[1].ld = 6;
  cr_assert_eq(sptrsm_schur_solve_many(items, 2, S), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_schur_destroy(sparse);
  sptrsm_schur_destroy(s);
}

/* In elements of one type they would lie side by side. */
Test(schur_refusals, blocks_of_two_types_that_overlap) {
  sptrsm_block S[2] = {{(float *)(void *)shared + 1, 6, 3, 3, SPTRSM_F32, SPTRSM_ROW_MAJOR, SPTRSM_HOST},
                       {shared + 5, 6, 3, 3, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST}};
  static float single[3] = {1, 2, 3};
  sptrsm_direct *first = direct;
  sptrsm_schur *items[2] = {NULL, create()};
  static factor_set other;
  build_factor_set(&other, &recipes[5], SPTRSM_F32);
  memcpy(other.perm_col, other.perm_row, sizeof other.perm_col);
  cr_assert_eq(sptrsm_direct_create(&direct, context, &other.f, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  B.val = single;
  items[0] = create();
  expect(sptrsm_schur_solve_many(items, 2, S), SPTRSM_ERR_ARGUMENT, "S overlaps S of item");
  for (int i = 0; i < 2; i++) sptrsm_schur_destroy(items[i]);
  sptrsm_direct_destroy(direct);
  direct = first;
}

Test(schur_refusals, new_values) {
  sptrsm_schur *s = create();
  expect(sptrsm_schur_set_values(NULL, val, NULL), SPTRSM_ERR_ARGUMENT, "schur is NULL");
  expect(sptrsm_schur_set_values(s, NULL, val), SPTRSM_ERR_ARGUMENT, "the symmetric form has no C");
  static double data[N];
  sptrsm_block dense = {data, 1, N, 1, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  expect(sptrsm_schur_set_blocks(NULL, &dense, NULL), SPTRSM_ERR_ARGUMENT, "schur is NULL");
  expect(sptrsm_schur_set_blocks(s, NULL, &dense), SPTRSM_ERR_ARGUMENT, "the symmetric form has no C");
  expect(sptrsm_schur_set_blocks(s, &dense, NULL), SPTRSM_ERR_ARGUMENT, "B is sparse");
  sptrsm_schur_destroy(s);
  sptrsm_schur_columns_init(&C);
  C.dense = &dense;
  request.C = &C;
  s = create();
  expect(sptrsm_schur_set_values(s, NULL, val), SPTRSM_ERR_ARGUMENT, "C is dense");
  dense.n = N - 1;
  expect(sptrsm_schur_set_blocks(s, NULL, &dense), SPTRSM_ERR_ARGUMENT, "C has 12 rows, the factors have order 13");
  sptrsm_schur_destroy(s);
}

Test(schur_refusals, D_that_is_no_longer_real) {
  double data[18];
  sptrsm_block S = {data, 3, 3, 3, SPTRSM_C128, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  open_solver(4, SPTRSM_C128, NULL);
  sptrsm_schur *s = create();
  set.D[2 * 5 + 1] = 0.25;
  cr_assert_eq(sptrsm_direct_set_values(direct, NULL, set.D, NULL, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  expect(sptrsm_schur_solve(s, &S), SPTRSM_ERR_ARGUMENT, "D[5] is not real");
  sptrsm_schur_destroy(s);
}

Test(schur_refusals, other_2x2_blocks) {
  double data[9];
  sptrsm_block S = {data, 3, 3, 3, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  open_solver(3, SPTRSM_F64, NULL);
  sptrsm_schur *s = create();
  cr_assert_eq(sptrsm_schur_solve(s, &S), SPTRSM_OK, "%s", sptrsm_last_error());
  set.D_sub[2] = 0;
  cr_assert_eq(sptrsm_direct_set_values(direct, NULL, NULL, set.D_sub, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  expect(sptrsm_schur_solve(s, &S), SPTRSM_ERR_ARGUMENT, "D_sub[2] is zero now");
  sptrsm_schur_destroy(s);
}

/* A column is solved in the rows that it reaches: here L is diagonal, and an entry reaches its own row. */
Test(schur_refusals, rows_that_a_column_does_not_reach_are_left_out) {
  static const int64_t one[2] = {0, 1};
  static int32_t row;
  int64_t lines[N + 1];
  int32_t diagonal[N];
  double twos[N];
  for (int i = 0; i < N; i++) lines[i] = diagonal[i] = i, twos[i] = 2;
  lines[N] = N;
  sptrsm_sparse L = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, N, lines, diagonal, twos};
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &L, f.u_kind = SPTRSM_U_IS_LT;
  sptrsm_direct_destroy(direct);
  cr_assert_eq(sptrsm_direct_create(&direct, context, &f, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  B.count = 1, B.ptr = one, B.idx = &row;
  for (row = 0; row < N; row++) {
    sptrsm_schur *s = create();
    cr_assert_eq(s->side[0].groups[0].rows, 1, "row %d: %d rows", row, (int)s->side[0].groups[0].rows);
    sptrsm_schur_destroy(s);
  }
}

/* ---- the smallest cases ---- */

Test(schur_refusals, no_columns_and_no_rows) {
  double data[4] = {5, 5, 5, 5};
  sptrsm_block S = {NULL, 1, 0, 0, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  sptrsm_schur_columns_init(&B);
  sptrsm_schur *s = create();
  cr_assert_eq(sptrsm_schur_solve(s, &S), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_schur_destroy(s);
  static const int64_t empty[3];
  sptrsm_sparse L = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, 0, empty, NULL, NULL};
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &L, f.u_kind = SPTRSM_U_IS_LT;
  sptrsm_direct_destroy(direct);
  cr_assert_eq(sptrsm_direct_create(&direct, context, &f, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  B.count = 2, B.ptr = empty;
  request.uplo = SPTRSM_UPPER;
  s = create();
  S = (sptrsm_block){data, 2, 2, 2, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  cr_assert_eq(sptrsm_schur_solve(s, &S), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(data[0] == 0 && data[1] == 0 && data[2] == 5 && data[3] == 0);
  sptrsm_schur_destroy(s);
}
