/* check.c -- a test solve and the condition number in the 1-norm, by solves with the factor set as sptrsm_direct does them.
 *
 * The norm of the inverse is estimated as LAPACK does [higham2002]: each step solves with A and A^H, moves to the unit vector
 * that promises most and ends, after five steps at most, where the norm grows no more; a vector of alternating signs guards against
 * cancellation. The estimate is a lower bound, within a factor of 3 in practice.
 */
#include "factor/check.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_STEPS = 5 };

typedef struct {
  const factor_matrix *A;
  sptrsm_direct *direct;
  double *x, *y; /* [n] of A's type: right-hand side and solution */
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
    if (!(sum <= most)) most = sum;
  }
  return most;
}

static double frobenius_norm(const factor_matrix *A) {
  double size = 0; /* hypot neither overflows nor underflows */
  for (int64_t p = 0; p < A->ptr[A->n]; p++) size = hypot(size, cabs(get(A->val, A->is_complex, p)));
  return size;
}

static double largest(const double *v, const factor_matrix *A) {
  double most = 0;
  for (int64_t i = 0; i < A->n; i++) {
    double size = cabs(get(v, A->is_complex, i));
    if (!(size <= most)) most = size;
  }
  return most;
}

/* x = (1, ..., 1), y = A^-1 x; the residual overwrites x. */
static int test_solve(double *out, const probe *p) {
  const factor_matrix *A = p->A;
  for (int64_t i = 0; i < A->n; i++) put(p->x, A->is_complex, i, 1);
  int code = solve(p, SPTRSM_N);
  if (code != CLI_OK) return code;
  for (int64_t j = 0; j < A->n; j++) {
    double complex y = get(p->y, A->is_complex, j);
    for (int64_t q = A->ptr[j]; q < A->ptr[j + 1]; q++) {
      int64_t i = A->idx[q];
      put(p->x, A->is_complex, i, get(p->x, A->is_complex, i) - get(A->val, A->is_complex, q) * y);
    }
  }
  *out = largest(p->x, A) / (frobenius_norm(A) * largest(p->y, A) + 1);
  return CLI_OK;
}

/* x = signs of y, z = A^-H x (in y). *column: the largest entry of z. *promising: whether that is larger than z(from), where `from` is
 * the unit vector of the step before; always in the first step, where from is -1. */
static int best_column(int64_t *column, bool *promising, const probe *p, int64_t from) {
  const factor_matrix *A = p->A;
  for (int64_t i = 0; i < A->n; i++) {
    double complex y = get(p->y, A->is_complex, i);
    put(p->x, A->is_complex, i, y == 0 ? 1 : y / cabs(y));
  }
  int code = solve(p, SPTRSM_C);
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
  int code = solve(p, SPTRSM_N);
  *norm = fmax(*norm, 2 * norm1_of_y(p) / (3.0 * A->n));
  return code;
}

static int inverse_norm(double *out, const probe *p) {
  const factor_matrix *A = p->A;
  int64_t column = -1;
  bool promising = true;
  for (int64_t i = 0; i < A->n; i++) put(p->x, A->is_complex, i, 1.0 / A->n);
  int code = solve(p, SPTRSM_N);
  *out = norm1_of_y(p);
  for (int step = 0; code == CLI_OK && step < MOST_STEPS; step++) {
    code = best_column(&column, &promising, p, column);
    if (code != CLI_OK || !promising) break;
    for (int64_t i = 0; i < A->n; i++) put(p->x, A->is_complex, i, i == column);
    code = solve(p, SPTRSM_N);
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
  double norm = 0, start = cli_now();
  *out = (factor_verdict){0};
  int code = p.x && p.y ? cli_fail(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL)) : factor_no_memory("the check (--no-check)");
  if (code == CLI_OK) code = cli_fail(sptrsm_direct_create(&p.direct, context, &set->set, NULL));
  if (code == CLI_OK) code = test_solve(&out->backward, &p);
  if (code == CLI_OK) code = inverse_norm(&norm, &p);
  out->condition = norm1_of_matrix(A) * norm;
  out->seconds = cli_now() - start;
  out->done = code == CLI_OK;
  sptrsm_direct_destroy(p.direct);
  sptrsm_context_destroy(context);
  free(p.x);
  free(p.y);
  return code;
}
