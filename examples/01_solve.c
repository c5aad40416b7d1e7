/* 01_solve.c -- two right-hand sides of a 3 x 3 lower triangle, all in the caller's arrays. */
#include <sptrsm.h>
#include <stdio.h>

int main(void) {
  int64_t ptr[] = {0, 1, 3, 5}; /* L = [2 . .; 1 4 .; . 3 5], row by row */
  int32_t idx[] = {0, 0, 1, 1, 2};
  double val[] = {2, 1, 4, 3, 5}, b[] = {2, 4, 9, 18, 21, 42}, x[6];
  sptrsm_sparse L = {SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, 3, ptr, idx, val};
  sptrsm_block B = {b, 2, 3, 2, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST}; /* ld 2, n 3, nrhs 2 */
  sptrsm_block X = {x, 2, 3, 2, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  sptrsm_context *context = NULL;
  sptrsm_matrix *matrix = NULL;
  sptrsm_plan *plan = NULL;
  int failed = sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) || sptrsm_matrix_create(&matrix, context, &L, SPTRSM_COPY) ||
               sptrsm_plan_create(&plan, matrix, NULL) || sptrsm_solve(plan, NULL, NULL, &B, &X);
  if (failed) fprintf(stderr, "%s\n", sptrsm_last_error());
  else
    for (int i = 0; i < 3; i++) printf("%g %g\n", x[2 * i], x[2 * i + 1]);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  return failed;
}
