/* 03_cuda_stream.c -- device pointers on the caller's stream.
 *
 * B is uploaded, solved in place and downloaded on one stream; the solve itself neither waits nor allocates, because the
 * workspace is made beforehand. Exits 77 (skipped, for the test driver) where there is no device. */
#include <sptrsm.h>

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>

enum { N = 20000, NRHS = 32 };

static int64_t ptr[N + 1];
static int32_t idx[2 * N];
static double val[2 * N], block[N * NRHS];

static double expected(int i, int k) { return 1 + (i + 3 * k) % 7; }

/* Column i of the lower triangle: its diagonal, then (i + step, i), where step spreads the dependencies. */
static void fill(void) {
  const int step = 97;
  int64_t p = 0;
  for (int k = 0; k < NRHS; k++)
    for (int i = 0; i < N; i++) block[i * NRHS + k] = 2 * expected(i, k) + (i >= step ? expected(i - step, k) : 0);
  for (int j = 0; j < N; j++) {
    idx[p] = j, val[p++] = 2;
    if (j + step < N) idx[p] = j + step, val[p++] = 1;
    ptr[j + 1] = p;
  }
}

static double largest_error(void) {
  double worst = 0;
  for (int k = 0; k < NRHS; k++)
    for (int i = 0; i < N; i++) {
      double error = fabs(block[i * NRHS + k] - expected(i, k));
      if (isnan(error) || error > worst) worst = error; /* so written, a NaN counts as an error */
    }
  return worst;
}

int main(void) {
  if (sptrsm_device_count() == 0) {
    printf("no CUDA device\n");
    return 77;
  }
  fill();
  cudaStream_t stream = NULL;
  void *device = NULL;
  if (cudaStreamCreate(&stream) != cudaSuccess || cudaMalloc(&device, sizeof block) != cudaSuccess) {
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(cudaGetLastError()));
    return 1;
  }
  sptrsm_sparse L = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, N, ptr, idx, val}; /* copied to the device */
  sptrsm_block X = {device, NRHS, N, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_CUDA};
  sptrsm_context *context = NULL;
  sptrsm_matrix *matrix = NULL;
  sptrsm_plan *plan = NULL;
  sptrsm_workspace *workspace = NULL;
  int failed = sptrsm_context_create(&context, SPTRSM_CUDA, 0, stream) || sptrsm_matrix_create(&matrix, context, &L, SPTRSM_COPY) ||
               sptrsm_plan_create(&plan, matrix, NULL) || sptrsm_workspace_create(&workspace, plan, 0);
  if (!failed) {
    cudaMemcpyAsync(device, block, sizeof block, cudaMemcpyHostToDevice, stream);
    failed = sptrsm_solve(plan, workspace, NULL, &X, &X) != SPTRSM_OK; /* queued */
    cudaMemcpyAsync(block, device, sizeof block, cudaMemcpyDeviceToHost, stream);
    failed = sptrsm_context_sync(context) || failed; /* waits for all of it; errors of queued work come out here */
  }
  if (failed) fprintf(stderr, "%s\n", sptrsm_last_error());
  else printf("%s: %d right-hand sides of order %d, largest error %.1e\n", sptrsm_context_describe(context), NRHS, N, largest_error());
  failed = failed || !(largest_error() <= 1e-12);
  sptrsm_workspace_destroy(workspace);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  cudaFree(device);
  cudaStreamDestroy(stream);
  return failed;
}
