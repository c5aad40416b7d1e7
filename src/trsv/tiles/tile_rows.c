/* tile_rows.c -- see tile_rows.h. */
#include "trsv/tiles/tile_rows.h"

#include <string.h>

#include "core/context/alloc.h"

int32_t spti_tile_first_places(int32_t *first, int32_t n, const int32_t *level_ptr, int32_t levels, int32_t align) {
  int32_t lines = 0, end = 0;
  if (align == 0 || !level_ptr) levels = 0;
  for (int32_t place = 0, level = 0; place < n; place = end) {
    end = n - place < SPTI_TILE ? n : place + SPTI_TILE;
    while (level < levels && level_ptr[level] <= place) level++;
    for (int32_t l = level; l < levels && level_ptr[l] < end; l++)
      if (level_ptr[l + 1] - level_ptr[l] >= align) end = level_ptr[l];
    if (first) first[lines] = place;
    lines++;
  }
  if (first) first[lines] = n;
  return lines;
}

sptrsm_status spti_tile_check_lines(int32_t lines, int32_t n) {
  if (lines <= INT32_MAX / SPTI_TILE - SPTI_TILE) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "tiles: %d rows in %d lines are beyond 32 bits", n, lines);
}

sptrsm_status spti_tile_cut(spti_tiles *t, const int32_t *order, const int32_t *level_ptr, int32_t levels, int32_t align) {
  int32_t *first;
  t->lines = spti_tile_first_places(NULL, t->n, level_ptr, levels, align);
  SPTI_TRY(spti_tile_check_lines(t->lines, t->n));
  SPTI_TRY(spti_host_alloc(&t->used, t->lines, sizeof *t->used, "rows of tile lines"));
  SPTI_TRY(spti_host_alloc(&t->row, (int64_t)t->lines * SPTI_TILE, sizeof *t->row, "rows of places"));
  SPTI_TRY(spti_host_alloc(&first, (int64_t)t->lines + 1, sizeof *first, "tile lines"));
  spti_tile_first_places(first, t->n, level_ptr, levels, align);
  for (int32_t line = 0; line < t->lines; line++) {
    t->used[line] = (uint8_t)(first[line + 1] - first[line]);
    for (int32_t r = 0; r < SPTI_TILE; r++) t->row[line * SPTI_TILE + r] = r < t->used[line] ? order[first[line] + r] : -1;
  }
  spti_host_free(first);
  return SPTRSM_OK;
}

/* ---- levels of lines ---- */

static int32_t sweep(int32_t *level, const spti_tiles *t, const int32_t *tile_ptr) {
  int32_t levels = 0;
  for (int32_t line = 0; line < t->lines; line++) {
    int32_t own = 0;
    for (int32_t tile = tile_ptr[line]; tile < tile_ptr[line + 1]; tile++) {
      const int32_t needed = level[(uint32_t)t->word[tile] >> SPTI_TILE_CODE_BITS];
      if (needed >= own) own = needed + 1;
    }
    level[line] = own;
    if (own >= levels) levels = own + 1;
  }
  return levels;
}

/* running[l+1] += what the lines of level l have; then running sums. */
static void add_levels(int32_t *running, int32_t levels, int32_t lines, const int32_t *level, const int32_t *ptr) {
  memset(running, 0, ((size_t)levels + 1) * sizeof *running);
  for (int32_t line = 0; line < lines; line++) running[level[line] + 1] += ptr ? ptr[line + 1] - ptr[line] : 1;
  for (int32_t l = 0; l < levels; l++) running[l + 1] += running[l];
}

/* Items to the order of their lines' levels; those of a line stay together. */
static void sort_items(spti_tiles *t, const int32_t *from, const int32_t *level, const int32_t *item_ptr, int32_t *next) {
  memcpy(next, t->level_item, ((size_t)t->levels + 1) * sizeof *next);
  for (int32_t line = 0; line < t->lines; line++) {
    const int32_t count = item_ptr[line + 1] - item_ptr[line];
    memcpy(t->item + (size_t)next[level[line]] * SPTI_TILE_ITEM_WORDS, from + (size_t)item_ptr[line] * SPTI_TILE_ITEM_WORDS,
           (size_t)count * SPTI_TILE_ITEM_WORDS * sizeof *from);
    next[level[line]] += count;
  }
}

sptrsm_status spti_tile_levels(spti_tiles *t, const spti_tile_sizes *s, int32_t *items_by_line) {
  int32_t *level = NULL, *next = NULL;
  sptrsm_status status;
  SPTI_TRY(spti_host_alloc(&level, t->lines, sizeof *level, "levels of tile lines"));
  t->levels = sweep(level, t, s->running[SPTI_TILE_TILES]);
  int32_t **const running[] = {&t->level_line, &t->level_item};
  const int32_t *const ptr[] = {NULL, s->running[SPTI_TILE_ITEMS]};
  for (int i = 0; i < 2; i++) {
    SPTI_TRY_DONE(spti_host_alloc(running[i], (int64_t)t->levels + 1, sizeof **running[i], "tile levels"));
    add_levels(*running[i], t->levels, t->lines, level, ptr[i]);
  }
  SPTI_TRY_DONE(spti_host_alloc(&next, (int64_t)t->levels + 1, sizeof *next, "tile levels"));
  sort_items(t, items_by_line, level, s->running[SPTI_TILE_ITEMS], next);
done:
  spti_host_free(next);
  spti_host_free(level);
  return status;
}
