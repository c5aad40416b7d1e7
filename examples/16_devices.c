/* 16_devices.c -- one factor set, many right-hand sides, several devices: all GPUs that there are, and the host.
 *
 * The factors are validated and analysed on the first device; the others get clones. sptrsm_multi hands out the columns. The plans are
 * then exported, and a solver of another process could be made of these bytes. */
#include <sptrsm_multi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 20000, COLUMNS = 256, DEVICES_MOST = 16 };

/* L of A = L L', bidiagonal: A has 5 on its diagonal and 2 beside it, but for the first row. */
static void fill(int64_t *ptr, int32_t *idx, double *val) {
  int64_t p = 0;
  ptr[0] = 0;
  for (int32_t i = 0; i < ROWS; i++) {
    if (i > 0) idx[p] = i - 1, val[p++] = 1;
    idx[p] = i, val[p++] = 2;
    ptr[i + 1] = p;
  }
}

/* One context for the host, or one for each GPU and one for the host. */
static sptrsm_status open_contexts(sptrsm_context **contexts, int *count) {
  const int gpus = sptrsm_device_count() < DEVICES_MOST ? sptrsm_device_count() : DEVICES_MOST - 1;
  sptrsm_status status = SPTRSM_OK;
  for (int g = 0; g <= gpus && status == SPTRSM_OK; g++) {
    status = sptrsm_context_create(&contexts[g], g < gpus ? SPTRSM_CUDA : SPTRSM_HOST, g, NULL);
    if (status == SPTRSM_OK) *count = g + 1;
  }
  if (status != SPTRSM_OK || gpus > 0) return status;
  status = sptrsm_context_create(&contexts[1], SPTRSM_HOST, 0, NULL); /* without a GPU: two groups of threads */
  if (status == SPTRSM_OK) *count = 2;
  return status;
}

/* The largest |b - A x|, so written that a NaN counts as an error. */
static double largest_residual(const double *b, const double *x) {
  double worst = 0;
  for (int k = 0; k < COLUMNS; k++)
    for (int i = 0; i < ROWS; i++) {
      const double before = i ? x[(i - 1) * COLUMNS + k] : 0, after = i + 1 < ROWS ? x[(i + 1) * COLUMNS + k] : 0;
      const double r = fabs(b[i * COLUMNS + k] - (i ? 5 : 4) * x[i * COLUMNS + k] - 2 * (before + after));
      if (isnan(r) || r > worst) worst = r;
    }
  return worst;
}

static sptrsm_status solve(sptrsm_multi *multi, double *b, double *x) {
  sptrsm_block B = {.data = b, .ld = COLUMNS, .n = ROWS, .nrhs = COLUMNS, .dtype = SPTRSM_F64}, X = B;
  X.data = x;
  const sptrsm_status status = sptrsm_multi_direct_solve(multi, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X);
  long long solved = 0;
  for (int k = 0; k < sptrsm_multi_count(multi) && status == SPTRSM_OK; k++) {
    sptrsm_multi_member member = {.size = sizeof member};
    sptrsm_multi_member_at(&member, multi, k);
    fprintf(stderr, "%s: %lld columns\n", sptrsm_context_describe(member.context), (long long)member.columns);
    solved += (long long)member.columns;
  }
  if (status == SPTRSM_OK) printf("%lld columns on several contexts, largest residual %.1e\n", solved, largest_residual(b, x));
  return status;
}

/* Only plans of the host can be exported. */
static sptrsm_status export_plans(const sptrsm_direct *solver, const sptrsm_factors *factors) {
  sptrsm_context *host;
  sptrsm_direct *again = NULL;
  size_t bytes;
  if (sptrsm_direct_export_bytes(&bytes, solver) == SPTRSM_ERR_UNSUPPORTED) return SPTRSM_OK;
  void *memory = malloc(bytes);
  sptrsm_status status = memory ? sptrsm_direct_export(memory, bytes, solver) : SPTRSM_ERR_MEMORY;
  if (status == SPTRSM_OK) status = sptrsm_context_create(&host, SPTRSM_HOST, 0, NULL);
  if (status == SPTRSM_OK) {
    status = sptrsm_direct_import(&again, host, factors, NULL, memory, bytes, SPTRSM_COPY);
    sptrsm_direct_destroy(again);
    sptrsm_context_destroy(host);
  }
  free(memory);
  return status;
}

int main(void) {
  static int64_t ptr[ROWS + 1];
  static int32_t idx[2 * ROWS];
  static double val[2 * ROWS];
  sptrsm_context *contexts[DEVICES_MOST] = {NULL};
  sptrsm_direct *solver = NULL;
  sptrsm_multi *multi = NULL;
  int count = 0;
  double *b = malloc(sizeof(double) * ROWS * COLUMNS), *x = malloc(sizeof(double) * ROWS * COLUMNS);
  if (!b || !x) return 1;
  fill(ptr, idx, val);
  for (int i = 0; i < ROWS * COLUMNS; i++) b[i] = 1 + i % 7;
  const sptrsm_sparse L = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = ROWS, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_factors factors;
  sptrsm_factors_init(&factors);
  factors.L = &L;
  factors.u_kind = SPTRSM_U_IS_LT;
  sptrsm_status status = open_contexts(contexts, &count);
  if (status == SPTRSM_OK) status = sptrsm_direct_create(&solver, contexts[0], &factors, NULL);
  if (status == SPTRSM_OK) status = sptrsm_multi_create(&multi, solver, contexts + 1, count - 1);
  if (status == SPTRSM_OK) status = solve(multi, b, x);
  if (status == SPTRSM_OK) status = export_plans(solver, &factors);
  if (status != SPTRSM_OK) fprintf(stderr, "%s\n", sptrsm_last_error());
  sptrsm_multi_destroy(multi);
  sptrsm_direct_destroy(solver);
  for (int k = 0; k < count; k++) sptrsm_context_destroy(contexts[k]);
  free(b);
  free(x);
  return status == SPTRSM_OK ? 0 : 1;
}
