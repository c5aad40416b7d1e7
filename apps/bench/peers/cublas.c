/* cublas.c -- TRSM of cuBLAS on the triangle as a dense matrix, to compare with on dense and nearly dense triangles. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"

#define BLAS_OK(call)                                                                                                                      \
  do {                                                                                                                                     \
    cublasStatus_t error_ = (call);                                                                                                        \
    if (error_ != CUBLAS_STATUS_SUCCESS) return sptrsm_error_set(SPTRSM_ERR_DEVICE, "%s: %s", #call, cublasGetStatusString(error_));       \
  } while (0)

enum { SMALL_ORDER = 4096, LARGEST_ORDER = 32768 };
static const double DENSE_SHARE = 0.25; /* of a triangle's places have to hold entries for it to be stored densely above SMALL_ORDER */

typedef struct {
  bench_blocks blocks;
  cublasHandle_t handle;
  void *dense; /* column-major, n x n, on the device; the other triangle is not read */
  sptrsm_layout layout;
} dense_case;

static bool is_worth_it(const sptrsm_sparse *T) {
  const double n = T->n;
  return T->n <= SMALL_ORDER || (T->n <= LARGEST_ORDER && (double)T->ptr[T->n] >= DENSE_SHARE * n * (n + 1) / 2);
}

static sptrsm_status upload(dense_case *d) {
  const sptrsm_sparse *T = d->blocks.c->T;
  const size_t each = sptrsm_dtype_bytes(T->dtype), n = (size_t)T->n;
  char *full = calloc(n * n + 1, each);
  if (!full) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for a dense matrix of order %zu", n);
  for (size_t line = 0; line < n; line++)
    for (int64_t p = T->ptr[line]; p < T->ptr[line + 1]; p++) {
      const size_t other = (size_t)T->idx[p], row = T->format == SPTRSM_CSR ? line : other, column = T->format == SPTRSM_CSR ? other : line;
      memcpy(full + (row + column * n) * each, (const char *)T->val + (size_t)p * each, each);
    }
  sptrsm_status status = bench_memory(&d->dense, SPTRSM_CUDA, n * n * each, full);
  free(full);
  return status;
}

/* Column-major blocks: op(T) X = B. Row-major ones are, for cuBLAS, column-major X^T and B^T: X^T op(T)^T = B^T, from the right. */
static sptrsm_status solve(void *self) {
  dense_case *d = self;
  const bench_case *c = d->blocks.c;
  const sptrsm_sparse *T = c->T;
  const bool rows = d->layout == SPTRSM_ROW_MAJOR;
  const cublasSideMode_t side = rows ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
  const cublasFillMode_t fill = T->uplo == SPTRSM_UPPER ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
  const cublasDiagType_t diag = T->diag == SPTRSM_UNIT ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
  const cublasOperation_t as_said = c->op == SPTRSM_N ? CUBLAS_OP_N : c->op == SPTRSM_T ? CUBLAS_OP_T : CUBLAS_OP_C;
  const cublasOperation_t op = !rows ? as_said : c->op == SPTRSM_N ? CUBLAS_OP_T : CUBLAS_OP_N;
  const int n = T->n, m = rows ? (int)c->nrhs : n, columns = rows ? n : (int)c->nrhs, ld = m > 0 ? m : 1, dense_ld = n > 0 ? n : 1;
  const cuDoubleComplex one = {1, 0};
  const cuComplex one_single = {1, 0};
  const size_t bytes = (size_t)n * (size_t)c->nrhs * sptrsm_dtype_bytes(T->dtype);
  const cudaError_t copied = cudaMemcpyAsync(d->blocks.X, d->blocks.B, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)d->blocks.stream);
  if (copied != cudaSuccess) return sptrsm_error_set(SPTRSM_ERR_DEVICE, "copy of B: %s", cudaGetErrorString(copied));
  switch (T->dtype) {
  case SPTRSM_F32:
    BLAS_OK(cublasStrsm(d->handle, side, fill, op, diag, m, columns, &one_single.x, d->dense, dense_ld, d->blocks.X, ld));
    break;
  case SPTRSM_F64: BLAS_OK(cublasDtrsm(d->handle, side, fill, op, diag, m, columns, &one.x, d->dense, dense_ld, d->blocks.X, ld)); break;
  case SPTRSM_C64:
    BLAS_OK(cublasCtrsm(d->handle, side, fill, op, diag, m, columns, &one_single, d->dense, dense_ld, d->blocks.X, ld));
    break;
  case SPTRSM_C128: BLAS_OK(cublasZtrsm(d->handle, side, fill, op, diag, m, columns, &one, d->dense, dense_ld, d->blocks.X, ld)); break;
  }
  return SPTRSM_OK;
}

static sptrsm_status measure(bench_result *out, dense_case *d, sptrsm_layout layout) {
  const sptrsm_sparse *T = d->blocks.c->T;
  d->layout = layout;
  out->plan_bytes = (size_t)T->n * (size_t)T->n * sptrsm_dtype_bytes(T->dtype);
  out->analysis_first_ms = out->analysis_ms = NAN; /* making the dense matrix is not timed */
  out->inverts = 1;                                /* the documentation does not say that diagonal blocks are not inverted */
  snprintf(out->params, sizeof out->params, "TRSM %s", layout == SPTRSM_ROW_MAJOR ? "row-major" : "column-major");
  return bench_repeat(out, &d->blocks, layout, solve, d);
}

static sptrsm_status measure_both(bench_result *better, dense_case *d) {
  const bench_case *c = d->blocks.c;
  const bool is_complex = c->T->dtype == SPTRSM_C64 || c->T->dtype == SPTRSM_C128;
  bench_result t = *better;
  BLAS_OK(cublasCreate(&d->handle));
  BLAS_OK(cublasSetStream(d->handle, (cudaStream_t)d->blocks.stream));
  sptrsm_status status = measure(better, d, SPTRSM_COL_MAJOR);
  if (status != SPTRSM_OK || (c->op == SPTRSM_C && is_complex)) return status; /* no conjugation without transposition */
  status = measure(&t, d, SPTRSM_ROW_MAJOR);
  if (status == SPTRSM_OK && t.solve_ms < better->solve_ms) *better = t;
  const bool is_device_lost = cudaStreamSynchronize((cudaStream_t)d->blocks.stream) != cudaSuccess;
  return is_device_lost ? status : SPTRSM_OK; /* else the other layout's result stands */
}

sptrsm_status bench_cublas(bench_result *better, const bench_case *c, void *stream) {
  dense_case d = {0};
  snprintf(better->chosen, sizeof better->chosen, "cublas");
  if (!is_worth_it(c->T)) return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "too large and sparse to be stored as a dense matrix for cuBLAS");
  sptrsm_status status = bench_blocks_create(&d.blocks, c, SPTRSM_CUDA, stream);
  if (status == SPTRSM_OK) status = upload(&d);
  if (status == SPTRSM_OK) status = measure_both(better, &d);
  if (d.handle) (void)cublasDestroy(d.handle);
  bench_memory_free(d.dense, SPTRSM_CUDA);
  bench_blocks_free(&d.blocks);
  return status;
}
