/* batch.c -- what sptrsm-info says about a batch: how many items, of which orders, how many patterns, and which items are singular. */
#include <string.h>

#include "info/info.h"

static int64_t entries_of(const sptrsm_sparse *T) { return T->n > 0 ? T->ptr[T->n] : 0; }

static int64_t sets_of(const sptrsm_file_batch *b) { return b->kind == SPTRSM_BATCH_UNIFORM ? 1 : b->count; }

static void look_at_values(file_facts *f, int64_t i) {
  batch_item item;
  char value[BATCH_VALUE_TEXT];
  batch_item_of(&item, f->batch, i);
  if (!batch_odd_value(value, &item.F)) return;
  if (f->odd == 0) memcpy(f->odd_value, value, sizeof value), f->odd_item = i;
  f->odd++;
}

static sptrsm_status find_bad(file_facts *f, const sptrsm_batch *batch) {
  int found = 0;
  for (int64_t i = 0; i < f->batch->count; i++) {
    sptrsm_item_status s;
    sptrsm_status status = sptrsm_batch_item(&s, batch, i);
    if (status != SPTRSM_OK) return status;
    if (s.status == SPTRSM_OK) look_at_values(f, i);
    if (s.status == SPTRSM_OK || found == SINGULAR_NAMED) continue;
    f->singular[found] = i;
    f->singular_rows[found++] = s.row;
  }
  return SPTRSM_OK;
}

sptrsm_status batch_facts_load(file_facts *f, sptrsm_context *context, const sptrsm_io_options *io) {
  sptrsm_system system = SPTRSM_SYS_A;
  sptrsm_batch *batch = NULL;
  sptrsm_status status = sptrsm_file_batch_load(&f->batch, f->where, 0, -1, io);
  if (status == SPTRSM_OK) status = batch_create(&batch, &system, context, f->batch, NULL);
  f->batch_facts.size = sizeof f->batch_facts;
  if (status == SPTRSM_OK) status = sptrsm_batch_info(&f->batch_facts, batch);
  if (status == SPTRSM_OK) status = find_bad(f, batch);
  for (int64_t i = 0; status == SPTRSM_OK && i < sets_of(f->batch); i++) {
    const sptrsm_file_factors *F = f->batch->items[i];
    f->batch_entries += entries_of(&F->L_tri) + (F->U ? entries_of(&F->U_tri) : 0);
  }
  sptrsm_batch_destroy(batch);
  return status;
}

static void orders(int32_t *least, int32_t *most, const sptrsm_file_batch *b) {
  *least = *most = 0;
  for (int64_t i = 0; i < sets_of(b); i++) {
    const int32_t n = b->items[i]->L_tri.n;
    if (i == 0 || n < *least) *least = n;
    if (n > *most) *most = n;
  }
}

static int named(const file_facts *f) { return f->batch_facts.singular < SINGULAR_NAMED ? (int)f->batch_facts.singular : SINGULAR_NAMED; }

static const char *kind_of(const sptrsm_file_batch *b) { return b->kind == SPTRSM_BATCH_UNIFORM ? "uniform" : "mixed"; }

void batch_facts_text(const file_facts *f) {
  const sptrsm_file_batch *b = f->batch;
  const sptrsm_file_factors *F = sets_of(b) > 0 ? b->items[0] : NULL;
  int32_t least, most;
  orders(&least, &most, b);
  printf("%s: %s batch of %lld item%s, n %d", cli_shown(b->where), kind_of(b), (long long)b->count, b->count == 1 ? "" : "s", least);
  if (most > least) printf(" to %d", most);
  if (F) printf(", %s", cli_dtypes[F->L_tri.dtype]);
  printf("\n  %lld entries%s, %lld pattern%s\n", (long long)f->batch_entries, b->kind == SPTRSM_BATCH_UNIFORM ? " in each item" : " in all",
         (long long)f->batch_facts.patterns, f->batch_facts.patterns == 1 ? "" : "s");
  if (F) printf("  read as %s\n", F->rule);
  if (F && F->source) printf("  source: %s\n", cli_shown(F->source));
  printf("  %lld singular item%s\n", (long long)f->batch_facts.singular, f->batch_facts.singular == 1 ? "" : "s");
  for (int k = 0; k < named(f); k++) printf("    %s: row %d\n", batch_name(b, f->singular[k]).text, f->singular_rows[k]);
  if (named(f) < f->batch_facts.singular) printf("    and %lld more\n", (long long)f->batch_facts.singular - named(f));
  if (f->odd > 0)
    printf("  %lld item%s with a value that is not finite, the first is %s: %s\n", (long long)f->odd, f->odd == 1 ? "" : "s",
           batch_name(b, f->odd_item).text, cli_shown(f->odd_value));
}

json_t *batch_facts_json(const file_facts *f) {
  const sptrsm_file_batch *b = f->batch;
  if (b == NULL) return json_null();
  const sptrsm_file_factors *F = sets_of(b) > 0 ? b->items[0] : NULL;
  int32_t least, most;
  orders(&least, &most, b);
  json_t *list = json_array();
  for (int k = 0; k < named(f); k++)
    json_array_append_new(list, json_pack("{s:I, s:o, s:i}", "item", (json_int_t)f->singular[k], "name",
                                          cli_json_text(b->names ? b->names[f->singular[k]] : NULL), "row", (int)f->singular_rows[k]));
  return json_pack("{s:s, s:I, s:i, s:i, s:o, s:o, s:b, s:I, s:I, s:I, s:o, s:I, s:o}", "kind", kind_of(b), "count", (json_int_t)b->count,
                   "n_least", (int)least, "n_most", (int)most, "dtype", cli_json_text(F ? cli_dtypes[F->L_tri.dtype] : NULL), "rule",
                   cli_json_text(F ? F->rule : NULL), "has_A", F && F->A, "nnz", (json_int_t)f->batch_entries, "patterns",
                   (json_int_t)f->batch_facts.patterns, "singular", (json_int_t)f->batch_facts.singular, "singular_items", list,
                   "nonfinite", (json_int_t)f->odd, "nonfinite_value", cli_json_text(f->odd > 0 ? f->odd_value : NULL));
}

bool batch_hides(const file_facts *f, const char *path) {
  if (f->batch == NULL || f->batch->kind != SPTRSM_BATCH_MIXED) return false;
  const char *group = strrchr(f->batch->where, ':') + 1;
  const size_t length = strlen(group);
  return strncmp(path, group, length) == 0 && (path[length] == '/' || group[length - 1] == '/');
}
