/* cudss_library.c -- see cudss_library.h. */
#include "compare/cudss_library.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "bench/machine/machine.h"
#include "common/cli.h"

enum { COL_MAJOR = 0, MAJOR_VERSION = 0, ANALYSIS = 3, FACTORIZATION = 4, SOLVE = 0x3f0 };

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
                       {"cudssDataGet", (void **)&c->data_get},
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

int cudss_failed(int status, const char *what) {
  if (status) cli_error("cuDSS, %s: status %d", what, status);
  return status ? CLI_INTERNAL : CLI_OK;
}

int cudss_open(cudss **out, const char *path, void *stream) {
  cudss *c = calloc(1, sizeof *c);
  if (c == NULL) return cli_no_memory("cuDSS");
  int code = resolve(c, path);
  if (code == CLI_OK) code = cudss_failed(c->create(&c->handle), "its handle");
  if (code == CLI_OK) code = cudss_failed(c->set_stream(c->handle, stream), "the stream");
  if (code == CLI_OK) code = cudss_failed(c->config_create(&c->config), "its options");
  if (code == CLI_OK) code = cudss_failed(c->data_create(c->handle, &c->data), "its data");
  if (code == CLI_OK) *out = c;
  else cudss_close(c);
  return code;
}

static int execute(cudss *c, int phase, const char *what) {
  return cudss_failed(c->execute(c->handle, phase, c->config, c->data, c->A, c->X, c->B), what);
}

int cudss_analyse(cudss *c, int64_t n, int64_t nrhs, const void *B, void *X) {
  int code = cudss_failed(c->dense(&c->B, n, nrhs, n, B, CUDSS_R_64F, COL_MAJOR), "B");
  if (code == CLI_OK) code = cudss_failed(c->dense(&c->X, n, nrhs, n, X, CUDSS_R_64F, COL_MAJOR), "X");
  return code == CLI_OK ? execute(c, ANALYSIS, "analysis") : code;
}

int cudss_factorise(cudss *c) { return execute(c, FACTORIZATION, "factorisation"); }

int cudss_solve(cudss *c) { return execute(c, SOLVE, "solve"); }

void cudss_close(cudss *c) {
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
