/* properties_factors.c -- random factor sets against residuals in extended precision: triangles of all shapes, D, permutations and
 * scalings in both conventions, U given, L^T or L^H; solved as systems A and L and their transposes by sptrsm_direct, by a solver that was
 * exported and imported, by several contexts together, in uniform and mixed batches, by refinement, in the part that few rows reach, and by
 * Schur complements. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sptrsm_batch.h>
#include <sptrsm_multi.h>
#include <sptrsm_reach.h>
#include <sptrsm_refine.h>
#include <sptrsm_schur.h>

#include "core/properties.h"
#include "support/exact.h"

#if defined(__SANITIZE_ADDRESS__) /* several times slower */
enum { CASES = 800 };
#else
enum { CASES = 5000 };
#endif
enum { ORDER_MOST = 60, NRHS_MOST = 24, ITEMS = 3 };

#define OK(call) cr_assert_eq((call), SPTRSM_OK, "case %d: %s", now, sptrsm_last_error())

static int now; /* the number of the case */

/* ---- factor sets ---- */

/* A permutation and a scaling; either may be absent. from[i]: the row of A, or of X, that is row i of the permuted system. */
typedef struct {
  bool permuted, scaled;
  int32_t perm[ORDER_MOST], from[ORDER_MOST];
  double scale[ORDER_MOST];
} side;

typedef struct {
  sptrsm_factors f;
  test_system L, U, D; /* U, D: .T.ptr is NULL if there is none */
  side rows, columns;
} factor_set;

/* `gathers`: whether perm[i] is the row that comes to i, or the place that row i goes to. */
static void draw_side(side *s, int32_t n, bool gathers, test_random *r) {
  s->permuted = test_random_below(r, 4) != 0, s->scaled = test_random_below(r, 3) != 0;
  for (int32_t i = 0; i < n; i++) s->perm[i] = i, s->scale[i] = test_random_value(r, 0.01, 100);
  for (int32_t i = n - 1; i > 0 && s->permuted; i--) {
    const int32_t j = test_random_below(r, i + 1), kept = s->perm[i];
    s->perm[i] = s->perm[j], s->perm[j] = kept;
  }
  for (int32_t i = 0; i < n; i++) s->from[gathers ? i : s->perm[i]] = gathers ? s->perm[i] : i;
}

static test_system draw_triangle(int32_t n, sptrsm_dtype dtype, sptrsm_uplo uplo, test_random *r) {
  const test_pattern pattern = (test_pattern)test_random_below(r, TEST_PATTERNS);
  const sptrsm_format format = (sptrsm_format)test_random_below(r, 2);
  return test_system_make(pattern, n, format, dtype, uplo, (test_diag)test_random_below(r, TEST_DIAGS), test_random_next(r));
}

static void draw_set(factor_set *s, sptrsm_dtype dtype, test_random *r) {
  const int32_t n = test_random_below(r, 4) == 0 ? test_random_below(r, 4) : test_random_below(r, ORDER_MOST);
  sptrsm_factors *f = &s->f;
  *s = (factor_set){.L = draw_triangle(n, dtype, SPTRSM_LOWER, r)};
  sptrsm_factors_init(f);
  f->L = &s->L.T;
  f->u_kind = (sptrsm_u_kind)test_random_below(r, 3);
  if (f->u_kind == SPTRSM_U_GIVEN) s->U = draw_triangle(n, dtype, SPTRSM_UPPER, r), f->U = &s->U.T;
  if (test_random_below(r, 2)) {
    s->D = test_system_make(TEST_DIAGONAL, n, SPTRSM_CSR, dtype, SPTRSM_LOWER, TEST_NONUNIT, test_random_next(r));
    f->D = s->D.T.val;
  }
  f->row_convention = (sptrsm_convention)test_random_below(r, 2), f->col_convention = (sptrsm_convention)test_random_below(r, 2);
  f->row_op = (sptrsm_scale_op)test_random_below(r, 2), f->col_op = (sptrsm_scale_op)test_random_below(r, 2);
  draw_side(&s->rows, n, f->row_convention == SPTRSM_GATHER, r);
  draw_side(&s->columns, n, f->col_convention == SPTRSM_SCATTER, r);
  f->perm_row = s->rows.permuted ? s->rows.perm : NULL, f->perm_col = s->columns.permuted ? s->columns.perm : NULL;
  f->scale_row = s->rows.scaled ? s->rows.scale : NULL, f->scale_col = s->columns.scaled ? s->columns.scale : NULL;
}

static void free_set(factor_set *s) {
  test_system_free(&s->L);
  test_system_free(&s->U);
  test_system_free(&s->D);
}

/* ---- the check ---- */

/* Into the permuted system: P R b, or y of x = C Q y, where the scaling is undone. */
static void enter_side(test_exact *e, const side *s, bool divides, test_rounding r) {
  if (s->scaled) test_exact_scale(e, s->scale, divides, r);
  test_exact_permute(e, s->from);
}

/* U = L^T or L^H may be asked for as the conjugate of L, which no operation on L is. */
static void multiply_by_U(test_exact *e, const factor_set *s, sptrsm_op op, test_rounding r) {
  const sptrsm_op back = s->f.u_kind == SPTRSM_U_IS_LT ? SPTRSM_T : SPTRSM_C;
  if (s->f.u_kind == SPTRSM_U_GIVEN) {
    test_exact_multiply(e, &s->U.T, op, r);
    return;
  }
  const bool conjugate = op != SPTRSM_N && op != back;
  if (conjugate) test_exact_conjugate(e);
  test_exact_multiply(e, &s->L.T, op == SPTRSM_N ? back : SPTRSM_N, r);
  if (conjugate) test_exact_conjugate(e);
}

/* op(L D U) in the order in which its parts are applied. */
static void multiply_by_factors(test_exact *e, const factor_set *s, sptrsm_op op, test_rounding r) {
  if (op == SPTRSM_N) multiply_by_U(e, s, op, r);
  else test_exact_multiply(e, &s->L.T, op, r);
  if (s->f.D) test_exact_multiply(e, &s->D.T, op, r);
  if (op == SPTRSM_N) test_exact_multiply(e, &s->L.T, op, r);
  else multiply_by_U(e, s, op, r);
}

static double residual(const factor_set *s, sptrsm_system system, sptrsm_op op, const double alpha[2], const test_block *B,
                       const test_block *X) {
  const test_rounding r = test_rounding_of(s->L.T.dtype);
  const bool row_divides = s->f.row_op == SPTRSM_DIVIDE, col_divides = s->f.col_op == SPTRSM_DIVIDE;
  test_exact b = test_exact_of(B), y = test_exact_of(X);
  test_exact_times(&b, alpha, r);
  if (system == SPTRSM_SYS_L) test_exact_multiply(&y, &s->L.T, op, r);
  else {
    enter_side(&b, op == SPTRSM_N ? &s->rows : &s->columns, op == SPTRSM_N ? row_divides : col_divides, r);
    enter_side(&y, op == SPTRSM_N ? &s->columns : &s->rows, op == SPTRSM_N ? !col_divides : !row_divides, r);
    multiply_by_factors(&y, s, op, r);
  }
  const double ratio = test_exact_ratio(&b, &y);
  test_exact_free(&b);
  test_exact_free(&y);
  return ratio;
}

/* ---- ways to solve ---- */

typedef struct {
  int count; /* of systems */
  factor_set set[ITEMS];
  test_block B[ITEMS], X[ITEMS];
  sptrsm_system system;
  sptrsm_op op;
  const void *alpha;
  double taken[2]; /* alpha */
  sptrsm_options options;
  sptrsm_context *context, *other;
  test_random random;
} job;

static sptrsm_direct *create(const job *j, const sptrsm_factors *f) {
  sptrsm_direct *d;
  OK(sptrsm_direct_create(&d, j->context, f, &j->options));
  return d;
}

static void solve_and_close(const job *j, sptrsm_direct *d, const test_block *B, test_block *X) {
  OK(sptrsm_direct_solve(d, j->system, j->op, j->alpha, &B->block, &X->block));
  sptrsm_direct_destroy(d);
}

/* Makes the plans. */
static void solve_no_columns(const job *j, sptrsm_direct *d) {
  sptrsm_block none = j->B[0].block;
  none.nrhs = 0;
  OK(sptrsm_direct_solve(d, j->system, j->op, NULL, &none, &none));
}

static void by_direct(job *j) { solve_and_close(j, create(j, &j->set[0].f), &j->B[0], &j->X[0]); }

static void by_import(job *j) {
  static const char *const kept[] = {"block", "levelset", "serial"};
  j->options.method = kept[test_random_below(&j->random, 3)];
  sptrsm_direct *d = create(j, &j->set[0].f), *again;
  size_t bytes;
  solve_no_columns(j, d);
  OK(sptrsm_direct_export_bytes(&bytes, d));
  void *memory = malloc(bytes + 1);
  cr_assert(memory);
  OK(sptrsm_direct_export(memory, bytes, d));
  sptrsm_direct_destroy(d);
  OK(sptrsm_direct_import(&again, j->other, &j->set[0].f, &j->options, memory, bytes, SPTRSM_COPY));
  free(memory);
  solve_and_close(j, again, &j->B[0], &j->X[0]);
}

static void by_contexts(job *j) {
  sptrsm_direct *d = create(j, &j->set[0].f);
  sptrsm_multi *m;
  if (test_random_below(&j->random, 2)) solve_no_columns(j, d);
  OK(sptrsm_multi_create(&m, d, &j->other, 1));
  OK(sptrsm_multi_direct_solve(m, j->system, j->op, j->alpha, &j->B[0].block, &j->X[0].block));
  sptrsm_multi_destroy(m);
  sptrsm_direct_destroy(d);
}

typedef struct {
  sptrsm_batch_block block;
  void *data[ITEMS];
  int64_t ld[ITEMS], nrhs[ITEMS];
} batch_block;

static void join_blocks(batch_block *out, test_block *blocks, int count) {
  sptrsm_batch_block_init(&out->block);
  for (int i = 0; i < count; i++) {
    const sptrsm_block *b = &blocks[i].block;
    out->data[i] = b->data, out->ld[i] = b->ld, out->nrhs[i] = b->nrhs;
  }
  out->block.data_of = out->data, out->block.ld_of = out->ld, out->block.nrhs_of = out->nrhs;
  out->block.dtype = blocks[0].block.dtype, out->block.layout = blocks[0].block.layout;
}

static void solve_batch_and_close(job *j, sptrsm_batch *batch) {
  batch_block B, X;
  join_blocks(&B, j->B, j->count);
  join_blocks(&X, j->X, j->count);
  OK(sptrsm_batch_solve(batch, j->system, j->op, j->alpha, &B.block, &X.block, NULL));
  sptrsm_batch_destroy(batch);
}

static void by_mixed_batch(job *j) {
  const sptrsm_factors *items[ITEMS];
  sptrsm_batch *batch;
  for (int i = 0; i < j->count; i++) items[i] = &j->set[i].f;
  OK(sptrsm_batch_create_mixed(&batch, j->context, items, j->count, &j->options));
  solve_batch_and_close(j, batch);
}

/* The values of all items, one after the other. */
static void *joined_values(const job *j, bool upper) {
  const sptrsm_sparse *first = upper ? &j->set[0].U.T : &j->set[0].L.T;
  const size_t bytes = (size_t)first->ptr[first->n] * sptrsm_dtype_bytes(first->dtype);
  char *values = malloc((size_t)j->count * bytes + 1);
  cr_assert(values);
  for (int i = 0; i < j->count; i++) memcpy(values + (size_t)i * bytes, upper ? j->set[i].U.T.val : j->set[i].L.T.val, bytes);
  return values;
}

static void by_uniform_batch(job *j) {
  const factor_set *s = &j->set[0];
  void *L = joined_values(j, false), *U = s->f.U ? joined_values(j, true) : NULL;
  sptrsm_batch_values values;
  sptrsm_batch *batch;
  sptrsm_batch_values_init(&values);
  values.count = j->count;
  values.L = L, values.L_stride = s->L.T.ptr[s->L.T.n];
  values.U = U, values.U_stride = U ? s->U.T.ptr[s->U.T.n] : 0;
  OK(sptrsm_batch_create_uniform(&batch, j->context, &s->f, &values, &j->options));
  free(L);
  free(U);
  solve_batch_and_close(j, batch);
}

/* A third of the rows of B have numbers. Rows of X that these do not reach are zero. */
static void by_reach(job *j) {
  const int32_t n = j->B[0].block.n;
  const int64_t nrhs = j->B[0].block.nrhs;
  int32_t rows[ORDER_MOST];
  sptrsm_reach_request q;
  sptrsm_reach_part part = {.size = sizeof part};
  sptrsm_reach *reach;
  sptrsm_reach_request_init(&q);
  q.system = j->system, q.op = j->op, q.nonzero = rows, q.nonzero_count = 0;
  for (int32_t i = 0; i < n; i++)
    if (test_random_below(&j->random, 3) == 0) rows[q.nonzero_count++] = i;
    else
      for (int64_t k = 0; k < nrhs; k++) test_block_set(&j->B[0], i, k, 0, 0);
  OK(sptrsm_reach_create(&reach, &j->set[0].f, &q));
  OK(sptrsm_reach_part_of(&part, reach));
  test_block b = test_block_make(part.m, nrhs, j->B[0].block.dtype, SPTRSM_ROW_MAJOR, 0), x = test_block_copy(&b);
  double re, im;
  for (int64_t at = 0; at < part.m * nrhs; at++) {
    test_block_get(&re, &im, &j->B[0], part.b_rows[at / nrhs], at % nrhs);
    test_block_set(&b, (int32_t)(at / nrhs), at % nrhs, re, im);
  }
  solve_and_close(j, create(j, part.factors), &b, &x);
  for (int64_t at = 0; at < n * nrhs; at++) test_block_set(&j->X[0], (int32_t)(at / nrhs), at % nrhs, 0, 0);
  for (int64_t at = 0; at < part.m * nrhs; at++) {
    test_block_get(&re, &im, &x, (int32_t)(at / nrhs), at % nrhs);
    test_block_set(&j->X[0], part.x_rows[at / nrhs], at % nrhs, re, im);
  }
  sptrsm_reach_destroy(reach);
  test_block_free(&b);
  test_block_free(&x);
}

/* A = R^-1 P' L D U Q' C^-1, rounded to the type of the block, whose data are all entries of A. */
static test_block multiplied_out(const factor_set *s) {
  const int32_t n = s->L.T.n;
  const test_rounding r = test_rounding_of(s->L.T.dtype);
  test_block A = test_block_make(n, n, s->L.T.dtype, SPTRSM_ROW_MAJOR, 0);
  for (int32_t at = 0; at < n * n; at++) test_block_set(&A, at / n, at % n, at / n == at % n, 0);
  test_exact e = test_exact_of(&A);
  enter_side(&e, &s->columns, s->f.col_op != SPTRSM_DIVIDE, r);
  multiply_by_factors(&e, s, SPTRSM_N, r);
  if (s->rows.scaled) {
    double scale[ORDER_MOST];
    for (int32_t i = 0; i < n; i++) scale[i] = s->rows.scale[s->rows.from[i]];
    test_exact_scale(&e, scale, s->f.row_op != SPTRSM_DIVIDE, r);
  }
  for (int32_t at = 0; at < n * n; at++) test_block_set(&A, s->rows.from[at / n], at % n, (double)e.re[at], (double)e.im[at]);
  test_exact_free(&e);
  return A;
}

/* By a matrix from which the factors differ by roundings. Each column reaches a componentwise error of 10 u. */
static void by_refinement(job *j) {
  static int64_t ptr[ORDER_MOST + 1];
  static int32_t idx[ORDER_MOST * ORDER_MOST];
  const int32_t n = j->B[0].block.n;
  const sptrsm_dtype dtype = j->B[0].block.dtype;
  test_block A = multiplied_out(&j->set[0]);
  for (int32_t at = 0; at < n * n; at++) idx[at] = at % n, ptr[at / n + 1] = (at / n + 1) * n;
  sptrsm_direct *d = create(j, &j->set[0].f);
  OK(sptrsm_direct_set_original(d, &(sptrsm_square){.dtype = dtype, .n = n, .ptr = ptr, .idx = idx, .val = A.block.data}));
  sptrsm_refine_options options;
  sptrsm_refine_options_init(&options);
  options.solve = 1;
  sptrsm_refine_result result = {.size = sizeof result};
  OK(sptrsm_direct_refine(d, SPTRSM_SYS_A, j->op, j->alpha, &j->B[0].block, &j->X[0].block, &options, &result));
  sptrsm_direct_destroy(d);
  const test_rounding r = test_rounding_of(dtype);
  test_exact b = test_exact_of(&j->B[0]), y = test_exact_of(&j->X[0]);
  test_exact_times(&b, j->taken, r);
  test_exact_multiply(&y, &(sptrsm_sparse){.dtype = dtype, .n = n, .ptr = ptr, .idx = idx, .val = A.block.data}, j->op, r);
  const double ratio = test_exact_ratio(&b, &y);
  cr_expect(result.unconverged == 0 && ratio <= 10, "case %d: refinement, %s, op %d, n %d: residual %g", now, test_dtype_names[dtype],
            (int)j->op, (int)n, ratio);
  test_exact_free(&b);
  test_exact_free(&y);
  test_block_free(&A);
}

/* S = C op(A)^-1 B is B where C is op(A), up to the roundings of both solves and of C: X says how large these may be. */
static void by_schur(job *j) {
  const int32_t n = j->B[0].block.n;
  test_block A = multiplied_out(&j->set[0]), rows = test_block_copy(&A), S = test_block_copy(&j->B[0]);
  for (int32_t at = 0; at < n * n; at++) {
    double re, im;
    test_block_get(&re, &im, &A, at / n, at % n);
    if (j->op == SPTRSM_N) test_block_set(&rows, at % n, at / n, re, im);
    else test_block_set(&rows, at / n, at % n, re, j->op == SPTRSM_C ? -im : im);
  }
  sptrsm_schur_columns B, C;
  sptrsm_schur_columns_init(&B);
  sptrsm_schur_columns_init(&C);
  B.dense = &j->B[0].block, C.dense = &rows.block;
  sptrsm_schur_request q;
  sptrsm_schur_request_init(&q);
  q.B = &B, q.C = &C, q.op = j->op;
  sptrsm_schur *schur;
  sptrsm_direct *d = create(j, &j->set[0].f);
  OK(sptrsm_schur_create(&schur, d, &q));
  OK(sptrsm_schur_solve(schur, &S.block));
  sptrsm_schur_destroy(schur);
  j->system = SPTRSM_SYS_A, j->alpha = NULL;
  solve_and_close(j, d, &j->B[0], &j->X[0]);
  const double ratio = residual(&j->set[0], j->system, j->op, (double[]){1, 0}, &S, &j->X[0]);
  cr_expect(ratio <= 4, "case %d: a Schur complement, op %d, n %d: residual %g", now, (int)j->op, (int)n, ratio);
  test_block_free(&A);
  test_block_free(&rows);
  test_block_free(&S);
}

typedef struct {
  const char *name;
  void (*solve)(job *);
  int count;
  bool same_pattern, checked; /* checked: by `solve` itself */
} way;

static const way ways[] = {{"direct", by_direct, 1, false, false},
                           {"import", by_import, 1, false, false},
                           {"several contexts", by_contexts, 1, false, false},
                           {"mixed batch", by_mixed_batch, ITEMS, false, false},
                           {"uniform batch", by_uniform_batch, ITEMS, true, false},
                           {"reach", by_reach, 1, false, false},
                           {"refinement", by_refinement, 1, false, true},
                           {"schur", by_schur, 1, false, true}};
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- cases ---- */

static void draw_job(job *j, const way *w) {
  test_random *r = &j->random;
  const sptrsm_dtype dtype = (sptrsm_dtype)test_random_below(r, 4);
  const bool complex = dtype == SPTRSM_C64 || dtype == SPTRSM_C128;
  const sptrsm_layout layouts[2] = {(sptrsm_layout)test_random_below(r, 2), (sptrsm_layout)test_random_below(r, 2)};
  const test_random pattern = *r;
  for (int i = 0; i < w->count; i++, j->count++) {
    factor_set *s = &j->set[i];
    if (w->same_pattern) *r = pattern;
    draw_set(s, dtype, r);
    if (w->same_pattern) test_system_new_values(&s->L, (uint64_t)(now + i));
    if (w->same_pattern && s->f.U) test_system_new_values(&s->U, (uint64_t)(now - i));
    const int64_t nrhs = test_random_below(r, NRHS_MOST);
    j->B[i] = test_block_make(s->L.T.n, nrhs, dtype, layouts[0], test_random_below(r, 3));
    j->X[i] = test_block_make(s->L.T.n, nrhs, dtype, layouts[1], test_random_below(r, 3));
    test_block_fill(&j->B[i], (uint64_t)(now + 7 * i));
  }
  j->system = test_random_below(r, 4) == 0 ? SPTRSM_SYS_L : SPTRSM_SYS_A;
  j->op = (sptrsm_op)test_random_below(r, 3);
  j->taken[0] = (double)(float)test_random_value(r, 0.1, 4);
  j->taken[1] = complex ? (double)(float)test_random_value(r, 0.1, 4) : 0;
  sptrsm_options_init(&j->options);
  j->options.method = draw_method(r);
  j->options.panel = test_random_below(r, 2) ? 1 + test_random_below(r, 20) : 0;
  OK(sptrsm_context_create(&j->context, SPTRSM_HOST, 0, NULL));
  OK(sptrsm_context_create(&j->other, SPTRSM_HOST, 0, NULL));
  OK(sptrsm_context_set_threads(j->context, 1 + test_random_below(r, 3)));
  OK(sptrsm_context_set_threads(j->other, 1));
}

static void close_job(job *j) {
  for (int i = 0; i < j->count; i++) {
    test_block_free(&j->B[i]);
    test_block_free(&j->X[i]);
    free_set(&j->set[i]);
  }
  sptrsm_context_destroy(j->context);
  sptrsm_context_destroy(j->other);
}

static void check_case(void) {
  static job j;
  j = (job){.random = {.state = (uint64_t)now * 0x9e3779b97f4a7c15u + 2}};
  const way *w = &ways[test_random_below(&j.random, WAYS)];
  draw_job(&j, w);
  const sptrsm_dtype dtype = j.set[0].L.T.dtype;
  const float single[2] = {(float)j.taken[0], (float)j.taken[1]};
  j.alpha = dtype == SPTRSM_F32 || dtype == SPTRSM_C64 ? (const void *)single : j.taken;
  w->solve(&j);
  const double most = dtype == SPTRSM_C64 || dtype == SPTRSM_C128 ? 4 : 1; /* a complex product rounds more than once */
  for (int i = 0; i < j.count && !w->checked; i++) {
    const double ratio = residual(&j.set[i], j.system, j.op, j.taken, &j.B[i], &j.X[i]);
    cr_expect(ratio <= most, "case %d: %s, item %d, %s, %s, system %s, op %d, n %d: residual %g is above %g", now, w->name, i,
              j.options.method ? j.options.method : "auto", test_dtype_names[dtype], sptrsm_system_name(j.system), (int)j.op,
              (int)j.set[i].L.T.n, ratio, most);
    cr_expect(test_block_intact(&j.X[i]), "case %d: %s wrote outside X", now, w->name);
  }
  close_job(&j);
}

Test(properties, random_factor_sets_have_small_residuals, .timeout = 1800) {
  const int first = number_of("PROPERTY_FIRST", 0), cases = number_of("PROPERTY_CASES", 4 * CASES) / 4;
  for (now = first; now < first + cases; now++) check_case();
}
