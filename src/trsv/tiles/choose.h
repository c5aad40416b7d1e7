/* choose.h -- which of seven formats stores an off-diagonal tile, on the host and in kernels. The rule is that of tiled sparse
 * matrix-vector multiplication [niu2021tile], which [lu2023tile] takes over; m rows, c columns, in this order:
 *   at least 3/4 of m c entries: DNS; at most 12: COO; every nonempty row full: DNSROW; every nonempty column full: DNSCOL;
 *   variation of the rows' lengths (standard deviation over mean) at most 0.2: ELL;
 *   above 1.0, and at most 4 entries behind an ELL part of the cheapest width (the one that stores fewest values): HYB;
 *   else CSR.
 * All of it in integers, so that it is the same everywhere. */
#ifndef SPTI_TRSV_TILES_CHOOSE_H
#define SPTI_TRSV_TILES_CHOOSE_H

#include "trsv/tiles/tile.h"

static inline SPTI_ANYWHERE int32_t spti_tile_bits(uint32_t v) {
  int32_t count = 0;
  for (; v; v &= v - 1) count++;
  return count;
}

typedef struct {
  int32_t length[SPTI_TILE]; /* of rows */
  int32_t entries, squares, longest;
  int32_t rows, columns; /* nonempty ones */
  uint32_t any_row;      /* columns with an entry */
  uint32_t all_rows;     /* columns with an entry in every row */
  bool full_rows;        /* all nonempty rows are full */
} spti_tile_census;

static inline SPTI_ANYWHERE spti_tile_census spti_tile_count(const spti_tile_mask *t) {
  spti_tile_census s;
  s.entries = s.squares = s.longest = s.rows = 0;
  s.any_row = 0;
  s.all_rows = ~0u;
  s.full_rows = true;
  for (int32_t r = 0; r < t->m; r++) {
    const int32_t length = s.length[r] = spti_tile_bits(t->rows[r]);
    s.entries += length;
    s.squares += length * length;
    if (length > s.longest) s.longest = length;
    if (length > 0) s.rows++;
    if (length > 0 && length < t->c) s.full_rows = false;
    s.any_row |= t->rows[r];
    s.all_rows &= t->rows[r];
  }
  s.columns = spti_tile_bits(s.any_row);
  return s;
}

static inline SPTI_ANYWHERE int32_t spti_tile_spill(const spti_tile_census *s, int32_t m, int32_t width) {
  int32_t spill = 0;
  for (int32_t r = 0; r < m; r++) spill += s->length[r] > width ? s->length[r] - width : 0;
  return spill;
}

/* The width that stores fewest values, the wider one of equals. An entry behind the ELL part takes what a slot takes. */
static inline SPTI_ANYWHERE int32_t spti_tile_best_width(const spti_tile_census *s, int32_t m) {
  int32_t best = s->longest;
  for (int32_t width = s->longest - 1; width > 0; width--)
    if (width * m + spti_tile_spill(s, m, width) < best * m + spti_tile_spill(s, m, best)) best = width;
  return best;
}

/* deviation^2 / mean^2 = (m squares - entries^2) / entries^2 against the square of the bound, in 25ths. */
static inline SPTI_ANYWHERE bool spti_tile_varies_more(const spti_tile_census *s, int32_t m, int32_t bound25) {
  return 25 * (m * s->squares - s->entries * s->entries) > bound25 * s->entries * s->entries;
}

static inline SPTI_ANYWHERE spti_tile_shape spti_tile_shape_for(const spti_tile_mask *t) {
  const spti_tile_census s = spti_tile_count(t);
  spti_tile_shape shape;
  shape.entries = s.entries;
  shape.width = s.longest;
  shape.extra = shape.positions = 0;
  if (4 * s.entries >= 3 * t->m * t->c) {
    shape.format = SPTI_TILE_DNS;
    shape.values = t->m * t->c;
  } else if (s.entries <= SPTI_TILE_COO_MOST) {
    shape.format = SPTI_TILE_COO;
    shape.positions = shape.values = s.entries;
  } else if (s.full_rows) {
    shape.format = SPTI_TILE_DNSROW;
    shape.positions = shape.width = s.rows;
    shape.values = s.entries;
  } else if (s.any_row == s.all_rows) {
    shape.format = SPTI_TILE_DNSCOL;
    shape.positions = shape.width = s.columns;
    shape.values = s.entries;
  } else if (!spti_tile_varies_more(&s, t->m, 1)) {
    shape.format = SPTI_TILE_ELL;
    shape.positions = shape.values = s.longest * t->m;
  } else {
    const int32_t width = spti_tile_best_width(&s, t->m), spill = spti_tile_spill(&s, t->m, width);
    if (spti_tile_varies_more(&s, t->m, 25) && spill <= SPTI_TILE_SPILL_MOST) {
      shape.format = SPTI_TILE_HYB;
      shape.width = width;
      shape.extra = spill;
      shape.positions = shape.values = width * t->m + spill;
    } else {
      shape.format = SPTI_TILE_CSR;
      shape.positions = t->m + s.entries;
      shape.values = s.entries;
    }
  }
  return shape;
}

#endif
