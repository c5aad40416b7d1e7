/* cudss.c -- the uniform batch of cuDSS, with its own ordering and factors. It is loaded at run time, from a path that the user gives; the
 * part of its interface that is used is declared here, as the manual of version 1 describes it. Values, right-hand sides and solutions of
 * all items lie one behind the other. Analysis and factorisation are not part of a solve. */
#include <dlfcn.h>
#include <stdlib.h>

#include "bench/machine/machine.h"
#include "compare/batch/batch.h"

enum { R_64F = 1, R_32I = 10, COL_MAJOR = 0, ZERO_BASED = 0, GENERAL = 0, FULL = 0, MAJOR_VERSION = 0 };
enum { ANALYSIS = 3, FACTORIZATION = 4, SOLVE = 0x3f0, UBATCH_SIZE = 18 };

typedef struct {
  void *library;
  int (*property)(int, int *);
  int (*create)(void **), (*destroy)(void *), (*set_stream)(void *, void *);
  int (*config_create)(void **), (*config_destroy)(void *), (*config_set)(void *, int, const void *, size_t);
  int (*data_create)(void *, void **), (*data_destroy)(void *, void *);
  int (*dense)(void **, int64_t, int64_t, int64_t, const void *, int, int);
  int (*csr)(void **, int64_t, int64_t, int64_t, const void *, const void *, const void *, const void *, int, int, int, int, int, int);
  int (*matrix_destroy)(void *);
  int (*execute)(void *, int, void *, void *, void *, void *, void *);
  void *handle, *config, *data, *A, *X, *B;
  void *ptr, *idx, *val; /* device memory */
} cudss;

static int failed(int status, const char *what) {
  if (status) cli_error("cuDSS, %s: status %d", what, status);
  return status ? CLI_INTERNAL : CLI_OK;
}

static int resolve(cudss *c, const char *path) {
  struct {
    const char *name;
    void **to;
  } const symbols[] = {{"cudssGetProperty", (void **)&c->property},
                       {"cudssCreate", (void **)&c->create},
                       {"cudssSetStream", (void **)&c->set_stream},
                       {"cudssConfigCreate", (void **)&c->config_create},
                       {"cudssConfigDestroy", (void **)&c->config_destroy},
                       {"cudssConfigSet", (void **)&c->config_set},
                       {"cudssDataCreate", (void **)&c->data_create},
                       {"cudssDataDestroy", (void **)&c->data_destroy},
                       {"cudssMatrixCreateDn", (void **)&c->dense},
                       {"cudssMatrixCreateCsr", (void **)&c->csr},
                       {"cudssMatrixDestroy", (void **)&c->matrix_destroy},
                       {"cudssExecute", (void **)&c->execute},
                       {"cudssDestroy", (void **)&c->destroy}};
  int major = 0;
  c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; c->library && i < sizeof symbols / sizeof symbols[0]; i++) {
    *symbols[i].to = dlsym(c->library, symbols[i].name);
    if (*symbols[i].to == NULL) break;
  }
  if (!c->library || !c->destroy) {
    cli_error("--cudss: %s", dlerror());
    return CLI_USAGE;
  }
  if (c->property(MAJOR_VERSION, &major) == 0 && major == 1) return CLI_OK;
  cli_error("--cudss: %s has major version %d, its interface of version 1 is needed", path, major);
  return CLI_USAGE;
}

static int solve(void *self) {
  cudss *c = self;
  return failed(c->execute(c->handle, SOLVE, c->config, c->data, c->A, c->X, c->B), "solve");
}

static void end(void *self) {
  cudss *c = self;
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

/* Values of all items, copied to the device together: A has few. */
static int upload(cudss *c, const batch_problem *p, int64_t count) {
  const int64_t nnz = p->A.ptr[p->n];
  double *val = malloc((size_t)(count * nnz) * sizeof *val);
  int32_t *ptr = malloc(((size_t)p->n + 1) * sizeof *ptr);
  int code = val && ptr ? CLI_OK : cli_no_memory("cuDSS");
  for (int32_t i = 0; i <= p->n && code == CLI_OK; i++) ptr[i] = (int32_t)p->A.ptr[i];
  if (code == CLI_OK) batch_values_of_A(val, p, 0, count);
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->ptr, SPTRSM_CUDA, ((size_t)p->n + 1) * sizeof *ptr, ptr));
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->idx, SPTRSM_CUDA, (size_t)nnz * sizeof *p->A.idx, p->A.idx));
  if (code == CLI_OK) code = cli_fail(bench_memory(&c->val, SPTRSM_CUDA, (size_t)(count * nnz) * sizeof *val, val));
  free(val);
  free(ptr);
  return code;
}

int batch_cudss_begin(batch_solver *s, const batch_problem *p, const batch_blocks *blocks, const char *path) {
  cudss *c = calloc(1, sizeof *c);
  if (c == NULL) return cli_no_memory("cuDSS");
  *s = (batch_solver){.self = c, .solve = solve, .end = end, .items = blocks->count};
  const int64_t n = p->n, nnz = p->A.ptr[p->n];
  const int size = (int)blocks->count;
  int code = resolve(c, path);
  if (code == CLI_OK) code = failed(c->create(&c->handle), "its handle");
  if (code == CLI_OK) code = failed(c->set_stream(c->handle, blocks->stream), "the stream");
  if (code == CLI_OK) code = failed(c->config_create(&c->config), "its options");
  if (code == CLI_OK) code = failed(c->data_create(c->handle, &c->data), "its data");
  if (code == CLI_OK) code = failed(c->config_set(c->config, UBATCH_SIZE, &size, sizeof size), "the number of items");
  if (code == CLI_OK) code = upload(c, p, blocks->count);
  if (code == CLI_OK)
    code = failed(c->csr(&c->A, n, n, nnz, c->ptr, NULL, c->idx, c->val, R_32I, R_32I, R_64F, GENERAL, FULL, ZERO_BASED), "the matrix");
  if (code == CLI_OK) code = failed(c->dense(&c->B, n, blocks->nrhs, n, blocks->B, R_64F, COL_MAJOR), "B");
  if (code == CLI_OK) code = failed(c->dense(&c->X, n, blocks->nrhs, n, blocks->X, R_64F, COL_MAJOR), "X");
  if (code == CLI_OK) code = failed(c->execute(c->handle, ANALYSIS, c->config, c->data, c->A, c->X, c->B), "analysis");
  if (code == CLI_OK) code = failed(c->execute(c->handle, FACTORIZATION, c->config, c->data, c->A, c->X, c->B), "factorisation");
  return code;
}
