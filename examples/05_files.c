/* 05_files.c FACTORS RHS OUTPUT -- what sptrsm-solve does, in one page: load a factor set and right-hand sides, solve, save.
 *
 * RHS also holds X_true, the solution that B was made from; the largest difference is printed and must be small. */
#include <sptrsm_io.h>

#include <math.h>
#include <stdio.h>

typedef struct {
  sptrsm_file_factors *factors;
  sptrsm_file_block *B, *X_true;
  sptrsm_context *context;
  sptrsm_direct *direct;
} job;

static sptrsm_status load(job *j, const char *factors, const char *rhs) {
  char where[4096];
  sptrsm_status status = sptrsm_file_factors_load(&j->factors, factors, NULL);
  if (status) return status;
  int32_t n = j->factors->factors.L->n;
  if ((status = sptrsm_file_block_load(&j->B, rhs, n, NULL))) return status; /* the dataset B, in the order it has */
  snprintf(where, sizeof where, "%s:/X_true", rhs);
  return sptrsm_file_block_load(&j->X_true, where, n, NULL);
}

static sptrsm_status solve_in_place(job *j) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.nrhs_hint = j->B->block.nrhs;
  sptrsm_status status = sptrsm_context_create(&j->context, SPTRSM_HOST, 0, NULL);
  if (!status) status = sptrsm_direct_create(&j->direct, j->context, &j->factors->factors, &options);
  if (!status) status = sptrsm_direct_solve(j->direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &j->B->block, &j->B->block);
  return status;
}

static double element(const sptrsm_block *b, int64_t i, int64_t k) {
  const double *data = b->data;
  return b->layout == SPTRSM_ROW_MAJOR ? data[i * b->ld + k] : data[i + k * b->ld];
}

static double largest_difference(const sptrsm_block *X, const sptrsm_block *Y) {
  double worst = 0;
  for (int64_t i = 0; i < X->n; i++)
    for (int64_t k = 0; k < X->nrhs; k++) {
      double difference = fabs(element(X, i, k) - element(Y, i, k));
      if (isnan(difference) || difference > worst) worst = difference; /* so written, a NaN counts as an error */
    }
  return worst;
}

static sptrsm_status save(const job *j, const char *path) {
  sptrsm_save_options options;
  sptrsm_save_options_init(&options);
  options.force = 1;
  options.compress = 1;
  return sptrsm_file_solution_save(path, &j->B->block, &options); /* appears whole or not at all */
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: 05_files FACTORS RHS OUTPUT\n");
    return 2;
  }
  job j = {0};
  int failed = load(&j, argv[1], argv[2]) || solve_in_place(&j) || save(&j, argv[3]);
  if (failed) {
    fprintf(stderr, "%s\n", sptrsm_last_error());
  } else {
    double error = largest_difference(&j.B->block, &j.X_true->block);
    printf("%s: n = %d, %lld right-hand sides (%s)\n", argv[1], (int)j.B->block.n, (long long)j.B->block.nrhs, j.B->rule);
    printf("largest difference from X_true %.1e, written to %s\n", error, argv[3]);
    failed = !(error <= 2e-11);
  }
  sptrsm_direct_destroy(j.direct);
  sptrsm_context_destroy(j.context);
  sptrsm_file_block_free(j.X_true);
  sptrsm_file_block_free(j.B);
  sptrsm_file_factors_free(j.factors);
  return failed;
}
