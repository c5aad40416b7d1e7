/* 12_new_values.c -- new numbers in an old pattern: implicit time steps of the heat equation, whose step size doubles.
 *
 * Each step solves (I + dt K) x = b for several right-hand sides at once. The matrix changes with dt but its pattern does not, so the
 * factors L D L' are computed anew and handed to the solver with sptrsm_direct_set_values, which needs no new analysis. */
#include <sptrsm.h>

#include <math.h>
#include <stdio.h>

enum { N = 1000, NRHS = 16, STEPS = 4 };

static int64_t ptr[N + 1];
static int32_t idx[N - 1];
static double L_val[N - 1], D[N]; /* L is unit lower bidiagonal, stored by columns without its diagonal */

/* L D L' = I + dt K with K = tridiag(-1, 2, -1). */
static void factorise(double dt) {
  D[0] = 1 + 2 * dt;
  for (int j = 1; j < N; j++) {
    L_val[j - 1] = -dt / D[j - 1];
    D[j] = 1 + 2 * dt + dt * L_val[j - 1];
  }
}

/* The largest entry of b - (I + dt K) x; both are row-major, NRHS entries a row. */
static double largest_residual(double dt, const double *x, const double *b) {
  double worst = 0;
  for (int i = 0; i < N; i++)
    for (int k = 0; k < NRHS; k++) {
      double left = i > 0 ? x[(i - 1) * NRHS + k] : 0, right = i + 1 < N ? x[(i + 1) * NRHS + k] : 0;
      double r = b[i * NRHS + k] - (1 + 2 * dt) * x[i * NRHS + k] + dt * (left + right);
      if (isnan(r) || fabs(r) > worst) worst = fabs(r);
    }
  return worst;
}

/* One step after the other, each from the solution of the one before. Returns nonzero on failure, with the message in sptrsm_last_error. */
static int run(sptrsm_direct *direct) {
  static double u[N * NRHS], next[N * NRHS];
  for (int i = 0; i < N * NRHS; i++) u[i] = sin(0.01 * i);
  sptrsm_block B = {u, NRHS, N, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST}, X = B;
  X.data = next;
  double dt = 0.1;
  for (int step = 1; step <= STEPS; step++, dt *= 2) {
    factorise(dt);
    if (sptrsm_direct_set_values(direct, L_val, D, NULL, NULL) || sptrsm_direct_solve(direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X))
      return 1;
    double residual = largest_residual(dt, next, u);
    printf("step %d: dt %.1f, largest residual %.1e\n", step, dt, residual);
    if (!(residual <= 1e-13)) return 1;
    for (int i = 0; i < N * NRHS; i++) u[i] = next[i];
  }
  return 0;
}

int main(void) {
  for (int j = 0; j < N; j++) ptr[j + 1] = j + 1 < N ? j + 1 : N - 1;
  for (int j = 0; j + 1 < N; j++) idx[j] = j + 1;
  factorise(1);
  sptrsm_sparse L = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_UNIT, SPTRSM_HOST, N, ptr, idx, L_val};
  sptrsm_factors factors;
  sptrsm_factors_init(&factors);
  factors.L = &L;
  factors.u_kind = SPTRSM_U_IS_LT;
  factors.D = D;
  sptrsm_context *context = NULL;
  sptrsm_direct *direct = NULL;
  int failed =
      sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) || sptrsm_direct_create(&direct, context, &factors, NULL) || run(direct);
  if (failed) fprintf(stderr, "failed: %s\n", sptrsm_last_error());
  sptrsm_direct_destroy(direct);
  sptrsm_context_destroy(context);
  return failed;
}
