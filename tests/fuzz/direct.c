/* direct.c -- factor sets in memory: permutations, scalings, D, all systems, new values, refinement, the part that few rows reach, and
 * Schur complements. */
#include <math.h>
#include <string.h>

#include <sptrsm_reach.h>
#include <sptrsm_refine.h>
#include <sptrsm_schur.h>

#include "fuzz.h"

enum { N_MAX = 12 };

typedef struct { /* a factor set in the form that chain_build takes, with its arrays */
  sptrsm_file_factors F;
  int64_t ptr[2][N_MAX + 1];
  int32_t idx[2][N_MAX * N_MAX], perm[2][N_MAX];
  double val[2][2 * N_MAX * N_MAX], D[2 * N_MAX], D_sub[2 * N_MAX], scale[2][N_MAX];
} factor_set;

static sptrsm_sparse draw_triangle(factor_set *s, fuzz_bytes *in, int32_t n, sptrsm_dtype dtype, int upper) {
  const int form = fuzz_below(in, 4), density = 1 + fuzz_below(in, 3);
  const bool up = (form & 1) ? !upper : upper;
  int64_t count = 0;
  for (int32_t i = 0; i < n; s->ptr[upper][++i] = count)
    for (int32_t j = up ? i : 0; j < (up ? n : i + 1); j++)
      if (i == j || fuzz_below(in, 4) < density) s->idx[upper][count++] = j;
  fuzz_values(in, s->val[upper], dtype, count);
  return (sptrsm_sparse){(sptrsm_format)(form & 1),
                         dtype,
                         upper ? SPTRSM_UPPER : SPTRSM_LOWER,
                         (sptrsm_diag)(form >> 1),
                         SPTRSM_HOST,
                         n,
                         s->ptr[upper],
                         s->idx[upper],
                         s->val[upper]};
}

/* A permutation, or now and then a list that is none; NULL: the identity. */
static const int32_t *draw_permutation(int32_t *perm, fuzz_bytes *in, int32_t n) {
  if (fuzz_below(in, 3) == 0) return NULL;
  for (int32_t i = 0; i < n; i++) perm[i] = i;
  for (int32_t i = n - 1; i > 0; i--) {
    const int32_t j = fuzz_below(in, i + 1), swap = perm[i];
    perm[i] = perm[j], perm[j] = swap;
  }
  if (n > 0 && fuzz_below(in, 16) == 15) perm[0] = fuzz_below(in, n + 2) - 1;
  return perm;
}

static const double *draw_scale(double *scale, fuzz_bytes *in, int32_t n) {
  if (fuzz_below(in, 3)) return NULL;
  for (int32_t i = 0; i < n; i++) scale[i] = fuzz_value(in);
  return scale;
}

static void draw_set(factor_set *s, fuzz_bytes *in) {
  const int32_t n = fuzz_below(in, N_MAX + 1);
  const int kind = fuzz_below(in, 256);
  const sptrsm_dtype dtype = (sptrsm_dtype)(kind & 3);
  sptrsm_factors *f = &s->F.factors;
  sptrsm_factors_init(f);
  s->F.L_tri = draw_triangle(s, in, n, dtype, 0);
  f->L = &s->F.L_tri;
  f->u_kind = (sptrsm_u_kind)((kind >> 2 & 3) % 3);
  if (f->u_kind == SPTRSM_U_GIVEN) s->F.U_tri = draw_triangle(s, in, n, dtype, 1), f->U = &s->F.U_tri;
  if (kind & 16) fuzz_values(in, s->D, dtype, n), f->D = s->D;
  for (int32_t i = 0; (kind & 48) == 48 && i + 1 < n; i++)
    if (fuzz_below(in, 3) == 2)
      fuzz_values(in,
                  s->D_sub + (dtype == SPTRSM_C128  ? 2 * i
                              : dtype == SPTRSM_F32 ? 0
                                                    : i),
                  dtype == SPTRSM_F32 ? SPTRSM_C64 : dtype, 1),
          i++;
  if ((kind & 48) == 48) f->D_sub = s->D_sub;
  f->D_hermitian = kind >> 6 & 1;
  f->perm_row = draw_permutation(s->perm[0], in, n), f->perm_col = draw_permutation(s->perm[1], in, n);
  f->row_convention = (sptrsm_convention)fuzz_below(in, 2), f->col_convention = (sptrsm_convention)fuzz_below(in, 2);
  f->scale_row = draw_scale(s->scale[0], in, n), f->scale_col = draw_scale(s->scale[1], in, n);
  f->row_op = (sptrsm_scale_op)fuzz_below(in, 2), f->col_op = (sptrsm_scale_op)fuzz_below(in, 2);
}

static void solve_system(sptrsm_direct *direct, const factor_set *s, fuzz_bytes *in) {
  const sptrsm_system system = (sptrsm_system)fuzz_below(in, SPTRSM_SYS_COUNT);
  const sptrsm_op op = (sptrsm_op)fuzz_below(in, 3);
  const sptrsm_sparse *L = &s->F.L_tri;
  const int nrhs = fuzz_below(in, 6);
  test_block B = fuzz_block(in, L->n, nrhs, L->dtype), X = test_block_make(L->n, nrhs, L->dtype, (sptrsm_layout)fuzz_below(in, 2), 1);
  double alpha[2];
  chain S;
  fuzz_values(in, alpha, L->dtype, 1);
  chain_build(&S, &s->F, system, op);
  const sptrsm_status status = sptrsm_direct_solve(direct, system, op, alpha, &B.block, &X.block);
  if (status == SPTRSM_OK) fuzz_check_solution(&S, alpha, &B, &X);
  else FUZZ_CHECK(status == SPTRSM_ERR_ARGUMENT || status == SPTRSM_ERR_MEMORY, "status %d: %s", status, sptrsm_last_error());
  test_block_free(&B);
  test_block_free(&X);
}

/* A is L in place of the real product, so refinement need not converge; it must end, and write only into X. */
static void refine(sptrsm_direct *direct, const factor_set *s, fuzz_bytes *in) {
  const sptrsm_sparse *L = &s->F.L_tri;
  const sptrsm_square A = {L->format, L->dtype, (sptrsm_symmetry)fuzz_below(in, 4), SPTRSM_HOST, L->n, L->ptr, L->idx, L->val};
  double berr[4], ferr[4];
  sptrsm_refine_options o;
  sptrsm_refine_result result = {.size = sizeof result, .berr = berr, .ferr = fuzz_below(in, 2) ? ferr : NULL};
  sptrsm_refine_options_init(&o);
  o.solve = 1, o.max_steps = fuzz_below(in, 6) - 1;
  if (sptrsm_direct_set_original(direct, &A) != SPTRSM_OK) return;
  const int nrhs = fuzz_below(in, 5);
  test_block B = fuzz_block(in, L->n, nrhs, L->dtype), X = test_block_make(L->n, nrhs, L->dtype, SPTRSM_COL_MAJOR, 1);
  if (sptrsm_direct_refine(direct, (sptrsm_system)fuzz_below(in, 3), SPTRSM_N, NULL, &B.block, &X.block, &o, &result) == SPTRSM_OK)
    FUZZ_CHECK(result.unconverged >= 0 && result.unconverged <= nrhs, "%lld columns", (long long)result.unconverged);
  FUZZ_CHECK(test_block_intact(&X), "something was written outside of X");
  test_block_free(&B);
  test_block_free(&X);
}

/* The rows of X that the part has are those of the whole solution. Only the whole one has the zeros that an infinity turns into NaN. */
static void reach(sptrsm_direct *direct, const factor_set *s, fuzz_bytes *in) {
  const int32_t n = s->F.L_tri.n;
  const sptrsm_dtype dtype = s->F.L_tri.dtype;
  sptrsm_reach_request request;
  sptrsm_reach_part part = {.size = sizeof part};
  sptrsm_reach *r = NULL;
  sptrsm_direct *small = NULL;
  sptrsm_options o;
  int32_t rows[N_MAX];
  sptrsm_reach_request_init(&request);
  sptrsm_options_init(&o);
  o.method = "serial";
  request.system = (sptrsm_system)fuzz_below(in, SPTRSM_SYS_COUNT), request.op = (sptrsm_op)fuzz_below(in, 3);
  request.nonzero = rows, request.nonzero_count = 0;
  for (int32_t i = 0; i < n; i++)
    if (fuzz_below(in, 3) == 0) rows[request.nonzero_count++] = i;
  if (sptrsm_reach_create(&r, &s->F.factors, &request) != SPTRSM_OK) return;
  FUZZ_CHECK(sptrsm_reach_part_of(&part, r) == SPTRSM_OK && part.m <= n, "%s", sptrsm_last_error());
  FUZZ_CHECK(sptrsm_direct_create(&small, fuzz_context(), part.factors, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  test_block B = test_block_make(n, 1, dtype, SPTRSM_COL_MAJOR, 0), X = test_block_copy(&B),
             b = test_block_make(part.m, 1, dtype, SPTRSM_COL_MAJOR, 0), x = test_block_copy(&b);
  for (int32_t i = 0; i < n; i++) test_block_set(&B, i, 0, 0, 0);
  for (int64_t k = 0; k < request.nonzero_count; k++) test_block_set(&B, rows[k], 0, 1 + k, 0);
  for (int32_t i = 0; i < part.m; i++) {
    double re, im;
    test_block_get(&re, &im, &B, part.b_rows[i], 0);
    test_block_set(&b, i, 0, re, im);
  }
  if (sptrsm_direct_solve(direct, request.system, request.op, NULL, &B.block, &X.block) == SPTRSM_OK) {
    const sptrsm_status status = sptrsm_direct_solve(small, request.system, request.op, NULL, &b.block, &x.block);
    FUZZ_CHECK(status == SPTRSM_OK, "%s", sptrsm_last_error());
    for (int32_t i = 0; i < part.m; i++) {
      double of_part[2], of_whole[2];
      test_block_get(&of_part[0], &of_part[1], &x, i, 0);
      test_block_get(&of_whole[0], &of_whole[1], &X, part.x_rows[i], 0);
      for (int k = 0; k < 2; k++)
        FUZZ_CHECK(of_part[k] == of_whole[k] || !isfinite(of_whole[k]), "row %d: %g, %g", part.x_rows[i], of_part[k], of_whole[k]);
    }
  }
  test_block_free(&B), test_block_free(&X), test_block_free(&b), test_block_free(&x);
  sptrsm_direct_destroy(small);
  sptrsm_reach_destroy(r);
}

enum { COLUMNS_MAX = 40 }; /* more than a group */

typedef struct {
  sptrsm_schur_columns c;
  int64_t ptr[COLUMNS_MAX + 1];
  int32_t idx[2 * COLUMNS_MAX];
  double val[4 * COLUMNS_MAX];
} sparse_columns;

/* Up to two entries a column, in order or, now and then, not. */
static void draw_columns(sparse_columns *s, fuzz_bytes *in, int32_t n, sptrsm_dtype dtype) {
  const int count = fuzz_below(in, COLUMNS_MAX + 1);
  int64_t p = 0;
  sptrsm_schur_columns_init(&s->c);
  for (int k = 0; k < count; k++) {
    int32_t row = fuzz_below(in, n + 2);
    for (int e = fuzz_below(in, 3); e > 0 && (row < n || fuzz_below(in, 64) == 0);
         e--, row += 1 + fuzz_below(in, 4) - (fuzz_below(in, 64) == 0))
      s->idx[p++] = row;
    s->ptr[k + 1] = p;
  }
  fuzz_values(in, s->val, dtype, p);
  s->c.count = count, s->c.ptr = s->ptr, s->c.idx = s->idx, s->c.val = s->val;
}

/* Entries of factors that are not finite make S undefined. */
static bool is_finite(const sptrsm_sparse *T) {
  const int parts = T->dtype == SPTRSM_C64 || T->dtype == SPTRSM_C128 ? 2 : 1;
  for (int64_t p = 0; p < parts * T->ptr[T->n]; p++)
    if (!isfinite(T->dtype == SPTRSM_F32 || T->dtype == SPTRSM_C64 ? ((const float *)T->val)[p] : ((const double *)T->val)[p]))
      return false;
  return true;
}

/* What two threads make must be what one makes, and lie inside S. */
static void schur(sptrsm_direct *direct, const factor_set *s, fuzz_bytes *in) {
  const sptrsm_dtype dtype = s->F.L_tri.dtype;
  static sparse_columns B, C;
  sptrsm_schur *made = NULL;
  sptrsm_schur_request request;
  sptrsm_schur_request_init(&request);
  draw_columns(&B, in, s->F.L_tri.n, dtype);
  draw_columns(&C, in, s->F.L_tri.n, dtype);
  request.B = &B.c, request.op = (sptrsm_op)fuzz_below(in, 3), request.uplo = (sptrsm_uplo)fuzz_below(in, 2);
  if (fuzz_below(in, 2)) request.C = &C.c;
  if (sptrsm_schur_create(&made, direct, &request) != SPTRSM_OK) return;
  const sptrsm_schur_columns *rows = request.C ? &C.c : &B.c;
  test_block S = test_block_make((int32_t)rows->count, B.c.count, dtype, (sptrsm_layout)fuzz_below(in, 2), 1);
  for (int32_t i = 0; i < S.block.n; i++)
    for (int64_t k = 0; k < S.block.nrhs; k++) test_block_set(&S, i, k, 0, 0);
  test_block T = test_block_copy(&S);
  FUZZ_CHECK(sptrsm_schur_solve(made, &S.block) == SPTRSM_OK, "%s", sptrsm_last_error());
  FUZZ_CHECK(sptrsm_schur_solve_many(&made, 1, &T.block) == SPTRSM_OK, "%s", sptrsm_last_error());
  FUZZ_CHECK(test_block_intact(&S) && test_block_intact(&T), "something was written outside of S");
  const bool defined = is_finite(s->F.factors.L) && (!s->F.factors.U || is_finite(s->F.factors.U));
  for (int32_t i = 0; defined && i < S.block.n; i++)
    for (int64_t k = 0; k < S.block.nrhs; k++) {
      double x[2], y[2];
      test_block_get(&x[0], &x[1], &S, i, k);
      test_block_get(&y[0], &y[1], &T, i, k);
      for (int part = 0; part < 2; part++)
        FUZZ_CHECK(x[part] == y[part] || !isfinite(x[part]), "S(%d,%d): %g, %g", i, (int)k, x[part], y[part]);
    }
  test_block_free(&S), test_block_free(&T);
  sptrsm_schur_destroy(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static factor_set s;
  fuzz_bytes in = {data, size};
  sptrsm_direct *direct = NULL;
  sptrsm_options o;
  sptrsm_options_init(&o);
  o.method = "serial";
  memset(&s, 0, sizeof s);
  draw_set(&s, &in);
  if (sptrsm_direct_create(&direct, fuzz_context(), &s.F.factors, &o) != SPTRSM_OK) return 0;
  FUZZ_CHECK(fuzz_is_triangle(s.F.factors.L) && (!s.F.factors.U || fuzz_is_triangle(s.F.factors.U)), "a bad triangle was taken");
  for (int calls = 0; in.left > 0 && calls < 8; calls++) {
    const int call = fuzz_below(&in, 8);
    if (call < 4) solve_system(direct, &s, &in);
    if (call == 4 || call == 5) refine(direct, &s, &in);
    if (call == 6) reach(direct, &s, &in);
    if (call == 7 && !s.F.factors.D) schur(direct, &s, &in);
    if (call == 7 && s.F.factors.D) {
      double D[2 * N_MAX];
      fuzz_values(&in, D, s.F.L_tri.dtype, s.F.L_tri.n);
      if (sptrsm_direct_set_values(direct, NULL, D, NULL, NULL) == SPTRSM_OK) memcpy(s.D, D, sizeof D);
    }
  }
  sptrsm_direct_destroy(direct);
  return 0;
}
