/* direct.c -- the direct-solver solve phase against dense matrices: every system is multiplied out from its definition in
 * CHOLMOD's and UMFPACK's manuals, and op(S) X = alpha B is checked entry by entry. */
#include <complex.h>
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sptrsm.h>

enum { N = 13, NNZ = N * N, NRHS_MAX = 40, LD_MAX = 48 };
typedef struct {
  double complex a[N][N];
} mat;

/* ---- small dense algebra ---- */

static mat mul(mat x, mat y) {
  mat z = {0};
  for (int i = 0; i < N; i++)
    for (int k = 0; k < N; k++)
      for (int j = 0; j < N; j++)
        if (x.a[i][k] != 0 && y.a[k][j] != 0) z.a[i][j] += x.a[i][k] * y.a[k][j];
  return z;
}

static mat tr(mat x) {
  mat z;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) z.a[i][j] = x.a[j][i];
  return z;
}

static mat adj(mat x) {
  mat z = tr(x);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) z.a[i][j] = conj(z.a[i][j]);
  return z;
}

static mat absolute(mat x) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) x.a[i][j] = cabs(x.a[i][j]);
  return x;
}

static mat identity(void) {
  mat z = {0};
  for (int i = 0; i < N; i++) z.a[i][i] = 1;
  return z;
}

static mat apply_op(mat x, sptrsm_op op) { return op == SPTRSM_N ? x : op == SPTRSM_T ? tr(x) : adj(x); }

/* ---- numbers of the four types ---- */

static bool is_single(sptrsm_dtype t) { return t == SPTRSM_F32 || t == SPTRSM_C64; }
static bool is_complex(sptrsm_dtype t) { return t == SPTRSM_C64 || t == SPTRSM_C128; }

static double complex get(const void *p, int64_t i, sptrsm_dtype t) {
  const float *s = p;
  const double *d = p;
  if (t == SPTRSM_F32) return (double)s[i];
  if (t == SPTRSM_F64) return d[i];
  return t == SPTRSM_C64 ? CMPLX((double)s[2 * i], (double)s[2 * i + 1]) : CMPLX(d[2 * i], d[2 * i + 1]);
}

static void put(void *p, int64_t i, sptrsm_dtype t, double complex v) {
  float *s = p;
  double *d = p;
  if (t == SPTRSM_F32)
    s[i] = (float)creal(v);
  else if (t == SPTRSM_F64)
    d[i] = creal(v);
  else if (t == SPTRSM_C64)
    s[2 * i] = (float)creal(v), s[2 * i + 1] = (float)cimag(v);
  else
    d[2 * i] = creal(v), d[2 * i + 1] = cimag(v);
}

static uint64_t seed;

static double uniform(void) { /* in [-1, 1) */
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (double)(seed >> 11) / (double)((uint64_t)1 << 52) - 1;
}

/* A random number that the type represents. */
static double complex number(sptrsm_dtype t) {
  double re = uniform(), im = is_complex(t) ? uniform() : 0;
  return is_single(t) ? CMPLX((double)(float)re, (double)(float)im) : CMPLX(re, im);
}

/* ---- a factor set, sparse for the library and dense for the check ---- */

typedef struct {
  sptrsm_sparse T;
  int64_t ptr[N + 1];
  int32_t idx[NNZ];
  double val[2 * NNZ];
} triangle;

typedef struct {
  mat L, D, U, P, Q, R_inverse, C_inverse;
} dense_parts;

typedef struct {
  sptrsm_factors f;
  triangle L, U;
  double D[2 * N], D_sub[2 * N], scale_row[N], scale_col[N];
  int32_t perm_row[N], perm_col[N];
  dense_parts dense;
} factor_set;

static mat random_triangle(sptrsm_uplo uplo, sptrsm_diag diag, sptrsm_dtype t) {
  mat m = {0};
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      bool inside = uplo == SPTRSM_LOWER ? j < i : j > i;
      if (inside && uniform() > 0) m.a[i][j] = number(t) / 4; /* a power of two: still of the type */
    }
  for (int i = 0; i < N; i++) m.a[i][i] = diag == SPTRSM_UNIT ? 1 : number(t) + 2;
  for (int i = 0; i < N && is_single(t); i++) m.a[i][i] = CMPLX((double)(float)creal(m.a[i][i]), (double)(float)cimag(m.a[i][i]));
  return m;
}

static void compress(triangle *out, const mat *m, sptrsm_format format, sptrsm_uplo uplo, sptrsm_diag diag, sptrsm_dtype t) {
  int64_t p = 0;
  out->ptr[0] = 0;
  for (int line = 0; line < N; line++) {
    for (int other = 0; other < N; other++) {
      double complex v = format == SPTRSM_CSR ? m->a[line][other] : m->a[other][line];
      if (v == 0 || (diag == SPTRSM_UNIT && line == other)) continue;
      out->idx[p] = other;
      put(out->val, p++, t, v);
    }
    out->ptr[line + 1] = p;
  }
  out->T =
      (sptrsm_sparse){.format = format, .dtype = t, .uplo = uplo, .diag = diag, .n = N, .ptr = out->ptr, .idx = out->idx, .val = out->val};
}

static void random_permutation(int32_t *perm) {
  for (int i = 0; i < N; i++) perm[i] = i;
  for (int i = N - 1; i > 0; i--) {
    int j = (int)((uniform() + 1) / 2 * (i + 1));
    int32_t swap = perm[i];
    perm[i] = perm[j];
    perm[j] = swap;
  }
}

/* y = M x with y[i] = x[perm[i]] (GATHER) or y[perm[i]] = x[i] (SCATTER). */
static mat permutation(const int32_t *perm, sptrsm_convention convention) {
  mat m = {0};
  for (int i = 0; i < N; i++) {
    if (convention == SPTRSM_GATHER)
      m.a[i][perm[i]] = 1;
    else
      m.a[perm[i]][i] = 1;
  }
  return m;
}

static mat scale_inverse(double *scale, sptrsm_scale_op op) {
  mat m = {0};
  for (int i = 0; i < N; i++) {
    scale[i] = ldexp(1 + i % 3, i % 5 - 2); /* exact in every type */
    m.a[i][i] = op == SPTRSM_MULTIPLY ? 1 / scale[i] : scale[i];
  }
  return m;
}

/* 1x1 blocks, and with `pairs` a 2x2 block at rows 2 and 3, with a zero diagonal at 6 and 7, and at the end. */
static void random_D(factor_set *s, sptrsm_dtype t, bool pairs, bool hermitian) {
  mat *D = &s->dense.D;
  *D = (mat){0};
  memset(s->D_sub, 0, sizeof s->D_sub);
  for (int i = 0; i < N; i++) D->a[i][i] = hermitian ? 2 + creal(number(SPTRSM_F32)) / 2 : number(t) / 2;
  for (int i = 0; i < N; i++)
    if (cabs(D->a[i][i]) < 0.125) D->a[i][i] = 0.5;
  for (int i = 2; pairs && i < N; i += i == 2 ? 4 : 5) { /* 2, 6, 11 */
    double complex below = 2 + number(t) / 2;
    put(s->D_sub, i, t, below);
    below = get(s->D_sub, i, t);
    if (i == 6)
      D->a[i][i] = D->a[i + 1][i + 1] = 0;
    else
      D->a[i][i] /= 4;
    D->a[i + 1][i] = below;
    D->a[i][i + 1] = hermitian ? conj(below) : below;
  }
  for (int i = 0; i < N; i++) {
    put(s->D, i, t, D->a[i][i]);
    D->a[i][i] = get(s->D, i, t);
  }
  s->f.D = s->D;
  s->f.D_sub = pairs ? s->D_sub : NULL;
  s->f.D_hermitian = hermitian;
}

typedef struct {
  const char *name;
  sptrsm_u_kind u_kind;
  bool has_U, has_D, pairs, hermitian, permuted, scaled;
  sptrsm_diag l_diag;
  sptrsm_format l_format, u_format;
  sptrsm_convention row_convention, col_convention;
  sptrsm_scale_op row_op, col_op;
} recipe;

static const recipe recipes[] = {
    {"LU as SciPy", SPTRSM_U_GIVEN, true, false, false, false, true, true, SPTRSM_UNIT, SPTRSM_CSC, SPTRSM_CSC, SPTRSM_SCATTER,
     SPTRSM_GATHER, SPTRSM_MULTIPLY, SPTRSM_DIVIDE},
    {"LDU as UMFPACK", SPTRSM_U_GIVEN, true, true, false, false, true, true, SPTRSM_NONUNIT, SPTRSM_CSR, SPTRSM_CSC, SPTRSM_GATHER,
     SPTRSM_SCATTER, SPTRSM_DIVIDE, SPTRSM_MULTIPLY},
    {"LU plain", SPTRSM_U_GIVEN, true, false, false, false, false, false, SPTRSM_NONUNIT, SPTRSM_CSC, SPTRSM_CSR, SPTRSM_GATHER,
     SPTRSM_GATHER, SPTRSM_MULTIPLY, SPTRSM_MULTIPLY},
    {"LDL.' with pairs", SPTRSM_U_IS_LT, true, true, true, false, true, false, SPTRSM_UNIT, SPTRSM_CSC, SPTRSM_CSC, SPTRSM_GATHER,
     SPTRSM_SCATTER, SPTRSM_MULTIPLY, SPTRSM_MULTIPLY},
    {"LDL' with pairs", SPTRSM_U_IS_LH, true, true, true, true, true, true, SPTRSM_UNIT, SPTRSM_CSR, SPTRSM_CSR, SPTRSM_GATHER,
     SPTRSM_SCATTER, SPTRSM_MULTIPLY, SPTRSM_MULTIPLY},
    {"Cholesky", SPTRSM_U_IS_LH, true, false, false, false, true, false, SPTRSM_NONUNIT, SPTRSM_CSC, SPTRSM_CSC, SPTRSM_GATHER,
     SPTRSM_SCATTER, SPTRSM_MULTIPLY, SPTRSM_MULTIPLY},
    {"L only", SPTRSM_U_GIVEN, false, true, true, false, true, false, SPTRSM_NONUNIT, SPTRSM_CSR, SPTRSM_CSR, SPTRSM_SCATTER,
     SPTRSM_SCATTER, SPTRSM_MULTIPLY, SPTRSM_MULTIPLY},
};
enum { RECIPES = sizeof recipes / sizeof recipes[0] };

static void build(factor_set *s, const recipe *r, sptrsm_dtype t) {
  dense_parts *d = &s->dense;
  sptrsm_factors_init(&s->f);
  d->P = d->Q = d->R_inverse = d->C_inverse = d->D = identity();
  d->L = random_triangle(SPTRSM_LOWER, r->l_diag, t);
  compress(&s->L, &d->L, r->l_format, SPTRSM_LOWER, r->l_diag, t);
  s->f.L = &s->L.T;
  s->f.u_kind = r->u_kind;
  d->U = r->u_kind == SPTRSM_U_IS_LT   ? tr(d->L)
         : r->u_kind == SPTRSM_U_IS_LH ? adj(d->L)
                                       : random_triangle(SPTRSM_UPPER, SPTRSM_NONUNIT, t);
  if (r->has_U && r->u_kind == SPTRSM_U_GIVEN) {
    compress(&s->U, &d->U, r->u_format, SPTRSM_UPPER, SPTRSM_NONUNIT, t);
    s->f.U = &s->U.T;
  }
  if (r->has_D) random_D(s, t, r->pairs, r->hermitian);
  s->f.row_convention = r->row_convention;
  s->f.col_convention = r->col_convention;
  s->f.row_op = r->row_op;
  s->f.col_op = r->col_op;
  if (r->permuted) {
    random_permutation(s->perm_row);
    random_permutation(s->perm_col);
    s->f.perm_row = s->perm_row;
    s->f.perm_col = s->perm_col;
    d->P = permutation(s->perm_row, r->row_convention);
    d->Q = permutation(s->perm_col, r->col_convention);
  }
  if (r->scaled) {
    d->R_inverse = scale_inverse(s->scale_row, r->row_op);
    d->C_inverse = scale_inverse(s->scale_col, r->col_op);
    s->f.scale_row = s->scale_row;
    s->f.scale_col = s->scale_col;
  }
}

/* S of S x = b, from the manuals; "t" is ', "at" is .' */
static mat system_matrix(const dense_parts *d, sptrsm_system system) {
  mat A = mul(mul(mul(d->R_inverse, tr(d->P)), mul(mul(d->L, d->D), d->U)), mul(tr(d->Q), d->C_inverse));
  switch (system) {
  case SPTRSM_SYS_A:
    return A;
  case SPTRSM_SYS_At:
    return adj(A);
  case SPTRSM_SYS_Aat:
    return tr(A);
  case SPTRSM_SYS_L:
    return d->L;
  case SPTRSM_SYS_Lt:
    return adj(d->L);
  case SPTRSM_SYS_Lat:
    return tr(d->L);
  case SPTRSM_SYS_U:
    return d->U;
  case SPTRSM_SYS_Ut:
    return adj(d->U);
  case SPTRSM_SYS_Uat:
    return tr(d->U);
  case SPTRSM_SYS_D:
    return d->D;
  case SPTRSM_SYS_LDLt:
    return mul(mul(d->L, d->D), d->U);
  case SPTRSM_SYS_LD:
    return mul(d->L, d->D);
  case SPTRSM_SYS_DLt:
    return mul(d->D, d->U);
  case SPTRSM_SYS_P:
    return tr(d->P); /* x = P b */
  case SPTRSM_SYS_Pt:
    return d->P; /* x = P' b */
  case SPTRSM_SYS_Pt_L:
    return mul(tr(d->P), d->L);
  case SPTRSM_SYS_Lt_P:
    return mul(adj(d->L), d->P);
  case SPTRSM_SYS_Lat_P:
    return mul(tr(d->L), d->P);
  case SPTRSM_SYS_U_Qt:
    return mul(d->U, tr(d->Q));
  case SPTRSM_SYS_Q_Ut:
    return mul(d->Q, adj(d->U));
  case SPTRSM_SYS_Q_Uat:
    return mul(d->Q, tr(d->U));
  default:
    cr_assert(false, "no definition of system %d", (int)system);
    return A;
  }
}

static bool needs_U(sptrsm_system s) {
  return s <= SPTRSM_SYS_Aat || (s >= SPTRSM_SYS_U && s <= SPTRSM_SYS_Uat) || s == SPTRSM_SYS_LDLt || s == SPTRSM_SYS_DLt ||
         (s >= SPTRSM_SYS_U_Qt && s <= SPTRSM_SYS_Q_Uat);
}

/* |S|, with every factor of the product in absolute values: what rounding errors are measured against. */
static mat system_bound(const dense_parts *d, sptrsm_system system) {
  dense_parts a = {absolute(d->L), absolute(d->D), absolute(d->U), d->P, d->Q, absolute(d->R_inverse), absolute(d->C_inverse)};
  return system_matrix(&a, system);
}

/* ---- blocks with canaries in their padding ---- */

typedef struct {
  sptrsm_block b;
  double data[2 * LD_MAX * LD_MAX];
} block;

static const double CANARY = 12345;

static int64_t position(const sptrsm_block *b, int64_t i, int64_t k) {
  return b->layout == SPTRSM_ROW_MAJOR ? i * b->ld + k : i + k * b->ld;
}

static void make_block(block *out, sptrsm_layout layout, int64_t nrhs, int64_t padding, sptrsm_dtype t) {
  out->b = (sptrsm_block){
      .data = out->data, .ld = (layout == SPTRSM_ROW_MAJOR ? nrhs : N) + padding, .n = N, .nrhs = nrhs, .dtype = t, .layout = layout};
  int64_t used = (layout == SPTRSM_ROW_MAJOR ? N : nrhs) * out->b.ld;
  for (int64_t p = 0; p < used; p++) put(out->data, p, t, CANARY);
}

static void check_padding(const block *x, const char *what) {
  bool rows = x->b.layout == SPTRSM_ROW_MAJOR;
  int64_t lines = rows ? N : x->b.nrhs, length = rows ? x->b.nrhs : N;
  for (int64_t line = 0; line < lines; line++)
    for (int64_t p = length; p < x->b.ld; p++)
      cr_assert(get(x->data, line * x->b.ld + p, x->b.dtype) == CANARY, "%s: padding of line %d was written", what, (int)line);
}

typedef struct {
  mat S, bound;
  double complex alpha;
  double tolerance;
  const char *what;
} check;

/* op(S) x - alpha b, entry by entry, relative to |op(S)| |x| + |alpha b|. */
static void check_solution(const check *c, const double complex *b, const block *X) {
  sptrsm_dtype t = X->b.dtype;
  for (int64_t k = 0; k < X->b.nrhs; k++) {
    double complex x[N];
    double size_of_x[N];
    for (int j = 0; j < N; j++) {
      x[j] = get(X->data, position(&X->b, j, k), t);
      size_of_x[j] = cabs(x[j]);
    }
    for (int i = 0; i < N; i++) {
      double complex right = c->alpha * b[i * NRHS_MAX + k], r = -right;
      double size = cabs(right);
      for (int j = 0; j < N; j++) {
        if (c->S.a[i][j] != 0) r += c->S.a[i][j] * x[j];
        size += creal(c->bound.a[i][j]) * size_of_x[j];
      }
      cr_assert(cabs(r) <= c->tolerance * size, "%s: residual (%d,%d) is %g against %g", c->what, i, (int)k, cabs(r), size);
    }
  }
}

static block B, X; /* too large for comfort on the stack */

static void solve_and_check(sptrsm_direct *d, sptrsm_system system, sptrsm_op op, const check *c, int64_t nrhs, int combination) {
  static double complex b[N * NRHS_MAX];
  sptrsm_dtype t = B.b.dtype;
  sptrsm_layout in = combination & 1 ? SPTRSM_COL_MAJOR : SPTRSM_ROW_MAJOR, out = combination & 2 ? SPTRSM_COL_MAJOR : SPTRSM_ROW_MAJOR;
  double alpha[2];
  make_block(&B, in, nrhs, combination, t);
  make_block(&X, out, nrhs, 3 - combination, t);
  for (int i = 0; i < N; i++)
    for (int64_t k = 0; k < nrhs; k++) {
      b[i * NRHS_MAX + k] = number(t);
      put(B.data, position(&B.b, i, k), t, b[i * NRHS_MAX + k]);
    }
  put(alpha, 0, t, c->alpha);
  const void *given = c->alpha == 1 ? NULL : alpha;
  cr_assert_eq(sptrsm_direct_solve(d, system, op, given, &B.b, &X.b), SPTRSM_OK, "%s: %s", c->what, sptrsm_last_error());
  check_solution(c, b, &X);
  check_padding(&X, c->what);
  cr_assert_eq(sptrsm_direct_solve(d, system, op, given, &B.b, &B.b), SPTRSM_OK, "%s in place: %s", c->what, sptrsm_last_error());
  check_solution(c, b, &B);
  check_padding(&B, c->what);
}

static void solve_all_ways(sptrsm_direct *d, const factor_set *s, sptrsm_system system, sptrsm_op op, const char *what) {
  static const int64_t widths[] = {1, 3, 40};
  sptrsm_dtype t = s->L.T.dtype;
  check c = {.S = apply_op(system_matrix(&s->dense, system), op), .bound = apply_op(system_bound(&s->dense, system), op), .what = what};
  c.tolerance = 8 * N * (is_single(t) ? (double)FLT_EPSILON : DBL_EPSILON);
  B.b.dtype = X.b.dtype = t;
  for (int w = 0; w < 3; w++)
    for (int combination = 0; combination < 4; combination++) {
      if (widths[w] == 40 && combination != (int)system % 4) continue; /* more than one panel: one combination is enough */
      c.alpha = combination == 0 ? 1 : is_complex(t) ? CMPLX(-0.5, 2) : -0.5;
      solve_and_check(d, system, op, &c, widths[w], combination);
    }
}

static void try_recipe(sptrsm_context *context, const recipe *r, sptrsm_dtype t) {
  static factor_set s;
  sptrsm_direct *d;
  build(&s, r, t);
  cr_assert_eq(sptrsm_direct_create(&d, context, &s.f, NULL), SPTRSM_OK, "%s: %s", r->name, sptrsm_last_error());
  for (int system = 0; system < SPTRSM_SYS_COUNT; system++)
    for (int op = SPTRSM_N; op <= SPTRSM_C; op++) {
      char what[128];
      snprintf(what, sizeof what, "%s, type %d, system %s, op %d", r->name, (int)t, sptrsm_system_name((sptrsm_system)system), op);
      if (r->has_U || !needs_U((sptrsm_system)system)) {
        solve_all_ways(d, &s, (sptrsm_system)system, (sptrsm_op)op, what);
        continue;
      }
      make_block(&B, SPTRSM_ROW_MAJOR, 1, 0, t);
      cr_assert_eq(sptrsm_direct_solve(d, (sptrsm_system)system, (sptrsm_op)op, NULL, &B.b, &B.b), SPTRSM_ERR_ARGUMENT, "%s", what);
      cr_assert(strstr(sptrsm_last_error(), sptrsm_system_name((sptrsm_system)system)), "%s", sptrsm_last_error());
    }
  sptrsm_direct_destroy(d);
}

Test(direct, every_system_of_every_factor_set) {
  sptrsm_context *context;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  seed = 0x9e3779b97f4a7c15u;
  for (int r = 0; r < RECIPES; r++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++) try_recipe(context, &recipes[r], (sptrsm_dtype)t);
  sptrsm_context_destroy(context);
}
