/* tiles.h -- a triangle as tiles of 16 x 16, stored in two levels [lu2023tile]: which tiles there are, and the entries of each tile
 * (tile.h). tile-levelset and tile-syncfree use it, on the host and on a GPU.
 *
 * Rows and columns are reordered first, by level or as they are solved. A tile row is 16 places of that order, or fewer: a level
 * of at least `align` rows begins with a tile row of its own, so that the tile rows of a level need none of its own level. Tile
 * row l has places 16 l .. 16 l + used - 1; the rest of the 16 is padding. Tile column l has the same places. A tile is the
 * crossing of a tile row and a tile column. By columns (tile-syncfree), read "tile column" for "tile row" where an item or its
 * order is meant.
 *
 * Diagonal tiles: one array has all diagonals. A DIA tile has nothing else. A CSR diagonal tile has entries below the diagonal, too: the
 * ends of its 16 rows, and a byte for each entry's column.
 *
 * An item is the work of one warp: some tiles of one tile row, first its COO tiles by ascending tile row, then the others. The
 * COO entries of an item are stored side by side, so that a warp reads them without regard to tiles. By rows, a long tile row is
 * several items: parts, which leave their sums in blocks of their own, and a final item, which adds these up and solves the
 * diagonal tile. By columns, an item is a whole tile row. */
#ifndef SPTI_TRSV_TILES_TILES_H
#define SPTI_TRSV_TILES_TILES_H

#include "core/context/team.h"
#include "core/matrix/view.h"
#include "trsv/tiles/tile.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SPTI_TILE_ITEM_OUT,         /* block of 16 words where the result goes: a tile row, or tile rows + part; the top four bits: used - 1 */
  SPTI_TILE_ITEM_TILE,        /* first tile */
  SPTI_TILE_ITEM_COO_TILES,   /* number of COO tiles */
  SPTI_TILE_ITEM_OTHER_TILES, /* number of tiles of other formats, behind them */
  SPTI_TILE_ITEM_COO,         /* first COO entry */
  SPTI_TILE_ITEM_OTHER,       /* number of the first tile of another format among all such tiles */
  SPTI_TILE_ITEM_POSITION,    /* first byte of these tiles */
  SPTI_TILE_ITEM_VALUE,       /* first value of these tiles */
  SPTI_TILE_ITEM_INNER,       /* first entry below the diagonal of a CSR diagonal tile; -1: DIA, or a part */
  SPTI_TILE_ITEM_INNER_BYTE,  /* where its 16 rows end, then the columns; by columns the other way round */
  SPTI_TILE_ITEM_SUM,         /* first block that holds a sum of this tile row */
  SPTI_TILE_ITEM_SUMS,        /* number of such blocks */
  SPTI_TILE_ITEM_WORDS
};
enum { SPTI_TILE_OUT_BITS = 28, SPTI_TILE_SUMS_MOST = 64 };

/* Number of parts, by rows, of a tile row with `tiles` tiles, besides its final item: parts with tiles, then parts that add up the sums
 * of 64 others each, until the final item can add up the rest. */
static inline SPTI_ANYWHERE int32_t spti_tile_parts_with_tiles(int32_t tiles, int32_t most) {
  return tiles <= most ? 0 : (tiles - 1) / most;
}
static inline SPTI_ANYWHERE int32_t spti_tile_parts_of(int32_t tiles, int32_t most) {
  int32_t sums = spti_tile_parts_with_tiles(tiles, most), parts = sums;
  while (sums > SPTI_TILE_SUMS_MOST) {
    sums = (sums + SPTI_TILE_SUMS_MOST - 1) / SPTI_TILE_SUMS_MOST;
    parts += sums;
  }
  return parts;
}

/* In host memory. A GPU's tiles (trsv/tiles/arrays.h) have only sizes and levels here. */
typedef struct {
  int32_t n, tile_rows;
  int32_t most; /* tiles of an item, as built */
  sptrsm_dtype dtype;
  bool by_columns; /* an item has tiles of one tile column, and a word names the tile's row; else the other way round */
  int32_t tiles, others, coo, positions, values, inner, inner_bytes, items, parts; /* sizes of the arrays below */
  int32_t *row;                                                                    /* [16 tile_rows]: row of each place, -1 for padding */
  uint8_t *used;                                                                   /* [tile_rows] */
  int32_t *word;                                                                   /* [tiles]: tile row << 5 | code, unsigned */
  uint8_t *shape; /* [2 others]: entries - 1 (HYB: entries behind its ELL part), width */
  uint8_t *coo_position;
  void *coo_value;     /* [coo] */
  uint8_t *position;   /* [positions] */
  void *value;         /* [values] */
  uint8_t *inner_byte; /* [inner_bytes] */
  void *inner_value;   /* [inner] */
  void *diagonal;      /* [16 tile_rows]; ones for padding */
  int32_t *item;       /* [SPTI_TILE_ITEM_WORDS * items], each behind the items that it needs */
  spti_team *team;     /* as in spti_tiles_settings */
  /* Host only, for a GPU's tiles too; NULL or 0 by columns: */
  int32_t levels;
  int32_t *level_item;     /* [levels+1]: items of each level of tile rows */
  int32_t *level_tile_row; /* [levels+1]: running number of tile rows */
  int64_t entries_in[SPTI_TILE_FORMATS], tiles_in[SPTI_TILE_FORMATS], positions_in[SPTI_TILE_FORMATS], values_in[SPTI_TILE_FORMATS];
} spti_tiles;

typedef struct {
  int32_t most;    /* tiles of an item by rows; 0: as spti_tiles_most says */
  spti_team *team; /* that builds and updates the tiles on the host; NULL: the calling thread alone */
  int32_t align;   /* levels of at least this many rows begin with a tile row of their own; 0: none does */
} spti_tiles_settings;

static inline spti_tiles_settings spti_tiles_defaults(void) { return (spti_tiles_settings){.most = 0, .team = NULL, .align = 16}; }

/* Tiles of an item: 8 with few levels, where the time of an item counts; 16 with many, where waits for sums of parts count. levels: level
 * sets of rows; 0: not known. */
static inline int32_t spti_tiles_most(const spti_tiles_settings *set, int32_t levels) {
  if (set->most > 0) return set->most;
  return levels > 0 && levels <= 8 ? 8 : 16;
}

/* From a host view: by rows of a pull view, by columns of a push view. order: [n], each row behind those it needs; level_ptr:
 * [levels+1], its level sets, or NULL. UNSUPPORTED beyond 32 bits. End with spti_tiles_free. */
sptrsm_status spti_tiles_build(spti_tiles *out, const spti_view *, const int32_t *order, const int32_t *level_ptr, int32_t levels,
                               const spti_tiles_settings *);
/* New values of the same pattern. */
sptrsm_status spti_tiles_update(spti_tiles *, const spti_view *);
void spti_tiles_free(spti_tiles *);

size_t spti_tiles_bytes(const spti_tiles *); /* bytes of all arrays that a solve reads */

#ifdef __cplusplus
}
#endif

#endif
