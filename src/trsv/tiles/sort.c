/* sort.c -- see sort.h. */
#include "trsv/tiles/sort.h"

#include <stdlib.h>
#include <string.h>

#include "core/context/alloc.h"

typedef spti_tile_sorter sorter;
typedef spti_tile_entry entry;

enum { TILE_ROWS_PER_THREAD = 256 }; /* fewer are not worth a thread */

static sptrsm_status open_sorter(sorter *s, const spti_tiles *t, const spti_view *v, const int32_t *place, int64_t capacity) {
  *s = (sorter){.tiles = t, .view = v, .place = place};
  SPTI_TRY(spti_host_alloc(&s->seen, t->tile_rows, sizeof *s->seen, "tile rows"));
  SPTI_TRY(spti_host_alloc(&s->at, t->tile_rows, sizeof *s->at, "tile rows"));
  SPTI_TRY(spti_host_alloc(&s->other, capacity + 1, sizeof *s->other, "tiles of a tile row"));
  SPTI_TRY(spti_host_alloc(&s->begin, capacity + 2, sizeof *s->begin, "tiles of a tile row"));
  SPTI_TRY(spti_host_alloc(&s->found, capacity, sizeof *s->found, "entries of a tile row"));
  SPTI_TRY(spti_host_alloc(&s->sorted, capacity, sizeof *s->sorted, "entries of a tile row"));
  SPTI_TRY(spti_host_alloc(&s->source, SPTI_TILE_PLACES, sizeof *s->source, "entries of a tile"));
  memset(s->seen, 0, (size_t)t->tile_rows * sizeof *s->seen);
  return SPTRSM_OK;
}

static void close_sorter(sorter *s) {
  spti_host_free(s->seen);
  spti_host_free(s->at);
  spti_host_free(s->other);
  spti_host_free(s->begin);
  spti_host_free(s->found);
  spti_host_free(s->sorted);
  spti_host_free(s->source);
}

/* All memory is taken here, by one thread. */
sptrsm_status spti_tile_team_open(spti_tile_team *team, const spti_tiles *t, const spti_view *v, const int32_t *place, int64_t capacity) {
  const int most = t->tile_rows / TILE_ROWS_PER_THREAD + 1, threads = spti_team_ready(t->team);
  team->count = 0;
  SPTI_TRY(spti_host_alloc(&team->sorters, most < threads ? most : threads, sizeof *team->sorters, "threads that sort tiles"));
  for (; team->count < most && team->count < threads; team->count++) {
    sorter *s = &team->sorters[team->count];
    const sptrsm_status status = open_sorter(s, t, v, place, capacity);
    if (status == SPTRSM_OK) continue;
    close_sorter(s);
    return status;
  }
  return SPTRSM_OK;
}

void spti_tile_team_close(spti_tile_team *team) {
  for (int i = 0; i < team->count; i++) close_sorter(&team->sorters[i]);
  spti_host_free(team->sorters);
}

static uint8_t position(const spti_tiles *t, int32_t own, int32_t other) {
  return (uint8_t)(t->by_columns ? other << 4 | own : own << 4 | other);
}

/* The entries of a tile row: those of its diagonal tile to `inner`, the rest to `found`. Returns their number. */
static int32_t collect(sorter *s, int32_t tile_row) {
  const spti_tiles *t = s->tiles;
  const spti_view *v = s->view;
  int32_t count = 0;
  memset(s->inner, 0, sizeof s->inner);
  s->inner_count = s->tile_count = 0;
  s->stamp++;
  for (int32_t own = 0; own < t->used[tile_row]; own++) {
    const int32_t i = t->row[tile_row * SPTI_TILE + own];
    const int64_t end = spti_view_end(v, i);
    for (int64_t p = spti_view_begin(v, i); p < end; p++) {
      const int32_t q = s->place[v->idx[p]], other = q / SPTI_TILE;
      const uint8_t within = position(t, own, q % SPTI_TILE);
      if (other == tile_row) {
        s->inner[within >> 4] |= (uint16_t)(1u << (within & 15));
        s->inner_source[within] = p;
        s->inner_count++;
        continue;
      }
      if (s->seen[other] != s->stamp) {
        s->seen[other] = s->stamp;
        s->other[s->tile_count++] = other;
        s->at[other] = 0;
      }
      s->at[other]++;
      s->found[count++] = (entry){p, other, within};
    }
  }
  return count;
}

static int compare_tile_rows(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

void spti_tile_sort_row(sorter *s, int32_t tile_row) {
  const int32_t count = collect(s, tile_row);
  qsort(s->other, (size_t)s->tile_count, sizeof *s->other, compare_tile_rows);
  s->begin[0] = 0;
  for (int32_t t = 0; t < s->tile_count; t++) {
    const int32_t other = s->other[t], entries = s->at[other];
    s->at[other] = s->begin[t];
    s->begin[t + 1] = s->begin[t] + entries;
  }
  for (int32_t e = 0; e < count; e++) s->sorted[s->at[s->found[e].tile_row]++] = s->found[e];
}

static void look_at_tile(spti_tile_mask *mask, sorter *s, int32_t tile_row, int32_t t) {
  const uint8_t *used = s->tiles->used;
  const int32_t other = s->other[t];
  *mask = (spti_tile_mask){.m = used[s->tiles->by_columns ? other : tile_row], .c = used[s->tiles->by_columns ? tile_row : other]};
  for (int32_t e = s->begin[t]; e < s->begin[t + 1]; e++) {
    const uint8_t within = s->sorted[e].within;
    mask->rows[within >> 4] |= (uint16_t)(1u << (within & 15));
    s->source[within] = s->sorted[e].p;
  }
}

spti_tile_shape spti_tile_shape_of(spti_tile_mask *mask, sorter *s, int32_t tile_row, int32_t t) {
  const uint8_t *used = s->tiles->used;
  const int32_t entries = s->begin[t + 1] - s->begin[t], places = used[tile_row] * used[s->other[t]];
  if (entries <= SPTI_TILE_COO_MOST && 4 * entries < 3 * places)
    return (spti_tile_shape){.format = SPTI_TILE_COO, .entries = entries, .positions = entries, .values = entries};
  look_at_tile(mask, s, tile_row, t);
  return spti_tile_choose(mask);
}
