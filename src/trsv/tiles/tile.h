/* tile.h -- one tile of 16 x 16 [lu2023tile]: its format and the positions of its entries, in a byte or less each.
 *
 * A tile has m x c places, 16 x 16 but for tiles at a tile row with padding. Its format is one of seven (choose.h has the rule):
 *
 *   COO     up to 12 entries: a byte each, row << 4 | column               DNS     all m x c values, column by column
 *   CSR     m row starts, a byte per column                                DNSROW  numbers of the full rows; their values row by row
 *   ELL     width x m bytes and values, slot by slot; 0xf0: empty          DNSCOL  numbers of the full columns; their values by columns
 *   HYB     an ELL part, then up to 4 entries as COO
 *
 * A stored zero gets a sign bit, so that in a DNS tile it differs from a place without an entry. Source of the formats:
 * [niu2021tile]. Implemented by format.c. */
#ifndef SPTI_TRSV_TILES_TILE_H
#define SPTI_TRSV_TILES_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/device/host_device.h"

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

/* rows[r]: bit c is set where row r has an entry in column c. */
typedef struct {
  uint16_t rows[SPTI_TILE];
  int32_t m, c; /* rows and columns that the tile has: 16 but for tile rows with padding */
} spti_tile_mask;

typedef struct {
  spti_tile_format format;
  int32_t entries;
  int32_t extra;             /* HYB: entries behind its ELL part */
  int32_t width;             /* ELL, HYB: slots per row; DNSROW, DNSCOL: full rows or columns */
  int32_t positions, values; /* numbers of stored bytes and stored values */
} spti_tile_shape;

#ifdef __cplusplus
extern "C" {
#endif

spti_tile_shape spti_tile_choose(const spti_tile_mask *); /* the format; the tile has at least one entry */

/* The stored order of a tile: order[slot] = row << 4 | column of the value in that slot, -1 for no entry; positions: the bytes that the
 * tile stores. At most 256 of each. */
void spti_tile_arrange(uint8_t *positions, int16_t *order, const spti_tile_mask *, const spti_tile_shape *);

/* The inverse: order from positions. In DNS tiles order has all places, since only values tell which of them are entries. first: the
 * first byte of the tile's shape, see below. */
void spti_tile_unpack(int16_t *order, const uint8_t *positions, spti_tile_format, int32_t first, int32_t width, int32_t m, int32_t c);

/* The first level of storage: a word for each tile, tile row << 5 | code. A COO tile's code is entries - 1. Tiles of other formats also
 * have two bytes, their shape: `first`, which is entries - 1, for HYB the entries behind its ELL part; and `width`. */
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

#ifdef __cplusplus
}
#endif

#endif
