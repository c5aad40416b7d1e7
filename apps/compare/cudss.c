/* cudss.c -- cuDSS on the GPU (cudss_library.h): the same matrix, but with its own ordering and factors. The matrix is CSR with 32-bit
 * indices; of a positive definite one, the upper triangle. */
#include "bench/machine/machine.h"
#include "compare/compare.h"

static int hand_over(cudss *c, const factor_matrix *A) {
  compare_csr a = {0};
  bool spd = A->hermitian && A->positive_diagonal;
  int64_t n = A->n;
  int code = compare_csr_make(&a, A, spd, "--cudss");
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->ptr, SPTRSM_CUDA, ((size_t)n + 1) * sizeof *a.ptr, a.ptr));
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->idx, SPTRSM_CUDA, (size_t)a.ptr[n] * sizeof *a.idx, a.idx));
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->val, SPTRSM_CUDA, (size_t)a.ptr[n] * sizeof *a.val, a.val));
  if (code == CLI_OK)
    code = cudss_failed(c->csr(&c->A, n, n, a.ptr[n], c->ptr, NULL, c->idx, c->val, CUDSS_R_32I, CUDSS_R_32I, CUDSS_R_64F,
                               spd ? CUDSS_POSITIVE_DEFINITE : CUDSS_GENERAL, spd ? CUDSS_UPPER : CUDSS_FULL, CUDSS_ZERO_BASED),
                        "the matrix");
  compare_csr_free(&a);
  return code;
}

/* Factors stay in host memory; to be said before the analysis. */
static int keep_on_host(cudss *c) {
  const int on = 1;
  return cudss_failed(c->config_set(c->config, CUDSS_HYBRID_MEMORY_MODE, &on, sizeof on), "the hybrid memory mode");
}

/* The analysis tells the least that it can do with on the device; it gets that if `bytes` are less. */
static int limit_memory(cudss *c, size_t bytes) {
  int64_t least = 0, limit = (int64_t)bytes;
  size_t written;
  int code = cudss_failed(c->data_get(c->handle, c->data, CUDSS_HYBRID_DEVICE_MEMORY_MIN, &least, sizeof least, &written),
                          "the least device memory of the hybrid mode");
  if (code != CLI_OK) return code;
  if (limit < least) {
    cli_warning("cuDSS needs %.0f MB on the device in its hybrid memory mode, and gets them", (double)least / 1e6);
    limit = least;
  }
  return cudss_failed(c->config_set(c->config, CUDSS_HYBRID_DEVICE_MEMORY_LIMIT, &limit, sizeof limit), "the limit of device memory");
}

int compare_cudss_begin(cudss **out, const char *path, const factor_matrix *A, const compare_cudss_blocks *blocks) {
  cudss *c;
  int code = cudss_open(&c, path, blocks->stream);
  if (code != CLI_OK) return code;
  code = hand_over(c, A);
  const bool hybrid = blocks->device_memory > 0;
  if (code == CLI_OK && hybrid) code = keep_on_host(c);
  if (code == CLI_OK) code = cudss_analyse(c, A->n, blocks->nrhs, blocks->B, blocks->X);
  if (code == CLI_OK && hybrid) code = limit_memory(c, blocks->device_memory);
  if (code == CLI_OK) code = cudss_factorise(c);
  if (code == CLI_OK) *out = c;
  else cudss_close(c);
  return code;
}

int64_t compare_cudss_entries(cudss *c) {
  int64_t entries = -1;
  size_t written;
  return c->data_get(c->handle, c->data, CUDSS_LU_NNZ, &entries, sizeof entries, &written) == 0 ? entries : -1;
}
