/* batch.c -- the public functions of sptrsm_batch.h: they check what can be checked without an engine, and call it. */
#include "core/batch/batch.h"

#include <string.h>

#include "core/base/sized.h"
#include "core/context/alloc.h"

/* ---- defaults ---- */

void sptrsm_batch_values_init_sized(sptrsm_batch_values *values, size_t size) {
  spti_sized_init(values, size, &(sptrsm_batch_values){0}, sizeof *values);
}
void sptrsm_batch_block_init_sized(sptrsm_batch_block *block, size_t size) {
  spti_sized_init(block, size, &(sptrsm_batch_block){.dtype = SPTRSM_F64}, sizeof *block);
}
void sptrsm_batch_run_init_sized(sptrsm_batch_run *run, size_t size) { spti_sized_init(run, size, &(sptrsm_batch_run){0}, sizeof *run); }

static sptrsm_status read_values(sptrsm_batch_values *out, const sptrsm_batch_values *in) {
  sptrsm_batch_values_init(out);
  return spti_sized_read(out, sizeof *out, in, SPTI_SIZE_UP_TO(sptrsm_batch_values, scale_col_stride), "sptrsm_batch_values");
}

/* ---- creation ---- */

static sptrsm_status begin(sptrsm_batch **out, sptrsm_context *context, int64_t count, const sptrsm_options *options) {
  sptrsm_batch *b;
  sptrsm_options taken;
  SPTI_TRY(spti_options_read(&taken, options));
  if (taken.precision == SPTRSM_MIXED)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "batches solve in working precision; round the factors, or use sptrsm_direct_refine");
  taken.op = SPTRSM_N;
  SPTI_TRY(spti_host_alloc(&b, 1, sizeof *b, "batch"));
  *b = (sptrsm_batch){.context = context, .count = count, .options = taken, .lacks_U = -1};
  spti_context_retain(context);
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_host_alloc(&b->items, count, sizeof *b->items, "item statuses"));
  for (int64_t i = 0; i < count; i++) b->items[i] = (sptrsm_item_status){.status = SPTRSM_OK, .row = -1};
  *out = b;
  if (!taken.method) return SPTRSM_OK;
  if (strlen(taken.method) >= sizeof b->method) {
    status = spti_fail(SPTRSM_ERR_ARGUMENT, "unknown method \"%.60s...\"", taken.method);
    goto fail;
  }
  b->options.method = strcpy(b->method, taken.method);
  return SPTRSM_OK;
fail:
  sptrsm_batch_destroy(b);
  return status;
}

static sptrsm_status run_create(sptrsm_batch *b, const spti_batch_engine *on_host, const spti_batch_engine *on_device,
                                const spti_batch_source *source) {
  b->engine = b->context->place == SPTRSM_HOST ? on_host : on_device;
  return b->engine->create(b, source);
}

static void take_item(sptrsm_batch *b, int64_t item, const sptrsm_factors *f) {
  if (f->L->n > b->n) b->n = f->L->n;
  if (!f->U && f->u_kind == SPTRSM_U_GIVEN && b->lacks_U < 0) b->lacks_U = item;
}

/* ---- one pattern ---- */

/* `levelset` solves the items of a group together; with any other method each item is a factor set of its own. */
static bool solves_together(const sptrsm_batch *b) {
  const char *method = b->options.method;
  return !method || strcmp(method, "auto") == 0 || strcmp(method, "levelset") == 0 || strncmp(method, "levelset:", 9) == 0;
}

/* The values of one item, number `i` of these. */
static sptrsm_batch_values values_of(const sptrsm_batch *b, const sptrsm_batch_values *v, int64_t i) {
  const int64_t bytes = (int64_t)sptrsm_dtype_bytes(b->dtype);
  sptrsm_batch_values one = *v;
  one.first += i;
  one.count = 1;
  if (v->L) one.L = (const char *)v->L + i * v->L_stride * bytes;
  if (v->U) one.U = (const char *)v->U + i * v->U_stride * bytes;
  if (v->D) one.D = (const char *)v->D + i * v->D_stride * bytes;
  if (v->D_sub) one.D_sub = (const char *)v->D_sub + i * v->D_sub_stride * bytes;
  if (v->scale_row) one.scale_row = v->scale_row + i * v->scale_row_stride;
  if (v->scale_col) one.scale_col = v->scale_col + i * v->scale_col_stride;
  return one;
}

typedef struct {
  sptrsm_factors f;
  sptrsm_sparse L, U;
} item_set;

/* The factor set of one item: the pattern with its values. */
static void set_of(item_set *out, const sptrsm_batch *b, const sptrsm_factors *pattern, const sptrsm_batch_values *values, int64_t i) {
  const sptrsm_batch_values v = values_of(b, values, i);
  *out = (item_set){.f = *pattern, .L = *pattern->L};
  out->f.L = &out->L;
  if (pattern->U) out->U = *pattern->U, out->f.U = &out->U;
  if (v.L) out->L.val = v.L;
  if (v.U) out->U.val = v.U;
  if (v.D) out->f.D = v.D;
  if (v.D_sub) out->f.D_sub = v.D_sub;
  if (v.scale_row) out->f.scale_row = v.scale_row;
  if (v.scale_col) out->f.scale_col = v.scale_col;
}

static sptrsm_status fill_apart(sptrsm_batch *b, const sptrsm_factors *pattern, const sptrsm_batch_values *values) {
  item_set *sets = NULL;
  const sptrsm_factors **list = NULL;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&b->n_of, b->count, sizeof *b->n_of, "orders of the items"));
  SPTI_TRY_DONE(spti_host_alloc(&sets, b->count, sizeof *sets, "factor sets of the items"));
  SPTI_TRY_DONE(spti_host_alloc(&list, b->count, sizeof(void *), "factor sets of the items"));
  for (int64_t i = 0; i < b->count; i++) {
    set_of(&sets[i], b, pattern, values, i);
    list[i] = &sets[i].f;
    b->n_of[i] = b->n;
  }
  status = run_create(b, &spti_batch_mixed_host, &spti_batch_mixed_gpu, &(spti_batch_source){.items = list});
done:
  spti_host_free(sets);
  spti_host_free(list);
  return status;
}

static sptrsm_status fill_uniform(sptrsm_batch *b, const sptrsm_factors *pattern, const sptrsm_batch_values *values) {
  const sptrsm_factors *const items[1] = {pattern};
  b->uniform = true;
  b->dtype = pattern->L->dtype;
  take_item(b, 0, pattern);
  SPTI_TRY(spti_batch_read_lengths(b, pattern));
  SPTI_TRY(spti_batch_check_values(b, values));
  if (!solves_together(b)) return fill_apart(b, pattern, values);
  return run_create(b, &spti_batch_uniform_host, &spti_batch_uniform_gpu, &(spti_batch_source){.items = items, .values = values});
}

sptrsm_status sptrsm_batch_create_uniform(sptrsm_batch **out, sptrsm_context *context, const sptrsm_factors *pattern,
                                          const sptrsm_batch_values *values, const sptrsm_options *options) {
  if (!out || !context || !pattern || !values)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_batch_create_uniform: out, context, pattern or values is NULL");
  SPTI_VISIT(context);
  sptrsm_factors factors;
  sptrsm_batch_values v;
  SPTI_TRY(spti_factors_read(&factors, pattern));
  factors.copy = SPTRSM_COPY;
  SPTI_TRY(read_values(&v, values));
  if (v.first != 0 || v.count < 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_batch_create_uniform: values->first = %lld, count = %lld; a batch begins with item 0",
                     (long long)v.first, (long long)v.count);
  sptrsm_batch *b;
  SPTI_TRY(begin(&b, context, v.count, options));
  const sptrsm_status status = fill_uniform(b, &factors, &v);
  if (status != SPTRSM_OK) {
    sptrsm_batch_destroy(b);
    return status;
  }
  *out = b;
  return SPTRSM_OK;
}

/* ---- a factor set for each item ---- */

static sptrsm_status read_item(sptrsm_batch *b, sptrsm_factors *read, const sptrsm_factors *item, int64_t i) {
  if (!item) return spti_fail(SPTRSM_ERR_ARGUMENT, "the factor set is NULL");
  SPTI_TRY(spti_factors_read(read, item));
  read->copy = SPTRSM_COPY;
  SPTI_TRY(spti_validate_description(read->L));
  if (i == 0) b->dtype = read->L->dtype;
  if (read->L->dtype != b->dtype) return spti_fail(SPTRSM_ERR_ARGUMENT, "it has another dtype than item 0");
  take_item(b, i, read);
  b->n_of[i] = read->L->n;
  return SPTRSM_OK;
}

static sptrsm_status fill_mixed(sptrsm_batch *b, const sptrsm_factors *const *items) {
  sptrsm_factors *read = NULL;
  const sptrsm_factors **list = NULL;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&b->n_of, b->count, sizeof *b->n_of, "orders of the items"));
  SPTI_TRY_DONE(spti_host_alloc(&read, b->count, sizeof *read, "factor sets of the items"));
  SPTI_TRY_DONE(spti_host_alloc(&list, b->count, sizeof(void *), "factor sets of the items"));
  for (int64_t i = 0; i < b->count; i++) {
    SPTI_TRY_DONE(spti_batch_name_item(read_item(b, &read[i], items[i], i), i));
    list[i] = &read[i];
  }
  status = run_create(b, &spti_batch_mixed_host, &spti_batch_mixed_gpu, &(spti_batch_source){.items = list});
done:
  spti_host_free(read);
  spti_host_free(list);
  return status;
}

sptrsm_status sptrsm_batch_create_mixed(sptrsm_batch **out, sptrsm_context *context, const sptrsm_factors *const *items, int64_t count,
                                        const sptrsm_options *options) {
  if (!out || !context || (!items && count > 0))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_batch_create_mixed: out, context or items is NULL");
  if (count < 0) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_batch_create_mixed: count = %lld is negative", (long long)count);
  SPTI_VISIT(context);
  sptrsm_batch *b;
  SPTI_TRY(begin(&b, context, count, options));
  const sptrsm_status status = fill_mixed(b, items);
  if (status != SPTRSM_OK) {
    sptrsm_batch_destroy(b);
    return status;
  }
  *out = b;
  return SPTRSM_OK;
}

/* ---- end ---- */

void sptrsm_batch_destroy(sptrsm_batch *b) {
  if (!b) return;
  SPTI_VISIT(b->context);
  if (b->state) b->engine->free(b);
  spti_host_free(b->n_of);
  spti_host_free(b->items);
  spti_host_free(b->claims);
  spti_batch_free_originals(b);
  sptrsm_context_destroy(b->context);
  spti_host_free(b);
}

/* ---- values ---- */

sptrsm_status sptrsm_batch_set_values(sptrsm_batch *b, const sptrsm_batch_values *values) {
  if (!b || !values) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_batch_set_values: batch or values is NULL");
  SPTI_VISIT(b->context);
  sptrsm_batch_values v;
  SPTI_TRY(read_values(&v, values));
  if (!b->uniform && v.count != 1)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_batch_set_values: count = %lld; a mixed batch takes new values for one item at a time",
                     (long long)v.count);
  SPTI_TRY(spti_batch_check_values(b, &v));
  if (!b->n_of) return v.count > 0 ? b->engine->set_values(b, &v) : SPTRSM_OK;
  for (int64_t i = 0; i < v.count; i++) {
    const sptrsm_batch_values one = values_of(b, &v, i);
    SPTI_TRY(b->engine->set_values(b, &one));
  }
  return SPTRSM_OK;
}

static sptrsm_status look(const sptrsm_batch *b) { return b->engine->look ? b->engine->look((sptrsm_batch *)b) : SPTRSM_OK; }

sptrsm_status sptrsm_batch_item(sptrsm_item_status *out, const sptrsm_batch *b, int64_t item) {
  if (!out || !b) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_batch_item: out or batch is NULL");
  SPTI_TRY(spti_batch_check_number(b, item, "sptrsm_batch_item"));
  SPTI_VISIT(b->context);
  SPTI_TRY(look(b));
  *out = b->items[item];
  return SPTRSM_OK;
}

/* ---- solving ---- */

static sptrsm_status find_steps(spti_system_steps *out, const sptrsm_batch *b, sptrsm_system system, sptrsm_op op, const char *call) {
  if (!sptrsm_system_name(system)) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: unknown system %d", call, (int)system);
  if (op != SPTRSM_N && op != SPTRSM_T && op != SPTRSM_C) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: unknown op %d", call, (int)op);
  *out = spti_system_solve_steps(system, op);
  for (int s = 0; s < out->count; s++)
    if (out->stages[s].factor == SPTI_U && b->lacks_U >= 0)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "system %s needs U; the factors of item %lld have only L (u_kind tells that U is L transposed)",
                       sptrsm_system_name(system), (long long)b->lacks_U);
  return SPTRSM_OK;
}

sptrsm_status sptrsm_batch_prepare(sptrsm_batch *b, sptrsm_system system, sptrsm_op op) {
  if (!b) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_batch_prepare: batch is NULL");
  SPTI_VISIT(b->context);
  spti_system_steps steps;
  SPTI_TRY(find_steps(&steps, b, system, op, "sptrsm_batch_prepare"));
  return b->engine->prepare(b, &steps);
}

static void write_status(const sptrsm_batch *b, const spti_batch_call *call) {
  for (int64_t i = 0; call->run->status && i < b->count; i++)
    if (spti_batch_wants(call, i)) call->run->status[i] = b->items[i];
}

sptrsm_status sptrsm_batch_solve(sptrsm_batch *b, sptrsm_system system, sptrsm_op op, const void *alpha, const sptrsm_batch_block *B,
                                 sptrsm_batch_block *X, const sptrsm_batch_run *run) {
  if (!b || !B || !X) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_batch_solve: batch, B or X is NULL");
  SPTI_VISIT(b->context);
  sptrsm_batch_block blocks[2];
  sptrsm_batch_run how;
  spti_batch_call call = {.alpha = alpha, .B = &blocks[0], .X = &blocks[1], .run = &how};
  const size_t block_least = SPTI_SIZE_UP_TO(sptrsm_batch_block, place), run_least = SPTI_SIZE_UP_TO(sptrsm_batch_run, status_place);
  SPTI_TRY(find_steps(&call.steps, b, system, op, "sptrsm_batch_solve"));
  SPTI_TRY(spti_sized_read(&blocks[0], sizeof *B, B, block_least, "sptrsm_batch_block"));
  SPTI_TRY(spti_sized_read(&blocks[1], sizeof *X, X, block_least, "sptrsm_batch_block"));
  sptrsm_batch_run_init(&how);
  if (run) SPTI_TRY(spti_sized_read(&how, sizeof how, run, run_least, "sptrsm_batch_run"));
  SPTI_TRY(spti_batch_check_call(b, &call));
  call.on_original = spti_original_op(system, op);
  SPTI_TRY(spti_batch_check_errors(b, &call, system));
  SPTI_TRY(b->engine->solve(b, &call));
  if (b->context->place == SPTRSM_HOST) write_status(b, &call);
  if (how.berr && call.X->place == SPTRSM_HOST) SPTI_TRY(look(b)); /* the device knows of its blocks */
  return spti_batch_errors_host(b, &call);
}

/* ---- information ---- */

sptrsm_status sptrsm_batch_info(sptrsm_batch_facts *out, const sptrsm_batch *b) {
  if (!out || !b) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_batch_info: out or batch is NULL");
  SPTI_VISIT(b->context);
  SPTI_TRY(
      spti_sized_check(out, SPTI_SIZE_UP_TO(sptrsm_batch_facts, analysis_seconds), sizeof *out, "sptrsm_batch_info", "sptrsm_batch_facts"));
  SPTI_TRY(look(b));
  sptrsm_batch_facts facts = {.size = sizeof facts, .count = b->count, .n_most = b->n};
  for (int64_t i = 0; i < b->count; i++) facts.singular += b->items[i].status != SPTRSM_OK;
  SPTI_TRY(b->engine->info(&facts, b));
  spti_sized_write(out, &facts, sizeof facts);
  return SPTRSM_OK;
}
