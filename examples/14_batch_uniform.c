/* 14_batch_uniform.c -- one pattern, many sets of values: a chain of springs whose stiffness is uncertain.
 *
 * A is tridiagonal. Its factor L (A = L L') has the same pattern for all scenarios, so it is analysed once. All scenarios have one load,
 * which they share by the stride 0. One scenario has a broken spring: its status says so, and the others are solved. */
#include <sptrsm_batch.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPRINGS = 200, SCENARIOS = 1000, BROKEN = 7, ENTRIES = 2 * SPRINGS - 1 };

static double stiffness(int scenario, int spring) { return 1 + 0.5 * sin(scenario + 3.0 * spring); }

/* The values of L, row by row: L(i,i-1) and L(i,i). A has k(i) + k(i+1) on its diagonal and -k(i) beside it. */
static void factorise(double *val, int scenario) {
  double below = 0;
  for (int i = 0, p = 0; i < SPRINGS; i++) {
    double off = i ? -stiffness(scenario, i) / below : 0;
    double pivot = stiffness(scenario, i) + stiffness(scenario, i + 1) - off * off;
    if (i) val[p++] = off;
    val[p++] = below = sqrt(pivot);
  }
  if (scenario == BROKEN) val[ENTRIES - 1] = 0;
}

/* The largest |b - A x| of all scenarios that were solved. */
static double largest_residual(const double *b, const double *x, const sptrsm_item_status *status) {
  double worst = 0;
  for (int s = 0; s < SCENARIOS; s++)
    for (int i = 0; i < SPRINGS && status[s].status == SPTRSM_OK; i++) {
      const double *y = x + s * SPRINGS, left = i ? y[i - 1] : 0, right = i + 1 < SPRINGS ? y[i + 1] : 0;
      double Ax = (stiffness(s, i) + stiffness(s, i + 1)) * y[i] - (i ? stiffness(s, i) * left : 0) -
                  (i + 1 < SPRINGS ? stiffness(s, i + 1) * right : 0);
      if (isnan(b[i] - Ax) || fabs(b[i] - Ax) > worst) worst = fabs(b[i] - Ax); /* so written, a NaN counts as an error */
    }
  return worst;
}

static sptrsm_status solve(sptrsm_context *context, const double *values, double *load, double *x, sptrsm_item_status *status) {
  static int64_t ptr[SPRINGS + 1];
  static int32_t idx[ENTRIES];
  for (int i = 0, p = 0; i < SPRINGS; i++) {
    if (i) idx[p++] = i - 1;
    idx[p++] = i;
    ptr[i + 1] = p;
  }
  sptrsm_sparse L = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = SPRINGS, .ptr = ptr, .idx = idx};
  sptrsm_factors pattern;
  sptrsm_factors_init(&pattern);
  pattern.L = &L, pattern.u_kind = SPTRSM_U_IS_LT;
  sptrsm_batch_values scenarios;
  sptrsm_batch_values_init(&scenarios);
  scenarios.count = SCENARIOS, scenarios.L = values, scenarios.L_stride = ENTRIES;

  sptrsm_batch_block B, X;
  sptrsm_batch_block_init(&B);
  B.nrhs = B.ld = 1, B.data = load, B.stride = 0;
  X = B, X.data = x, X.stride = SPRINGS;
  sptrsm_batch_run run;
  sptrsm_batch_run_init(&run);
  run.status = status;

  sptrsm_batch *batch = NULL;
  sptrsm_status code = sptrsm_batch_create_uniform(&batch, context, &pattern, &scenarios, NULL);
  if (!code) code = sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run);
  sptrsm_batch_destroy(batch);
  return code;
}

int main(void) {
  sptrsm_context *context = NULL;
  static double load[SPRINGS];
  double *values = malloc(sizeof(double) * SCENARIOS * ENTRIES), *x = calloc(SCENARIOS * SPRINGS, sizeof *x);
  sptrsm_item_status *status = calloc(SCENARIOS, sizeof *status);
  sptrsm_status code = values && x && status ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for the scenarios");
  for (int s = 0; !code && s < SCENARIOS; s++) factorise(values + s * ENTRIES, s);
  for (int i = 0; i < SPRINGS; i++) load[i] = 0.01;
  if (!code) code = sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL);
  if (!code) code = solve(context, values, load, x, status);
  if (code) fprintf(stderr, "%s\n", sptrsm_last_error());
  for (int s = 0; !code && s < SCENARIOS; s++)
    if (status[s].status != SPTRSM_OK) printf("scenario %d: %s in row %d\n", s, sptrsm_status_name(status[s].status), status[s].row);
  if (!code) printf("%d scenarios, largest residual %.1e\n", SCENARIOS, largest_residual(load, x, status));
  sptrsm_context_destroy(context);
  free(values);
  free(x);
  free(status);
  return code ? 1 : 0;
}
