/* cudss.c -- cuDSS on the GPU: the same matrix, but with its own ordering and factors. It is loaded at run time, from a path that the user
 * gives; the build does not need it.
 *
  * The part of its interface that is used is declared here, as the manual of version 1 describes it. The matrix is CSR with 32-bit
  * indices; of a positive definite one, the upper triangle. All options keep their defaults, so there is no iterative refinement.
  * Right-hand sides and solutions are column-major in device memory. Analysis and factorisation are part of begin, not of a solve.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine/machine.h"
#include "compare/compare.h"

enum { CUDSS_R_64F = 1, CUDSS_R_32I = 10, CUDSS_COL_MAJOR = 0, CUDSS_ZERO_BASED = 0, CUDSS_MAJOR_VERSION = 0 };
enum { CUDSS_GENERAL = 0, CUDSS_POSITIVE_DEFINITE = 3, CUDSS_FULL = 0, CUDSS_UPPER = 2 };
enum { CUDSS_ANALYSIS = 3, CUDSS_FACTORIZATION = 4, CUDSS_SOLVE = 0x3f0, CUDSS_LU_NNZ = 1 };

struct compare_cudss {
  void *library;
  int (*property)(int, int *);
  int (*create)(void **), (*destroy)(void *), (*set_stream)(void *, void *);
  int (*config_create)(void **), (*config_destroy)(void *);
  int (*data_create)(void *handle, void **), (*data_destroy)(void *handle, void *);
  int (*data_get)(void *handle, void *data, int what, void *value, size_t bytes, size_t *written);
  int (*dense)(void **, int64_t rows, int64_t columns, int64_t ld, const void *, int type, int layout);
  int (*csr)(void **, int64_t rows, int64_t columns, int64_t nnz, const void *begin, const void *end, const void *idx, const void *val,
             int offset_type, int index_type, int value_type, int kind, int view, int base);
  int (*matrix_destroy)(void *);
  int (*execute)(void *handle, int phase, void *config, void *data, void *A, void *X, void *B);
  void *handle, *config, *data, *A, *X, *B;
  void *ptr, *idx, *val; /* device memory */
};

static int resolve(compare_cudss *c, const char *path) {
  struct {
    const char *name;
    void **to;
  } const symbols[] = {{"cudssGetProperty", (void **)&c->property},
                       {"cudssCreate", (void **)&c->create},
                       {"cudssSetStream", (void **)&c->set_stream},
                       {"cudssConfigCreate", (void **)&c->config_create},
                       {"cudssConfigDestroy", (void **)&c->config_destroy},
                       {"cudssDataCreate", (void **)&c->data_create},
                       {"cudssDataDestroy", (void **)&c->data_destroy},
                       {"cudssDataGet", (void **)&c->data_get},
                       {"cudssMatrixCreateDn", (void **)&c->dense},
                       {"cudssMatrixCreateCsr", (void **)&c->csr},
                       {"cudssMatrixDestroy", (void **)&c->matrix_destroy},
                       {"cudssExecute", (void **)&c->execute},
                       {"cudssDestroy", (void **)&c->destroy}};
  c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; c->library && i < sizeof symbols / sizeof symbols[0]; i++) {
    *symbols[i].to = dlsym(c->library, symbols[i].name);
    if (*symbols[i].to == NULL) break;
  }
  if (c->library && c->destroy) return CLI_OK;
  cli_error("--cudss: %s", dlerror());
  return CLI_USAGE;
}

static int failed(int status, const char *what) {
  if (status) cli_error("cuDSS, %s: status %d", what, status);
  return status ? CLI_INTERNAL : CLI_OK;
}

/* ---- the matrix as CSR ---- */

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

static int hand_over(compare_cudss *c, const factor_matrix *A) {
  csr_arrays a = {0};
  bool spd = A->hermitian && A->positive_diagonal;
  int64_t n = A->n;
  int code = make_csr(&a, A, spd);
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->ptr, SPTRSM_CUDA, ((size_t)n + 1) * sizeof *a.ptr, a.ptr));
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->idx, SPTRSM_CUDA, (size_t)a.ptr[n] * sizeof *a.idx, a.idx));
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->val, SPTRSM_CUDA, (size_t)a.ptr[n] * sizeof *a.val, a.val));
  if (code == CLI_OK)
    code = failed(c->csr(&c->A, n, n, a.ptr[n], c->ptr, NULL, c->idx, c->val, CUDSS_R_32I, CUDSS_R_32I, CUDSS_R_64F,
                         spd ? CUDSS_POSITIVE_DEFINITE : CUDSS_GENERAL, spd ? CUDSS_UPPER : CUDSS_FULL, CUDSS_ZERO_BASED),
                  "the matrix");
  csr_free(&a);
  return code;
}

/* ---- begin, solve, end ---- */

void compare_cudss_end(compare_cudss *c) {
  if (c == NULL) return;
  void *const matrices[] = {c->A, c->X, c->B}, *const memory[] = {c->ptr, c->idx, c->val};
  for (int i = 0; i < 3; i++) {
    if (matrices[i]) c->matrix_destroy(matrices[i]);
    bench_memory_free(memory[i], SPTRSM_CUDA);
  }
  if (c->data) c->data_destroy(c->handle, c->data);
  if (c->config) c->config_destroy(c->config);
  if (c->handle) c->destroy(c->handle);
  free(c); /* the library stays loaded for the next matrix */
}

static int open_library(compare_cudss *c, const char *path, void *stream) {
  int code = resolve(c, path), major = 0;
  if (code != CLI_OK) return code;
  if (c->property(CUDSS_MAJOR_VERSION, &major) != 0 || major != 1) {
    cli_error("--cudss: %s has major version %d, its interface of version 1 is needed", path, major);
    return CLI_USAGE;
  }
  code = failed(c->create(&c->handle), "its handle");
  if (code == CLI_OK) code = failed(c->set_stream(c->handle, stream), "the stream");
  if (code == CLI_OK) code = failed(c->config_create(&c->config), "its options");
  return code == CLI_OK ? failed(c->data_create(c->handle, &c->data), "its data") : code;
}

int compare_cudss_begin(compare_cudss **out, const char *path, const factor_matrix *A, const compare_cudss_blocks *blocks) {
  compare_cudss *c = calloc(1, sizeof *c);
  if (c == NULL) return factor_no_memory("cuDSS");
  int64_t n = A->n;
  int code = open_library(c, path, blocks->stream);
  if (code == CLI_OK) code = hand_over(c, A);
  if (code == CLI_OK) code = failed(c->dense(&c->B, n, blocks->nrhs, n, blocks->B, CUDSS_R_64F, CUDSS_COL_MAJOR), "B");
  if (code == CLI_OK) code = failed(c->dense(&c->X, n, blocks->nrhs, n, blocks->X, CUDSS_R_64F, CUDSS_COL_MAJOR), "X");
  if (code == CLI_OK) code = failed(c->execute(c->handle, CUDSS_ANALYSIS, c->config, c->data, c->A, c->X, c->B), "analysis");
  if (code == CLI_OK) code = failed(c->execute(c->handle, CUDSS_FACTORIZATION, c->config, c->data, c->A, c->X, c->B), "factorisation");
  if (code == CLI_OK) *out = c;
  else compare_cudss_end(c);
  return code;
}

int64_t compare_cudss_entries(compare_cudss *c) {
  int64_t entries = -1;
  size_t written;
  return c->data_get(c->handle, c->data, CUDSS_LU_NNZ, &entries, sizeof entries, &written) == 0 ? entries : -1;
}

int compare_cudss_solve(compare_cudss *c) {
  return failed(c->execute(c->handle, CUDSS_SOLVE, c->config, c->data, c->A, c->X, c->B), "solve");
}
