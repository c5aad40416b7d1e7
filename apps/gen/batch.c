/* batch.c -- sptrsm-gen --count: a uniform batch. Item i has the values that the seed plus i would give, so item 0 is what is made without
 * --count. B and X_true are arrays [count, n, nrhs].
 */
#include <stdlib.h>
#include <string.h>

#include "gen/gen.h"

typedef struct {
  triangle pattern; /* of item 0 */
  char *values;     /* [count][nnz] */
  int64_t nnz;
  sptrsm_batch_block B, X;
} made_batch;

static bool new_array(sptrsm_batch_block *out, const settings *s) {
  const int64_t n = s->spec.pattern.n, ld = s->order == SPTRSM_ROW_MAJOR ? s->nrhs : n;
  sptrsm_batch_block_init(out);
  out->stride = n * s->nrhs;
  out->ld = ld > 0 ? ld : 1;
  out->nrhs = s->nrhs;
  out->dtype = s->spec.dtype;
  out->layout = s->order;
  out->data = calloc((size_t)(out->stride * s->count) + 1, sptrsm_dtype_bytes(s->spec.dtype)); /* spec_check_memory: no overflow */
  return out->data != NULL;
}

static sptrsm_block item_block(const settings *s, const sptrsm_batch_block *X, int64_t i) {
  return (sptrsm_block){.data = (char *)X->data + (size_t)(i * X->stride) * sptrsm_dtype_bytes(X->dtype),
                        .ld = X->ld,
                        .n = s->spec.pattern.n,
                        .nrhs = X->nrhs,
                        .dtype = X->dtype,
                        .layout = X->layout};
}

/* Makes item i: its values and its blocks. */
static bool make_item(made_batch *b, const settings *s, int64_t i) {
  const size_t bytes = (size_t)b->nnz * sptrsm_dtype_bytes(s->spec.dtype);
  triangle_spec spec = s->spec;
  triangle t = {0};
  spec.item = (uint64_t)i;
  const bool good = triangle_make(&t, &spec);
  if (good) {
    const sptrsm_block B = item_block(s, &b->B, i), X = item_block(s, &b->X, i);
    memcpy(b->values + (size_t)i * bytes, t.val, bytes);
    if (s->nrhs > 0) rhs_fill(&B, &X, &t.T, s->spec.pattern.seed + (uint64_t)i);
  }
  triangle_free(&t);
  return good;
}

static int make(made_batch *b, const settings *s) {
  int code = spec_check_memory(&s->spec, s->nrhs, s->count);
  if (code != CLI_OK) return code;
  if (!triangle_make(&b->pattern, &s->spec)) return cli_no_memory("the pattern");
  b->nnz = b->pattern.ptr[s->spec.pattern.n];
  b->values = malloc((size_t)(b->nnz * s->count) * sptrsm_dtype_bytes(s->spec.dtype) + 1);
  bool good = new_array(&b->B, s) && new_array(&b->X, s) && b->values != NULL;
  for (int64_t i = 0; i < s->count && good; i++) good = make_item(b, s, i);
  return good ? CLI_OK : cli_no_memory("the batch");
}

static int write_rhs(const made_batch *b, const settings *s, const char *path, sptrsm_save_options save) {
  const char *const names[] = {"B", "X_true"};
  const sptrsm_batch_block *const blocks[] = {&b->B, &b->X};
  save.force = 1; /* the file with this name is an unfinished one */
  cli_guard_write(s->rhs);
  sptrsm_status status = sptrsm_file_batch_blocks_save(path, s->count, s->spec.pattern.n, 2, names, blocks, &save);
  cli_guard_end();
  return cli_fail(status);
}

static int write_factors(const made_batch *b, const settings *s, const sptrsm_save_options *save) {
  sptrsm_factors factors;
  sptrsm_batch_values values;
  sptrsm_factors_init(&factors);
  sptrsm_batch_values_init(&values);
  factors.L = &b->pattern.T;
  values.count = s->count;
  values.L = b->values;
  values.L_stride = b->nnz;
  cli_guard_write(s->out);
  sptrsm_status status = sptrsm_file_batch_save_uniform(s->out, &factors, &values, save);
  cli_guard_end();
  return cli_fail(status);
}

static int write_both(const made_batch *b, const settings *s) {
  char source[160];
  sptrsm_save_options save;
  cli_second rhs;
  save_options(&save, source, s);
  int code = s->nrhs > 0 ? cli_second_begin(&rhs, s->out, s->rhs, s->force) : CLI_OK;
  if (code != CLI_OK) return code;
  if (s->nrhs > 0) code = write_rhs(b, s, rhs.held, save);
  if (code == CLI_OK) code = write_factors(b, s, &save);
  return s->nrhs > 0 ? cli_second_end(&rhs, code) : code;
}

int batch_write(const settings *s) {
  made_batch b = {.nnz = 0};
  int code = make(&b, s);
  if (code == CLI_OK) code = write_both(&b, s);
  if (code == CLI_OK && !cli_quiet()) {
    printf("%s: batch of %lld %s triangle%s with one pattern, n %d, %lld entries each, %s, %s\n", cli_shown(s->out), (long long)s->count,
           cli_uplos[s->spec.uplo], s->count == 1 ? "" : "s", s->spec.pattern.n, (long long)b.nnz, cli_dtypes[s->spec.dtype],
           s->spec.pattern.kind->name);
    if (s->nrhs > 0)
      printf("%s: B and X_true, %lld x %d x %lld, %s order\n", cli_shown(s->rhs), (long long)s->count, s->spec.pattern.n,
             (long long)s->nrhs, cli_orders[s->order]);
    code = cli_flush();
  }
  triangle_free(&b.pattern);
  free(b.values);
  free(b.B.data);
  free(b.X.data);
  return code;
}
