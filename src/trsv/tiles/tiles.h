/* tiles.h -- a triangle as tiles of 16 x 16, stored in two levels [lu2023tile]: which tiles there are, and in each of them entries whose
 * positions take a byte or less. Shared by tile-levelset and tile-syncfree, on the host and on a GPU.
 *
 * Rows and columns are reordered first, by level or as they are solved. A line is 16 places of that order, or fewer: a wide level begins
 * with a line of its own, so that the lines of a level need none of its own level. A line's places are 16 line .. 16 line + used - 1; what
 * is left of the 16 is padding. A tile is what a row line and a column line have in common. Its format (format.c):
 *
 *   COO     up to 12 entries: a byte each, row << 4 | column               DNS     all m x c values, column by column
 *   CSR     m row starts, a byte per column                                DNSROW  ids of the full rows, their values row by row
 *   ELL     width x m bytes and values, slot by slot; 0xf0: empty          DNSCOL  ids of the full columns, their values column by column
 *   HYB     an ELL part, then up to 4 entries as COO
 *
 * Diagonal tiles: all diagonals stand in one array, which is all of a DIA tile; a CSR one has besides, for its entries below the diagonal,
 * the ends of its 16 rows and a byte per column. Zero values that are stored have a sign bit, so that in a DNS tile they differ from no
 * entry.
 *
 * An item is a share of a line's tiles: its COO tiles, by ascending line, then the others. The COO entries of an item lie side by side, so
 * a warp reads them without regard to tiles. By rows, a long line is several items: parts, whose sums go to blocks of their own, and a
 * final one, which adds these up and solves the diagonal tile. By columns, an item is a whole line. */
#ifndef SPTI_TRSV_TILES_TILES_H
#define SPTI_TRSV_TILES_TILES_H

#include <stdbool.h>

#include "core/device/host_device.h"
#include "core/matrix/view.h"

enum { SPTI_TILE = 16, SPTI_TILE_COO_MOST = 12, SPTI_TILE_SPILL_MOST = 4, SPTI_TILE_EMPTY = 0xf0 };

typedef enum {
  SPTI_TILE_COO,
  SPTI_TILE_CSR,
  SPTI_TILE_ELL,
  SPTI_TILE_HYB,
  SPTI_TILE_DNS,
  SPTI_TILE_DNSROW,
  SPTI_TILE_DNSCOL,
  SPTI_TILE_FORMATS
} spti_tile_format;

/* ---- one tile ---- */

/* rows[r]: bit c is set where row r has an entry in column c. */
typedef struct {
  uint16_t rows[SPTI_TILE];
  int32_t m, c; /* rows and columns that the tile has: 16 but for lines with padding */
} spti_tile_mask;

typedef struct {
  spti_tile_format format;
  int32_t entries;
  int32_t extra;             /* HYB: entries behind its ELL part */
  int32_t width;             /* ELL, HYB: slots per row; DNSROW, DNSCOL: full rows or columns */
  int32_t positions, values; /* that are stored: bytes, and values */
} spti_tile_shape;

#ifdef __cplusplus
extern "C" {
#endif

spti_tile_shape spti_tile_choose(const spti_tile_mask *); /* at least one entry */

/* Where each stored value comes from: order[slot] = row << 4 | column, or -1 for none; positions: shape's bytes. [256] at most. */
void spti_tile_arrange(uint8_t *positions, int16_t *order, const spti_tile_mask *, const spti_tile_shape *);

/* The other way round: order from positions, whose entries without value are not told from others in DNS tiles. first: the first byte of
 * the tile's shape, as below. */
void spti_tile_unpack(int16_t *order, const uint8_t *positions, spti_tile_format, int32_t first, int32_t width, int32_t m, int32_t c);

/* The first level: a word per tile, line << 5 | code. A COO tile's code is entries - 1. Tiles of other formats have two bytes besides:
 * `first`, which is entries - 1, or HYB's entries behind its ELL part; and `width`. */
enum { SPTI_TILE_CODE_BITS = 5, SPTI_TILE_CODE_MASK = 31 };
static inline SPTI_ANYWHERE int32_t spti_tile_code(spti_tile_format format, int32_t entries) {
  return format == SPTI_TILE_COO ? entries - 1 : SPTI_TILE_COO_MOST - 1 + (int32_t)format;
}
static inline SPTI_ANYWHERE int32_t spti_tile_format_of(int32_t code) {
  return code < SPTI_TILE_COO_MOST ? (int32_t)SPTI_TILE_COO : code - (SPTI_TILE_COO_MOST - 1);
}
/* Bytes and values that a tile of another format than COO stores. */
static inline SPTI_ANYWHERE int32_t spti_tile_positions(int32_t format, int32_t first, int32_t width, int32_t m) {
  switch (format) {
  case SPTI_TILE_CSR: return m + first + 1;
  case SPTI_TILE_ELL: return width * m;
  case SPTI_TILE_HYB: return width * m + first;
  case SPTI_TILE_DNS: return 0;
  default: return width;
  }
}
static inline SPTI_ANYWHERE int32_t spti_tile_values(int32_t format, int32_t first, int32_t width, int32_t m, int32_t c) {
  switch (format) {
  case SPTI_TILE_CSR: return first + 1;
  case SPTI_TILE_HYB: return width * m + first;
  case SPTI_TILE_DNS: return m * c;
  case SPTI_TILE_DNSROW: return width * c;
  default: return width * m;
  }
}

/* ---- a triangle ---- */

enum {
  SPTI_TILE_ITEM_OUT,         /* block of 16 words where the result goes: a line, or lines + part; the top four bits: used - 1 */
  SPTI_TILE_ITEM_TILE,        /* first tile, */
  SPTI_TILE_ITEM_COO_TILES,   /* COO tiles, */
  SPTI_TILE_ITEM_OTHER_TILES, /* and tiles of other formats, behind them */
  SPTI_TILE_ITEM_COO,         /* first COO entry */
  SPTI_TILE_ITEM_OTHER,       /* first tile among those of other formats */
  SPTI_TILE_ITEM_POSITION,    /* their first byte */
  SPTI_TILE_ITEM_VALUE,       /* and value */
  SPTI_TILE_ITEM_INNER,       /* first entry below the diagonal of a CSR diagonal tile; -1: DIA, or a part */
  SPTI_TILE_ITEM_INNER_BYTE,  /* where its 16 rows end, then the columns; by columns the other way round */
  SPTI_TILE_ITEM_SUM,         /* first block that holds a sum of this line, */
  SPTI_TILE_ITEM_SUMS,        /* and their number */
  SPTI_TILE_ITEM_WORDS
};
enum { SPTI_TILE_OUT_BITS = 28, SPTI_TILE_SUMS_MOST = 64 };

/* Parts of a line of so many tiles, by rows, beside its final item: those with tiles, then those that only add up others, 64 each, until
 * so few sums are left that the final item can take them. */
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
  int32_t n, lines;
  int32_t most; /* tiles of an item, as built */
  sptrsm_dtype dtype;
  bool by_columns; /* an item is a column line's tiles, and a word's line is its row; else the other way round */
  int32_t tiles, others, coo, positions, values, inner, inner_bytes, items, parts; /* sizes of the arrays below */
  int32_t *row;                                                                    /* [16 lines]: row of each place, -1 for padding */
  uint8_t *used;                                                                   /* [lines] */
  int32_t *word;                                                                   /* [tiles]: line << 5 | code, unsigned */
  uint8_t *shape; /* [2 others]: entries - 1 (HYB: entries behind its ELL part), width */
  uint8_t *coo_position;
  void *coo_value;     /* [coo] */
  uint8_t *position;   /* [positions] */
  void *value;         /* [values] */
  uint8_t *inner_byte; /* [inner_bytes] */
  void *inner_value;   /* [inner] */
  void *diagonal;      /* [16 lines]; ones for padding */
  int32_t *item;       /* [SPTI_TILE_ITEM_WORDS * items], in an order in which each stands behind what it needs */
  /* Host only, for a GPU's tiles too; NULL or 0 by columns: */
  int32_t levels;
  int32_t *level_item; /* [levels+1]: items of each level of lines */
  int32_t *level_line; /* [levels+1]: running number of lines */
  int64_t entries_in[SPTI_TILE_FORMATS], tiles_in[SPTI_TILE_FORMATS], positions_in[SPTI_TILE_FORMATS], values_in[SPTI_TILE_FORMATS];
} spti_tiles;

typedef struct {
  int32_t most;  /* tiles of an item by rows; 0: as spti_tiles_most says */
  int32_t align; /* rows of a level from which on it begins with a line of its own; 0: none does */
} spti_tiles_settings;

static inline spti_tiles_settings spti_tiles_defaults(void) { return (spti_tiles_settings){.most = 0, .align = 16}; }

/* In a few levels the time of an item counts, in many the sums that wait for others' sums. levels: of rows; 0: not known. */
static inline int32_t spti_tiles_most(const spti_tiles_settings *set, int32_t levels) {
  if (set->most > 0) return set->most;
  return levels > 0 && levels <= 8 ? 8 : 16;
}

/* From a host view: by rows of a pull view, by columns of a push view. order: [n], each row behind those it needs; level_ptr: [levels+1],
 * its level sets, or NULL. UNSUPPORTED beyond 32 bits. End with spti_tiles_free. */
sptrsm_status spti_tiles_build(spti_tiles *out, const spti_view *, const int32_t *order, const int32_t *level_ptr, int32_t levels,
                               const spti_tiles_settings *);
/* New values of the same pattern. */
sptrsm_status spti_tiles_update(spti_tiles *, const spti_view *);
void spti_tiles_free(spti_tiles *);

size_t spti_tiles_bytes(const spti_tiles *); /* all arrays that a solve reads */

#ifdef __cplusplus
}
#endif

#endif
