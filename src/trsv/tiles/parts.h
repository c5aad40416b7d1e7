/* parts.h -- what tiles.c and lines.c share. */
#ifndef SPTI_TRSV_TILES_PARTS_H
#define SPTI_TRSV_TILES_PARTS_H

#include "trsv/tiles/tiles.h"

/* What a line has of each array, and running sums of it over the lines. */
enum {
  SPTI_TILE_TILES,
  SPTI_TILE_OTHERS,
  SPTI_TILE_COOS,
  SPTI_TILE_POSITIONS,
  SPTI_TILE_VALUES,
  SPTI_TILE_INNERS,
  SPTI_TILE_INNER_BYTES,
  SPTI_TILE_ITEMS,
  SPTI_TILE_PARTS,
  SPTI_TILE_SIZES
};

typedef struct {
  int32_t *running[SPTI_TILE_SIZES]; /* [lines+1] each */
} spti_tile_sizes;

/* ---- sort.c ---- */

enum { SPTI_TILE_PLACES = SPTI_TILE * SPTI_TILE };

typedef struct {
  int64_t p;      /* in the view */
  int32_t line;   /* on the other side */
  uint8_t within; /* row << 4 | column */
} spti_tile_entry;

/* Of one thread. A line's tiles: other[t], ascending; their entries: sorted[begin[t]] .. sorted[begin[t+1]]. */
typedef struct {
  const spti_tiles *tiles;
  const spti_view *view;
  const int32_t *place;            /* [n]: of each row */
  int32_t *seen, *at;              /* [lines]: stamp of the last sorting with a tile there; entries, then where they go */
  int32_t *other, *begin;          /* [capacity + 1], [capacity + 2] */
  spti_tile_entry *found, *sorted; /* [capacity]: entries of the longest line */
  int64_t *source;                 /* [SPTI_TILE_PLACES]: the view's entry at each place of a tile */
  int32_t tile_count, inner_count, stamp;
  uint16_t inner[SPTI_TILE]; /* the diagonal tile, below its diagonal: rows as in spti_tile_mask, */
  int64_t inner_source[SPTI_TILE_PLACES];
} spti_tile_sorter;

/* One for each thread that takes part. Zero before the first call; to be closed after a failure too. */
typedef struct {
  spti_tile_sorter *sorters;
  int count;
} spti_tile_team;

sptrsm_status spti_tile_team_open(spti_tile_team *, const spti_tiles *, const spti_view *, const int32_t *place, int64_t capacity);
void spti_tile_team_close(spti_tile_team *);
void spti_tile_sort_line(spti_tile_sorter *, int32_t line);
/* The shape of tile t of that line; its mask and sources too unless it is COO, which most are. */
spti_tile_shape spti_tile_shape_of(spti_tile_mask *, spti_tile_sorter *, int32_t line, int32_t t);

/* ---- lines.c ---- */

/* Lines of 16 places each, cut also where a level begins that has `align` rows or more (align 0 or level_ptr NULL: nowhere): first[lines
 * + 1], the first place of each, unless NULL. Returns the number of lines. */
int32_t spti_tile_first_places(int32_t *first, int32_t n, const int32_t *level_ptr, int32_t levels, int32_t align);
sptrsm_status spti_tile_check_lines(int32_t lines, int32_t n); /* UNSUPPORTED where places are beyond 32 bits */
/* Sets lines, used and row. */
sptrsm_status spti_tile_cut(spti_tiles *, const int32_t *order, const int32_t *level_ptr, int32_t levels, int32_t align);
/* Sets levels, the arrays of them, and item: the items of all lines, sorted. */
sptrsm_status spti_tile_levels(spti_tiles *, const spti_tile_sizes *, int32_t *items_by_line);

/* ---- tiles.c ---- */

sptrsm_status spti_tile_check_size(const char *what, int64_t count); /* UNSUPPORTED beyond 32 bits */
/* Two bytes a tile off the diagonal; the last round of a warp looks at places beyond. */
static inline int64_t spti_tile_shape_bytes(int64_t others) { return 2 * (others + 32); }
sptrsm_status spti_tile_check_blocks(int32_t lines, int64_t parts); /* UNSUPPORTED beyond SPTI_TILE_OUT_BITS */

/* ---- write.c ---- */

/* The arrays of one line, and its items by line. items NULL: values only matter, positions are as they were. */
void spti_tile_write_line(const spti_tiles *, const spti_tile_sizes *, spti_tile_sorter *, int32_t *items, int32_t line);

#endif
