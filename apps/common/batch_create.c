/* batch_create.c -- from the factor sets of a file to a batch of the library. A single lower triangle is L; a single upper one becomes U
 * beside L = I.
 */
#include <stdlib.h>

#include "common/batch.h"

typedef struct {
  const sptrsm_file_batch *batch;
  int64_t count;        /* of sets: 1 of a uniform batch */
  sptrsm_factors *sets; /* [count] */
  const sptrsm_factors **items;
  sptrsm_sparse *identity; /* L of a single upper triangle */
  int64_t *no_entries;
} views;

static bool views_allocate(views *v) {
  int32_t most = 0;
  for (int64_t i = 0; i < v->count; i++)
    if (v->batch->items[i]->L_tri.n > most) most = v->batch->items[i]->L_tri.n;
  v->sets = calloc((size_t)v->count + 1, sizeof *v->sets);
  v->items = calloc((size_t)v->count + 1, sizeof(void *));
  v->identity = calloc((size_t)v->count + 1, sizeof *v->identity);
  v->no_entries = calloc((size_t)most + 1, sizeof *v->no_entries);
  return v->sets && v->items && v->identity && v->no_entries;
}

static void views_free(views *v) {
  free(v->sets);
  free((void *)v->items);
  free(v->identity);
  free(v->no_entries);
}

static void view_item(views *v, int64_t i) {
  const sptrsm_file_factors *F = v->batch->items[i];
  const sptrsm_sparse *T = &F->L_tri;
  v->sets[i] = F->factors;
  v->items[i] = &v->sets[i];
  if (!F->single || T->uplo == SPTRSM_LOWER) return;
  v->identity[i] = (sptrsm_sparse){.format = SPTRSM_CSR, .dtype = T->dtype, .diag = SPTRSM_UNIT, .n = T->n, .ptr = v->no_entries};
  v->sets[i].L = &v->identity[i];
  v->sets[i].U = T;
}

static sptrsm_status create(sptrsm_batch **out, const views *v, bool is_upper, sptrsm_context *context, const sptrsm_options *o) {
  sptrsm_batch_values values = v->batch->values;
  if (v->batch->kind == SPTRSM_BATCH_MIXED) return sptrsm_batch_create_mixed(out, context, v->items, v->count, o);
  if (is_upper) {
    values.U = values.L, values.U_stride = values.L_stride;
    values.L = NULL, values.L_stride = 0;
  }
  return sptrsm_batch_create_uniform(out, context, v->items[0], &values, o);
}

sptrsm_status batch_create(sptrsm_batch **out, sptrsm_system *system, sptrsm_context *context, const sptrsm_file_batch *b,
                           const sptrsm_options *o) {
  views v = {.batch = b, .count = b->kind == SPTRSM_BATCH_UNIFORM ? 1 : b->count};
  const sptrsm_file_factors *first = v.count > 0 ? b->items[0] : NULL;
  const bool single = first && first->single, is_upper = single && first->L_tri.uplo == SPTRSM_UPPER;
  sptrsm_status status = views_allocate(&v) ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for the items of %s", b->where);
  for (int64_t i = 0; status == SPTRSM_OK && i < v.count; i++) view_item(&v, i);
  if (status == SPTRSM_OK) status = create(out, &v, is_upper, context, o);
  if (single) *system = is_upper ? SPTRSM_SYS_U : SPTRSM_SYS_L;
  views_free(&v);
  return status;
}
