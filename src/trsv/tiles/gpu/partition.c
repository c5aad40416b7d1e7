/* partition.c -- the partition into tiles on the device; it makes the same arrays, bit for bit, as the host's (tiles.c).
 * Steps: the host cuts tile rows at the bounds of levels; entries are sorted by tile row, other tile row and place in the tile; a thread
 * chooses the format of each tile; running sums say where each tile is stored; the level sets of tile rows are found as those of a
 * triangle whose rows are tile rows (core/levels/gpu.h). All this reads no values; they are copied last, by source. New values sort the
 * entries again, which costs a few solves, rather than keep four bytes for each value; tile rows and items stay. */
#include <string.h>

#include "core/context/alloc.h"
#include "core/base/carve.h"
#include "core/context/gpu.h"
#include "core/levels/kernels.h"
#include "core/levels/gpu.h"
#include "core/plan/analysis.h"
#include "core/plan/method.h"
#include "trsv/tiles/arrays.h"
#include "trsv/tiles/gpu/part_kernels.h"
#include "trsv/tiles/sizes.h"
#include "trsv/tiles/tile_rows.h"

typedef struct {
  spti_gpu_tiles *g;
  sptrsm_context *context;
  spti_tile_part_args args;
  spti_tile_counts sums;   /* over all tiles */
  spti_gpu_levels *levels; /* of tile rows */
  spti_scratch s;
} partition;

/* ---- tile rows ---- */

static sptrsm_status upload_tile_rows(partition *p, const spti_gpu_levels *levels, int32_t align) {
  const int32_t n = p->args.view.n, *level_ptr = levels ? levels->ptr : NULL, count = levels ? levels->count : 0;
  const size_t bytes = ((size_t)p->args.tile_rows + 1) * sizeof(int32_t);
  int32_t *first;
  void *device;
  SPTI_TRY(spti_scratch_take(&p->s, &device, (int64_t)bytes, 1, "tile rows"));
  SPTI_TRY(spti_host_alloc(&first, (int64_t)p->args.tile_rows + 1, sizeof *first, "tile rows"));
  spti_tile_first_places(first, n, level_ptr, count, align);
  const sptrsm_status status = spti_gpu_copy(p->context, device, bytes, first, bytes, bytes, 1, SPTI_TO_DEVICE);
  spti_host_free(first);
  p->args.first = device;
  return status;
}

static size_t lay_out_tile_rows(spti_tile_part_args *a, void *memory) {
  spti_carver c = {.base = memory};
  a->row = spti_carve(&c, (int64_t)a->tile_rows * SPTI_TILE, sizeof *a->row);
  a->used = spti_carve(&c, a->tile_rows, 1);
  return c.used;
}

/* levels: NULL: rows stay as they are solved. */
static sptrsm_status make_tile_rows(partition *p, const spti_gpu_levels *levels, int32_t align) {
  spti_tile_part_args *a = &p->args;
  a->tile_rows = spti_tile_first_places(NULL, a->view.n, levels ? levels->ptr : NULL, levels ? levels->count : 0, align);
  SPTI_TRY(spti_tile_check_rows(a->tile_rows, a->view.n));
  SPTI_TRY(spti_alloc(p->context, &p->g->tile_rows, (int64_t)lay_out_tile_rows(a, NULL), 1, "rows of tile rows"));
  lay_out_tile_rows(a, p->g->tile_rows);
  a->order = levels ? levels->order : NULL;
  SPTI_TRY(upload_tile_rows(p, levels, align));
  SPTI_CUDA(spti_tile_rows_launch(a, p->context->stream));
  return SPTRSM_OK;
}

/* ---- entries sorted into tiles ---- */

/* What sorting takes, */
static size_t lay_out_keys(spti_tile_part_args *a, void **temporary, void *memory, size_t temporary_bytes) {
  spti_carver c = {.base = memory};
  a->key = spti_carve(&c, a->entries, sizeof *a->key);
  a->source = spti_carve(&c, a->entries, sizeof *a->source);
  *temporary = spti_carve(&c, (int64_t)temporary_bytes, 1);
  return c.used;
}
/* and what stays until the partition is done. */
static size_t lay_out_entries(spti_tile_part_args *a, spti_sort_long_args *sort, void *memory) {
  spti_carver c = {.base = memory};
  a->place = spti_carve(&c, a->view.n, sizeof *a->place);
  a->sorted_key = sort->sorted_keys = spti_carve(&c, a->entries, sizeof *sort->sorted_keys);
  a->sorted_source = sort->sorted_values = spti_carve(&c, a->entries, sizeof *sort->sorted_values);
  a->head = spti_carve(&c, a->entries, sizeof *a->head);
  a->tiles_to = spti_carve(&c, (int64_t)a->entries + 1, sizeof *a->tiles_to);
  return c.used;
}

static sptrsm_status sort_keys(partition *p, spti_sort_long_args *sort, spti_scratch *own) {
  spti_tile_part_args *a = &p->args;
  void *memory, *temporary, *stream = p->context->stream;
  size_t sort_bytes, scan_bytes;
  SPTI_CUDA(spti_sort_long_launch(NULL, &sort_bytes, sort, stream));
  SPTI_CUDA(spti_scan_narrow_launch(NULL, &scan_bytes, NULL, NULL, a->entries, stream));
  const size_t bytes = sort_bytes > scan_bytes ? sort_bytes : scan_bytes;
  SPTI_TRY(spti_scratch_take(own, &memory, (int64_t)lay_out_keys(a, &temporary, NULL, bytes), 1, "keys of entries"));
  lay_out_keys(a, &temporary, memory, bytes);
  sort->keys = a->key;
  sort->values = a->source;
  SPTI_CUDA(spti_tile_places_launch(a, stream));
  SPTI_CUDA(spti_tile_keys_launch(a, stream));
  SPTI_CUDA(spti_sort_long_launch(temporary, &sort_bytes, sort, stream));
  SPTI_CUDA(spti_tile_heads_launch(a, stream));
  SPTI_CUDA(spti_scan_narrow_launch(temporary, &scan_bytes, a->head, (int32_t *)(uintptr_t)a->tiles_to, a->entries, stream));
  return SPTRSM_OK;
}

static sptrsm_status sort_entries(partition *p) {
  spti_tile_part_args *a = &p->args;
  spti_sort_long_args sort;
  spti_scratch own = {.context = p->context};
  void *memory;
  SPTI_TRY(spti_scratch_take(&p->s, &memory, (int64_t)lay_out_entries(a, &sort, NULL), 1, "entries sorted into tiles"));
  lay_out_entries(a, &sort, memory);
  a->tile_row_bits = spti_sort_bits(a->tile_rows);
  sort.count = a->entries;
  sort.bits = 2 * a->tile_row_bits + 8;
  const sptrsm_status status = sort_keys(p, &sort, &own);
  spti_scratch_drop(&own);
  return status;
}

/* ---- tiles ---- */

static size_t lay_out_tiles(spti_tile_part_args *a, void **temporary, void *memory, size_t temporary_bytes) {
  spti_carver c = {.base = memory};
  a->begin = spti_carve(&c, (int64_t)a->sorted_tiles + 1, sizeof *a->begin);
  a->shape = spti_carve(&c, a->sorted_tiles, sizeof *a->shape);
  a->counts = spti_carve(&c, (int64_t)a->sorted_tiles + 1, sizeof *a->counts);
  a->tile_row_begin = spti_carve(&c, (int64_t)a->tile_rows + 1, sizeof *a->tile_row_begin);
  *temporary = spti_carve(&c, (int64_t)temporary_bytes, 1);
  return c.used;
}

/* Shapes of tiles, and the sums of what they take. */
static sptrsm_status find_tiles(partition *p) {
  spti_tile_part_args *a = &p->args;
  void *memory, *temporary, *stream = p->context->stream;
  size_t bytes;
  SPTI_TRY(spti_gpu_fetch(p->context, &a->sorted_tiles, a->tiles_to + a->entries, sizeof a->sorted_tiles));
  SPTI_CUDA(spti_tile_scan_launch(NULL, &bytes, NULL, a->sorted_tiles, stream));
  SPTI_TRY(spti_scratch_take(&p->s, &memory, (int64_t)lay_out_tiles(a, &temporary, NULL, bytes), 1, "tiles"));
  lay_out_tiles(a, &temporary, memory, bytes);
  SPTI_CUDA(spti_tile_shapes_launch(a, stream));
  SPTI_CUDA(spti_tile_scan_launch(temporary, &bytes, a->counts, a->sorted_tiles, stream));
  SPTI_TRY(spti_gpu_fetch(p->context, &p->sums, a->counts + a->sorted_tiles, sizeof p->sums));
  SPTI_TRY(spti_tile_check_size("tiles", spti_tile_shape_bytes(p->sums.others)));
  SPTI_TRY(spti_tile_check_size("position bytes", p->sums.positions));
  SPTI_TRY(spti_tile_check_size("values", p->sums.values));
  return spti_tile_check_size("diagonal bytes", p->sums.inner_bytes);
}

static size_t lay_out_pattern(spti_tile_part_args *a, const spti_tile_counts *sums, void *memory) {
  spti_carver c = {.base = memory};
  a->other_tile = spti_carve(&c, sums->others, sizeof *a->other_tile);
  a->parts = spti_carve(&c, a->tile_rows, sizeof *a->parts);
  a->tile_row_ptr = spti_carve(&c, (int64_t)a->tile_rows + 1, sizeof *a->tile_row_ptr);
  a->tile_row_idx = spti_carve(&c, sums->tiles, sizeof *a->tile_row_idx);
  return c.used;
}

/* Which tiles a tile row has, and how many parts it is. */
static sptrsm_status find_pattern(partition *p) {
  void *memory;
  SPTI_TRY(spti_scratch_take(&p->s, &memory, (int64_t)lay_out_pattern(&p->args, &p->sums, NULL), 1, "tile rows"));
  lay_out_pattern(&p->args, &p->sums, memory);
  p->args.others = p->sums.others;
  SPTI_CUDA(spti_tile_pattern_launch(&p->args, p->context->stream));
  return SPTRSM_OK;
}

/* ---- levels and items ---- */

static sptrsm_status find_levels(partition *p) {
  const spti_tile_part_args *a = &p->args;
  spti_tiles *t = &p->g->host;
  const spti_view tile_rows = {
      .n = a->tile_rows, .nnz = p->sums.tiles, .place = SPTRSM_CUDA, .ptr = a->tile_row_ptr, .idx = a->tile_row_idx, .pull = true};
  SPTI_TRY(spti_gpu_levels_create(&p->levels, &tile_rows, p->context));
  t->levels = p->args.levels = p->levels->count;
  p->args.tile_row_order = p->levels->order;
  p->args.level_ptr = p->levels->device_ptr;
  SPTI_TRY(spti_host_alloc(&t->level_tile_row, (int64_t)t->levels + 1, sizeof *t->level_tile_row, "tile levels"));
  SPTI_TRY(spti_host_alloc(&t->level_item, (int64_t)t->levels + 1, sizeof *t->level_item, "tile levels"));
  memcpy(t->level_tile_row, p->levels->ptr, ((size_t)t->levels + 1) * sizeof *t->level_tile_row);
  return SPTRSM_OK;
}

static size_t lay_out_items(spti_tile_part_args *a, void **temporary, void *memory, size_t temporary_bytes) {
  spti_carver c = {.base = memory};
  a->parts_to = spti_carve(&c, (int64_t)a->tile_rows + 1, sizeof *a->parts_to);
  a->items = spti_carve(&c, a->tile_rows, sizeof *a->items);
  a->item_to = spti_carve(&c, (int64_t)a->tile_rows + 1, sizeof *a->item_to);
  a->level_item = spti_carve(&c, (int64_t)a->levels + 1, sizeof *a->level_item);
  *temporary = spti_carve(&c, (int64_t)temporary_bytes, 1);
  return c.used;
}

/* Where each tile row's items go. */
static sptrsm_status place_items(partition *p) {
  spti_tile_part_args *a = &p->args;
  spti_tiles *t = &p->g->host;
  void *memory, *temporary, *stream = p->context->stream;
  size_t wide_bytes, narrow_bytes;
  int64_t parts;
  SPTI_CUDA(spti_scan_launch(NULL, &wide_bytes, NULL, NULL, a->tile_rows, stream));
  SPTI_CUDA(spti_scan_narrow_launch(NULL, &narrow_bytes, NULL, NULL, a->tile_rows, stream));
  const size_t bytes = wide_bytes > narrow_bytes ? wide_bytes : narrow_bytes;
  SPTI_TRY(spti_scratch_take(&p->s, &memory, (int64_t)lay_out_items(a, &temporary, NULL, bytes), 1, "items of tiles"));
  lay_out_items(a, &temporary, memory, bytes);
  SPTI_CUDA(spti_scan_launch(temporary, &wide_bytes, a->parts, (int64_t *)(uintptr_t)a->parts_to, a->tile_rows, stream));
  SPTI_TRY(spti_gpu_fetch(p->context, &parts, a->parts_to + a->tile_rows, sizeof parts));
  SPTI_TRY(spti_tile_check_blocks(a->tile_rows, parts));
  t->parts = (int32_t)parts;
  t->items = a->tile_rows + t->parts;
  SPTI_CUDA(spti_tile_items_of_rows_launch(a, stream));
  SPTI_CUDA(spti_scan_narrow_launch(temporary, &narrow_bytes, a->items, (int32_t *)(uintptr_t)a->item_to, a->tile_rows, stream));
  if (!a->level_ptr) return SPTRSM_OK;
  const size_t level_bytes = ((size_t)a->levels + 1) * sizeof *a->level_item;
  SPTI_CUDA(spti_tile_items_of_levels_launch(a, stream));
  return spti_gpu_fetch(p->context, t->level_item, a->level_item, level_bytes);
}

/* ---- what is stored ---- */

static size_t lay_out_arrays(spti_tile_arrays *arrays, spti_tile_part_args *a, spti_tile_values_args *v, const spti_tiles *t,
                             void *memory) {
  const size_t value = sptrsm_dtype_bytes(t->dtype);
  spti_carver c = {.base = memory};
  arrays->word = a->word = spti_carve(&c, t->tiles, sizeof *t->word);
  arrays->shape = a->tile_shape = spti_carve(&c, t->others, 2);
  arrays->coo_position = a->coo_position = spti_carve(&c, t->coo, 1);
  arrays->coo_value = v->coo_value = spti_carve(&c, t->coo, value);
  arrays->position = a->position = spti_carve(&c, t->positions, 1);
  arrays->value = v->value = spti_carve(&c, t->values, value);
  arrays->inner_byte = a->inner_byte = spti_carve(&c, t->inner_bytes, 1);
  arrays->inner_value = v->inner_value = spti_carve(&c, t->inner, value);
  arrays->diagonal = v->diagonal = spti_carve(&c, (int64_t)t->tile_rows * SPTI_TILE, value);
  arrays->item = a->item = spti_carve(&c, t->items, SPTI_TILE_ITEM_WORDS * sizeof *t->item);
  return c.used;
}

static size_t lay_out_sources(spti_tile_part_args *a, spti_tile_values_args *v, const spti_tiles *t, void *memory) {
  spti_carver c = {.base = memory};
  v->coo_source = a->coo_source = spti_carve(&c, t->coo, sizeof *a->coo_source);
  v->value_source = a->value_source = spti_carve(&c, t->values, sizeof *a->value_source);
  v->inner_source = a->inner_source = spti_carve(&c, t->inner, sizeof *a->inner_source);
  return c.used;
}

static void set_sizes(spti_tiles *t, const partition *p) {
  t->n = p->args.view.n;
  t->dtype = p->args.view.dtype;
  t->by_columns = p->args.by_columns;
  t->tile_rows = p->args.tile_rows;
  t->most = p->args.most;
  t->tiles = p->sums.tiles;
  t->others = p->sums.others;
  t->coo = p->sums.coo;
  t->positions = (int32_t)p->sums.positions;
  t->values = (int32_t)p->sums.values;
  t->inner = p->sums.inner;
  t->inner_bytes = (int32_t)p->sums.inner_bytes;
}

static sptrsm_status write_tiles(partition *p, bool fresh) {
  spti_gpu_tiles *g = p->g;
  spti_tile_part_args *a = &p->args;
  spti_tile_values_args v = {.view = a->view,
                             .places = a->tile_rows * SPTI_TILE,
                             .coo = g->host.coo,
                             .values = g->host.values,
                             .inner = g->host.inner,
                             .row = a->row};
  void *sources;
  if (fresh) SPTI_TRY(spti_alloc(p->context, &g->memory, (int64_t)lay_out_arrays(&g->arrays, a, &v, &g->host, NULL), 1, "tiles"));
  SPTI_TRY(spti_scratch_take(&p->s, &sources, (int64_t)lay_out_sources(a, &v, &g->host, NULL), 1, "sources of tile values"));
  lay_out_arrays(&g->arrays, a, &v, &g->host, g->memory);
  lay_out_sources(a, &v, &g->host, sources);
  g->arrays.tile_rows = a->tile_rows;
  g->arrays.items = g->host.items;
  g->arrays.row = a->row;
  g->arrays.used = a->used;
  SPTI_CUDA(spti_tile_write_launch(a, p->context->stream));
  if (fresh) SPTI_CUDA(spti_tile_items_launch(a, p->context->stream));
  SPTI_CUDA(spti_tile_values_launch(&v, p->context->stream));
  return SPTRSM_OK;
}

/* ---- all of it ---- */

static sptrsm_status open_partition(partition *p, spti_gpu_tiles *g, const sptrsm_plan *plan) {
  const int64_t entries = spti_view_entries(&plan->view);
  if (plan->view.nnz > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "tiles: %lld entries are more than 32 bits count; use a method without tiles",
                     (long long)plan->view.nnz);
  *p = (partition){.g = g, .context = plan->context, .s = {.context = plan->context}};
  p->args = (spti_tile_part_args){
      .view = plan->view, .by_columns = !plan->view.pull, .lanes = spti_walk_lanes(&plan->view), .entries = (int32_t)entries};
  return SPTRSM_OK;
}

static void close_partition(partition *p) {
  spti_gpu_levels_free(p->levels, p->context);
  spti_scratch_drop(&p->s);
}

/* The tile rows are known. */
static sptrsm_status part(partition *p, bool fresh) {
  SPTI_TRY(sort_entries(p));
  SPTI_TRY(find_tiles(p));
  SPTI_TRY(find_pattern(p));
  if (fresh) set_sizes(&p->g->host, p);
  if (fresh && !p->args.by_columns) SPTI_TRY(find_levels(p));
  if (fresh) SPTI_TRY(place_items(p));
  return write_tiles(p, fresh);
}

sptrsm_status spti_gpu_tiles_create(spti_gpu_tiles *out, sptrsm_plan *plan, bool by_level, const spti_tiles_settings *set) {
  const spti_gpu_levels *levels = NULL;
  partition p;
  *out = (spti_gpu_tiles){0};
  SPTI_TRY(open_partition(&p, out, plan));
  sptrsm_status status = by_level ? spti_plan_levels(plan, &levels) : SPTRSM_OK;
  p.args.most = spti_tiles_most(set, levels ? levels->count : 0);
  if (status == SPTRSM_OK) status = make_tile_rows(&p, levels, set->align);
  if (status == SPTRSM_OK) status = part(&p, true);
  close_partition(&p);
  spti_plan_drop_levels(plan);
  return status;
}

sptrsm_status spti_gpu_tiles_update(spti_gpu_tiles *g, const sptrsm_plan *plan) {
  partition p;
  SPTI_TRY(open_partition(&p, g, plan));
  p.args.most = g->host.most;
  p.args.tile_rows = g->host.tile_rows;
  lay_out_tile_rows(&p.args, g->tile_rows);
  const sptrsm_status status = part(&p, false);
  close_partition(&p);
  return status;
}

void spti_gpu_tiles_free(spti_gpu_tiles *g, const sptrsm_plan *plan) {
  spti_free(plan->context, g->memory);
  spti_free(plan->context, g->tile_rows);
  spti_tiles_free(&g->host);
  *g = (spti_gpu_tiles){0};
}
