/* schur.c -- Schur complements of small factor sets of all kinds beside a dense computation in long double, and of a larger one beside
 * solves with dense right-hand sides. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm_schur.h>

#include "support/factor_set.h"
#include "support/oracle.h"

#ifndef SCHUR_PLACE
#define SCHUR_PLACE SPTRSM_HOST
#endif
#ifndef SCHUR_ORDER /* less for the emulator, which is slow; no multiple of 7 */
#define SCHUR_ORDER 600
#endif
enum { ON_HOST = SCHUR_PLACE == SPTRSM_HOST };

static sptrsm_context *context;

static void open_context(void) {
  cr_assert_eq(sptrsm_context_create(&context, SCHUR_PLACE, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
}
static void close_context(void) {
  cr_assert(ON_HOST || sptrsm_context_sync(context) == SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_context_destroy(context);
}

TestSuite(schur, .init = open_context, .fini = close_context);

/* ---- columns of B, rows of C ---- */

enum { COUNT = 70, ROWS_MOST = 600, ENTRIES = 3 * COUNT };

typedef struct {
  sptrsm_schur_columns c;
  int64_t ptr[COUNT + 1];
  int32_t idx[ENTRIES];
  double val[2 * ENTRIES];
  test_block block; /* where dense */
} columns;

static int below(int bound) { return (int)((creal(number(SPTRSM_F64)) + 1) / 2 * bound); }

/* Up to three entries a column; some columns are empty, and some entries are stored zeros. */
static void make_sparse(columns *c, int count, int32_t n, sptrsm_dtype t) {
  sptrsm_schur_columns_init(&c->c);
  int64_t p = 0;
  c->ptr[0] = 0;
  for (int k = 0; k < count; k++) {
    int32_t row = below(n);
    for (int e = 0; e < k % 4 && row < n; e++, row += 1 + below(n / 3)) {
      c->idx[p] = row;
      put(c->val, p++, t, k % 11 == 5 ? 0 : number(t));
    }
    c->ptr[k + 1] = p;
  }
  c->c.count = count;
  c->c.ptr = c->ptr, c->c.idx = c->idx, c->c.val = c->val;
}

static void make_dense(columns *c, int count, int32_t n, sptrsm_dtype t, sptrsm_layout layout) {
  sptrsm_schur_columns_init(&c->c);
  c->block = test_block_make(n, count, t, layout, 5);
  test_block_fill(&c->block, 17);
  c->c.dense = &c->block.block;
}

static void free_columns(columns *c) {
  if (c->c.dense) test_block_free(&c->block);
}

static double complex element(const columns *c, int32_t i, int64_t k, sptrsm_dtype t) {
  double re, im;
  if (c->c.dense) {
    test_block_get(&re, &im, &c->block, i, k);
    return CMPLX(re, im);
  }
  for (int64_t p = c->ptr[k]; p < c->ptr[k + 1]; p++)
    if (c->idx[p] == i) return get(c->val, p, t);
  return 0;
}

/* ---- the reference: A^-1 in long double ---- */

typedef struct {
  long double complex a[N][N];
} wide;

static wide widen(mat m) {
  wide w;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) w.a[i][j] = m.a[i][j];
  return w;
}

static wide times(wide x, wide y) {
  wide z;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      z.a[i][j] = 0;
      for (int k = 0; k < N; k++) z.a[i][j] += x.a[i][k] * y.a[k][j];
    }
  return z;
}

/* By Gauss and Jordan with the largest pivot of each column. */
static wide inverse(wide m) {
  wide v = widen((mat){0});
  for (int i = 0; i < N; i++) v.a[i][i] = 1;
  for (int c = 0; c < N; c++) {
    int best = c;
    for (int r = c; r < N; r++)
      if (cabsl(m.a[r][c]) > cabsl(m.a[best][c])) best = r;
    for (int j = 0; j < N; j++) {
      long double complex a = m.a[c][j], b = v.a[c][j];
      m.a[c][j] = m.a[best][j], m.a[best][j] = a;
      v.a[c][j] = v.a[best][j], v.a[best][j] = b;
    }
    for (int r = 0; r < N; r++) {
      const long double complex factor = r == c ? 0 : m.a[r][c] / m.a[c][c];
      for (int j = 0; j < N; j++) m.a[r][j] -= factor * m.a[c][j], v.a[r][j] -= factor * v.a[c][j];
    }
    const long double complex pivot = m.a[c][c];
    for (int j = 0; j < N; j++) m.a[c][j] /= pivot, v.a[c][j] /= pivot;
  }
  return v;
}

/* A^-1, from A = R^-1 P' L D U Q' C^-1. */
static wide reference(const dense_parts *d) {
  wide a = times(widen(d->R_inverse), widen(tr(d->P)));
  a = times(times(a, widen(d->L)), times(widen(d->D), widen(d->U)));
  return inverse(times(a, times(widen(tr(d->Q)), widen(d->C_inverse))));
}

static long double complex applied(const wide *v, sptrsm_op op, int i, int j) {
  return op == SPTRSM_N ? v->a[i][j] : op == SPTRSM_T ? v->a[j][i] : conjl(v->a[j][i]);
}

/* ---- one Schur complement against the reference ---- */

typedef struct {
  const factor_set *set;
  const columns *B, *C; /* C NULL: the symmetric form */
  sptrsm_op op;
  sptrsm_uplo uplo;
  int32_t whole;
  const char *what;
} subject;

static bool in_triangle(const subject *s, int64_t i, int64_t j) { return s->C || s->whole || (s->uplo == SPTRSM_LOWER ? i >= j : i <= j); }

static double complex row_of_C(const subject *s, int64_t i, int32_t r, sptrsm_dtype t) {
  if (s->C) return element(s->C, r, i, t);
  const double complex b = element(s->B, r, i, t);
  return s->set->f.u_kind == SPTRSM_U_IS_LH ? conj(b) : b;
}

static void check_element(const subject *s, const wide *v, const test_block *S, int32_t i, int64_t j) {
  const sptrsm_dtype t = S->block.dtype;
  double re, im;
  test_block_get(&re, &im, S, i, j);
  if (!in_triangle(s, i, j)) {
    cr_assert(re == 7.5 && im == (is_complex(t) ? -2.5 : 0), "%s: S(%d,%lld) is outside the triangle and was written", s->what, i,
              (long long)j);
    return;
  }
  long double complex sum = 0;
  long double size = 0;
  for (int r = 0; r < N; r++) {
    const double complex left = row_of_C(s, i, r, t);
    if (left == 0) continue; /* most are; X is finite */
    for (int c = 0; c < N; c++) {
      const double complex right = element(s->B, c, j, t);
      if (right == 0) continue;
      const long double complex term = left * applied(v, s->op, r, c) * right;
      sum += term;
      size += cabsl(term);
    }
  }
  const double tolerance = (is_single(t) ? 2e-4 : 1e-12) * (double)(1 + size);
  cr_assert((double)cabsl(sum - CMPLX(re, im)) <= tolerance, "%s: S(%d,%lld) is %g%+gi instead of %g%+gi", s->what, i, (long long)j, re, im,
            (double)creall(sum), (double)cimagl(sum));
  if (!s->C && i == j && s->set->f.u_kind == SPTRSM_U_IS_LH) cr_assert(im == 0, "%s: S(%d,%d) is not real", s->what, i, i);
}

/* Elements across the diagonal have the same bits, conjugated if S is Hermitian. */
static void check_mirrored(const subject *s, const test_block *S) {
  for (int32_t i = 0; i < S->block.n; i++)
    for (int64_t j = 0; j < i; j++) {
      double re[2], im[2];
      test_block_get(&re[0], &im[0], S, i, j);
      test_block_get(&re[1], &im[1], S, (int32_t)j, i);
      const double across = s->set->f.u_kind == SPTRSM_U_IS_LH ? -im[1] : im[1];
      cr_assert(re[0] == re[1] && im[0] == across, "%s: S(%d,%lld) is %g%+gi, S(%lld,%d) is %g%+gi", s->what, i, (long long)j, re[0], im[0],
                (long long)j, i, re[1], im[1]);
    }
}

static int64_t count_of(const columns *c) { return c->c.dense ? c->c.dense->nrhs : c->c.count; }

static void check(const subject *s, sptrsm_direct *direct, sptrsm_layout layout) {
  const wide v = reference(&s->set->dense);
  sptrsm_schur_request q;
  sptrsm_schur *schur;
  sptrsm_schur_request_init(&q);
  q.B = &s->B->c, q.C = s->C ? &s->C->c : NULL, q.op = s->op, q.uplo = s->uplo, q.whole = s->whole;
  cr_assert_eq(sptrsm_schur_create(&schur, direct, &q), SPTRSM_OK, "%s: %s", s->what, sptrsm_last_error());
  test_block S = test_block_make((int32_t)count_of(s->C ? s->C : s->B), count_of(s->B), s->set->L.T.dtype, layout, 1000);
  for (int round = 0; round < 2; round++) { /* the second one uses the workspace of the first */
    for (int32_t i = 0; i < S.block.n; i++)
      for (int64_t j = 0; j < S.block.nrhs; j++) test_block_set(&S, i, j, 7.5, -2.5);
    cr_assert_eq(sptrsm_schur_solve(schur, &S.block), SPTRSM_OK, "%s: %s", s->what, sptrsm_last_error());
    for (int32_t i = 0; i < S.block.n; i++)
      for (int64_t j = 0; j < S.block.nrhs; j++) check_element(s, &v, &S, i, j);
    if (s->whole) check_mirrored(s, &S);
    cr_assert(test_block_intact(&S), "%s: written outside S", s->what);
  }
  test_block_free(&S);
  sptrsm_schur_destroy(schur);
}

static sptrsm_direct *solver(const sptrsm_factors *f, const char *method) {
  sptrsm_options options;
  sptrsm_direct *d;
  sptrsm_options_init(&options);
  options.method = method;
  cr_assert_eq(sptrsm_direct_create(&d, context, f, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  return d;
}

static const char *const methods[2][5] = {{"block", "levelset", "gather", "block:tile=8", "syncfree-csr"},
                                          {"serial", "levelset", "block", "tile-levelset", "tile-syncfree"}};
enum { METHODS = 5 };

/* Whether a case is not run here: on the emulator one of `every` is, or all with SIMT_ALL (scripts/nightly.sh cases). */
static bool left_to_nightly(int number, int every) { return SCHUR_ORDER < 600 && number % every != 0 && getenv("SIMT_ALL") == NULL; }

Test(schur, general_form_of_every_factor_set) {
  static factor_set s;
  for (int r = 0; r < RECIPES; r++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++)
      for (int op = SPTRSM_N; op <= SPTRSM_C && recipes[r].has_U; op++) {
        static columns B, C;
        char what[128];
        if (left_to_nightly(r + t + op, 3)) continue;
        snprintf(what, sizeof what, "%s, type %d, op %d", recipes[r].name, t, op);
        build_factor_set(&s, &recipes[r], (sptrsm_dtype)t);
        if (op == SPTRSM_T) make_dense(&B, 41, N, (sptrsm_dtype)t, SPTRSM_ROW_MAJOR);
        else make_sparse(&B, COUNT, N, (sptrsm_dtype)t);
        if (op == SPTRSM_C) make_dense(&C, 3, N, (sptrsm_dtype)t, SPTRSM_COL_MAJOR);
        else make_sparse(&C, 37, N, (sptrsm_dtype)t);
        sptrsm_direct *d = solver(&s.f, methods[ON_HOST][(r + t + op) % METHODS]);
        const subject general = {.set = &s, .B = &B, .C = &C, .op = (sptrsm_op)op, .what = what};
        check(&general, d, op == SPTRSM_N ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR);
        sptrsm_direct_destroy(d);
        free_columns(&B);
        free_columns(&C);
      }
}

/* Makes A symmetric or Hermitian: the column side becomes the row side. */
static void mirror(factor_set *s) {
  memcpy(s->perm_col, s->perm_row, sizeof s->perm_col);
  memcpy(s->scale_col, s->scale_row, sizeof s->scale_col);
  s->f.col_op = s->f.row_op;
  s->dense.Q = tr(s->dense.P);
  s->dense.C_inverse = s->dense.R_inverse;
}

Test(schur, symmetric_form_of_cholesky_and_ldl) {
  static factor_set s;
  for (int r = 3; r <= 5; r++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++)
      for (int k = 0; k < 4; k++) {
        static columns B;
        char what[128];
        if (left_to_nightly(r + t + k, 2)) continue;
        snprintf(what, sizeof what, "%s, type %d, case %d", recipes[r].name, t, k);
        build_factor_set(&s, &recipes[r], (sptrsm_dtype)t);
        mirror(&s);
        if (k & 1) make_dense(&B, 35, N, (sptrsm_dtype)t, k & 2 ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR);
        else make_sparse(&B, COUNT, N, (sptrsm_dtype)t);
        sptrsm_direct *d = solver(&s.f, methods[ON_HOST][(r + t + k) % METHODS]);
        subject symmetric = {.set = &s, .B = &B, .uplo = k & 2 ? SPTRSM_UPPER : SPTRSM_LOWER, .what = what};
        for (; symmetric.whole < 2; symmetric.whole++)
          check(&symmetric, d, (k + t + symmetric.whole) % 2 ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR);
        sptrsm_direct_destroy(d);
        free_columns(&B);
      }
}

/* ---- a larger factor, whose columns reach few rows ---- */

enum { ORDER = SCHUR_ORDER };

typedef struct {
  sptrsm_factors f;
  sptrsm_sparse L;
  int64_t ptr[ORDER + 1];
  int32_t idx[8 * ORDER], perm[ORDER];
  double val[16 * ORDER];
} tree_factor;

/* Column j has entries in rows of its path to the root of a binary tree in postorder, so it reaches nothing but that path. */
static void make_tree(tree_factor *t, sptrsm_dtype dtype) {
  static int32_t parent[ORDER];
  for (int32_t j = ORDER - 1, left = 0; j >= 0; j--) { /* heap numbering from the root, which is the last row */
    left = ORDER - 1 - j;
    parent[j] = left == 0 ? -1 : ORDER - 1 - (left - 1) / 2;
  }
  int64_t p = 0;
  for (int32_t j = 0; j < ORDER; j++) {
    t->ptr[j] = p;
    t->idx[p] = j;
    put(t->val, p++, dtype, 2 + number(dtype) / 2);
    for (int32_t i = parent[j]; i >= 0 && p < t->ptr[j] + 7; i = parent[i]) {
      t->idx[p] = i;
      put(t->val, p++, dtype, number(dtype) / 4);
    }
    t->perm[j] = (int32_t)((j * (int64_t)7) % ORDER); /* 7 and ORDER have no common factor */
  }
  t->ptr[ORDER] = p;
  t->L = (sptrsm_sparse){.format = SPTRSM_CSC, .dtype = dtype, .n = ORDER, .ptr = t->ptr, .idx = t->idx, .val = t->val};
  sptrsm_factors_init(&t->f);
  t->f.L = &t->L;
  t->f.u_kind = SPTRSM_U_IS_LH;
  t->f.perm_row = t->f.perm_col = t->perm;
  t->f.row_convention = SPTRSM_GATHER;
  t->f.col_convention = SPTRSM_SCATTER;
}

static sptrsm_schur *create(sptrsm_direct *d, const columns *B) {
  sptrsm_schur_request q;
  sptrsm_schur *schur;
  sptrsm_schur_request_init(&q);
  q.B = &B->c;
  cr_assert_eq(sptrsm_schur_create(&schur, d, &q), SPTRSM_OK, "%s", sptrsm_last_error());
  return schur;
}

static test_block lower_triangle(sptrsm_dtype t) {
  test_block S = test_block_make(COUNT, COUNT, t, SPTRSM_ROW_MAJOR, 0);
  for (int32_t i = 0; i < COUNT; i++)
    for (int64_t k = 0; k < COUNT; k++) test_block_set(&S, i, k, 0, 0);
  return S;
}

/* S = B^H X with A X = B, where B is a dense block. */
static double complex plain_element(const columns *B, const test_block *X, int32_t i, int32_t j, sptrsm_dtype t) {
  double complex sum = 0;
  for (int64_t p = B->ptr[i]; p < B->ptr[i + 1]; p++) {
    double re, im;
    test_block_get(&re, &im, X, B->idx[p], j);
    sum += conj(get(B->val, p, t)) * CMPLX(re, im);
  }
  return sum;
}

Test(schur, sparse_columns_give_what_dense_ones_give) {
  static tree_factor f;
  static columns B;
  for (int t = SPTRSM_F64; t <= SPTRSM_C128; t += 2)
    for (int m = 0; m < METHODS; m++) {
      if (left_to_nightly(m + t / 2, 2)) continue;
      make_tree(&f, (sptrsm_dtype)t);
      make_sparse(&B, COUNT, ORDER, (sptrsm_dtype)t);
      sptrsm_direct *d = solver(&f.f, methods[ON_HOST][m]);
      sptrsm_schur *schur = create(d, &B);
      test_block S = lower_triangle((sptrsm_dtype)t), X = test_block_make(ORDER, COUNT, (sptrsm_dtype)t, SPTRSM_COL_MAJOR, 0);
      for (int32_t i = 0; i < ORDER; i++)
        for (int64_t k = 0; k < COUNT; k++) {
          const double complex b = element(&B, i, k, (sptrsm_dtype)t);
          test_block_set(&X, i, k, creal(b), cimag(b));
        }
      cr_assert_eq(sptrsm_direct_solve(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &X.block, &X.block), SPTRSM_OK);
      sptrsm_direct_destroy(d); /* the schur keeps it */
      cr_assert_eq(sptrsm_schur_solve(schur, &S.block), SPTRSM_OK);
      for (int32_t i = 0; i < COUNT; i++)
        for (int32_t j = 0; j <= i; j++) {
          double re, im;
          const double complex s = plain_element(&B, &X, i, j, (sptrsm_dtype)t);
          test_block_get(&re, &im, &S, i, j);
          cr_assert(cabs(s - CMPLX(re, im)) <= 1e-12, "%s, type %d: S(%d,%d) is %g%+gi, and %g%+gi by dense columns", methods[ON_HOST][m],
                    t, i, j, re, im, creal(s), cimag(s));
        }
      sptrsm_schur_facts facts = {.size = sizeof facts};
      cr_assert_eq(sptrsm_schur_info(&facts, schur), SPTRSM_OK);
      cr_assert(facts.rows == COUNT && facts.columns == COUNT && facts.groups >= (ON_HOST ? 3 : 1) && facts.workspace_bytes > 0);
      const bool by_rows = ON_HOST || strncmp(methods[ON_HOST][m], "block", 5) == 0;
      cr_assert(facts.reached > 0 && (facts.reached < (ON_HOST ? 0.5 : 0.9)) == by_rows, "groups reach %g of the rows", facts.reached);
      test_block_free(&S);
      test_block_free(&X);
      sptrsm_schur_destroy(schur);
    }
}

static void expect_bits(const test_block *S, const test_block *expected, int threads) {
  for (int32_t i = 0; i < COUNT; i++)
    for (int64_t j = 0; j <= i; j++) {
      double x, y, unused;
      test_block_get(&x, &unused, S, i, j);
      test_block_get(&y, &unused, expected, i, j);
      cr_assert(x == y, "%d threads: S(%d,%lld) is %a instead of %a", threads, i, (long long)j, x, y);
    }
}

/* A solver as `solver` makes it, in a host context of its own. On a device all items must have one context. */
static sptrsm_direct *solver_elsewhere(const sptrsm_factors *f, const char *method) {
  sptrsm_context *const home = context;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  sptrsm_direct *d = solver(f, method);
  sptrsm_context_destroy(context); /* d keeps it */
  context = home;
  return d;
}

Test(schur, bits_do_not_depend_on_threads_or_neighbours) {
  static tree_factor f;
  static columns B[3];
  sptrsm_schur *items[12];
  test_block blocks[12];
  sptrsm_block S[12];
  make_tree(&f, SPTRSM_F64);
  sptrsm_direct *d = solver(&f.f, "block"), *elsewhere = ON_HOST ? solver_elsewhere(&f.f, "block") : NULL;
  for (int i = 0; i < 12; i++) {
    if (i < 3) make_sparse(&B[i], COUNT, ORDER, SPTRSM_F64);
    items[i] = create(ON_HOST && i % 5 == 4 ? elsewhere : d, &B[i % 3]);
    blocks[i] = lower_triangle(SPTRSM_F64);
    S[i] = blocks[i].block;
  }
  test_block expected[3];
  cr_assert_eq(sptrsm_context_set_threads(context, 1), SPTRSM_OK);
  for (int i = 0; i < 3; i++) {
    expected[i] = lower_triangle(SPTRSM_F64);
    cr_assert_eq(sptrsm_schur_solve(items[i], &expected[i].block), SPTRSM_OK);
  }
  static const int threads[] = {1, 2, 3, 5, 16};
  for (int k = 0; k < (ON_HOST ? 5 : 1); k++) {
    cr_assert_eq(sptrsm_context_set_threads(context, threads[k]), SPTRSM_OK);
    for (int repeat = 0; repeat < (ON_HOST ? 5 : 1); repeat++) {
      test_block_fill(&blocks[repeat], 1); /* only the lower triangle is written again */
      cr_assert_eq(sptrsm_schur_solve(items[repeat], &S[repeat]), SPTRSM_OK);
      expect_bits(&blocks[repeat], &expected[repeat % 3], threads[k]);
      cr_assert_eq(sptrsm_schur_solve_many(items, 12, S), SPTRSM_OK, "%s", sptrsm_last_error());
      for (int i = 0; i < 12; i++) expect_bits(&blocks[i], &expected[i % 3], threads[k]);
    }
  }
  for (int i = 0; i < 12; i++) {
    sptrsm_schur_destroy(items[i]);
    test_block_free(&blocks[i]);
    if (i < 3) test_block_free(&expected[i]);
  }
  sptrsm_direct_destroy(d);
  sptrsm_direct_destroy(elsewhere);
}

/* ---- values ---- */

Test(schur, new_values_of_all_three) {
  static factor_set s;
  static columns B, C;
  build_factor_set(&s, &recipes[0], SPTRSM_F64);
  make_sparse(&B, COUNT, N, SPTRSM_F64);
  make_sparse(&C, 9, N, SPTRSM_F64);
  sptrsm_direct *d = solver(&s.f, "block");
  sptrsm_schur_request q;
  sptrsm_schur *schur;
  sptrsm_schur_request_init(&q);
  q.B = &B.c, q.C = &C.c;
  cr_assert_eq(sptrsm_schur_create(&schur, d, &q), SPTRSM_OK);
  double doubled[NNZ], values[2 * ENTRIES], C_values[2 * ENTRIES];
  for (int64_t p = 0; p < s.U.ptr[N]; p++) doubled[p] = 2 * s.U.val[p];
  for (int64_t p = 0; p < B.ptr[COUNT]; p++) values[p] = 3 * B.val[p];
  for (int64_t p = 0; p < C.ptr[9]; p++) C_values[p] = 5 * C.val[p];
  test_block S = test_block_make(9, COUNT, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0),
             before = test_block_make(9, COUNT, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
  cr_assert_eq(sptrsm_schur_solve(schur, &before.block), SPTRSM_OK);
  cr_assert_eq(sptrsm_direct_set_values(d, NULL, NULL, NULL, doubled), SPTRSM_OK);
  cr_assert_eq(sptrsm_schur_set_values(schur, values, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_schur_set_values(schur, NULL, C_values), SPTRSM_OK);
  cr_assert_eq(sptrsm_schur_solve(schur, &S.block), SPTRSM_OK);
  for (int32_t i = 0; i < 9; i++)
    for (int64_t k = 0; k < COUNT; k++) {
      double x, y, unused;
      test_block_get(&x, &unused, &before, i, k);
      test_block_get(&y, &unused, &S, i, k);
      cr_assert(fabs(y - 7.5 * x) <= 1e-12 * (1 + fabs(x)), "S(%d,%lld) went from %g to %g", i, (long long)k, x, y);
    }
  test_block_free(&S);
  test_block_free(&before);
  sptrsm_schur_destroy(schur);
  sptrsm_direct_destroy(d);
}

Test(schur, a_dense_block_is_read_at_each_solve) {
  static factor_set s;
  static columns B;
  build_factor_set(&s, &recipes[5], SPTRSM_F64);
  mirror(&s);
  make_dense(&B, 4, N, SPTRSM_F64, SPTRSM_ROW_MAJOR);
  sptrsm_direct *d = solver(&s.f, "block");
  sptrsm_schur *schur = create(d, &B);
  for (int32_t i = 0; i < N; i++)
    for (int64_t k = 0; k < 4; k++) test_block_set(&B.block, i, k, 0, 0);
  test_block S = test_block_make(4, 4, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
  cr_assert_eq(sptrsm_schur_solve(schur, &S.block), SPTRSM_OK);
  for (int32_t i = 0; i < 4; i++)
    for (int64_t j = 0; j <= i; j++) {
      double re, im;
      test_block_get(&re, &im, &S, i, j);
      cr_assert(re == 0, "S(%d,%lld) is %g of zero columns", i, (long long)j, re);
    }
  test_block_free(&S);
  free_columns(&B);
  sptrsm_schur_destroy(schur);
  sptrsm_direct_destroy(d);
}

/* Another block, in the other layout, takes the place of B; a side that is sparse or of another size is refused. */
Test(schur, another_block_in_place_of_a_dense_one) {
  static factor_set s;
  static columns B, other, C;
  build_factor_set(&s, &recipes[0], SPTRSM_F64);
  make_dense(&B, 4, N, SPTRSM_F64, SPTRSM_ROW_MAJOR);
  make_dense(&other, 4, N, SPTRSM_F64, SPTRSM_COL_MAJOR);
  test_block_fill(&other.block, 18);
  make_sparse(&C, 3, N, SPTRSM_F64);
  sptrsm_direct *d = solver(&s.f, "block");
  for (int op = SPTRSM_N; op <= SPTRSM_T; op++) {
    sptrsm_schur_request q;
    sptrsm_schur *schur;
    sptrsm_schur_request_init(&q);
    q.B = &B.c, q.C = &C.c, q.op = (sptrsm_op)op;
    cr_assert_eq(sptrsm_schur_create(&schur, d, &q), SPTRSM_OK);
    sptrsm_block wrong = other.block.block;
    wrong.nrhs = 3;
    cr_assert_eq(sptrsm_schur_set_blocks(schur, &wrong, NULL), SPTRSM_ERR_ARGUMENT);
    cr_assert(strstr(sptrsm_last_error(), "B has 3 columns, and the block before it had 4"), "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_schur_set_blocks(schur, &other.block.block, &wrong), SPTRSM_ERR_ARGUMENT);
    cr_assert(strstr(sptrsm_last_error(), "C is sparse"), "%s", sptrsm_last_error());
    test_block S[3];
    for (int k = 0; k < 3; k++) S[k] = test_block_make(3, 4, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
    cr_assert_eq(sptrsm_schur_solve(schur, &S[0].block), SPTRSM_OK);
    cr_assert_eq(sptrsm_schur_set_blocks(schur, &other.block.block, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_schur_solve(schur, &S[1].block), SPTRSM_OK);
    sptrsm_schur_destroy(schur);
    q.B = &other.c;
    cr_assert_eq(sptrsm_schur_create(&schur, d, &q), SPTRSM_OK);
    cr_assert_eq(sptrsm_schur_solve(schur, &S[2].block), SPTRSM_OK);
    cr_assert(test_block_same_bits(&S[1], &S[2]) && !test_block_same_bits(&S[0], &S[1]), "op %d", op);
    sptrsm_schur_destroy(schur);
    for (int k = 0; k < 3; k++) test_block_free(&S[k]);
  }
  free_columns(&B);
  free_columns(&other);
  sptrsm_direct_destroy(d);
}

/* A column that is not finite leaves the others as they are, also in a later solve. */
Test(schur, a_bad_column_stays_alone) {
  static tree_factor f;
  static columns B;
  make_tree(&f, SPTRSM_F64);
  make_sparse(&B, COUNT, ORDER, SPTRSM_F64);
  sptrsm_direct *d = solver(&f.f, "block");
  sptrsm_schur *schur = create(d, &B);
  test_block S = lower_triangle(SPTRSM_F64), T = lower_triangle(SPTRSM_F64);
  cr_assert_eq(sptrsm_schur_solve(schur, &S.block), SPTRSM_OK);
  double bad[2 * ENTRIES];
  memcpy(bad, B.val, sizeof bad);
  const int column = 42;
  cr_assert_gt(B.ptr[column + 1], B.ptr[column]);
  bad[B.ptr[column]] = NAN;
  cr_assert_eq(sptrsm_schur_set_values(schur, bad, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_schur_solve(schur, &T.block), SPTRSM_OK);
  int spoiled = 0;
  for (int32_t i = 0; i < COUNT; i++)
    for (int64_t j = 0; j <= i; j++) {
      double x, y, unused;
      test_block_get(&x, &unused, &S, i, j);
      test_block_get(&y, &unused, &T, i, j);
      if (i == column || j == column) spoiled += isnan(y);
      else cr_assert(x == y, "S(%d,%lld) is %g instead of %g", i, (long long)j, y, x);
    }
  cr_assert_gt(spoiled, 0);
  cr_assert_eq(sptrsm_schur_set_values(schur, B.val, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_schur_solve(schur, &T.block), SPTRSM_OK);
  cr_assert(test_block_same_bits(&S, &T));
  test_block_free(&S);
  test_block_free(&T);
  sptrsm_schur_destroy(schur);
  sptrsm_direct_destroy(d);
}
