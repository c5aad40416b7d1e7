#include "core/gpu/gpu_case.h"

#include <math.h>
#include <stdlib.h>

static const double CANARY = -12345.678;
system_data data;
double expected[N * NRHS], expected_other[N * NRHS];

void cuda_ok(cudaError_t error) { cr_assert_eq(error, cudaSuccess, "%s", cudaGetErrorString(error)); }
void ok(sptrsm_status status) { cr_assert_eq(status, SPTRSM_OK, "%s", sptrsm_last_error()); }

static void make_system(system_data *s) {
  int64_t p = 0;
  for (int32_t j = 0; j < N; j++) {
    const int32_t rows[] = {j, j + 1, j + 7, j + 8 + j % REACH};
    s->ptr[j] = p;
    for (int e = 0; e < 4 && rows[e] < N; e++, p++) {
      s->idx[p] = rows[e];
      s->val[p] = e == 0 ? 2 + 0.001 * (j % 100) : -0.3 + 0.001 * (double)(p % 200);
      s->other[p] = s->val[p] * (e == 0 ? 1.5 : -0.5);
    }
  }
  s->ptr[N] = p;
  s->T =
      (sptrsm_sparse){.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = N, .ptr = s->ptr, .idx = s->idx, .val = s->val};
}

void *to_device(const void *host, size_t bytes) {
  void *device;
  cuda_ok(cudaMalloc(&device, bytes));
  cuda_ok(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize()); /* a small copy may return before it is done, and the library's stream does not wait for it */
  return device;
}

sptrsm_sparse on_device(const system_data *s) {
  sptrsm_sparse T = s->T;
  T.place = SPTRSM_CUDA;
  T.ptr = to_device(s->ptr, sizeof s->ptr);
  T.idx = to_device(s->idx, sizeof s->idx);
  T.val = to_device(s->val, sizeof s->val);
  return T;
}

void free_system(sptrsm_sparse *T) {
  cuda_ok(cudaFree((void *)T->ptr));
  cuda_ok(cudaFree((void *)T->idx));
  cuda_ok(cudaFree((void *)T->val));
}

static double b_of(int64_t i, int64_t k) { return 1 + (double)((i * 31 + k * 7) % 101) / 16; }

/* The solution by the host, row-major. */
static void reference(double *X, const sptrsm_sparse *T) {
  for (int64_t i = 0; i < N; i++)
    for (int64_t k = 0; k < NRHS; k++) X[i * NRHS + k] = b_of(i, k);
  sptrsm_block block = {.data = X, .ld = NRHS, .n = N, .nrhs = NRHS, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR};
  test_solve(T, &(test_choice){.method = "serial"}, &block, &block);
}

void setup(void) {
  make_system(&data);
  reference(expected, &data.T);
  sptrsm_sparse other = data.T;
  other.val = data.other;
  reference(expected_other, &other);
}

blocks make_blocks(void) {
  double *host = malloc(sizeof(double) * LD_COLS * NRHS + sizeof(double) * LD_ROWS * N);
  double *x = host + LD_COLS * NRHS;
  for (int64_t k = 0; k < NRHS; k++)
    for (int64_t i = 0; i < LD_COLS; i++) host[i + k * LD_COLS] = i < N ? b_of(i, k) : CANARY;
  for (int64_t e = 0; e < LD_ROWS * N; e++) x[e] = CANARY;
  blocks b = {.B = {.data = to_device(host, sizeof(double) * LD_COLS * NRHS),
                    .ld = LD_COLS,
                    .n = N,
                    .nrhs = NRHS,
                    .dtype = SPTRSM_F64,
                    .layout = SPTRSM_COL_MAJOR,
                    .place = SPTRSM_CUDA}};
  b.X = b.B;
  b.X.data = to_device(x, sizeof(double) * LD_ROWS * N);
  b.X.ld = LD_ROWS;
  b.X.layout = SPTRSM_ROW_MAJOR;
  free(host);
  return b;
}

void free_blocks(blocks *b) {
  cuda_ok(cudaFree(b->B.data));
  cuda_ok(cudaFree(b->X.data));
}

void check(const blocks *b, const double *solution, const char *what) {
  double *x = malloc(sizeof(double) * LD_ROWS * N);
  cuda_ok(cudaMemcpy(x, b->X.data, sizeof(double) * LD_ROWS * N, cudaMemcpyDeviceToHost));
  for (int64_t i = 0; i < N; i++)
    for (int64_t k = 0; k < LD_ROWS; k++) {
      double found = x[i * LD_ROWS + k], wanted = k < b->X.nrhs ? solution[i * NRHS + k] : CANARY;
      cr_assert(k < b->X.nrhs ? fabs(found - wanted) <= 1e-11 * (1 + fabs(wanted)) : found == wanted, "%s: X(%lld,%lld) = %.17g, not %.17g",
                what, (long long)i, (long long)k, found, wanted);
    }
  free(x);
}

const char *const methods[] = {"syncfree-csc",
                               "syncfree-csc:ready=1",
                               "syncfree-csc:ready=1,split=1,segment=1,gather=1,share=1",
                               "levelset",
                               "levelset:segment=64,dense=0",
                               "levelset:narrow=1",
                               "recblock",
                               "recblock:depth=3,levels=0,thin=0,short=2,long=3,chunk=2",
                               "gather",
                               "gather:split=2,segment=1",
                               "syncfree-csr",
                               "syncfree-csr:order=block",
                               "syncfree-csr:preset=thread",
                               "syncfree-csr:preset=warp",
                               "syncfree-csr:preset=yy",
                               "syncfree-csr:order=packed,split=2",
                               "cusparse",
                               "auto"};
const size_t method_count = sizeof methods / sizeof *methods;
