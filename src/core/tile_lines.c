/* tile_lines.c -- which places make up a line of tiles, and which lines a line needs: the level sets of lines. Host only. */
#include <string.h>

#include "core/alloc.h"
#include "core/tile_parts.h"

/* Calls take(line, first place, places) for each line: 16 places each, cut also where a level begins that has enough rows. Returns the
 * number of lines; with `used` NULL it only counts. */
static int32_t cut(uint8_t *used, int32_t *row, const int32_t *order, int32_t n, const int32_t *level_ptr, int32_t levels, int32_t align) {
  int32_t lines = 0, end = 0;
  for (int32_t first = 0, level = 0; first < n; first = end) {
    end = n - first < SPTI_TILE ? n : first + SPTI_TILE;
    while (level < levels && level_ptr[level] <= first) level++;
    for (int32_t l = level; l < levels && level_ptr[l] < end; l++)
      if (level_ptr[l + 1] - level_ptr[l] >= align) end = level_ptr[l];
    if (used) {
      used[lines] = (uint8_t)(end - first);
      for (int32_t r = 0; r < SPTI_TILE; r++) row[lines * SPTI_TILE + r] = first + r < end ? order[first + r] : -1;
    }
    lines++;
  }
  return lines;
}

sptrsm_status spti_tile_cut(spti_tiles *t, const int32_t *order, const int32_t *level_ptr, int32_t levels, int32_t align) {
  if (align == 0 || !level_ptr) levels = 0;
  t->lines = cut(NULL, NULL, order, t->n, level_ptr, levels, align);
  if (t->lines > INT32_MAX / SPTI_TILE - SPTI_TILE)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "tiles: %d rows in %d lines are beyond 32 bits", t->n, t->lines);
  SPTI_TRY(spti_host_alloc(&t->used, t->lines, sizeof *t->used, "rows of tile lines"));
  SPTI_TRY(spti_host_alloc(&t->row, (int64_t)t->lines * SPTI_TILE, sizeof *t->row, "rows of places"));
  cut(t->used, t->row, order, t->n, level_ptr, levels, align);
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
  int32_t **const running[] = {&t->level_line, &t->level_item, &t->level_tile, &t->level_part};
  const int32_t *const ptr[] = {NULL, s->running[SPTI_TILE_ITEMS], s->running[SPTI_TILE_TILES], s->running[SPTI_TILE_PARTS]};
  for (int i = 0; i < 4; i++) {
    SPTI_TRY_GOTO(spti_host_alloc(running[i], (int64_t)t->levels + 1, sizeof **running[i], "tile levels"));
    add_levels(*running[i], t->levels, t->lines, level, ptr[i]);
  }
  SPTI_TRY_GOTO(spti_host_alloc(&next, (int64_t)t->levels + 1, sizeof *next, "tile levels"));
  sort_items(t, items_by_line, level, s->running[SPTI_TILE_ITEMS], next);
fail:
  spti_host_free(next);
  spti_host_free(level);
  return status;
}
