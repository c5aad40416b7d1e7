/* check.c -- the largest normwise backward error of the columns of a solution of A X = B. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"

static double norm_of(const double *x, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

/* r: [n], scratch. */
static double column_residual(const factor_matrix *A, double size_of_A, const double *b, const double *x, double *r) {
  memcpy(r, b, (size_t)A->n * sizeof *r);
  for (int64_t j = 0; j < A->n; j++)
    for (int64_t p = A->ptr[j]; p < A->ptr[j + 1]; p++) r[A->idx[p]] -= A->val[p] * x[j];
  return norm_of(r, A->n) / (size_of_A * norm_of(x, A->n) + norm_of(b, A->n));
}

int compare_residual(double *out, const factor_matrix *A, const double *B, const double *X, int64_t nrhs) {
  double size_of_A = norm_of(A->val, A->ptr[A->n]), most = 0;
  int code = CLI_OK;
#pragma omp parallel
  {
    double *r = malloc((size_t)A->n * sizeof *r + 1);
#pragma omp for schedule(static)
    for (int64_t k = 0; k < nrhs; k++) {
      double error = r ? column_residual(A, size_of_A, B + k * A->n, X + k * A->n, r) : NAN;
#pragma omp critical(compare_residual)
      if (!isnan(most) && !(error <= most)) most = error;
    }
#pragma omp critical(compare_residual)
    if (r == NULL) code = CLI_MEMORY;
    free(r);
  }
  *out = most;
  return code == CLI_OK ? CLI_OK : factor_no_memory("a residual");
}
