/* reach.c -- sptrsm_reach: solves with the part of a factor set against solves with the whole set. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sptrsm_reach.h>

#include "support/factor_set.h"

#ifndef REACH_PLACE
#define REACH_PLACE SPTRSM_HOST
#endif
#define ON_HOST (REACH_PLACE == SPTRSM_HOST) /* all cases, bit by bit; on a device some cases, within rounding errors */

enum { NRHS = 3 };

static sptrsm_context *context;
static void open_context(void) {
  cr_assert_eq(sptrsm_context_create(&context, REACH_PLACE, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
}
static void close_context(void) { sptrsm_context_destroy(context); }
TestSuite(reach, .init = open_context, .fini = close_context);

/* ---- sets of rows ---- */

static uint32_t seed = 20;
static int below(int bound) {
  seed = seed * 1664525u + 1013904223u;
  return (int)((seed >> 8) % (uint32_t)bound);
}

static int64_t some_rows(int32_t *rows, int out_of) {
  int64_t count = 0;
  for (int i = 0; i < N; i++)
    if (below(out_of) == 0) rows[count++] = i;
  return count;
}

static bool is_listed(const int32_t *rows, int64_t count, int32_t row) {
  bool found = count == SPTRSM_ALL_ROWS;
  for (int64_t k = 0; k < count; k++) found = found || rows[k] == row;
  return found;
}

/* Removes most off-diagonal entries, since otherwise every row reaches nearly every other. */
static void thin(triangle *t) {
  int64_t q = 0, p = 0;
  for (int line = 0; line < N && t->T.ptr; line++) {
    for (; p < t->ptr[line + 1]; p++) {
      if (t->idx[p] != line && below(4) != 0) continue;
      t->idx[q] = t->idx[p];
      put(t->val, q++, t->T.dtype, get(t->val, p, t->T.dtype));
    }
    t->ptr[line + 1] = q;
  }
}

/* ---- solving ---- */

typedef struct {
  sptrsm_block b;
  double data[2 * N * NRHS];
} block;

static void make_block(block *out, int32_t n, sptrsm_dtype t) {
  *out = (block){.b = {.ld = NRHS, .n = n, .nrhs = NRHS, .dtype = t}};
  out->b.data = out->data;
}

static void solve(const sptrsm_factors *f, const sptrsm_reach_request *q, const block *B, block *X) {
  sptrsm_direct *d;
  sptrsm_options options;
  sptrsm_options_init(&options);
  if (ON_HOST) options.method = "serial";
  cr_assert_eq(sptrsm_direct_create(&d, context, f, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_direct_solve(d, q->system, q->op, NULL, &B->b, &X->b), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_context_sync(context), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_direct_destroy(d);
}

/* The wanted rows of X by the part, in their rows of the whole X; other rows are zero. */
static sptrsm_reach_part solve_part(const sptrsm_factors *f, const sptrsm_reach_request *q, const block *B, block *X, const char *what) {
  sptrsm_reach *reach;
  sptrsm_reach_part part = {.size = sizeof part};
  block b, x;
  sptrsm_dtype t = B->b.dtype;
  cr_assert_eq(sptrsm_reach_create(&reach, f, q), SPTRSM_OK, "%s: %s", what, sptrsm_last_error());
  cr_assert_eq(sptrsm_reach_part_of(&part, reach), SPTRSM_OK);
  cr_assert_eq(part.factors->L->n, part.m);
  make_block(&b, part.m, t);
  make_block(&x, part.m, t);
  make_block(X, N, t);
  for (int32_t r = 0; r < part.m; r++)
    for (int k = 0; k < NRHS; k++) put(b.data, r * NRHS + k, t, get(B->data, part.b_rows[r] * NRHS + k, t));
  solve(part.factors, q, &b, &x);
  for (int32_t r = 0; r < part.m; r++)
    for (int k = 0; k < NRHS && is_listed(q->wanted, q->wanted_count, part.x_rows[r]); k++)
      put(X->data, part.x_rows[r] * NRHS + k, t, get(x.data, r * NRHS + k, t));
  sptrsm_reach_destroy(reach);
  return part;
}

/* serial sums a row in the order of its entries, so the part leaves out only additions of zeros. */
static void compare(const block *whole, const block *part, const sptrsm_reach_request *q, const char *what) {
  double largest = 0;
  for (int p = 0; p < N * NRHS; p++) largest = fmax(largest, cabs(get(whole->data, p, whole->b.dtype)));
  double tolerance = ON_HOST ? 0 : largest * (is_single(whole->b.dtype) ? 1e-4 : 1e-12);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < NRHS && is_listed(q->wanted, q->wanted_count, i); k++) {
      double complex x = get(whole->data, i * NRHS + k, whole->b.dtype), y = get(part->data, i * NRHS + k, whole->b.dtype);
      cr_assert(cabs(x - y) <= tolerance, "%s: x(%d,%d) is %g%+gi of the part, %g%+gi of the whole", what, i, k, creal(y), cimag(y),
                creal(x), cimag(x));
    }
}

/* Solves one system; `sets`: bit 0: B is sparse, bit 1: few rows of X are wanted. Returns the number of entries left out. */
static int64_t try_sets(const factor_set *s, sptrsm_system system, sptrsm_op op, int sets, const char *what) {
  int32_t nonzero[N], wanted[N];
  sptrsm_dtype t = s->L.T.dtype;
  block B, whole, part;
  sptrsm_reach_request q;
  sptrsm_reach_request_init(&q);
  q.system = system;
  q.op = op;
  if (sets & 1) q.nonzero = nonzero, q.nonzero_count = some_rows(nonzero, 5);
  if (sets & 2) q.wanted = wanted, q.wanted_count = some_rows(wanted, 4);
  make_block(&B, N, t);
  make_block(&whole, N, t);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < NRHS && is_listed(q.nonzero, q.nonzero_count, i); k++) put(B.data, i * NRHS + k, t, number(t));
  solve(&s->f, &q, &B, &whole);
  sptrsm_reach_part p = solve_part(&s->f, &q, &B, &part, what);
  compare(&whole, &part, &q, what);
  if (sets == 0) cr_assert(p.m == N && memcmp(whole.data, part.data, sizeof part.data) == 0, "%s: the whole as a part is another", what);
  return p.all_entries - p.entries;
}

static bool needs_missing_U(const factor_set *s, sptrsm_system system) {
  const sptrsm_factors *f = &s->f;
  bool has_U = f->U || f->u_kind != SPTRSM_U_GIVEN, has_u_in_name = strchr(sptrsm_system_name(system), 'U') != NULL;
  bool is_whole = system <= SPTRSM_SYS_Aat || system == SPTRSM_SYS_LDLt || system == SPTRSM_SYS_DLt;
  return !has_U && (has_u_in_name || is_whole);
}

Test(reach, every_system_of_every_factor_set) {
  static factor_set s;
  int64_t left_out = 0;
  for (int r = 0; r < RECIPES; r++)
    for (int t = ON_HOST ? SPTRSM_F32 : SPTRSM_C128; t <= SPTRSM_C128; t++) {
      build_factor_set(&s, &recipes[r], (sptrsm_dtype)t);
      thin(&s.L);
      thin(&s.U);
      for (int system = 0; system < SPTRSM_SYS_COUNT; system++)
        for (int op = SPTRSM_N; op <= (ON_HOST ? SPTRSM_C : SPTRSM_N); op++)
          for (int sets = ON_HOST ? 0 : 3; sets < 4 && !needs_missing_U(&s, (sptrsm_system)system); sets++) {
            char what[128];
            snprintf(what, sizeof what, "%s, type %d, system %s, op %d, sets %d", recipes[r].name, t,
                     sptrsm_system_name((sptrsm_system)system), op, sets);
            left_out += try_sets(&s, (sptrsm_system)system, (sptrsm_op)op, sets, what);
          }
    }
  cr_assert(left_out > (ON_HOST ? 50000 : 500), "only %lld entries were left out", (long long)left_out);
}

/* ---- rows that can be counted by hand ---- */

/* Row j+1 depends on row j; U = L^T. */
enum { CHAIN = 10 };
static int64_t chain_ptr[CHAIN + 1];
static int32_t chain_idx[2 * CHAIN];
static double chain_val[2 * CHAIN];

static sptrsm_sparse chain_triangle(void) {
  int64_t p = 0;
  for (int j = 0; j < CHAIN; j++) {
    chain_ptr[j] = p;
    chain_idx[p] = j, chain_val[p++] = 2;
    if (j + 1 < CHAIN) chain_idx[p] = j + 1, chain_val[p++] = -1;
  }
  chain_ptr[CHAIN] = p;
  return (sptrsm_sparse){.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .n = CHAIN, .ptr = chain_ptr, .idx = chain_idx, .val = chain_val};
}

static void expect_rows(const sptrsm_factors *f, sptrsm_reach_request q, int32_t first, int32_t end, int64_t entries) {
  sptrsm_reach *reach;
  sptrsm_reach_part part = {.size = sizeof part};
  cr_assert_eq(sptrsm_reach_create(&reach, f, &q), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_reach_part_of(&part, reach), SPTRSM_OK);
  cr_assert_eq(part.m, end - first, "%d rows instead of %d", part.m, end - first);
  for (int32_t r = 0; r < part.m; r++) cr_assert(part.b_rows[r] == first + r && part.x_rows[r] == first + r);
  cr_assert_eq(part.entries, entries, "%lld entries instead of %lld", (long long)part.entries, (long long)entries);
  sptrsm_reach_destroy(reach);
}

Test(reach, rows_of_a_chain) {
  static const int32_t six = 6, three = 3;
  sptrsm_sparse L = chain_triangle();
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &L;
  f.u_kind = SPTRSM_U_IS_LT;
  sptrsm_reach_request q;
  sptrsm_reach_request_init(&q);
  expect_rows(&f, q, 0, 10, 2 * 19);
  q.system = SPTRSM_SYS_L;
  q.nonzero = &three, q.nonzero_count = 1;
  expect_rows(&f, q, 3, 10, 7 + 6); /* row 3 and all rows after it */
  q.wanted = &six, q.wanted_count = 1;
  expect_rows(&f, q, 3, 7, 4 + 3); /* between the two */
  q.op = SPTRSM_T;
  expect_rows(&f, q, 0, 0, 0); /* 3 does not reach 6 in L^T */
  q.op = SPTRSM_N;
  q.system = SPTRSM_SYS_A;
  q.nonzero_count = 0;
  expect_rows(&f, q, 0, 0, 0); /* B = 0 */
  q.nonzero_count = SPTRSM_ALL_ROWS, q.wanted_count = 0;
  expect_rows(&f, q, 0, 0, 0);
  q.wanted_count = 1; /* x(6) = (L^-T L^-1 b)(6) needs all of L and rows 6 to 9 of L^T, where the others have a one */
  expect_rows(&f, q, 0, 10, 19 + 7 + 6);
}

/* ---- refusals ---- */

static void expect_refusal(const sptrsm_factors *f, const sptrsm_reach_request *q, sptrsm_status expected, const char *message) {
  sptrsm_reach *reach = NULL;
  cr_assert_eq(sptrsm_reach_create(&reach, f, q), expected, "%s", message);
  cr_assert(strstr(sptrsm_last_error(), message), "\"%s\" does not say \"%s\"", sptrsm_last_error(), message);
  cr_assert_null(reach);
}

Test(reach, refusals) {
  int32_t rows[3] = {1, 4, 10}, perm[CHAIN] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 8};
  sptrsm_sparse L = chain_triangle(), device = L;
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &L;
  sptrsm_reach_request q = {0};
  expect_refusal(&f, &q, SPTRSM_ERR_ARGUMENT, "sptrsm_reach_request_init");
  sptrsm_reach_request_init(&q);
  expect_refusal(&f, &q, SPTRSM_ERR_ARGUMENT, "system A needs U");
  q.system = SPTRSM_SYS_COUNT;
  expect_refusal(&f, &q, SPTRSM_ERR_ARGUMENT, "unknown system");
  q.system = SPTRSM_SYS_L, q.op = (sptrsm_op)3;
  expect_refusal(&f, &q, SPTRSM_ERR_ARGUMENT, "unknown op 3");
  q.op = SPTRSM_N;
  q.nonzero = rows, q.nonzero_count = 3;
  expect_refusal(&f, &q, SPTRSM_ERR_ARGUMENT, "nonzero[2] = 10 is not a row of 0..9");
  rows[2] = 4;
  expect_refusal(&f, &q, SPTRSM_ERR_ARGUMENT, "nonzero[2] = 4 comes after 4");
  q.nonzero_count = -2;
  expect_refusal(&f, &q, SPTRSM_ERR_ARGUMENT, "nonzero: -2 rows");
  q.nonzero_count = CHAIN + 1; /* more than n: the list is not read */
  expect_refusal(&f, &q, SPTRSM_ERR_ARGUMENT, "nonzero: 11 rows of 10");
  q.nonzero_count = SPTRSM_ALL_ROWS;
  q.wanted_count = 1;
  expect_refusal(&f, &q, SPTRSM_ERR_ARGUMENT, "wanted: 1 rows at NULL");
  q.wanted_count = SPTRSM_ALL_ROWS;
  f.perm_row = perm;
  expect_refusal(&f, &q, SPTRSM_ERR_STRUCTURE, "perm_row[9] = 8 is there already, at 8");
  f.row_convention = (sptrsm_convention)2;
  expect_refusal(&f, &q, SPTRSM_ERR_ARGUMENT, "unknown convention 2 of perm_row");
  f.perm_row = NULL;
  double D[CHAIN] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, D_sub[CHAIN] = {[3] = 0.5, [4] = 0.5}, scale[CHAIN] = {1, 1, 1, 1, 1, 1, 1, 1, 1, NAN};
  rows[0] = 5; /* the part does not contain the wrong entry */
  q.nonzero_count = 1;
  f.D = D, f.D_sub = D_sub;
  expect_refusal(&f, &q, SPTRSM_ERR_STRUCTURE, "D_sub[3] and D_sub[4] are both nonzero");
  f.D_sub = NULL, D[8] = 0;
  expect_refusal(&f, &q, SPTRSM_ERR_SINGULAR, "D[8] is zero");
  f.D = NULL, f.scale_col = scale;
  expect_refusal(&f, &q, SPTRSM_ERR_SINGULAR, "scale_col[9] = nan");
  f.scale_col = NULL;
  q.nonzero_count = SPTRSM_ALL_ROWS;
  device.place = SPTRSM_CUDA;
  f.L = &device;
  expect_refusal(&f, &q, SPTRSM_ERR_UNSUPPORTED, "L is in device memory");
  f.L = &L;
  chain_val[0] = 0;
  expect_refusal(&f, &q, SPTRSM_ERR_SINGULAR, "L: diagonal entry (0,0) is zero");
  chain_val[0] = 2;
  chain_idx[3] = CHAIN;
  expect_refusal(&f, &q, SPTRSM_ERR_STRUCTURE, "L: ");
}

Test(reach, an_empty_system) {
  static const int64_t zero;
  sptrsm_sparse L = {.format = SPTRSM_CSR, .dtype = SPTRSM_C64, .ptr = &zero};
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &L;
  f.u_kind = SPTRSM_U_IS_LH;
  sptrsm_reach_request q;
  sptrsm_reach_request_init(&q);
  expect_rows(&f, q, 0, 0, 0);
}
