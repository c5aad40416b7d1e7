/* check.c -- a test solve and the condition, by solves with the factor set as sptrsm_direct does them.
 *
 * The test has a solution that is not special: with b = (1, ..., 1) errors of the factors may cancel. The condition is judged with rows
 * scaled to the same sum, because elimination with row pivoting or row scaling is not disturbed by rows of different size [higham2002]:
 * norm_inf(A^-1 W) with W the sums of |A| over rows.
 *
 * The norm of an inverse is estimated as LAPACK does [higham2002]: each step solves with the matrix and its adjoint, moves to the unit
 * vector that promises most and ends, after five steps at most, where the norm grows no more; a vector of alternating signs guards
 * against cancellation. The estimate is a lower bound, within a factor of 3 in practice.
 */
#include "factor/report.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_STEPS = 5 };

typedef struct {
  const factor_matrix *A;
  sptrsm_direct *direct;
  double *x, *y;      /* [n] of A's type: right-hand side and solution */
  const double *sums; /* [n] of |A| over rows, or NULL; see apply */
} probe;

static double complex get(const double *v, int is_complex, int64_t i) { return is_complex ? v[2 * i] + v[2 * i + 1] * I : v[i]; }

static void put(double *v, int is_complex, int64_t i, double complex value) {
  if (is_complex) v[2 * i] = creal(value), v[2 * i + 1] = cimag(value);
  else v[i] = creal(value);
}

/* y = A^-1 x or A^-H x */
static int solve(const probe *p, sptrsm_op op) {
  sptrsm_block X = {.data = p->x, .ld = p->A->n, .n = p->A->n, .nrhs = 1, .layout = SPTRSM_COL_MAJOR, .place = SPTRSM_HOST};
  X.dtype = p->A->is_complex ? SPTRSM_C128 : SPTRSM_F64;
  sptrsm_block Y = X;
  Y.data = p->y;
  return cli_fail(sptrsm_direct_solve(p->direct, SPTRSM_SYS_A, op, NULL, &X, &Y));
}

static double norm1_of_y(const probe *p) {
  double sum = 0;
  for (int64_t i = 0; i < p->A->n; i++) sum += cabs(get(p->y, p->A->is_complex, i));
  return sum;
}

static double norm1_of_matrix(const factor_matrix *A) {
  double most = 0;
  for (int64_t j = 0; j < A->n; j++) {
    double sum = 0;
    for (int64_t p = A->ptr[j]; p < A->ptr[j + 1]; p++) sum += cabs(get(A->val, A->is_complex, p));
    if (isnan(sum) || sum > most) most = sum;
  }
  return most;
}

/* sums[i] = sum over j of |A(i, j)| */
static void row_sums(double *sums, const factor_matrix *A) {
  for (int64_t i = 0; i < A->n; i++) sums[i] = 0;
  for (int64_t p = 0; p < A->ptr[A->n]; p++) sums[A->idx[p]] += cabs(get(A->val, A->is_complex, p));
}

/* ---- the test solve ---- */

/* Row i of the residual b - A y, and |A| |y| + |b|. */
typedef struct {
  long double complex r;
  long double size;
} residual_row;

/* The backward errors of the solution y for the right-hand side x. */
static void judge(factor_verdict *out, const probe *p, residual_row *rows) {
  const factor_matrix *A = p->A;
  long double a_2 = 0, r_2 = 0, b_2 = 0, y_2 = 0; /* squares; their range is wider than that of double */
  for (int64_t i = 0; i < A->n; i++) {
    double complex b = get(p->x, A->is_complex, i);
    rows[i] = (residual_row){b, cabs(b)};
    b_2 += rows[i].size * rows[i].size;
  }
  for (int64_t j = 0; j < A->n; j++) {
    long double complex y = get(p->y, A->is_complex, j);
    y_2 += cabsl(y) * cabsl(y);
    for (int64_t q = A->ptr[j]; q < A->ptr[j + 1]; q++) {
      long double complex a = get(A->val, A->is_complex, q);
      rows[A->idx[q]].r -= a * y;
      rows[A->idx[q]].size += cabsl(a) * cabsl(y);
      a_2 += cabsl(a) * cabsl(a);
    }
  }
  for (int64_t i = 0; i < A->n; i++) {
    double error = rows[i].size == 0 ? 0 : (double)(cabsl(rows[i].r) / rows[i].size);
    if (!(error <= out->componentwise) && !isnan(out->componentwise)) out->componentwise = error;
    r_2 += cabsl(rows[i].r) * cabsl(rows[i].r);
  }
  long double size = sqrtl(a_2) * sqrtl(y_2) + sqrtl(b_2);
  out->backward = size == 0 ? 0 : (double)(sqrtl(r_2) / size);
}

/* b = A y for a known y, then y = A^-1 b. */
static int test_solve(factor_verdict *out, const probe *p) {
  const factor_matrix *A = p->A;
  residual_row *rows = malloc(((size_t)A->n + 1) * sizeof *rows);
  factor_known_solution(p->y, A, 1);
  for (int64_t i = 0; i < A->n; i++) put(p->x, A->is_complex, i, 0);
  factor_multiply(p->x, A, p->y, 1);
  int code = rows ? solve(p, SPTRSM_N) : factor_no_memory("the check (--no-check)");
  if (code == CLI_OK) judge(out, p, rows);
  free(rows);
  return code;
}

/* ---- norms of the inverse ---- */

/* y = C x or C^H x, where C = A^-1 or, with sums, W A^-H, whose 1-norm is the maximum norm of A^-1 W. x is not kept. */
static int apply(const probe *p, bool adjoint) {
  const factor_matrix *A = p->A;
  if (p->sums == NULL) return solve(p, adjoint ? SPTRSM_C : SPTRSM_N);
  for (int64_t i = 0; adjoint && i < A->n; i++) put(p->x, A->is_complex, i, p->sums[i] * get(p->x, A->is_complex, i));
  int code = solve(p, adjoint ? SPTRSM_N : SPTRSM_C);
  for (int64_t i = 0; !adjoint && i < A->n; i++) put(p->y, A->is_complex, i, p->sums[i] * get(p->y, A->is_complex, i));
  return code;
}

/* x = signs of y, z = C^H x (in y). *column: the largest entry of z. *promising: whether that is larger than z(from), where `from` is
 * the unit vector of the step before; always in the first step, where from is -1. */
static int best_column(int64_t *column, bool *promising, const probe *p, int64_t from) {
  const factor_matrix *A = p->A;
  for (int64_t i = 0; i < A->n; i++) {
    double complex y = get(p->y, A->is_complex, i);
    put(p->x, A->is_complex, i, y == 0 ? 1 : y / cabs(y));
  }
  int code = apply(p, true);
  if (code != CLI_OK) return code;
  *column = 0;
  for (int64_t i = 1; i < A->n; i++)
    if (cabs(get(p->y, A->is_complex, i)) > cabs(get(p->y, A->is_complex, *column))) *column = i;
  *promising = from < 0 || cabs(get(p->y, A->is_complex, *column)) > creal(get(p->y, A->is_complex, from));
  return CLI_OK;
}

static int try_alternating(double *norm, const probe *p) {
  const factor_matrix *A = p->A;
  for (int64_t i = 0; i < A->n; i++) put(p->x, A->is_complex, i, (i % 2 ? -1 : 1) * (1 + (double)i / (A->n > 1 ? A->n - 1 : 1)));
  int code = apply(p, false);
  *norm = fmax(*norm, 2 * norm1_of_y(p) / (3.0 * A->n));
  return code;
}

static int inverse_norm(double *out, const probe *p) {
  const factor_matrix *A = p->A;
  int64_t column = -1;
  bool promising = true;
  for (int64_t i = 0; i < A->n; i++) put(p->x, A->is_complex, i, 1.0 / A->n);
  int code = apply(p, false);
  *out = norm1_of_y(p);
  for (int step = 0; code == CLI_OK && step < MOST_STEPS; step++) {
    code = best_column(&column, &promising, p, column);
    if (code != CLI_OK || !promising) break;
    for (int64_t i = 0; i < A->n; i++) put(p->x, A->is_complex, i, i == column);
    code = apply(p, false);
    double norm = norm1_of_y(p);
    if (!(norm > *out)) break;
    *out = norm;
  }
  return code == CLI_OK ? try_alternating(out, p) : code;
}

int factor_check(factor_verdict *out, const factor_matrix *A, const factor_set *set) {
  size_t bytes = ((size_t)A->n + 1) * (A->is_complex ? 2 : 1) * sizeof(double);
  probe p = {.A = A, .x = malloc(bytes), .y = malloc(bytes)};
  sptrsm_context *context = NULL;
  double norm = 0, start = cli_now(), *sums = malloc(((size_t)A->n + 1) * sizeof *sums);
  *out = (factor_verdict){0};
  int code =
      p.x && p.y && sums ? cli_fail(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL)) : factor_no_memory("the check (--no-check)");
  if (code == CLI_OK) code = cli_fail(sptrsm_direct_create(&p.direct, context, &set->set, NULL));
  if (code == CLI_OK) code = test_solve(out, &p);
  if (code == CLI_OK) code = inverse_norm(&norm, &p);
  out->condition = norm1_of_matrix(A) * norm;
  if (code == CLI_OK) {
    row_sums(sums, A);
    p.sums = sums;
    code = inverse_norm(&out->scaled_condition, &p);
  }
  out->seconds = cli_now() - start;
  out->done = code == CLI_OK;
  sptrsm_direct_destroy(p.direct);
  sptrsm_context_destroy(context);
  free(sums);
  free(p.x);
  free(p.y);
  return code;
}
