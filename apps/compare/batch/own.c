/* own.c -- sptrsm_batch with the factors of all items. */
#include <stdlib.h>

#include <sptrsm_batch.h>

#include "compare/batch/batch.h"

typedef struct {
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_batch_block B, X;
} own;

static int solve(void *self) {
  own *o = self;
  return cli_fail(sptrsm_batch_solve(o->batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &o->B, &o->X, NULL));
}

static void end(void *self) {
  own *o = self;
  if (o == NULL) return;
  sptrsm_batch_destroy(o->batch);
  sptrsm_context_destroy(o->context);
  free(o);
}

static sptrsm_sparse triangle(const batch_problem *p, const batch_rows *r, sptrsm_uplo uplo) {
  return (sptrsm_sparse){.format = SPTRSM_CSR,
                         .dtype = SPTRSM_F64,
                         .uplo = uplo,
                         .diag = uplo == SPTRSM_LOWER ? SPTRSM_UNIT : SPTRSM_NONUNIT,
                         .n = p->n,
                         .ptr = r->ptr,
                         .idx = r->idx,
                         .val = r->val};
}

static int create(own *o, const batch_problem *p, const batch_blocks *blocks, const char *method) {
  const sptrsm_sparse L = triangle(p, &p->L, SPTRSM_LOWER), U = triangle(p, &p->U, SPTRSM_UPPER);
  sptrsm_factors f;
  sptrsm_batch_values v;
  sptrsm_options options;
  sptrsm_factors_init(&f);
  sptrsm_batch_values_init(&v);
  sptrsm_options_init(&options);
  f.L = &L;
  f.U = &U;
  f.perm_row = f.perm_col = p->perm;
  f.row_convention = SPTRSM_GATHER;
  f.col_convention = SPTRSM_SCATTER;
  v.count = blocks->count;
  options.method = method;
  options.nrhs_hint = blocks->nrhs;
  return cli_fail(sptrsm_batch_create_uniform(&o->batch, o->context, &f, &v, &options));
}

static int set_values(own *o, const batch_problem *p, int64_t count) {
  const int64_t in_L = p->L.ptr[p->n], in_U = p->U.ptr[p->n];
  double *L = malloc(BATCH_ITEMS_AT_ONCE * (size_t)in_L * sizeof *L), *U = malloc(BATCH_ITEMS_AT_ONCE * (size_t)in_U * sizeof *U);
  int code = L && U ? CLI_OK : cli_no_memory("values of items");
  for (int64_t first = 0; first < count && code == CLI_OK; first += BATCH_ITEMS_AT_ONCE) {
    sptrsm_batch_values v;
    sptrsm_batch_values_init(&v);
    v.first = first;
    v.count = count - first < BATCH_ITEMS_AT_ONCE ? count - first : BATCH_ITEMS_AT_ONCE;
    v.L = L, v.L_stride = in_L;
    v.U = U, v.U_stride = in_U;
    batch_values_of_L(L, p, first, v.count);
    batch_values_of_U(U, p, first, v.count);
    code = cli_fail(sptrsm_batch_set_values(o->batch, &v));
  }
  free(L);
  free(U);
  return code;
}

int batch_own_begin(batch_solver *s, const batch_problem *p, const batch_blocks *blocks, const char *method) {
  own *o = calloc(1, sizeof *o);
  if (o == NULL) return cli_no_memory("a batch");
  *s = (batch_solver){.self = o, .solve = solve, .end = end, .items = blocks->count};
  int code = cli_fail(sptrsm_context_create(&o->context, SPTRSM_CUDA, 0, blocks->stream));
  if (code == CLI_OK) code = create(o, p, blocks, method);
  if (code == CLI_OK) code = set_values(o, p, blocks->count);
  sptrsm_batch_block_init(&o->B);
  o->B.data = blocks->B;
  o->B.stride = p->n * blocks->nrhs;
  o->B.ld = p->n;
  o->B.nrhs = blocks->nrhs;
  o->B.layout = SPTRSM_COL_MAJOR;
  o->B.place = SPTRSM_CUDA;
  o->X = o->B;
  o->X.data = blocks->X;
  sptrsm_batch_facts facts = {.size = sizeof facts};
  if (code == CLI_OK) code = cli_fail(sptrsm_batch_info(&facts, o->batch));
  if (code == CLI_OK && facts.singular > 0) cli_warning("%lld items are singular", (long long)facts.singular);
  return code;
}
