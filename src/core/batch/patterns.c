/* patterns.c -- see patterns.h. */
#include "core/batch/patterns.h"

#include <stdlib.h>
#include <string.h>

#include "core/blob/blob.h"
#include "core/context/alloc.h"

enum { ARRAYS = 6, FACTS = 19 };

/* What items of one pattern have in common: numbers, and arrays with their lengths in bytes. */
typedef struct {
  int64_t fact[FACTS];
  const void *array[ARRAYS];
  size_t bytes[ARRAYS];
} pattern;

typedef struct {
  uint64_t hash;
  int64_t item;
} keyed_item;

static bool is_readable(const sptrsm_sparse *T) { return T->place == SPTRSM_HOST && spti_validate_frame(T) == SPTRSM_OK; }

static void add_triangle(pattern *p, int which, const sptrsm_sparse *T) {
  const int64_t facts[] = {T->n, T->ptr[T->n], T->format, T->dtype, T->uplo, T->diag};
  const int facts_of = sizeof facts / sizeof facts[0];
  memcpy(&p->fact[which * facts_of], facts, sizeof facts);
  p->array[2 * which] = T->ptr, p->bytes[2 * which] = ((size_t)T->n + 1) * sizeof *T->ptr;
  p->array[2 * which + 1] = T->idx, p->bytes[2 * which + 1] = (size_t)T->ptr[T->n] * sizeof *T->idx;
}

static bool read_pattern(pattern *p, const sptrsm_factors *f) {
  const size_t map = (size_t)f->L->n * sizeof *f->perm_row;
  if (!is_readable(f->L) || (f->U && !is_readable(f->U))) return false;
  const int parts = (f->U != NULL) | (f->D != NULL) << 1 | (f->D_sub != NULL) << 2 | (f->perm_row != NULL) << 3 |
                    (f->perm_col != NULL) << 4 | (f->scale_row != NULL) << 5 | (f->scale_col != NULL) << 6;
  const int64_t facts[] = {parts, f->u_kind, f->D_hermitian != 0, f->row_convention, f->col_convention, f->row_op, f->col_op};
  *p = (pattern){0};
  add_triangle(p, 0, f->L);
  if (f->U) add_triangle(p, 1, f->U);
  memcpy(&p->fact[FACTS - sizeof facts / sizeof facts[0]], facts, sizeof facts);
  p->array[4] = f->perm_row, p->bytes[4] = f->perm_row ? map : 0;
  p->array[5] = f->perm_col, p->bytes[5] = f->perm_col ? map : 0;
  return true;
}

static bool same_arrays(const pattern *p, const pattern *q) {
  return memcmp(p->array, q->array, sizeof p->array) == 0 && memcmp(p->fact, q->fact, sizeof p->fact) == 0;
}

static bool same_pattern(const pattern *p, const pattern *q) {
  if (memcmp(p->fact, q->fact, sizeof p->fact) != 0) return false;
  for (int a = 0; a < ARRAYS; a++)
    if (p->array[a] != q->array[a] && p->bytes[a] > 0 && memcmp(p->array[a], q->array[a], p->bytes[a]) != 0) return false;
  return true;
}

static uint64_t hash_of(const pattern *p, spti_team *team) {
  uint64_t hash = spti_hash(NULL, p->fact, sizeof p->fact);
  for (int a = 0; a < ARRAYS; a++) hash = spti_hash_join(hash, spti_hash(team, p->array[a], p->bytes[a]));
  return hash;
}

/* The hashes of all readable items. Items that share their arrays with the item before share its hash. */
static int64_t hash_items(keyed_item *keyed, const sptrsm_batch *b, const spti_batch_source *source) {
  pattern before = {0}, p;
  int64_t readable = 0;
  for (int64_t i = 0; i < b->count; i++) {
    if (!read_pattern(&p, source->items[i])) continue;
    const bool again = readable > 0 && same_arrays(&p, &before);
    keyed[readable] = (keyed_item){.hash = again ? keyed[readable - 1].hash : hash_of(&p, b->context->team), .item = i};
    readable++;
    before = p;
  }
  return readable;
}

static int compare_keys(const void *left, const void *right) {
  const keyed_item *a = left, *b = right;
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
  return (a->item > b->item) - (a->item < b->item);
}

/* Of items with one hash: the first that has the pattern of item `at`. */
static int64_t first_like(const int64_t *like, const keyed_item *keyed, int64_t begin, int64_t at, const spti_batch_source *source) {
  pattern p, q;
  read_pattern(&p, source->items[keyed[at].item]);
  for (int64_t k = begin; k < at; k++) {
    if (like[keyed[k].item] != keyed[k].item) continue;
    read_pattern(&q, source->items[keyed[k].item]);
    if (same_pattern(&p, &q)) return keyed[k].item;
  }
  return keyed[at].item;
}

sptrsm_status spti_batch_find_patterns(int64_t *like, const sptrsm_batch *b, const spti_batch_source *source) {
  keyed_item *keyed;
  SPTI_TRY(spti_host_alloc(&keyed, b->count, sizeof *keyed, "hashes of patterns"));
  for (int64_t i = 0; i < b->count; i++) like[i] = i;
  const int64_t readable = hash_items(keyed, b, source);
  qsort(keyed, (size_t)readable, sizeof *keyed, compare_keys);
  for (int64_t k = 0, begin = 0; k < readable; k++) {
    if (keyed[k].hash != keyed[begin].hash) begin = k;
    like[keyed[k].item] = first_like(like, keyed, begin, k, source);
  }
  spti_host_free(keyed);
  return SPTRSM_OK;
}
