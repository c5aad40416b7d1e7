/* sort.h -- the entries of one tile row of a host view, sorted into tiles. */
#ifndef SPTI_TRSV_TILES_SORT_H
#define SPTI_TRSV_TILES_SORT_H

#include "trsv/tiles/tiles.h"

enum { SPTI_TILE_PLACES = SPTI_TILE * SPTI_TILE };

typedef struct {
  int64_t p;        /* position in the view */
  int32_t tile_row; /* the other one: of the entry's column, by columns of its row */
  uint8_t within;   /* row << 4 | column */
} spti_tile_entry;

/* The state of one thread. The tiles of a tile row: other[t], ascending; their entries: sorted[begin[t]] .. sorted[begin[t+1]]. */
typedef struct {
  const spti_tiles *tiles;
  const spti_view *view;
  const int32_t *place;   /* [n]: place of each row */
  int32_t *seen, *at;     /* [tile_rows]: number of the last sorting with a tile there; its entries, then where the next one goes */
  int32_t *other, *begin; /* [capacity + 1], [capacity + 2] */
  spti_tile_entry *found, *sorted; /* [capacity]: entries of the longest tile row */
  int64_t *source;                 /* [SPTI_TILE_PLACES]: the view's entry at each place of a tile */
  int32_t tile_count, inner_count, stamp;
  uint16_t inner[SPTI_TILE]; /* entries of the diagonal tile, without the diagonal: rows as in spti_tile_mask */
  int64_t inner_source[SPTI_TILE_PLACES];
} spti_tile_sorter;

/* One sorter for each thread. Zero before the first call; to be closed after a failure too. */
typedef struct {
  spti_tile_sorter *sorters;
  int count;
} spti_tile_team;

sptrsm_status spti_tile_team_open(spti_tile_team *, const spti_tiles *, const spti_view *, const int32_t *place, int64_t capacity);
void spti_tile_team_close(spti_tile_team *);
void spti_tile_sort_row(spti_tile_sorter *, int32_t tile_row);
/* The shape of tile t of that tile row; sets its mask and the sources, too, unless it is COO, as most tiles are. */
spti_tile_shape spti_tile_shape_of(spti_tile_mask *, spti_tile_sorter *, int32_t tile_row, int32_t t);

#endif
