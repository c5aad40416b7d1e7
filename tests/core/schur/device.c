/* device.c -- Schur complements on a device, emulated or real (SCHUR_ON_GPU), beside those on the host: factors of which columns reach
 * small parts, S and dense columns in device memory, many at a time, new values, and what is refused. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm_schur.h>

#include "support/factor_set.h"

#ifdef SCHUR_ON_GPU
#include <cuda_runtime_api.h>
enum { ORDER = 20000, COLUMNS = 1500, ALL_CASES = 1 };
#else
enum { ORDER = 300, COLUMNS = 140, ALL_CASES = 0 }; /* the emulator is slow */
#endif
enum { WIDE = 2 * COLUMNS + 3 }; /* leading dimension of S, in real numbers */

static sptrsm_context *device, *host;
static void *kept[16]; /* freed at the end of a test */
static int kept_count;

static void open_contexts(void) {
  cr_assert_eq(sptrsm_context_create(&device, SPTRSM_CUDA, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_context_create(&host, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
}

static void close_contexts(void) {
  cr_assert_eq(sptrsm_context_sync(device), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_context_destroy(device);
  sptrsm_context_destroy(host);
  while (kept_count > 0) {
#ifdef SCHUR_ON_GPU
    cr_assert_eq(cudaFree(kept[--kept_count]), cudaSuccess);
#else
    free(kept[--kept_count]);
#endif
  }
}

TestSuite(schur_device, .init = open_contexts, .fini = close_contexts);

static void ok(sptrsm_status status, const char *what) { cr_assert_eq(status, SPTRSM_OK, "%s: %s", what, sptrsm_last_error()); }

/* Memory that host and device reach, for the whole test. */
static void *reachable(size_t bytes) {
  void *memory = NULL;
#ifdef SCHUR_ON_GPU
  cr_assert_eq(cudaMallocManaged(&memory, bytes, cudaMemAttachGlobal), cudaSuccess);
#else
  memory = malloc(bytes);
#endif
  cr_assert(memory != NULL && kept_count < (int)(sizeof kept / sizeof *kept));
  return kept[kept_count++] = memory;
}

static int below(int bound) { return (int)((creal(number(SPTRSM_F64)) + 1) / 2 * bound); }

/* ---- factors: a binary tree in postorder; column j has entries in rows of its path to the root ---- */

typedef struct {
  sptrsm_factors f;
  sptrsm_sparse L, U;
  int64_t ptr[ORDER + 1];
  int32_t idx[8 * ORDER], perm[ORDER];
  double val[16 * ORDER], D[2 * ORDER], D_sub[2 * ORDER], scale[ORDER];
} tree;

/* Numbers the subtree of `size` rows that ends before `end`; parent: of its root. */
static void number_tree(int32_t *parent, int32_t end, int32_t size, int32_t above) {
  if (size == 0) return;
  parent[end - 1] = above;
  const int32_t right = (size - 1) / 2;
  number_tree(parent, end - 1, right, end - 1);
  number_tree(parent, end - 1 - right, size - 1 - right, end - 1);
}

static void make_tree(tree *t, sptrsm_dtype dtype) {
  static int32_t parent[ORDER];
  int64_t p = 0;
  memset(t, 0, sizeof *t);
  number_tree(parent, ORDER, ORDER, -1);
  for (int32_t j = 0; j < ORDER; j++) {
    t->ptr[j] = p;
    t->idx[p] = j;
    put(t->val, p++, dtype, 2 + number(dtype) / 2);
    for (int32_t i = parent[j]; i >= 0 && p < t->ptr[j] + 8; i = parent[i]) {
      t->idx[p] = i;
      put(t->val, p++, dtype, number(dtype) / 4);
    }
    t->perm[j] = (int32_t)((j * (int64_t)7) % ORDER);
    t->scale[j] = 1 + 0.5 * (j % 3);
    put(t->D, j, dtype, j % 2 ? 3 : -2);
    put(t->D_sub, j, dtype, j % 5 == 2 && j + 1 < ORDER ? 0.5 : 0);
  }
  t->ptr[ORDER] = p;
  t->L = (sptrsm_sparse){.format = SPTRSM_CSC, .dtype = dtype, .n = ORDER, .ptr = t->ptr, .idx = t->idx, .val = t->val};
  sptrsm_factors_init(&t->f);
  t->f.L = &t->L;
  t->f.perm_row = t->f.perm_col = t->perm;
  t->f.row_convention = SPTRSM_GATHER;
  t->f.col_convention = SPTRSM_SCATTER;
  t->f.u_kind = SPTRSM_U_IS_LT;
}

/* ---- columns ---- */

typedef struct {
  sptrsm_schur_columns c;
  int64_t ptr[COLUMNS + 1];
  int32_t idx[3 * COLUMNS];
  double val[6 * COLUMNS];
} columns;

static void make_columns(columns *c, int count, sptrsm_dtype t) {
  int64_t p = 0;
  sptrsm_schur_columns_init(&c->c);
  for (int k = 0; k < count; k++) {
    c->ptr[k] = p;
    for (int32_t e = 0, row = below(ORDER); e < k % 3 && row < ORDER; e++, row += 1 + below(7)) {
      c->idx[p] = row;
      put(c->val, p++, t, number(t));
    }
  }
  c->ptr[count] = p;
  c->c.count = count;
  c->c.ptr = c->ptr, c->c.idx = c->idx, c->c.val = c->val;
}

/* ---- S on both sides ---- */

static sptrsm_block block_for(double *data, int64_t rows, int64_t count, sptrsm_dtype t, sptrsm_layout layout, sptrsm_place place) {
  const int64_t ld = COLUMNS + 1;
  return (sptrsm_block){.data = data, .ld = ld, .n = (int32_t)rows, .nrhs = count, .dtype = t, .layout = layout, .place = place};
}

static int64_t at(const sptrsm_block *b, int64_t i, int64_t j) { return b->layout == SPTRSM_ROW_MAJOR ? i * b->ld + j : j * b->ld + i; }

/* Every element, so also those outside the triangle and in the gaps of ld, which must be as they were. */
static void expect_same(const sptrsm_block *got, const sptrsm_block *expected, const char *what) {
  double largest = 0;
  for (int64_t i = 0; i < got->n; i++)
    for (int64_t j = 0; j < got->nrhs; j++) largest = fmax(largest, cabs(get(expected->data, at(expected, i, j), got->dtype)));
  const double tolerance = (is_single(got->dtype) ? 1e-4 : 1e-12) * largest;
  for (int64_t i = 0; i < got->n; i++)
    for (int64_t j = 0; j < got->nrhs; j++) {
      const double complex x = get(got->data, at(got, i, j), got->dtype), y = get(expected->data, at(expected, i, j), got->dtype);
      cr_assert(cabs(x - y) <= tolerance, "%s: S(%lld,%lld) is %g%+gi, on the host %g%+gi", what, (long long)i, (long long)j, creal(x),
                cimag(x), creal(y), cimag(y));
    }
  cr_assert_gt(largest, 0, "%s: S is zero", what);
}

static void poison(double *data) {
  for (int64_t e = 0; e < (int64_t)WIDE * COLUMNS; e++) data[e] = 0.25;
}

typedef struct {
  sptrsm_direct *direct[2];
  sptrsm_schur *schur[2];
} both; /* on the device, on the host */

static void create(both *b, const sptrsm_factors *f, const sptrsm_schur_request *q) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "block";
  ok(sptrsm_direct_create(&b->direct[0], device, f, &options), "device");
  ok(sptrsm_direct_create(&b->direct[1], host, f, &options), "host");
  for (int k = 0; k < 2; k++) ok(sptrsm_schur_create(&b->schur[k], b->direct[k], q), k ? "host" : "device");
}

static void destroy(both *b) {
  for (int k = 0; k < 2; k++) {
    sptrsm_schur_destroy(b->schur[k]);
    sptrsm_direct_destroy(b->direct[k]);
  }
}

/* S on the device, in device or host memory, is S on the host. */
static void check(const both *b, double *data, double *expected, sptrsm_dtype t, int rows, int count, bool on_host, const char *what) {
  const sptrsm_layout layout = on_host ? SPTRSM_COL_MAJOR : SPTRSM_ROW_MAJOR;
  sptrsm_block S = block_for(data, rows, count, t, layout, on_host ? SPTRSM_HOST : SPTRSM_CUDA);
  sptrsm_block E = block_for(expected, rows, count, t, layout, SPTRSM_HOST);
  poison(data);
  poison(expected);
  ok(sptrsm_schur_solve(b->schur[0], &S), what);
  ok(sptrsm_context_sync(device), what);
  ok(sptrsm_schur_solve(b->schur[1], &E), what);
  expect_same(&S, &E, what);
}

/* The same with both triangles. */
static void check_whole(const both *b, sptrsm_schur_request *q, double *data, double *expected, sptrsm_dtype t) {
  both whole = *b;
  q->whole = 1;
  for (int k = 0; k < 2; k++) ok(sptrsm_schur_create(&whole.schur[k], b->direct[k], q), "whole");
  for (int on_host = 0; on_host < 2; on_host++) check(&whole, data, expected, t, COLUMNS, COLUMNS, on_host, "whole");
  for (int k = 0; k < 2; k++) sptrsm_schur_destroy(whole.schur[k]);
}

static double *memory_for_S(void) { return reachable((size_t)WIDE * COLUMNS * sizeof(double)); }

Test(schur_device, symmetric_forms) {
  static tree t;
  static columns B;
  double *S = memory_for_S(), *E = memory_for_S();
  for (int dtype = SPTRSM_F32; dtype <= SPTRSM_C128; dtype++)
    for (int k = 0; k < 3; k++) {
      char what[64];
      both b;
      sptrsm_schur_request q;
      if (!ALL_CASES && k != dtype % 3) continue;
      snprintf(what, sizeof what, "type %d, case %d", dtype, k);
      make_tree(&t, (sptrsm_dtype)dtype);
      make_columns(&B, COLUMNS, (sptrsm_dtype)dtype);
      if (k > 0) t.f.D = t.D, t.f.scale_row = t.f.scale_col = t.scale, t.f.row_op = t.f.col_op = SPTRSM_DIVIDE;
      if (k == 2) t.f.D_sub = t.D_sub;
      if (k != 1) t.f.u_kind = SPTRSM_U_IS_LH, t.f.D_hermitian = k == 2;
      sptrsm_schur_request_init(&q);
      q.B = &B.c;
      q.uplo = k == 1 ? SPTRSM_UPPER : SPTRSM_LOWER;
      create(&b, &t.f, &q);
      for (int on_host = 0; on_host < 2; on_host++) check(&b, S, E, (sptrsm_dtype)dtype, COLUMNS, COLUMNS, on_host, what);
      if (ALL_CASES || dtype == SPTRSM_C128) check_whole(&b, &q, S, E, (sptrsm_dtype)dtype);
      sptrsm_schur_facts facts = {.size = sizeof facts};
      ok(sptrsm_schur_info(&facts, b.schur[0]), what);
      cr_assert(facts.groups == (COLUMNS + 63) / 64 && facts.reached > 0 && facts.reached < 0.7, "%lld groups reach %g",
                (long long)facts.groups, facts.reached);
      destroy(&b);
    }
}

Test(schur_device, general_form) {
  static tree t;
  static columns B, C;
  enum { ROWS = COLUMNS / 2, FEW = 3 };
  double *S = memory_for_S(), *E = memory_for_S(), *dense = reachable((size_t)ORDER * 4 * sizeof *dense);
  for (int op = SPTRSM_N; op <= SPTRSM_C; op++)
    for (int k = 0; k < 4; k++) { /* sparse; dense B in device memory; dense C in host memory; sparse, and a chunk is worth many rows */
      const int rows = k == 2 ? 2 : k == 3 ? FEW : ROWS;
      char what[64];
      both b;
      sptrsm_schur_request q;
      if (!ALL_CASES && k % 3 != op) continue;
      snprintf(what, sizeof what, "op %d, case %d", op, k);
      make_tree(&t, SPTRSM_C128);
      make_columns(&B, COLUMNS, SPTRSM_C128);
      make_columns(&C, rows, SPTRSM_C128);
      for (int64_t e = 0; e < 2 * ORDER; e++) put(dense, e, SPTRSM_C128, number(SPTRSM_C128));
      sptrsm_block block = {dense, ORDER, ORDER, 2, SPTRSM_C128, SPTRSM_COL_MAJOR, k == 1 ? SPTRSM_CUDA : SPTRSM_HOST}, same = block;
      same.place = SPTRSM_HOST;
      sptrsm_schur_columns whole;
      sptrsm_schur_columns_init(&whole);
      whole.dense = &block;
      sptrsm_schur_request_init(&q);
      q.B = k == 1 ? &whole : &B.c, q.C = k == 2 ? &whole : &C.c, q.op = (sptrsm_op)op;
      sptrsm_options options;
      sptrsm_options_init(&options);
      options.method = "block";
      ok(sptrsm_direct_create(&b.direct[0], device, &t.f, &options), what);
      ok(sptrsm_direct_create(&b.direct[1], host, &t.f, &options), what);
      ok(sptrsm_schur_create(&b.schur[0], b.direct[0], &q), what);
      whole.dense = &same;
      ok(sptrsm_schur_create(&b.schur[1], b.direct[1], &q), what);
      for (int on_host = 0; on_host < 2; on_host++) check(&b, S, E, SPTRSM_C128, rows, k == 1 ? 2 : COLUMNS, on_host, what);
      destroy(&b);
    }
}

/* Items of one and several kinds, with a workspace that they share; then new values of factors and columns. */
Test(schur_device, many_with_new_values) {
  static tree t;
  static columns B[3];
  enum { ITEMS = 5 };
  both b[ITEMS];
  sptrsm_schur *items[ITEMS];
  sptrsm_block S[ITEMS], alone[ITEMS];
  double *E = memory_for_S();
  make_tree(&t, SPTRSM_F64);
  for (int i = 0; i < ITEMS; i++) {
    sptrsm_schur_request q;
    sptrsm_schur_request_init(&q);
    if (i < 3) make_columns(&B[i], i == 2 ? 0 : COLUMNS / (i + 1), SPTRSM_F64);
    q.B = &B[i % 3].c;
    create(&b[i], &t.f, &q);
    items[i] = b[i].schur[0];
    S[i] = block_for(memory_for_S(), B[i % 3].c.count, B[i % 3].c.count, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_CUDA);
    alone[i] = S[i];
    alone[i].data = memory_for_S();
  }
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < ITEMS; i++) poison(S[i].data), poison(alone[i].data);
    ok(sptrsm_schur_solve_many(items, ITEMS, S), "many");
    for (int i = 0; i < ITEMS; i++) ok(sptrsm_schur_solve(items[i], &alone[i]), "alone");
    ok(sptrsm_context_sync(device), "many");
    for (int i = 0; i < ITEMS; i++) {
      sptrsm_block expected = block_for(E, S[i].n, S[i].nrhs, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST);
      poison(E);
      ok(sptrsm_schur_solve(b[i].schur[1], &expected), "host");
      if (S[i].n > 0) expect_same(&S[i], &expected, round ? "new values" : "many");
      cr_assert_eq(memcmp(S[i].data, alone[i].data, (size_t)WIDE * COLUMNS * sizeof(double)), 0, "item %d has other bits alone", i);
    }
    for (int64_t p = 0; p < t.ptr[ORDER]; p++) t.val[p] *= 1.25;
    for (int64_t p = 0; p < B[0].ptr[COLUMNS]; p++) B[0].val[p] *= -3;
    for (int i = 0; i < ITEMS; i++)
      for (int k = 0; k < 2; k++) {
        ok(sptrsm_direct_set_values(b[i].direct[k], t.val, NULL, NULL, NULL), "new factors");
        if (i % 3 == 0) ok(sptrsm_schur_set_values(b[i].schur[k], B[0].val, NULL), "new columns");
      }
  }
  for (int i = 0; i < ITEMS; i++) destroy(&b[i]);
}

/* Panels keep their own flags and near columns in each group. With new values a chain of rows is all integers, which grow so fast that its
 * panel is substituted: then half of the columns, which are the first one of the chain, have its first unit vector as their exact solution,
 * and products with the inverse would have rounding errors far above it. The other columns are in another panel. */
Test(schur_device, groups_with_a_panel_that_is_substituted) {
  static tree t;
  static columns B;
  static const double chain[] = {1000000007, 998244353, 1000000009, 999999937, 1000000021};
  enum { LENGTH = sizeof chain / sizeof *chain, FIRST = ORDER - 2 - (ORDER - 1) / 2 - LENGTH }; /* below the root's child */
  double *S = memory_for_S(), *E = memory_for_S();
  both b;
  sptrsm_schur_request q;
  sptrsm_info L = {.size = sizeof L};
  make_tree(&t, SPTRSM_F64);
  t.f.perm_row = t.f.perm_col = NULL;
  sptrsm_schur_columns_init(&B.c);
  for (int k = 0; k < COLUMNS; k++) {
    const int64_t p = B.ptr[k];
    B.ptr[k + 1] = p + (k % 2 ? 1 : 2);
    B.idx[p] = k % 2 ? ORDER - 1 - k % 40 : FIRST;
    B.val[p] = 1;
    if (k % 2 == 0) B.idx[p + 1] = FIRST + 1, B.val[p + 1] = chain[0];
  }
  B.c.count = COLUMNS, B.c.ptr = B.ptr, B.c.idx = B.idx, B.c.val = B.val;
  sptrsm_schur_request_init(&q);
  q.B = &B.c;
  create(&b, &t.f, &q);
  check(&b, S, E, SPTRSM_F64, COLUMNS, COLUMNS, false, "before");
  for (int r = 0; r < LENGTH; r++) {
    const int64_t p = t.ptr[FIRST + r];
    cr_assert_eq(t.idx[p + 1], FIRST + r + 1);
    for (int64_t e = p; e < t.ptr[FIRST + r + 1]; e++) t.val[e] = e == p ? 1 : e == p + 1 ? chain[r] : 0;
  }
  for (int k = 0; k < 2; k++) ok(sptrsm_direct_set_values(b.direct[k], t.val, NULL, NULL, NULL), "new values");
  ok(sptrsm_direct_info(&L, NULL, b.direct[0]), "information");
  cr_assert(strstr(L.parameters, " substituted=") && !strstr(L.parameters, " substituted=0"), "%s", L.parameters);
  check(&b, S, E, SPTRSM_F64, COLUMNS, COLUMNS, false, "substituted");
  cr_assert_eq(S[0], 1);
  destroy(&b);
}

/* A diagonal entry of a Hermitian S is its real part, which may be close to the largest number. */
Test(schur_device, a_large_hermitian_diagonal) {
  static const int64_t ptr[2] = {0, 1};
  static const int32_t idx[1];
  static const double one[2] = {1}, large[2] = {1.2e154};
  sptrsm_context *const contexts[] = {device, host};
  double *data = reachable(2 * sizeof *data);
  for (int i = 0; i < 2; i++) {
    sptrsm_sparse L = {.format = SPTRSM_CSR, .dtype = SPTRSM_C128, .n = 1, .ptr = ptr, .idx = idx, .val = one};
    sptrsm_factors f;
    sptrsm_schur_columns B;
    sptrsm_schur_request q;
    sptrsm_direct *direct;
    sptrsm_schur *schur;
    sptrsm_factors_init(&f), sptrsm_schur_columns_init(&B), sptrsm_schur_request_init(&q);
    f.L = &L, f.u_kind = SPTRSM_U_IS_LH;
    B.count = 1, B.ptr = ptr, B.idx = idx, B.val = large;
    q.B = &B;
    ok(sptrsm_direct_create(&direct, contexts[i], &f, NULL), "factors");
    ok(sptrsm_schur_create(&schur, direct, &q), "columns");
    sptrsm_block S = block_for(data, 1, 1, SPTRSM_C128, SPTRSM_ROW_MAJOR, i == 0 ? SPTRSM_CUDA : SPTRSM_HOST);
    S.ld = 1;
    ok(sptrsm_schur_solve(schur, &S), "S");
    ok(sptrsm_context_sync(contexts[i]), "S");
    cr_assert(data[0] == large[0] * large[0] && data[1] == 0, "%g %g", data[0], data[1]);
    sptrsm_schur_destroy(schur);
    sptrsm_direct_destroy(direct);
  }
}

Test(schur_device, no_columns_reach_no_rows) {
  static tree t;
  static columns B;
  both b;
  sptrsm_schur_request q;
  make_tree(&t, SPTRSM_F64);
  make_columns(&B, 0, SPTRSM_F64);
  sptrsm_schur_request_init(&q);
  q.B = &B.c;
  create(&b, &t.f, &q);
  for (int k = 0; k < 2; k++) {
    sptrsm_schur_facts facts = {.size = sizeof facts};
    ok(sptrsm_schur_info(&facts, b.schur[k]), "no columns");
    cr_assert(facts.groups == 0 && facts.reached == 0, "%lld groups reach %g", (long long)facts.groups, facts.reached);
  }
  destroy(&b);
}

Test(schur_device, refusals) {
  static tree t;
  static columns B;
  sptrsm_options options;
  sptrsm_direct *direct;
  sptrsm_schur *schur = NULL;
  sptrsm_schur_request q;
  double *data = memory_for_S();
  make_tree(&t, SPTRSM_F64);
  make_columns(&B, COLUMNS, SPTRSM_F64);
  sptrsm_options_init(&options);
  options.memory_limit = (size_t)1 << 30; /* what is counted differs with a limit */
  sptrsm_schur_request_init(&q);
  q.B = &B.c;
  ok(sptrsm_direct_create(&direct, device, &t.f, &options), "device");
  ok(sptrsm_schur_create(&schur, direct, &q), "device");
  sptrsm_block S = block_for(data, COLUMNS - 1, COLUMNS, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_CUDA);
  cr_assert_eq(sptrsm_schur_solve(schur, &S), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "but C has"), "%s", sptrsm_last_error());
  sptrsm_schur *const items[2] = {schur, NULL};
  S.n = COLUMNS;
  const sptrsm_block two[2] = {S, S};
  cr_assert_eq(sptrsm_schur_solve_many(items, 2, two), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "item 1 is NULL"), "%s", sptrsm_last_error());
  ok(sptrsm_schur_solve_many(items, 0, two), "no items");
  cr_assert_eq(sptrsm_schur_set_values(schur, NULL, B.val), SPTRSM_ERR_ARGUMENT);
  t.val[0] = 0;
  cr_assert_eq(sptrsm_direct_set_values(direct, t.val, NULL, NULL, NULL), SPTRSM_ERR_SINGULAR);
  sptrsm_schur_facts facts = {.size = sizeof facts};
  ok(sptrsm_schur_info(&facts, schur), "information");
  sptrsm_schur_destroy(schur);
  sptrsm_direct_destroy(direct);
  options.memory_limit = facts.workspace_bytes - 1;
  t.val[0] = 2;
  ok(sptrsm_direct_create(&direct, device, &t.f, &options), "device");
  schur = (sptrsm_schur *)&t;
  cr_assert_eq(sptrsm_schur_create(&schur, direct, &q), SPTRSM_ERR_MEMORY);
  cr_assert(schur == (sptrsm_schur *)&t && strstr(sptrsm_last_error(), "raise options.memory_limit"), "%s", sptrsm_last_error());
  sptrsm_direct_destroy(direct);
}
