/* own.c -- sptrsm_schur for all subdomains at once: each has its factors, its analysis and its S. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine/machine.h"
#include "compare/schur/schur.h"

sptrsm_status schur_direct_create(sptrsm_direct **out, sptrsm_context *context, const schur_factor *f, const char *method) {
  const sptrsm_sparse L = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, f->n, f->ptr, f->idx, f->val};
  sptrsm_factors set;
  sptrsm_options options;
  sptrsm_factors_init(&set);
  sptrsm_options_init(&options);
  options.method = method;
  set.L = &L;
  set.u_kind = SPTRSM_U_IS_LT;
  set.perm_row = set.perm_col = f->perm;
  set.row_convention = SPTRSM_GATHER;
  set.col_convention = SPTRSM_SCATTER;
  return sptrsm_direct_create(out, context, &set, &options);
}

static void describe(sptrsm_schur_columns *out, const schur_columns *c) {
  sptrsm_schur_columns_init(out);
  out->count = c->count, out->ptr = c->ptr, out->idx = c->idx, out->val = c->val;
}

static sptrsm_block square(double *data, int64_t order, sptrsm_place place) {
  return (sptrsm_block){data, order, (int32_t)order, order, SPTRSM_F64, SPTRSM_ROW_MAJOR, place};
}

/* ---- on the device ---- */

typedef struct {
  sptrsm_context *context;
  sptrsm_direct **direct;
  sptrsm_schur **schur;
  sptrsm_block *S, *dense;
  int64_t items;
} own;

static int run(void *self) {
  own *o = self;
  return cli_fail(sptrsm_schur_solve_many(o->schur, o->items, o->S));
}

static void end(void *self) {
  own *o = self;
  if (!o) return;
  for (int64_t i = 0; i < o->items; i++) {
    if (o->schur) sptrsm_schur_destroy(o->schur[i]);
    if (o->direct) sptrsm_direct_destroy(o->direct[i]);
    if (o->S) bench_memory_free(o->S[i].data, SPTRSM_CUDA);
    if (o->dense) bench_memory_free(o->dense[i].data, SPTRSM_CUDA);
  }
  sptrsm_context_destroy(o->context);
  free(o->direct), free(o->schur), free(o->S), free(o->dense);
  free(o);
}

static int make_item(own *o, const schur_case *c, int64_t i, bool dense, const char *method) {
  const schur_factor *f = &c->factors[i % SCHUR_SHAPES];
  sptrsm_schur_columns B;
  sptrsm_schur_request q;
  double *S, *data = NULL;
  int code = cli_fail(schur_direct_create(&o->direct[i], o->context, f, method));
  if (code == CLI_OK) code = cli_fail(bench_memory((void **)&S, SPTRSM_CUDA, (size_t)(c->count * c->count) * sizeof *S, NULL));
  if (code != CLI_OK) return code;
  o->S[i] = square(S, c->count, SPTRSM_CUDA);
  describe(&B, &c->columns[i % SCHUR_SHAPES]);
  if (dense) {
    code = schur_dense_columns(&data, c, i, false);
    sptrsm_schur_columns_init(&B);
    o->dense[i] = (sptrsm_block){data, f->n, f->n, c->count, SPTRSM_F64, SPTRSM_COL_MAJOR, SPTRSM_CUDA};
    B.dense = &o->dense[i];
  }
  sptrsm_schur_request_init(&q);
  q.B = &B;
  return code == CLI_OK ? cli_fail(sptrsm_schur_create(&o->schur[i], o->direct[i], &q)) : code;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median of the analyses, since the first one makes the handle of cuBLAS too. */
static int add_facts(schur_way *way, const own *o) {
  double *ms = malloc((size_t)o->items * sizeof *ms);
  if (!ms) return cli_no_memory("Schur complements");
  way->reached = way->workspace = 0;
  for (int64_t i = 0; i < o->items; i++) {
    sptrsm_schur_facts facts = {.size = sizeof facts};
    const int code = cli_fail(sptrsm_schur_info(&facts, o->schur[i]));
    if (code != CLI_OK) {
      free(ms);
      return code;
    }
    ms[i] = 1e3 * facts.analysis_seconds;
    way->reached += facts.reached / (double)o->items;
    if ((double)facts.workspace_bytes > way->workspace) way->workspace = (double)facts.workspace_bytes;
  }
  qsort(ms, (size_t)o->items, sizeof *ms, by_size);
  way->analysis_ms = ms[o->items / 2];
  free(ms);
  return CLI_OK;
}

int schur_own_begin(schur_way *way, const schur_case *c, int64_t items, bool dense, const char *method) {
  own *o = calloc(1, sizeof *o);
  if (!o) return cli_no_memory("Schur complements");
  *way = (schur_way){.self = o, .run = run, .end = end, .items = items};
  o->items = items;
  o->direct = calloc((size_t)items, sizeof(sptrsm_direct *));
  o->schur = calloc((size_t)items, sizeof(sptrsm_schur *));
  o->S = calloc((size_t)items, sizeof *o->S);
  o->dense = calloc((size_t)items, sizeof *o->dense);
  if (!o->direct || !o->schur || !o->S || !o->dense) return cli_no_memory("Schur complements");
  int code = cli_fail(sptrsm_context_create(&o->context, SPTRSM_CUDA, 0, c->stream));
  for (int64_t i = 0; i < items && code == CLI_OK; i++) code = make_item(o, c, i, dense, method);
  if (code == CLI_OK) code = add_facts(way, o);
  way->S = o->S[0].data;
  return code;
}

/* ---- on the host ---- */

int schur_on_host(double *S, const schur_case *c) {
  sptrsm_context *context = NULL;
  sptrsm_direct *direct = NULL;
  sptrsm_schur *schur = NULL;
  sptrsm_schur_columns B;
  sptrsm_schur_request q;
  sptrsm_block block = square(S, c->count, SPTRSM_HOST);
  describe(&B, &c->columns[0]);
  sptrsm_schur_request_init(&q);
  q.B = &B;
  int code = cli_fail(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL));
  if (code == CLI_OK) code = cli_fail(schur_direct_create(&direct, context, &c->factors[0], NULL));
  if (code == CLI_OK) code = cli_fail(sptrsm_schur_create(&schur, direct, &q));
  if (code == CLI_OK) code = cli_fail(sptrsm_schur_solve(schur, &block));
  sptrsm_schur_destroy(schur);
  sptrsm_direct_destroy(direct);
  sptrsm_context_destroy(context);
  return code;
}
