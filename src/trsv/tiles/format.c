/* format.c -- the order of a tile's entries in each format (tile.h); choose.h chooses the format. */
#include "trsv/tiles/choose.h"

spti_tile_shape spti_tile_choose(const spti_tile_mask *t) { return spti_tile_shape_for(t); }

/* ---- arranging: slots in the order in which they are stored ---- */

typedef struct {
  uint8_t *positions;
  int16_t *order;
  int32_t slots;
} writer;

static void put(writer *w, int32_t r, int32_t c) { w->order[w->slots++] = (int16_t)(r << 4 | c); }

/* The column of a row's entry number e; -1 if the row has fewer. */
static int32_t entry_of_row(uint32_t row, int32_t e) {
  for (; e > 0 && row; e--) row &= row - 1;
  return row ? spti_tile_bits((row & -row) - 1) : -1;
}

static void arrange_by_rows(writer *w, const spti_tile_mask *t, bool csr) {
  for (int32_t r = 0; r < t->m; r++) {
    if (csr) w->positions[r] = (uint8_t)w->slots;
    for (int32_t c = 0; c < t->c; c++) {
      if (!(t->rows[r] >> c & 1)) continue;
      w->positions[(csr ? t->m : 0) + w->slots] = (uint8_t)(csr ? c : r << 4 | c);
      put(w, r, c);
    }
  }
}

static void arrange_slots(writer *w, const spti_tile_mask *t, int32_t width) {
  for (int32_t slot = 0; slot < width; slot++)
    for (int32_t r = 0; r < t->m; r++) {
      const int32_t c = entry_of_row(t->rows[r], slot);
      w->positions[w->slots] = c < 0 ? SPTI_TILE_EMPTY : (uint8_t)c;
      if (c >= 0) put(w, r, c);
      else w->order[w->slots++] = -1;
    }
}

static void arrange_spill(writer *w, const spti_tile_mask *t, int32_t width) {
  for (int32_t r = 0; r < t->m; r++)
    for (int32_t e = width, c; (c = entry_of_row(t->rows[r], e)) >= 0; e++) {
      w->positions[w->slots] = (uint8_t)(r << 4 | c);
      put(w, r, c);
    }
}

static void arrange_full_rows(writer *w, const spti_tile_mask *t) {
  for (int32_t r = 0, row = 0; r < t->m; r++)
    if (t->rows[r]) {
      w->positions[row++] = (uint8_t)r;
      for (int32_t c = 0; c < t->c; c++) put(w, r, c);
    }
}

/* All columns of a DNS tile, which have no positions, or the full ones. */
static void arrange_columns(writer *w, const spti_tile_mask *t, bool all) {
  for (int32_t c = 0, column = 0; c < t->c; c++) {
    if (!all && !(t->rows[0] >> c & 1)) continue;
    if (!all) w->positions[column++] = (uint8_t)c;
    for (int32_t r = 0; r < t->m; r++) {
      if (t->rows[r] >> c & 1) put(w, r, c);
      else w->order[w->slots++] = -1;
    }
  }
}

void spti_tile_arrange(uint8_t *positions, int16_t *order, const spti_tile_mask *t, const spti_tile_shape *shape) {
  writer w = {positions, order, 0};
  switch (shape->format) {
  case SPTI_TILE_CSR: arrange_by_rows(&w, t, true); return;
  case SPTI_TILE_ELL: arrange_slots(&w, t, shape->width); return;
  case SPTI_TILE_HYB:
    arrange_slots(&w, t, shape->width);
    arrange_spill(&w, t, shape->width);
    return;
  case SPTI_TILE_DNS: arrange_columns(&w, t, true); return;
  case SPTI_TILE_DNSROW: arrange_full_rows(&w, t); return;
  case SPTI_TILE_DNSCOL: arrange_columns(&w, t, false); return;
  default: arrange_by_rows(&w, t, false);
  }
}

/* ---- the way back ---- */

static void unpack_rows(int16_t *order, const uint8_t *positions, int32_t entries, int32_t m) {
  for (int32_t r = 0, e = 0; r < m; r++) {
    const int32_t end = r + 1 < m ? positions[r + 1] : entries;
    for (; e < end; e++) order[e] = (int16_t)(r << 4 | positions[m + e]);
  }
}

static void unpack_slots(int16_t *order, const uint8_t *positions, int32_t slots, int32_t m) {
  for (int32_t s = 0; s < slots; s++) order[s] = positions[s] == SPTI_TILE_EMPTY ? -1 : (int16_t)(s % m << 4 | positions[s]);
}

void spti_tile_unpack(int16_t *order, const uint8_t *positions, spti_tile_format format, int32_t first, int32_t width, int32_t m,
                      int32_t c) {
  const int32_t values = spti_tile_values((int32_t)format, first, width, m, c);
  switch (format) {
  case SPTI_TILE_CSR: unpack_rows(order, positions, first + 1, m); return;
  case SPTI_TILE_ELL: unpack_slots(order, positions, values, m); return;
  case SPTI_TILE_HYB:
    unpack_slots(order, positions, width * m, m);
    for (int32_t s = width * m; s < values; s++) order[s] = positions[s];
    return;
  case SPTI_TILE_DNSROW:
    for (int32_t s = 0; s < values; s++) order[s] = (int16_t)(positions[s / c] << 4 | s % c);
    return;
  case SPTI_TILE_DNSCOL:
    for (int32_t s = 0; s < values; s++) order[s] = (int16_t)(s % m << 4 | positions[s / m]);
    return;
  default:
    for (int32_t s = 0; s < values; s++) order[s] = (int16_t)(s % m << 4 | s / m);
  }
}
