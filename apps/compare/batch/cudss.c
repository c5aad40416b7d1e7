/* cudss.c -- the uniform batch of cuDSS (compare/cudss_library.h), with its own ordering and factors. Values, right-hand sides and
 * solutions of all items lie one behind the other. */
#include <stdlib.h>

#include "bench/machine/machine.h"
#include "compare/batch/batch.h"
#include "compare/cudss_library.h"

static int solve(void *self) { return cudss_solve(self); }
static void end(void *self) { cudss_close(self); }

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
  cudss *c;
  const int64_t n = p->n, nnz = p->A.ptr[p->n];
  const int size = (int)blocks->count;
  *s = (batch_solver){.solve = solve, .end = end, .items = blocks->count};
  int code = cudss_open(&c, path, blocks->stream);
  if (code != CLI_OK) return code;
  s->self = c;
  code = cudss_failed(c->config_set(c->config, CUDSS_UBATCH_SIZE, &size, sizeof size), "the number of items");
  if (code == CLI_OK) code = upload(c, p, blocks->count);
  if (code == CLI_OK)
    code = cudss_failed(c->csr(&c->A, n, n, nnz, c->ptr, NULL, c->idx, c->val, CUDSS_R_32I, CUDSS_R_32I, CUDSS_R_64F, CUDSS_GENERAL,
                               CUDSS_FULL, CUDSS_ZERO_BASED),
                        "the matrix");
  if (code == CLI_OK) code = cudss_analyse(c, n, blocks->nrhs, blocks->B, blocks->X);
  return code == CLI_OK ? cudss_factorise(c) : code;
}
