/* direct.c -- the direct-solver solve phase against dense matrices: every system is multiplied out from its definition in
 * CHOLMOD's and UMFPACK's manuals, and op(S) X = alpha B is checked entry by entry. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/direct/direct.h"
#include "support/factor_set.h"

#ifndef DIRECT_PLACE
#define DIRECT_PLACE SPTRSM_HOST
#endif
#ifndef DIRECT_SHARE /* one system in this many is solved */
#define DIRECT_SHARE 1
#endif

enum { NRHS_MAX = 40, LD_MAX = 48 };

/* ---- small dense algebra ---- */

static mat mul(mat x, mat y) {
  mat z = {0};
  for (int i = 0; i < N; i++)
    for (int k = 0; k < N; k++)
      for (int j = 0; j < N; j++)
        if (x.a[i][k] != 0 && y.a[k][j] != 0) z.a[i][j] += x.a[i][k] * y.a[k][j];
  return z;
}

static mat absolute(mat x) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) x.a[i][j] = cabs(x.a[i][j]);
  return x;
}

static mat apply_op(mat x, sptrsm_op op) { return op == SPTRSM_N ? x : op == SPTRSM_T ? tr(x) : adj(x); }

/* ---- systems ---- */

/* S of S x = b, from the manuals; "t" is ', "at" is .' */
static mat system_matrix(const dense_parts *d, sptrsm_system system) {
  mat A = mul(mul(mul(d->R_inverse, tr(d->P)), mul(mul(d->L, d->D), d->U)), mul(tr(d->Q), d->C_inverse));
  switch (system) {
  case SPTRSM_SYS_A: return A;
  case SPTRSM_SYS_At: return adj(A);
  case SPTRSM_SYS_Aat: return tr(A);
  case SPTRSM_SYS_L: return d->L;
  case SPTRSM_SYS_Lt: return adj(d->L);
  case SPTRSM_SYS_Lat: return tr(d->L);
  case SPTRSM_SYS_U: return d->U;
  case SPTRSM_SYS_Ut: return adj(d->U);
  case SPTRSM_SYS_Uat: return tr(d->U);
  case SPTRSM_SYS_D: return d->D;
  case SPTRSM_SYS_LDLt: return mul(mul(d->L, d->D), d->U);
  case SPTRSM_SYS_LD: return mul(d->L, d->D);
  case SPTRSM_SYS_DLt: return mul(d->D, d->U);
  case SPTRSM_SYS_P: return tr(d->P); /* x = P b */
  case SPTRSM_SYS_Pt: return d->P;    /* x = P' b */
  case SPTRSM_SYS_Pt_L: return mul(tr(d->P), d->L);
  case SPTRSM_SYS_Lt_P: return mul(adj(d->L), d->P);
  case SPTRSM_SYS_Lat_P: return mul(tr(d->L), d->P);
  case SPTRSM_SYS_U_Qt: return mul(d->U, tr(d->Q));
  case SPTRSM_SYS_Q_Ut: return mul(d->Q, adj(d->U));
  case SPTRSM_SYS_Q_Uat: return mul(d->Q, tr(d->U));
  default: cr_assert(false, "no definition of system %d", (int)system); return A;
  }
}

static bool needs_U(sptrsm_system s) {
  return s <= SPTRSM_SYS_Aat || (s >= SPTRSM_SYS_U && s <= SPTRSM_SYS_Uat) || s == SPTRSM_SYS_LDLt || s == SPTRSM_SYS_DLt ||
         (s >= SPTRSM_SYS_U_Qt && s <= SPTRSM_SYS_Q_Uat);
}

/* The product of the absolute values of S's factors, to which rounding errors are relative. */
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
  sptrsm_system system;
  sptrsm_op op;
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

static sptrsm_context *context;
static block B, X; /* too large for the stack */

static void open_context(void) {
  cr_assert_eq(sptrsm_context_create(&context, DIRECT_PLACE, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
}
static void close_context(void) { sptrsm_context_destroy(context); }
TestSuite(direct, .init = open_context, .fini = close_context);

/* ---- solving, on a device with every combination of places ---- */

static void copy_block(void *to, const void *from, spti_direction direction) {
  cr_assert_eq(spti_gpu_copy(context, to, sizeof B.data, from, sizeof B.data, sizeof B.data, 1, direction), SPTRSM_OK, "%s",
               sptrsm_last_error());
}

static sptrsm_block *on_device(sptrsm_block *out, const block *b) {
  *out = b->b;
  out->place = SPTRSM_CUDA;
  cr_assert_eq(spti_alloc(context, &out->data, sizeof b->data, 1, "test block"), SPTRSM_OK, "%s", sptrsm_last_error());
  copy_block(out->data, b->data, SPTI_TO_DEVICE);
  return out;
}

/* from and to may be the same. Bit 0 and 1 of `turn` say which of them is in device memory. */
static void solve_blocks(sptrsm_direct *d, const check *c, const void *alpha, block *from, block *to, int turn) {
  sptrsm_block device_b, device_x, *b = &from->b, *x = &to->b;
  bool move_b = DIRECT_PLACE == SPTRSM_CUDA && turn & 1, move_x = DIRECT_PLACE == SPTRSM_CUDA && (from == to ? move_b : (turn & 2) != 0);
  if (move_b) b = on_device(&device_b, from);
  if (move_x) x = from == to ? b : on_device(&device_x, to);
  cr_assert_eq(sptrsm_direct_solve(d, c->system, c->op, alpha, b, x), SPTRSM_OK, "%s: %s", c->what, sptrsm_last_error());
  cr_assert_eq(sptrsm_context_sync(context), SPTRSM_OK, "%s: %s", c->what, sptrsm_last_error());
  if (move_x) copy_block(to->data, x->data, SPTI_TO_HOST);
  cr_assert_eq(sptrsm_context_sync(context), SPTRSM_OK);
  if (move_b) spti_free(context, b->data);
  if (move_x && x != b) spti_free(context, x->data);
}

static void solve_and_check(sptrsm_direct *d, const check *c, int64_t nrhs, int combination) {
  static double complex b[N * NRHS_MAX];
  static int turn;
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
  solve_blocks(d, c, given, &B, &X, turn++);
  check_solution(c, b, &X);
  check_padding(&X, c->what);
  solve_blocks(d, c, given, &B, &B, turn >> 2);
  check_solution(c, b, &B);
  check_padding(&B, c->what);
}

static void solve_all_ways(sptrsm_direct *d, const factor_set *s, sptrsm_system system, sptrsm_op op, const char *what) {
  static const int64_t widths[] = {1, 3, 40};
  sptrsm_dtype t = s->L.T.dtype;
  check c = {.system = system, .op = op, .what = what};
  c.S = apply_op(system_matrix(&s->dense, system), op);
  c.bound = apply_op(system_bound(&s->dense, system), op);
  c.tolerance = 8 * N * (is_single(t) ? (double)FLT_EPSILON : DBL_EPSILON);
  B.b.dtype = X.b.dtype = t;
  for (int w = 0; w < 3; w++)
    for (int combination = 0; combination < 4; combination++) {
      if (widths[w] == 40 && combination != (int)system % 4) continue; /* more than one panel: one combination is enough */
      c.alpha = combination == 0 ? 1 : is_complex(t) ? CMPLX(-0.5, 2) : -0.5;
      solve_and_check(d, &c, widths[w], combination);
    }
}

static void try_recipe(const recipe *r, sptrsm_dtype t) {
  static factor_set s;
  static int number_of_system;
  sptrsm_direct *d;
  build_factor_set(&s, r, t);
  cr_assert_eq(sptrsm_direct_create(&d, context, &s.f, NULL), SPTRSM_OK, "%s: %s", r->name, sptrsm_last_error());
  for (int system = 0; system < SPTRSM_SYS_COUNT; system++)
    for (int op = SPTRSM_N; op <= SPTRSM_C; op++) {
      char what[128];
      if (number_of_system++ % DIRECT_SHARE != 0) continue;
      snprintf(what, sizeof what, "%s, type %d, system %s, op %d", r->name, (int)t, sptrsm_system_name((sptrsm_system)system), op);
      if (r->has_U || !needs_U((sptrsm_system)system)) {
        solve_all_ways(d, &s, (sptrsm_system)system, (sptrsm_op)op, what);
        continue;
      }
      make_block(&B, SPTRSM_ROW_MAJOR, 1, 0, t);
      cr_assert_eq(sptrsm_direct_solve(d, (sptrsm_system)system, (sptrsm_op)op, NULL, &B.b, &B.b), SPTRSM_ERR_ARGUMENT, "%s", what);
      cr_assert(strstr(sptrsm_last_error(), sptrsm_system_name((sptrsm_system)system)), "%s", sptrsm_last_error());
    }
  cr_assert(is_complex(t) || (spti_direct_plans(d) & 0xaa) == 0, "plans for conjugates of real factors"); /* slots of odd numbers */
  sptrsm_direct_destroy(d);
}

Test(direct, every_system_of_every_factor_set) {
  for (int r = 0; r < RECIPES; r++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++) try_recipe(&recipes[r], (sptrsm_dtype)t);
}

/* ---- pairs of D with entries and right-hand sides of very different sizes ---- */

/* Entries and right-hand sides are multiplied by 2^exponent. */
static void solve_pair(const double entries[3], const double right[2], int exponent, sptrsm_dtype t, sptrsm_op op) {
  static factor_set s;
  static double complex b[N * NRHS_MAX];
  enum { FIRST = 6 };
  build_factor_set(&s, &recipes[RECIPES - 1], t);
  const double first = ldexp(entries[0], exponent), below = ldexp(entries[1], exponent), second = ldexp(entries[2], exponent);
  mat *D = &s.dense.D;
  D->a[FIRST][FIRST] = first, D->a[FIRST + 1][FIRST + 1] = second;
  D->a[FIRST + 1][FIRST] = D->a[FIRST][FIRST + 1] = below;
  put(s.D, FIRST, t, first), put(s.D, FIRST + 1, t, second), put(s.D_sub, FIRST, t, below);
  sptrsm_direct *d;
  cr_assert_eq(sptrsm_direct_create(&d, context, &s.f, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  B.b.dtype = X.b.dtype = t;
  make_block(&B, SPTRSM_ROW_MAJOR, 1, 0, t), make_block(&X, SPTRSM_ROW_MAJOR, 1, 0, t);
  for (int i = 0; i < N; i++) {
    b[i * NRHS_MAX] = i == FIRST ? ldexp(right[0], exponent) : i == FIRST + 1 ? ldexp(right[1], exponent) : 1;
    put(B.data, i, t, b[i * NRHS_MAX]);
  }
  check c = {.system = SPTRSM_SYS_D, .op = op, .alpha = 1, .what = "a pair of very different sizes"};
  c.S = apply_op(*D, op), c.bound = apply_op(absolute(*D), op);
  c.tolerance = 16 * (is_single(t) ? (double)FLT_EPSILON : DBL_EPSILON);
  solve_blocks(d, &c, NULL, &B, &X, 0);
  check_solution(&c, b, &X);
  sptrsm_direct_destroy(d);
}

/* A residual that is small beside the norm of the pair is not enough: it has to be small in every row. All entries are exact. */
Test(direct, pairs_of_any_scale) {
  static const double large = 1 << 20, small = 1.0 / (1 << 20);
  const double entries[][3] = {{1, 0.875, small}, {small, 0.875, 1},     {large, large - 1, 3},         {3, large - 1, large},
                               {3, small, -5},    {small, large, small}, {large, 1, 3 * small},         {0, small, large},
                               {large, small, 0}, {large, 1, large},     {-large, large - 1, 8 * small}};
  const double right[][2] = {{large, 3}, {3, large}, {large * 3, small}, {small, large * 3}, {1, 0}, {0, 1}};
  for (int c = 0; c < 4 * 3; c++) {
    const sptrsm_dtype t = (sptrsm_dtype)(c / 3);
    const int vanish = is_single(t) ? -80 : -600, overflow = is_single(t) ? 45 : 600; /* what squares of entries do then */
    const int exponent = c % 3 == 0 ? vanish : c % 3 == 1 ? 0 : overflow;
    for (size_t e = 0; e < sizeof entries / sizeof *entries; e++)
      for (size_t r = 0; r < sizeof right / sizeof *right; r++) solve_pair(entries[e], right[r], exponent, t, (sptrsm_op)((e + r) % 3));
  }
}

/* Pairs in which the quotient of two entries is subnormal, or below the smallest subnormal number, while its product with a right-hand side
 * is not small. Exponents of f64; those of f32 and c64 are an eighth. */
Test(direct, pairs_whose_quotients_vanish) {
  static const struct {
    double entries[3], right[2];
    int entry_exponents[3], right_exponents[2];
  } cases[] = {
      {{3, 5, 7}, {11, 0}, {704, -360, -96}, {896, 0}},      {{3, 5, 7}, {11, 13}, {704, -400, -96}, {896, -296}},
      {{3, 5, 7}, {11, 0}, {704, -600, -200}, {896, 0}},     {{5, 3, 7}, {0, 11}, {-360, 704, -96}, {0, 896}},
      {{5, 3, -7}, {0, 11}, {-600, 504, 96}, {0, 696}},      {{7, 5, 3}, {0, 11}, {-96, -360, 704}, {0, 896}},
      {{-7, 5, 3}, {13, 11}, {-96, -400, 704}, {-296, 896}},
  };
  for (int t = 0; t < 4; t++)
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
      for (int op = 0; op < 3; op++) {
        const int part = is_single((sptrsm_dtype)t) ? 8 : 1;
        double entries[3], right[2];
        for (int i = 0; i < 3; i++) entries[i] = ldexp(cases[c].entries[i], cases[c].entry_exponents[i] / part);
        for (int i = 0; i < 2; i++) right[i] = ldexp(cases[c].right[i], cases[c].right_exponents[i] / part);
        solve_pair(entries, right, 0, (sptrsm_dtype)t, (sptrsm_op)op);
      }
}

/* ---- many rows: L = U = I leaves x = C Q P R b, exact with scales that are powers of two ---- */

enum { MANY = 1000, WIDE = 45 };
static int32_t row_perm[MANY], col_perm[MANY];
static double row_scale[MANY], col_scale[MANY], many_b[MANY * WIDE], many_x[MANY * WIDE];

static sptrsm_block many_block(double *data, int64_t nrhs, sptrsm_layout layout) {
  return (sptrsm_block){
      .data = data, .ld = layout == SPTRSM_ROW_MAJOR ? WIDE : MANY, .n = MANY, .nrhs = nrhs, .dtype = SPTRSM_F64, .layout = layout};
}

static void permute_many(sptrsm_direct *d, int64_t nrhs, sptrsm_layout in, sptrsm_layout out) {
  sptrsm_block b = many_block(many_b, nrhs, in), x = many_block(many_x, nrhs, out);
  for (int i = 0; i < MANY; i++)
    for (int64_t k = 0; k < nrhs; k++) many_b[position(&b, i, k)] = i + (double)k / 64;
  cr_assert_eq(sptrsm_direct_solve(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &b, &x), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int i = 0; i < MANY; i++) /* y[i] = R[r] b[r], r = row_perm[i]; x[c] = y[i] / C[c], c = col_perm[i] */
    for (int64_t k = 0; k < nrhs; k++) {
      double y = row_scale[row_perm[i]] * (row_perm[i] + (double)k / 64), got = many_x[position(&x, col_perm[i], k)];
      cr_assert(got == y / col_scale[col_perm[i]], "x(%d,%d) = %g", col_perm[i], (int)k, got);
    }
}

Test(direct, permutations_and_scalings_of_many_rows) {
  static const int64_t none[MANY + 1];
  sptrsm_sparse L = {.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .diag = SPTRSM_UNIT, .n = MANY, .ptr = none}, U = L;
  U.uplo = SPTRSM_UPPER;
  for (int i = 0; i < MANY; i++) {
    row_perm[i] = (int32_t)(i * 387LL % MANY);
    col_perm[i] = (int32_t)((i * 611LL + 5) % MANY);
    row_scale[i] = i % 3 ? 4 : 0.5;
    col_scale[i] = i % 5 ? 8 : 0.25;
  }
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &L, f.U = &U, f.perm_row = row_perm, f.perm_col = col_perm, f.scale_row = row_scale, f.scale_col = col_scale;
  f.row_convention = SPTRSM_GATHER, f.col_convention = SPTRSM_SCATTER, f.row_op = SPTRSM_MULTIPLY, f.col_op = SPTRSM_DIVIDE;
  sptrsm_direct *d;
  cr_assert_eq(sptrsm_direct_create(&d, context, &f, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  static const int64_t widths[] = {1, 7, 32, WIDE};
  for (int w = 0; w < 4; w++)
    for (int layouts = 0; layouts < 4; layouts++)
      permute_many(d, widths[w], layouts & 1 ? SPTRSM_COL_MAJOR : SPTRSM_ROW_MAJOR, layouts & 2 ? SPTRSM_COL_MAJOR : SPTRSM_ROW_MAJOR);
  sptrsm_direct_destroy(d);
}
