/* factor_set.c -- see factor_set.h */
#include "support/factor_set.h"

#include <math.h>
#include <string.h>

mat tr(mat x) {
  mat z;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) z.a[i][j] = x.a[j][i];
  return z;
}

mat adj(mat x) {
  mat z = tr(x);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) z.a[i][j] = conj(z.a[i][j]);
  return z;
}

static mat identity(void) {
  mat z = {0};
  for (int i = 0; i < N; i++) z.a[i][i] = 1;
  return z;
}

/* ---- numbers of the four types ---- */

bool is_single(sptrsm_dtype t) { return t == SPTRSM_F32 || t == SPTRSM_C64; }
bool is_complex(sptrsm_dtype t) { return t == SPTRSM_C64 || t == SPTRSM_C128; }

double complex get(const void *p, int64_t i, sptrsm_dtype t) {
  const float *s = p;
  const double *d = p;
  if (t == SPTRSM_F32) return (double)s[i];
  if (t == SPTRSM_F64) return d[i];
  return t == SPTRSM_C64 ? CMPLX((double)s[2 * i], (double)s[2 * i + 1]) : CMPLX(d[2 * i], d[2 * i + 1]);
}

void put(void *p, int64_t i, sptrsm_dtype t, double complex v) {
  float *s = p;
  double *d = p;
  if (t == SPTRSM_F32) s[i] = (float)creal(v);
  else if (t == SPTRSM_F64) d[i] = creal(v);
  else if (t == SPTRSM_C64) s[2 * i] = (float)creal(v), s[2 * i + 1] = (float)cimag(v);
  else d[2 * i] = creal(v), d[2 * i + 1] = cimag(v);
}

static uint64_t seed = 0x9e3779b97f4a7c15u;

static double uniform(void) { /* in [-1, 1) */
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (double)(seed >> 11) / (double)((uint64_t)1 << 52) - 1;
}

/* A random number that the type represents. */
double complex number(sptrsm_dtype t) {
  double re = uniform(), im = is_complex(t) ? uniform() : 0;
  return is_single(t) ? CMPLX((double)(float)re, (double)(float)im) : CMPLX(re, im);
}

/* ---- triangles, permutations, scalings, D ---- */

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
    if (convention == SPTRSM_GATHER) m.a[i][perm[i]] = 1;
    else m.a[perm[i]][i] = 1;
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
    if (i == 6) D->a[i][i] = D->a[i + 1][i + 1] = 0;
    else D->a[i][i] /= 4;
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

/* Systems in all the shapes that direct solvers produce; conventions and operations take turns. */
const recipe recipes[RECIPES] = {
    {.name = "LU as SciPy",
     .has_U = true,
     .permuted = true,
     .scaled = true,
     .l_diag = SPTRSM_UNIT,
     .l_format = SPTRSM_CSC,
     .u_format = SPTRSM_CSC,
     .row_convention = SPTRSM_SCATTER,
     .col_convention = SPTRSM_GATHER,
     .row_op = SPTRSM_MULTIPLY,
     .col_op = SPTRSM_DIVIDE},
    {.name = "LDU as UMFPACK",
     .has_U = true,
     .has_D = true,
     .permuted = true,
     .scaled = true,
     .l_format = SPTRSM_CSR,
     .u_format = SPTRSM_CSC,
     .row_convention = SPTRSM_GATHER,
     .col_convention = SPTRSM_SCATTER,
     .row_op = SPTRSM_DIVIDE,
     .col_op = SPTRSM_MULTIPLY},
    {.name = "LU plain", .has_U = true, .l_format = SPTRSM_CSC, .u_format = SPTRSM_CSR},
    {.name = "LDL.' with pairs",
     .u_kind = SPTRSM_U_IS_LT,
     .has_U = true,
     .has_D = true,
     .pairs = true,
     .permuted = true,
     .l_diag = SPTRSM_UNIT,
     .l_format = SPTRSM_CSC,
     .row_convention = SPTRSM_GATHER,
     .col_convention = SPTRSM_SCATTER},
    {.name = "LDL' with pairs",
     .u_kind = SPTRSM_U_IS_LH,
     .has_U = true,
     .has_D = true,
     .pairs = true,
     .hermitian = true,
     .permuted = true,
     .scaled = true,
     .l_diag = SPTRSM_UNIT,
     .l_format = SPTRSM_CSR,
     .row_convention = SPTRSM_GATHER,
     .col_convention = SPTRSM_SCATTER},
    {.name = "Cholesky",
     .u_kind = SPTRSM_U_IS_LH,
     .has_U = true,
     .permuted = true,
     .l_format = SPTRSM_CSC,
     .row_convention = SPTRSM_GATHER,
     .col_convention = SPTRSM_SCATTER},
    {.name = "L only",
     .has_D = true,
     .pairs = true,
     .permuted = true,
     .l_format = SPTRSM_CSR,
     .row_convention = SPTRSM_SCATTER,
     .col_convention = SPTRSM_SCATTER},
};

void build_factor_set(factor_set *s, const recipe *r, sptrsm_dtype t) {
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
