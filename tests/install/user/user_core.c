/* user_core.c -- a user of the library alone: solves a 3 x 3 triangle and prints x. */
#include <sptrsm.h>
#include <stdio.h>

int main(void) {
  const int64_t ptr[] = {0, 1, 3, 5};
  const int32_t idx[] = {0, 0, 1, 1, 2};
  const double val[] = {2, 1, 4, 3, 5};
  double x[] = {2, 9, 21};
  sptrsm_sparse L = {SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, 3, ptr, idx, val};
  sptrsm_block X = {x, 1, 3, 1, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  sptrsm_context *context = NULL;
  sptrsm_matrix *matrix = NULL;
  sptrsm_plan *plan = NULL;
  int failed = sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) || sptrsm_matrix_create(&matrix, context, &L, SPTRSM_COPY) ||
               sptrsm_plan_create(&plan, matrix, NULL) || sptrsm_solve(plan, NULL, NULL, &X, &X);
  if (failed) fprintf(stderr, "%s\n", sptrsm_last_error());
  else printf("sptrsm %s: x = %g %g %g\n", sptrsm_version(), x[0], x[1], x[2]);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  return failed;
}
