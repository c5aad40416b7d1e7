/* cudss.c -- cuDSS on the GPU (cudss_library.h): the same matrix, but with its own ordering and factors. The matrix is CSR with 32-bit
 * indices; of a positive definite one, the upper triangle. */
#include <stdlib.h>

#include "bench/machine/machine.h"
#include "compare/compare.h"

typedef struct {
  int32_t *ptr, *idx;
  double *val;
} csr_arrays;

/* The rows of A; upper: of a symmetric A the upper triangle only. Rows are counted in ptr[i+2], and filling advances ptr[i+1], so that in
 * the end ptr[i] is the start of row i. */
static int make_csr(csr_arrays *out, const factor_matrix *A, bool upper) {
  int64_t nnz = A->ptr[A->n];
  if (nnz > INT32_MAX) {
    cli_error("--cudss: %lld entries are more than 32-bit offsets take", (long long)nnz);
    return CLI_USAGE;
  }
  out->ptr = calloc((size_t)A->n + 2, sizeof *out->ptr);
  out->idx = malloc(((size_t)nnz + 1) * sizeof *out->idx);
  out->val = malloc(((size_t)nnz + 1) * sizeof *out->val);
  if (!out->ptr || !out->idx || !out->val) return factor_no_memory("the matrix of cuDSS");
  for (int32_t j = 0; j < A->n; j++)
    for (int64_t p = A->ptr[j]; p < A->ptr[j + 1]; p++)
      if (!upper || A->idx[p] <= j) out->ptr[A->idx[p] + 2]++;
  for (int32_t i = 0; i < A->n; i++) out->ptr[i + 2] += out->ptr[i + 1];
  for (int32_t j = 0; j < A->n; j++)
    for (int64_t p = A->ptr[j]; p < A->ptr[j + 1]; p++) {
      if (upper && A->idx[p] > j) continue;
      int32_t at = out->ptr[A->idx[p] + 1]++;
      out->idx[at] = j;
      out->val[at] = A->val[p];
    }
  return CLI_OK;
}

static void csr_free(csr_arrays *a) {
  free(a->ptr);
  free(a->idx);
  free(a->val);
}

static int hand_over(cudss *c, const factor_matrix *A) {
  csr_arrays a = {0};
  bool spd = A->hermitian && A->positive_diagonal;
  int64_t n = A->n;
  int code = make_csr(&a, A, spd);
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->ptr, SPTRSM_CUDA, ((size_t)n + 1) * sizeof *a.ptr, a.ptr));
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->idx, SPTRSM_CUDA, (size_t)a.ptr[n] * sizeof *a.idx, a.idx));
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->val, SPTRSM_CUDA, (size_t)a.ptr[n] * sizeof *a.val, a.val));
  if (code == CLI_OK)
    code = cudss_failed(c->csr(&c->A, n, n, a.ptr[n], c->ptr, NULL, c->idx, c->val, CUDSS_R_32I, CUDSS_R_32I, CUDSS_R_64F,
                               spd ? CUDSS_POSITIVE_DEFINITE : CUDSS_GENERAL, spd ? CUDSS_UPPER : CUDSS_FULL, CUDSS_ZERO_BASED),
                        "the matrix");
  csr_free(&a);
  return code;
}

/* Factors stay in host memory, and `bytes` may be taken on the device; to be said before the analysis. */
static int keep_on_host(cudss *c, size_t bytes) {
  const int on = 1;
  const int64_t limit = (int64_t)bytes;
  int code = cudss_failed(c->config_set(c->config, CUDSS_HYBRID_MEMORY_MODE, &on, sizeof on), "the hybrid memory mode");
  if (code != CLI_OK) return code;
  return cudss_failed(c->config_set(c->config, CUDSS_HYBRID_DEVICE_MEMORY_LIMIT, &limit, sizeof limit), "the limit of device memory");
}

int compare_cudss_begin(cudss **out, const char *path, const factor_matrix *A, const compare_cudss_blocks *blocks) {
  cudss *c;
  int code = cudss_open(&c, path, blocks->stream);
  if (code != CLI_OK) return code;
  code = hand_over(c, A);
  if (code == CLI_OK && blocks->device_memory > 0) code = keep_on_host(c, blocks->device_memory);
  if (code == CLI_OK) code = cudss_factorise(c, A->n, blocks->nrhs, blocks->B, blocks->X);
  if (code == CLI_OK) *out = c;
  else cudss_close(c);
  return code;
}

int64_t compare_cudss_entries(cudss *c) {
  int64_t entries = -1;
  size_t written;
  return c->data_get(c->handle, c->data, CUDSS_LU_NNZ, &entries, sizeof entries, &written) == 0 ? entries : -1;
}
