/* compare.c -- see compare.h. */
#include "trsv/tiles/compare.h"

#include <stdlib.h>
#include <string.h>

#include "core/context/gpu.h"
#include "core/plan/plan.h"

static bool same(const sptrsm_context *context, const void *expected, const void *device, int64_t count, size_t bytes) {
  const size_t all = (size_t)count * bytes;
  if (all == 0) return true;
  void *copy = malloc(all);
  const bool equal =
      copy && spti_gpu_copy(context, copy, all, device, all, all, 1, SPTI_TO_HOST) == SPTRSM_OK && memcmp(copy, expected, all) == 0;
  free(copy);
  return equal;
}

static bool same_sizes(const spti_tiles *a, const spti_tiles *b) {
  const int32_t sizes[][2] = {{a->n, b->n},
                              {a->tile_rows, b->tile_rows},
                              {a->tiles, b->tiles},
                              {a->others, b->others},
                              {a->coo, b->coo},
                              {a->positions, b->positions},
                              {a->values, b->values},
                              {a->inner, b->inner},
                              {a->inner_bytes, b->inner_bytes},
                              {a->items, b->items},
                              {a->parts, b->parts},
                              {a->levels, b->levels},
                              {a->most, b->most},
                              {a->by_columns, b->by_columns}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i][0] != sizes[i][1]) return false;
  return true;
}

const char *tile_difference(const spti_tiles *t, const spti_gpu_tiles *found, const sptrsm_plan *plan) {
  const spti_tile_arrays *a = &found->arrays;
  const size_t value = sptrsm_dtype_bytes(t->dtype), word = sizeof(int32_t);
  const int64_t places = (int64_t)t->tile_rows * SPTI_TILE;
  if (!same_sizes(t, &found->host)) return "sizes";
  const struct {
    const char *name;
    const void *expected, *device;
    int64_t count;
    size_t bytes;
  } arrays[] = {{"rows", t->row, a->row, places, word},
                {"used", t->used, a->used, t->tile_rows, 1},
                {"words", t->word, a->word, t->tiles, word},
                {"shapes", t->shape, a->shape, t->others, 2},
                {"COO positions", t->coo_position, a->coo_position, t->coo, 1},
                {"COO values", t->coo_value, a->coo_value, t->coo, value},
                {"positions", t->position, a->position, t->positions, 1},
                {"values", t->value, a->value, t->values, value},
                {"diagonal bytes", t->inner_byte, a->inner_byte, t->inner_bytes, 1},
                {"diagonal tile values", t->inner_value, a->inner_value, t->inner, value},
                {"diagonal", t->diagonal, a->diagonal, places, value},
                {"items", t->item, a->item, t->items, SPTI_TILE_ITEM_WORDS * word}};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    if (!same(plan->context, arrays[i].expected, arrays[i].device, arrays[i].count, arrays[i].bytes)) return arrays[i].name;
  const size_t level_bytes = ((size_t)t->levels + 1) * word;
  if (t->by_columns) return NULL;
  if (memcmp(t->level_tile_row, found->host.level_tile_row, level_bytes) != 0) return "tile rows of levels";
  return memcmp(t->level_item, found->host.level_item, level_bytes) != 0 ? "items of levels" : NULL;
}
