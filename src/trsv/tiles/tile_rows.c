/* tile_rows.c -- see tile_rows.h. */
#include "trsv/tiles/tile_rows.h"

#include <string.h>

#include "core/context/alloc.h"

int32_t spti_tile_first_places(int32_t *first, int32_t n, const int32_t *level_ptr, int32_t levels, int32_t align) {
  int32_t tile_rows = 0, end = 0;
  if (align == 0 || !level_ptr) levels = 0;
  for (int32_t place = 0, level = 0; place < n; place = end) {
    end = n - place < SPTI_TILE ? n : place + SPTI_TILE;
    while (level < levels && level_ptr[level] <= place) level++;
    for (int32_t l = level; l < levels && level_ptr[l] < end; l++)
      if (level_ptr[l + 1] - level_ptr[l] >= align) end = level_ptr[l];
    if (first) first[tile_rows] = place;
    tile_rows++;
  }
  if (first) first[tile_rows] = n;
  return tile_rows;
}

sptrsm_status spti_tile_check_rows(int32_t tile_rows, int32_t n) {
  if (tile_rows <= INT32_MAX / SPTI_TILE - SPTI_TILE) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "tiles: %d rows in %d tile rows are beyond 32 bits", n, tile_rows);
}

sptrsm_status spti_tile_cut(spti_tiles *t, const int32_t *order, const int32_t *level_ptr, int32_t levels, int32_t align) {
  int32_t *first;
  t->tile_rows = spti_tile_first_places(NULL, t->n, level_ptr, levels, align);
  SPTI_TRY(spti_tile_check_rows(t->tile_rows, t->n));
  SPTI_TRY(spti_host_alloc(&t->used, t->tile_rows, sizeof *t->used, "rows of tile rows"));
  SPTI_TRY(spti_host_alloc(&t->row, (int64_t)t->tile_rows * SPTI_TILE, sizeof *t->row, "rows of places"));
  SPTI_TRY(spti_host_alloc(&first, (int64_t)t->tile_rows + 1, sizeof *first, "tile rows"));
  spti_tile_first_places(first, t->n, level_ptr, levels, align);
  for (int32_t tile_row = 0; tile_row < t->tile_rows; tile_row++) {
    t->used[tile_row] = (uint8_t)(first[tile_row + 1] - first[tile_row]);
    for (int32_t r = 0; r < SPTI_TILE; r++) t->row[tile_row * SPTI_TILE + r] = r < t->used[tile_row] ? order[first[tile_row] + r] : -1;
  }
  spti_host_free(first);
  return SPTRSM_OK;
}

/* ---- levels of tile rows ---- */

static int32_t sweep(int32_t *level, const spti_tiles *t, const int32_t *tile_ptr) {
  int32_t levels = 0;
  for (int32_t tile_row = 0; tile_row < t->tile_rows; tile_row++) {
    int32_t own = 0;
    for (int32_t tile = tile_ptr[tile_row]; tile < tile_ptr[tile_row + 1]; tile++) {
      const int32_t needed = level[(uint32_t)t->word[tile] >> SPTI_TILE_CODE_BITS];
      if (needed >= own) own = needed + 1;
    }
    level[tile_row] = own;
    if (own >= levels) levels = own + 1;
  }
  return levels;
}

/* running[l+1] += what the tile rows of level l have; then running sums. */
static void add_levels(int32_t *running, int32_t levels, int32_t tile_rows, const int32_t *level, const int32_t *ptr) {
  memset(running, 0, ((size_t)levels + 1) * sizeof *running);
  for (int32_t tile_row = 0; tile_row < tile_rows; tile_row++) running[level[tile_row] + 1] += ptr ? ptr[tile_row + 1] - ptr[tile_row] : 1;
  for (int32_t l = 0; l < levels; l++) running[l + 1] += running[l];
}

/* Items to the order of their tile rows' levels; those of a tile row stay together. */
static void sort_items(spti_tiles *t, const int32_t *from, const int32_t *level, const int32_t *item_ptr, int32_t *next) {
  memcpy(next, t->level_item, ((size_t)t->levels + 1) * sizeof *next);
  for (int32_t tile_row = 0; tile_row < t->tile_rows; tile_row++) {
    const int32_t count = item_ptr[tile_row + 1] - item_ptr[tile_row];
    memcpy(t->item + (size_t)next[level[tile_row]] * SPTI_TILE_ITEM_WORDS, from + (size_t)item_ptr[tile_row] * SPTI_TILE_ITEM_WORDS,
           (size_t)count * SPTI_TILE_ITEM_WORDS * sizeof *from);
    next[level[tile_row]] += count;
  }
}

sptrsm_status spti_tile_levels(spti_tiles *t, const spti_tile_sizes *s, int32_t *items_by_line) {
  int32_t *level = NULL, *next = NULL;
  sptrsm_status status;
  SPTI_TRY(spti_host_alloc(&level, t->tile_rows, sizeof *level, "levels of tile rows"));
  t->levels = sweep(level, t, s->running[SPTI_TILE_TILES]);
  int32_t **const running[] = {&t->level_tile_row, &t->level_item};
  const int32_t *const ptr[] = {NULL, s->running[SPTI_TILE_ITEMS]};
  for (int i = 0; i < 2; i++) {
    SPTI_TRY_DONE(spti_host_alloc(running[i], (int64_t)t->levels + 1, sizeof **running[i], "tile levels"));
    add_levels(*running[i], t->levels, t->tile_rows, level, ptr[i]);
  }
  SPTI_TRY_DONE(spti_host_alloc(&next, (int64_t)t->levels + 1, sizeof *next, "tile levels"));
  sort_items(t, items_by_line, level, s->running[SPTI_TILE_ITEMS], next);
done:
  spti_host_free(next);
  spti_host_free(level);
  return status;
}
