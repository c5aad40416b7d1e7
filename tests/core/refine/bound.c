/* bound.c -- bounds of forward errors: against known solutions, and the estimate in them against the method as LAPACK states it. */
#include <sptrsm_refine.h>

#include "core/refine/refine.h"
#include "core/refine/refine_case.h"

TestSuite(refine_bound, .init = open_context, .fini = close_context);

/* ---- against the error of known solutions ---- */

/* Rows of very different size, which the factors know as a row scaling. */
static void spread_rows(factor_set *s, original *A, sptrsm_dtype t) {
  bool multiply = !s->f.scale_row || s->f.row_op == SPTRSM_MULTIPLY;
  for (int i = 0; i < N; i++) {
    int shift = i % 5 * 4;
    for (int64_t p = A->ptr[i]; p < A->ptr[i + 1]; p++) {
      put(A->val, p, t, ldexp(1, shift) * get(A->val, p, t));
      A->dense.a[i][A->idx[p]] = get(A->val, p, t);
    }
    s->scale_row[i] = ldexp(s->f.scale_row ? s->scale_row[i] : 1, multiply ? -shift : shift);
  }
  s->f.scale_row = s->scale_row;
  s->f.row_op = multiply ? SPTRSM_MULTIPLY : SPTRSM_DIVIDE;
}

/* Gauss-Jordan elimination with row pivots. */
static mat inverse_of(mat S) {
  mat inverse = {0};
  for (int i = 0; i < N; i++) inverse.a[i][i] = 1;
  for (int j = 0; j < N; j++) {
    int pivot = j;
    for (int i = j + 1; i < N; i++)
      if (cabs(S.a[i][j]) > cabs(S.a[pivot][j])) pivot = i;
    for (int k = 0; k < N; k++) {
      double complex s = S.a[j][k], v = inverse.a[j][k];
      S.a[j][k] = S.a[pivot][k], S.a[pivot][k] = s;
      inverse.a[j][k] = inverse.a[pivot][k], inverse.a[pivot][k] = v;
    }
    for (int i = 0; i < N; i++) {
      double complex factor = i == j ? 1 - 1 / S.a[j][j] : S.a[i][j] / S.a[j][j];
      for (int k = 0; k < N; k++) S.a[i][k] -= factor * S.a[j][k], inverse.a[i][k] -= factor * inverse.a[j][k];
    }
  }
  return inverse;
}

/* dgerfs' bound itself, with the norm computed, not estimated. */
static double exact_bound(const mat *S, const mat *inverse, const block *B, const block *X, int64_t k) {
  double w[N], u = u_of(X->b.dtype), most = 0, size_of_x = 0;
  int longest = 0;
  for (int i = 0; i < N; i++) {
    int entries = 0;
    for (int j = 0; j < N; j++) entries += S->a[i][j] != 0;
    longest = entries > longest ? entries : longest;
    size_of_x = fmax(size_of_x, cabs1(at(X, i, k)));
  }
  for (int i = 0; i < N; i++) {
    long double complex r = at(B, i, k);
    double size = cabs1(at(B, i, k));
    for (int j = 0; j < N; j++) {
      r -= (long double complex)S->a[i][j] * at(X, j, k);
      size += cabs1(S->a[i][j]) * cabs1(at(X, j, k));
    }
    w[i] = cabs1((double complex)r) + (longest + 1) * u * size;
  }
  for (int i = 0; i < N; i++) {
    double sum = 0;
    for (int j = 0; j < N; j++) sum += cabs(inverse->a[i][j]) * w[j];
    most = fmax(most, sum);
  }
  return most / size_of_x;
}

/* b = A x for a known x, rounded to the type: the bound allows for that. The norm in it is estimated from below. */
static void check_bound(int r, sptrsm_dtype t, int turn, int *columns, int *above) {
  static factor_set s;
  static original A;
  static block B, X, truth;
  sptrsm_op op = (sptrsm_op)(turn % 3);
  build(&s, &A, &recipes[r], t, SPTRSM_CSR, 1e-4);
  if (turn % 2) spread_rows(&s, &A, t);
  bool mixed = !is_single(t) && turn % 4 >= 2;
  sptrsm_direct *d = create(&s, &A, mixed ? SPTRSM_MIXED : SPTRSM_WORKING, 0);
  mat S = system_of(&A.dense, SPTRSM_SYS_A, op), inverse = inverse_of(S);
  make_block(&truth, SPTRSM_ROW_MAJOR, NRHS, 0, t);
  make_block(&B, SPTRSM_ROW_MAJOR, NRHS, 1, t);
  make_block(&X, SPTRSM_COL_MAJOR, NRHS, 1, t);
  draw(&truth);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < NRHS; k++) {
      long double complex b = 0;
      for (int j = 0; j < N; j++) b += (long double complex)S.a[i][j] * at(&truth, j, k);
      set(&B, i, k, (double complex)b);
    }
  double ferr[NRHS];
  sptrsm_refine_options options;
  sptrsm_refine_options_init(&options);
  options.solve = 1;
  options.max_steps = turn % 5 ? 12 : 0; /* bad solutions have a bound, too */
  sptrsm_refine_result result = {.size = sizeof result, .ferr = ferr};
  OK(refine_at(turn, d, SPTRSM_SYS_A, op, NULL, &B, &X, &options, &result));
  for (int k = 0; k < NRHS; k++) {
    double error = 0, size = 0;
    for (int i = 0; i < N; i++) {
      error = fmax(error, cabs(at(&X, i, k) - at(&truth, i, k)));
      size = fmax(size, cabs1(at(&X, i, k)));
    }
    cr_assert(error / size <= 3 * ferr[k], "%s, type %d, column %d: error %g, bound %g", recipes[r].name, (int)t, k, error / size, ferr[k]);
    double bound = exact_bound(&S, &inverse, &B, &X, k);
    cr_assert(ferr[k] >= bound / 3 && ferr[k] <= 1.3 * bound, "%s, type %d: estimated %g, the bound is %g", recipes[r].name, (int)t,
              ferr[k], bound);
    *above += error / size <= ferr[k];
    ++*columns;
  }
  sptrsm_direct_destroy(d);
}

Test(refine_bound, the_bound_is_above_the_error_of_known_solutions) {
  int columns = 0, above = 0, turn = 0;
  for (int r = 0; r < 6; r++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++) check_bound(r, (sptrsm_dtype)t, turn++, &columns, &above);
  cr_assert(above >= 0.97 * columns, "%d of %d", above, columns);
}

/* ---- against dlacn2 and zlacn2 ---- */

/* How often each thing happened that ends the ascent, or that overrides its result. */
typedef struct {
  int shrank, repeated, stayed, steps, alternating;
} ends;

static double norm_of(const double complex v[N]) {
  double sum = 0;
  for (int i = 0; i < N; i++) sum += cabs(v[i]);
  return sum;
}

/* y = M x, or M^H x */
static void times(double complex y[N], const mat *M, const double complex x[N], bool adjoint) {
  for (int i = 0; i < N; i++) {
    y[i] = 0;
    for (int j = 0; j < N; j++) y[i] += (adjoint ? conj(M->a[j][i]) : M->a[i][j]) * x[j];
  }
}

/* v := sign(v). True if these are the signs before. */
static bool take_signs(double complex v[N], double complex signs[N]) {
  bool same = true;
  for (int i = 0; i < N; i++) {
    v[i] = v[i] == 0 ? 1 : v[i] / cabs(v[i]);
    same = same && v[i] == signs[i];
    signs[i] = v[i];
  }
  return same;
}

/* Returns the value of the ascent. */
static double ascend(const mat *M, bool real, ends *seen) {
  double complex x[N], v[N], signs[N] = {0};
  double best = 0;
  for (int i = 0; i < N; i++) x[i] = 1.0 / N;
  for (int step = 0, last = 0;; step++) {
    times(v, M, x, false);
    const double norm = norm_of(v);
    if (norm <= best) return seen->shrank++, best;
    best = norm;
    if (take_signs(v, signs) && real) return seen->repeated++, best;
    times(x, M, v, true);
    int peak = 0;
    for (int i = 1; i < N; i++) peak = cabs(x[i]) > cabs(x[peak]) ? i : peak;
    if (step > 0 && cabs(x[last]) == cabs(x[peak])) return seen->stayed++, best;
    if (step == 4) return seen->steps++, best;
    for (int i = 0; i < N; i++) x[i] = i == peak;
    last = peak;
  }
}

static double textbook_estimate(const mat *M, bool real, ends *seen) {
  double complex x[N], v[N];
  const double best = ascend(M, real, seen);
  for (int i = 0; i < N; i++) x[i] = (i % 2 ? -1 : 1) * (1 + (double)i / (N - 1));
  times(v, M, x, false);
  const double other = 2 * norm_of(v) / (3 * N);
  if (other > best) seen->alternating++;
  return fmax(best, other);
}

static double complex random_entry(sptrsm_dtype t, int i, int j) { return i == j ? 1 : number(t); }

/* I + 4 C with C x = 0 for the vector of ones and for the first unit vector, so that the ascent ends at once and far below the norm. */
static double complex entry_without_ascent(sptrsm_dtype t, int i, int j) {
  (void)t;
  if (i < 3 || i > 4 || j < 1 || j > 2) return i == j;
  return (i + j) % 2 ? 4 : -4;
}

/* Factors of the inverse of a matrix of whole numbers on which the ascent would go on after five steps. All arithmetic with it is exact. */
static double complex entry_of_long_ascent(sptrsm_dtype t, int i, int j) {
  enum { LEFT = 6 };
  static const double root[N] = {2, 4, 4, 2, 4, 2, 4, 4, 4, 4, 4, 4, 4};
  static const double below[N - LEFT][LEFT] = {{5, 3, -3, -6, 0, -2}, {0, 9, 9, -9, 1, -8},  {9, -8, 5, -9, 9, 2},  {0, 7, -5, -4, -4, 0},
                                               {8, 3, -6, 8, 3, -7},  {-8, 0, 6, -9, 7, -9}, {-7, 1, 2, -6, -9, -1}};
  (void)t;
  if (i < LEFT || j >= LEFT) return i == j ? 1 / root[j] : 0;
  return below[i - LEFT][j] / (16 * root[j]);
}

typedef double complex entry_of(sptrsm_dtype, int i, int j);

/* A dense triangle in CSR. */
static void dense_triangle(triangle *out, mat *dense, bool upper, entry_of *entry, sptrsm_dtype t) {
  int64_t p = 0;
  for (int i = 0; i < N; i++) {
    out->ptr[i] = p;
    for (int j = upper ? i : 0; j < (upper ? N : i + 1); j++, p++) {
      out->idx[p] = j;
      put(out->val, p, t, entry(t, i, j));
      dense->a[i][j] = get(out->val, p, t);
    }
  }
  out->ptr[N] = p;
  out->T =
      (sptrsm_sparse){.n = N, .ptr = out->ptr, .idx = out->idx, .val = out->val, .dtype = t, .uplo = upper ? SPTRSM_UPPER : SPTRSM_LOWER};
}

/* A column of the estimate stands for a matrix of its own, since it has weights of its own: random ones, or 1. */
static void compare_estimates(entry_of *entry, sptrsm_dtype t, bool adjoint, ends *seen) {
  enum { COLUMNS = 100 };
  triangle L, U;
  mat dense_L = {0}, dense_U = {0};
  double w[COLUMNS * N], given[COLUMNS * N], found[COLUMNS];
  sptrsm_factors f;
  sptrsm_direct *d;
  dense_triangle(&L, &dense_L, false, entry, t);
  dense_triangle(&U, &dense_U, true, entry, t);
  sptrsm_factors_init(&f);
  f.L = &L.T, f.U = &U.T;
  OK(sptrsm_direct_create(&d, context, &f, NULL));
  const mat inverse = inverse_of(product(dense_L, dense_U));
  for (int i = 0; i < COLUMNS * N; i++) {
    w[i] = entry != random_entry ? 1 : rand() % 7 == 0 ? 0 : pow(10, 4.0 * rand() / RAND_MAX - 2);
    given[i] = w[i];
  }
  OK(spti_error_bound(found, d, adjoint, COLUMNS, w));
  for (int c = 0; c < COLUMNS; c++) {
    mat M;
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) M.a[i][j] = given[c * N + i] * (adjoint ? inverse.a[i][j] : conj(inverse.a[j][i]));
    const double right = textbook_estimate(&M, !is_complex(t), seen);
    cr_assert(fabs(found[c] - right) <= 1e-9 * right, "column %d: %.15g, not %.15g", c, found[c], right);
  }
  sptrsm_direct_destroy(d);
}

Test(refine_bound, is_what_lapack_estimates, .disabled = DIRECT_PLACE != SPTRSM_HOST) {
  ends real = {0}, other = {0};
  for (int adjoint = 0; adjoint < 2; adjoint++) {
    for (int turn = 0; turn < 20; turn++) {
      compare_estimates(random_entry, SPTRSM_F64, adjoint, &real);
      compare_estimates(random_entry, SPTRSM_C128, adjoint, &other);
    }
    compare_estimates(entry_without_ascent, SPTRSM_F64, adjoint, &real);
    compare_estimates(entry_without_ascent, SPTRSM_C128, adjoint, &other);
    compare_estimates(entry_of_long_ascent, SPTRSM_F64, adjoint, &real);
    compare_estimates(entry_of_long_ascent, SPTRSM_C128, adjoint, &other);
  }
  cr_assert(real.repeated > 0 && real.stayed > 0 && real.steps > 0 && real.alternating > 0);
  cr_assert(other.shrank + other.stayed > 0 && other.steps > 0 && other.alternating > 0);
}
