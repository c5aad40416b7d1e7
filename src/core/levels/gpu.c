/* gpu.c -- level sets on the device. One sweep over the pattern finds the level of each row (kernels.cu); then the rows are ordered by
 * level, by counting if levels are few (are_few), else by a stable sort (order_kernels.cu). The pattern of a push view is transposed
 * first. The host waits for the number of levels, and once more if it needs to know where levels begin. */
#include "core/levels/gpu.h"

#include <string.h>

#include "core/base/carve.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/levels/kernels.h"

/* Rows with more than SHORT_ROW entries are polled by warps. Factors have such rows, and their rows mostly depend on rows shortly before
 * them. Then a warp for every row is best, unless the matrix is so large that the resident warps are a small part of its rows. Stencils
 * and most circuits have no such rows, and a lane for every row is best. Measured on an H200. */
enum { SHORT_ROW = 48, ALL_BY_WARPS_UP_TO = 1 << 19 };

/* Makes *v a pull view with the same dependencies, without diagonals and values. */
static sptrsm_status turn(spti_view *v, spti_scratch *s) {
  const int64_t entries = spti_view_entries(v);
  spti_turn_args args = {.view = *v, .lanes = spti_walk_lanes(v)};
  void *temporary, *stream = s->context->stream;
  size_t bytes;
  SPTI_TRY(spti_scratch_take(s, &args.count, v->n, sizeof *args.count, "entries of rows"));
  SPTI_TRY(spti_scratch_take(s, &args.ptr, (int64_t)v->n + 1, sizeof *args.ptr, "row pointers"));
  SPTI_TRY(spti_scratch_take(s, &args.idx, entries, sizeof *args.idx, "columns of rows"));
  SPTI_CUDA(spti_turn_count_launch(&args, stream));
  SPTI_CUDA(spti_scan_launch(NULL, &bytes, args.count, args.ptr, v->n, stream));
  SPTI_TRY(spti_scratch_take(s, &temporary, (int64_t)bytes, 1, "scan buffer"));
  SPTI_CUDA(spti_scan_launch(temporary, &bytes, args.count, args.ptr, v->n, stream));
  SPTI_CUDA(spti_turn_place_launch(&args, stream));
  v->ptr = args.ptr;
  v->idx = args.idx;
  v->nnz = entries;
  v->head = v->tail = 0;
  v->pull = true;
  return SPTRSM_OK;
}

/* Finds the level of each row, count and longest. Waits for the device. control: [SPTI_SYNCFREE_CONTROL_WORDS]. */
static sptrsm_status find(spti_gpu_levels *levels, const spti_view *v, spti_levels_search *search, spti_levels_facts *facts,
                          int32_t *control, sptrsm_context *context) {
  spti_levels_args args = {.view = *v,
                           .level = levels->level,
                           .short_row = SHORT_ROW,
                           .all_by_warps = v->n <= ALL_BY_WARPS_UP_TO,
                           .lane_threads = SPTI_LEVELS_LANE_THREADS,
                           .warp_threads = SPTI_LEVELS_WARP_THREADS,
                           .facts = facts,
                           .result = (spti_levels_facts *)context->pinned_device,
                           .panels = search->panels,
                           .least = search->least,
                           .times = search->times};
  args.sync = spti_gpu_syncfree(context, control);
  /* + n: a chain of rows may have length n. */
  args.sync.spin_limit = (int32_t)(((int64_t)context->spin_limit + v->n) / SPTI_LEVELS_ROUNDS_PER_CHECK);
  SPTI_CUDA(spti_levels_find_launch(&args, context->stream));
  SPTI_TRY(spti_gpu_sync(context));
  memcpy(&search->facts, context->pinned, sizeof search->facts);
  levels->count = search->facts.count;
  levels->longest = search->facts.longest;
  return SPTRSM_OK;
}

static bool are_few(int32_t n, int32_t count) {
  return count <= SPTI_LEVEL_FEW && (int64_t)count * spti_level_chunks(n) <= SPTI_LEVEL_FEW_STARTS;
}

static sptrsm_status count_into_order(spti_level_order_args *args, spti_scratch *s) {
  SPTI_TRY(spti_scratch_take(s, &args->starts, (int64_t)args->count * spti_level_chunks(args->n), sizeof *args->starts, "rows of levels"));
  SPTI_CUDA(spti_level_count_launch(args, s->context->stream));
  return SPTRSM_OK;
}

/* The scratch memory of sort_into_order, in one allocation; returns its size. */
static size_t lay_out(spti_level_order_args *args, spti_sort_args *sort, void **temporary, void *memory, size_t temporary_bytes) {
  spti_carver c = {.base = memory};
  args->keys = spti_carve(&c, args->n, sizeof *args->keys);
  args->rows = spti_carve(&c, args->n, sizeof *args->rows);
  sort->keys = args->keys;
  sort->values = args->rows;
  args->sorted = sort->sorted_keys = spti_carve(&c, args->n, sizeof *sort->sorted_keys);
  *temporary = spti_carve(&c, (int64_t)temporary_bytes, 1);
  return c.used;
}

static sptrsm_status sort_into_order(spti_level_order_args *args, spti_scratch *s) {
  spti_sort_args sort = {.sorted_values = args->order, .count = args->n, .bits = args->bits};
  void *memory, *temporary, *stream = s->context->stream;
  size_t temporary_bytes;
  SPTI_CUDA(spti_sort_launch(NULL, &temporary_bytes, &sort, stream));
  SPTI_TRY(
      spti_scratch_take(s, &memory, (int64_t)lay_out(args, &sort, &temporary, NULL, temporary_bytes), 1, "rows to be sorted by level"));
  lay_out(args, &sort, &temporary, memory, temporary_bytes);
  SPTI_CUDA(spti_level_keys_launch(args, stream));
  SPTI_CUDA(spti_sort_launch(temporary, &temporary_bytes, &sort, stream));
  SPTI_CUDA(spti_level_bounds_launch(args, stream));
  return SPTRSM_OK;
}

/* level -> order and device_ptr. */
static sptrsm_status arrange(spti_gpu_levels *levels, const spti_view *v, spti_scratch *s) {
  spti_level_order_args args = {.n = v->n,
                                .count = levels->count,
                                .backward = v->backward,
                                .bits = spti_sort_bits(levels->count),
                                .level = levels->level,
                                .ptr = levels->device_ptr,
                                .order = levels->order};
  return are_few(v->n, levels->count) ? count_into_order(&args, s) : sort_into_order(&args, s);
}

static void find_widest(spti_gpu_levels *levels, const int32_t *ptr) {
  for (int32_t l = 0; l < levels->count; l++) {
    const int32_t rows = ptr[l + 1] - ptr[l];
    if (rows > levels->widest) levels->widest = rows;
  }
}

/* order, level and the search's own words, in one allocation that begins with order; returns its size. */
static size_t lay_out_rows(spti_gpu_levels *levels, spti_levels_facts **facts, int32_t **control, void *memory, int32_t n) {
  spti_carver c = {.base = memory};
  levels->order = spti_carve(&c, n, sizeof *levels->order);
  levels->level = spti_carve(&c, n, sizeof *levels->level);
  *facts = spti_carve(&c, 1, sizeof **facts);
  *control = spti_carve(&c, SPTI_SYNCFREE_CONTROL_WORDS, sizeof **control);
  return c.used;
}

size_t spti_gpu_levels_bytes(const spti_gpu_levels *levels) {
  spti_gpu_levels rows;
  spti_levels_facts *facts;
  int32_t *control;
  const size_t starts = ((size_t)levels->count + 1) * sizeof *levels->ptr;
  return sizeof *levels + lay_out_rows(&rows, &facts, &control, NULL, levels->n) + (levels->ptr ? 2 : 1) * starts;
}

/* Allocates device_ptr and orders the rows, whose levels are known. */
static sptrsm_status finish(spti_gpu_levels *levels, const spti_view *v, spti_scratch *s) {
  SPTI_TRY(spti_alloc(s->context, &levels->device_ptr, (int64_t)levels->count + 1, sizeof *levels->device_ptr, "level pointers"));
  return v->n > 0 ? arrange(levels, v, s) : spti_gpu_zero(s->context, levels->device_ptr, sizeof *levels->device_ptr);
}

sptrsm_status spti_gpu_levels_fetch_ptr(spti_gpu_levels *levels, const sptrsm_context *context) {
  const size_t bytes = ((size_t)levels->count + 1) * sizeof *levels->ptr;
  int32_t *ptr;
  if (levels->ptr) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(&ptr, 1, bytes, "level pointers"));
  const sptrsm_status status = spti_gpu_fetch(context, ptr, levels->device_ptr, bytes);
  if (status != SPTRSM_OK) {
    spti_host_free(ptr);
    return status;
  }
  find_widest(levels, ptr);
  levels->ptr = ptr;
  return SPTRSM_OK;
}

static sptrsm_status build(spti_gpu_levels *levels, spti_view v, spti_levels_search *search, sptrsm_context *context) {
  spti_scratch s = {.context = context};
  sptrsm_status status = SPTRSM_OK;
  spti_levels_facts *facts;
  int32_t *control;
  void *memory;
  SPTI_TRY(spti_alloc(context, &memory, (int64_t)lay_out_rows(levels, &facts, &control, NULL, v.n), 1, "level order"));
  lay_out_rows(levels, &facts, &control, memory, v.n);
  levels->n = v.n;
  search->facts = (spti_levels_facts){.enough = INT32_MAX};
  if (v.n > 0 && !v.pull) SPTI_TRY_DONE(turn(&v, &s));
  if (v.n > 0) SPTI_TRY_DONE(find(levels, &v, search, facts, control, context));
  if (search->facts.count < search->facts.enough) status = finish(levels, &v, &s);
done:
  spti_scratch_drop(&s);
  return status;
}

void spti_gpu_levels_free(spti_gpu_levels *levels, const sptrsm_context *context) {
  if (!levels) return;
  spti_free(context, levels->device_ptr);
  spti_free(context, levels->order);
  spti_host_free(levels->ptr);
  spti_host_free(levels);
}

sptrsm_status spti_gpu_levels_search(spti_gpu_levels **out, spti_levels_search *search, const spti_view *v, sptrsm_context *context) {
  spti_gpu_levels *levels;
  SPTI_TRY(spti_host_alloc(&levels, 1, sizeof *levels, "levels"));
  *levels = (spti_gpu_levels){0};
  const sptrsm_status status = build(levels, *v, search, context);
  const bool found = status == SPTRSM_OK && search->facts.count < search->facts.enough;
  if (!found) spti_gpu_levels_free(levels, context);
  if (status == SPTRSM_OK) *out = found ? levels : NULL;
  return status;
}

sptrsm_status spti_gpu_levels_create(spti_gpu_levels **out, const spti_view *v, sptrsm_context *context) {
  spti_levels_search all = {.panels = NULL};
  spti_gpu_levels *levels;
  SPTI_TRY(spti_gpu_levels_search(&levels, &all, v, context));
  const sptrsm_status status = spti_gpu_levels_fetch_ptr(levels, context);
  if (status == SPTRSM_OK) *out = levels;
  else spti_gpu_levels_free(levels, context);
  return status;
}
