/* batch.c -- times a batch of systems: all items have the pattern and the numbers of the triangle, each a copy of them, so that memory is
 * read as it would be with others.
 */
#include <math.h>
#include <sptrsm_batch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"

typedef struct {
  bench_blocks blocks;
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_system system;
  sptrsm_sparse identity; /* L beside an upper triangle */
  int64_t *no_entries;
  sptrsm_factors set;
  char *values; /* of all items */
} measurement;

/* The triangle as a factor set, and the values of all items. */
static sptrsm_status prepare(measurement *m, const bench_case *c) {
  const sptrsm_sparse *T = c->T;
  const size_t bytes = (size_t)T->ptr[T->n] * sptrsm_dtype_bytes(T->dtype);
  m->no_entries = calloc((size_t)T->n + 1, sizeof *m->no_entries);
  m->values = bytes < SIZE_MAX / 2 / (size_t)c->batch ? malloc(bytes * (size_t)c->batch + 1) : NULL;
  if (m->no_entries == NULL || m->values == NULL)
    return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for the values of %lld items", (long long)c->batch);
  for (int64_t i = 0; i < c->batch; i++) memcpy(m->values + (size_t)i * bytes, T->val, bytes);
  m->identity = (sptrsm_sparse){.format = SPTRSM_CSR, .dtype = T->dtype, .diag = SPTRSM_UNIT, .n = T->n, .ptr = m->no_entries};
  sptrsm_factors_init(&m->set);
  m->set.L = T->uplo == SPTRSM_LOWER ? T : &m->identity;
  m->set.U = T->uplo == SPTRSM_LOWER ? NULL : T;
  m->system = T->uplo == SPTRSM_LOWER ? SPTRSM_SYS_L : SPTRSM_SYS_U;
  return SPTRSM_OK;
}

static sptrsm_status create(measurement *m, const bench_case *c, const sptrsm_options *options) {
  sptrsm_batch_values v;
  const int64_t nnz = c->T->ptr[c->T->n];
  sptrsm_batch_values_init(&v);
  v.count = c->batch;
  if (m->set.U) v.U = m->values, v.U_stride = nnz;
  else v.L = m->values, v.L_stride = nnz;
  return sptrsm_batch_create_uniform(&m->batch, m->context, &m->set, &v, options);
}

/* Times the creation of the batch and of all that its solves need. */
static sptrsm_status analyse(measurement *m, const bench_case *c, const sptrsm_options *options, double *ms) {
  sptrsm_batch_destroy(m->batch);
  m->batch = NULL;
  bench_timer_start(m->blocks.timer);
  sptrsm_status status = create(m, c, options);
  if (status == SPTRSM_OK) status = sptrsm_batch_prepare(m->batch, m->system, c->op);
  *ms = bench_timer_stop(m->blocks.timer);
  return status;
}

static sptrsm_status solve_once(void *self) {
  measurement *m = self;
  const bench_case *c = m->blocks.c;
  sptrsm_batch_block B, X;
  sptrsm_batch_block_init(&B);
  B.data = m->blocks.B;
  B.stride = c->T->n * c->nrhs;
  B.ld = B.nrhs = c->nrhs;
  B.dtype = c->T->dtype;
  B.place = m->blocks.place;
  X = B;
  X.data = m->blocks.X;
  return sptrsm_batch_solve(m->batch, m->system, c->op, NULL, &B, &X, NULL);
}

/* Of all methods for batches, block alone inverts diagonal blocks. */
static sptrsm_status read_facts(bench_result *out, const measurement *m) {
  sptrsm_batch_facts facts = {.size = sizeof facts};
  sptrsm_status status = sptrsm_batch_info(&facts, m->batch);
  if (status != SPTRSM_OK) return status;
  out->plan_bytes = facts.batch_bytes;
  out->workspace_bytes = facts.workspace_bytes;
  out->deterministic = facts.deterministic;
  out->inverts = strncmp(facts.method, "block", strlen("block")) == 0;
  snprintf(out->chosen, sizeof out->chosen, "%s", facts.method);
  snprintf(out->reason, sizeof out->reason, "%s", facts.reason);
  return SPTRSM_OK;
}

static sptrsm_status run(measurement *m, bench_result *out, const bench_case *c, const sptrsm_options *options) {
  sptrsm_status status = prepare(m, c);
  if (status == SPTRSM_OK) status = analyse(m, c, options, &out->analysis_first_ms);
  if (status == SPTRSM_OK) status = analyse(m, c, options, &out->analysis_ms);
  if (status == SPTRSM_OK) status = read_facts(out, m);
  if (status == SPTRSM_OK) status = bench_repeat(out, &m->blocks, SPTRSM_ROW_MAJOR, solve_once, m);
  sptrsm_status deferred = sptrsm_context_sync(m->context); /* a lost dependency explains a wrong solution */
  return deferred != SPTRSM_OK ? deferred : status;
}

sptrsm_status bench_batch(bench_result *out, const bench_case *c, sptrsm_place place, void *stream, sptrsm_context *context,
                          const sptrsm_options *options) {
  measurement m = {.context = context};
  sptrsm_options with_op = *options;
  with_op.op = c->op;
  with_op.nrhs_hint = c->nrhs;
  sptrsm_status status = bench_blocks_create(&m.blocks, c, place, stream);
  if (status == SPTRSM_OK) status = run(&m, out, c, &with_op);
  sptrsm_batch_destroy(m.batch);
  free(m.no_entries);
  free(m.values);
  bench_blocks_free(&m.blocks);
  return status;
}
