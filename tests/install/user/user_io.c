/* user_io.c FILE -- a user of the file library: solves L x = L (1 2 3 1 2 3 ...)' with L from a factor set and prints the first of x. */
#include <sptrsm_io.h>
#include <stdio.h>
#include <stdlib.h>

/* b = L x for a triangle in CSC with its diagonal stored or implied. */
static void multiply(double *b, const sptrsm_sparse *L, const double *x) {
  const double *val = L->val;
  for (int32_t j = 0; j < L->n; j++) b[j] = L->diag == SPTRSM_UNIT ? x[j] : 0;
  for (int32_t j = 0; j < L->n; j++)
    for (int64_t p = L->ptr[j]; p < L->ptr[j + 1]; p++) {
      int32_t i = L->format == SPTRSM_CSC ? L->idx[p] : j, k = L->format == SPTRSM_CSC ? j : L->idx[p];
      if (i != k || L->diag == SPTRSM_NONUNIT) b[i] += val[p] * x[k];
    }
}

int main(int argc, char **argv) {
  sptrsm_file_factors *f = NULL;
  sptrsm_context *context = NULL;
  sptrsm_direct *direct = NULL;
  double *x = NULL, *b = NULL;
  int failed = argc != 2 || sptrsm_file_factors_load(&f, argv[1], NULL) || sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) ||
               sptrsm_direct_create(&direct, context, &f->factors, NULL);
  if (!failed) {
    int32_t n = f->L_tri.n;
    x = malloc((size_t)n * sizeof *x);
    b = malloc((size_t)n * sizeof *b);
    failed = !x || !b;
    for (int32_t i = 0; !failed && i < n; i++) x[i] = i % 3 + 1;
    if (!failed) multiply(b, &f->L_tri, x);
    sptrsm_block B = {b, 1, n, 1, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
    failed = failed || sptrsm_direct_solve(direct, SPTRSM_SYS_L, SPTRSM_N, NULL, &B, &B);
  }
  if (failed) fprintf(stderr, "%s\n", sptrsm_last_error());
  else printf("sptrsm %s: x = %.3g %.3g %.3g\n", sptrsm_version(), b[0], b[1], b[2]);
  free(x);
  free(b);
  sptrsm_direct_destroy(direct);
  sptrsm_context_destroy(context);
  sptrsm_file_factors_free(f);
  return failed;
}
