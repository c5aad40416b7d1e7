/* 15_batch_mixed.c -- subdomains of different size, each with a factor of its own and a number of right-hand sides of its own.
 *
 * The factors are bands of Cholesky factors; b is A times a vector of ones, so every x is one. A mask leaves out every third subdomain, as
 * if it had converged already: its x is not touched. */
#include <sptrsm_batch.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SUBDOMAINS = 12, BAND = 4 };

typedef struct {
  sptrsm_factors factors;
  sptrsm_sparse L;
  int64_t *ptr;
  int32_t *idx, n;
  double *val, *x;
  int64_t nrhs;
} subdomain;

static double entry(int32_t i, int32_t j) { return i == j ? 2 + i % 3 : 1.0 / (1 + (i + 2 * j) % 7); }

/* Returns false without memory. */
static int make(subdomain *s, int number) {
  s->n = 50 + 37 * number, s->nrhs = 1 + number % 5;
  s->ptr = calloc((size_t)s->n + 1, sizeof *s->ptr);
  s->idx = malloc((size_t)s->n * BAND * sizeof *s->idx);
  s->val = malloc((size_t)s->n * BAND * sizeof *s->val);
  s->x = calloc((size_t)(s->n * s->nrhs), sizeof *s->x);
  if (!s->ptr || !s->idx || !s->val || !s->x) return 0;
  int64_t p = 0;
  for (int32_t i = 0; i < s->n; i++) {
    for (int32_t j = i < BAND ? 0 : i - BAND + 1; j <= i; j++) s->idx[p] = j, s->val[p++] = entry(i, j);
    s->ptr[i + 1] = p;
  }
  s->L = (sptrsm_sparse){.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = s->n, .ptr = s->ptr, .idx = s->idx};
  s->L.val = s->val;
  sptrsm_factors_init(&s->factors);
  s->factors.L = &s->L, s->factors.u_kind = SPTRSM_U_IS_LT;
  return 1;
}

/* x = L L' times ones, in all columns (column-major): first z = L' ones, then L z. */
static void set_right_hand_sides(subdomain *s) {
  double *z = s->x; /* the first column */
  for (int32_t i = 0; i < s->n; i++)
    for (int64_t p = s->ptr[i]; p < s->ptr[i + 1]; p++) z[s->idx[p]] += s->val[p];
  for (int32_t i = s->n - 1; i >= 0; i--) {
    double sum = 0;
    for (int64_t p = s->ptr[i]; p < s->ptr[i + 1]; p++) sum += s->val[p] * z[s->idx[p]];
    z[i] = sum;
  }
  for (int64_t k = 1; k < s->nrhs; k++)
    for (int32_t i = 0; i < s->n; i++) s->x[k * s->n + i] = z[i];
}

static sptrsm_status solve(sptrsm_context *context, subdomain *all, const uint8_t *mask, sptrsm_batch_facts *facts) {
  const sptrsm_factors *factors[SUBDOMAINS];
  void *x[SUBDOMAINS];
  int64_t nrhs[SUBDOMAINS], ld[SUBDOMAINS];
  for (int i = 0; i < SUBDOMAINS; i++) factors[i] = &all[i].factors, x[i] = all[i].x, nrhs[i] = all[i].nrhs, ld[i] = all[i].n;
  sptrsm_batch_block X;
  sptrsm_batch_block_init(&X);
  X.layout = SPTRSM_COL_MAJOR, X.data_of = x, X.nrhs_of = nrhs, X.ld_of = ld;
  sptrsm_batch_run run;
  sptrsm_batch_run_init(&run);
  run.mask = mask;

  sptrsm_batch *batch = NULL;
  sptrsm_status code = sptrsm_batch_create_mixed(&batch, context, factors, SUBDOMAINS, NULL);
  if (!code) code = sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &X, &X, &run); /* in place */
  if (!code) code = sptrsm_batch_info(facts, batch);
  sptrsm_batch_destroy(batch);
  return code;
}

int main(void) {
  static subdomain all[SUBDOMAINS];
  uint8_t mask[SUBDOMAINS];
  sptrsm_context *context = NULL;
  sptrsm_batch_facts facts = {.size = sizeof facts};
  sptrsm_status code = SPTRSM_OK;
  for (int i = 0; i < SUBDOMAINS && !code; i++) {
    mask[i] = i % 3 != 0;
    if (!make(&all[i], i)) code = sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for subdomain %d", i);
    else if (mask[i]) set_right_hand_sides(&all[i]);
  }
  if (!code) code = sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL);
  if (!code) code = solve(context, all, mask, &facts);
  if (code) fprintf(stderr, "%s\n", sptrsm_last_error());
  double worst = 0;
  for (int i = 0; i < SUBDOMAINS && !code; i++)
    for (int64_t p = 0; p < all[i].n * all[i].nrhs; p++) {
      double error = fabs(all[i].x[p] - (mask[i] ? 1 : 0));
      if (isnan(error) || error > worst) worst = error; /* so written, a NaN counts as an error */
    }
  if (!code) printf("%lld subdomains, the largest of order %d, largest error %.1e\n", (long long)facts.count, facts.n_most, worst);
  sptrsm_context_destroy(context);
  for (int i = 0; i < SUBDOMAINS; i++) {
    free(all[i].ptr);
    free(all[i].idx);
    free(all[i].val);
    free(all[i].x);
  }
  return code || !(worst <= 1e-10) ? 1 : 0;
}
