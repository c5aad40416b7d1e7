/* tile_format.c -- which of seven formats stores an off-diagonal tile, and how its entries lie in it. The rule is that of tiled sparse
 * matrix-vector multiplication [niu2021tile], which [lu2023tile] takes over; m rows, c columns, in this order:
 *   at least 3/4 of m c entries: DNS; at most 12: COO; every nonempty row full: DNSROW; every nonempty column full: DNSCOL;
 *   variation of the rows' lengths (standard deviation over mean) at most 0.2: ELL; above 1.0, and at most 4 entries behind the ELL part
 *   of the width that stores least: HYB; else CSR.
 * All of it in integers, so that it is the same everywhere. */
#include "core/tiles.h"

static int32_t count_bits(uint32_t v) {
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
} census;

static census count_entries(const spti_tile_mask *t) {
  census s = {.all_rows = ~0u, .full_rows = true};
  for (int32_t r = 0; r < t->m; r++) {
    const int32_t length = s.length[r] = count_bits(t->rows[r]);
    s.entries += length;
    s.squares += length * length;
    if (length > s.longest) s.longest = length;
    if (length > 0) s.rows++;
    if (length > 0 && length < t->c) s.full_rows = false;
    s.any_row |= t->rows[r];
    s.all_rows &= t->rows[r];
  }
  s.columns = count_bits(s.any_row);
  return s;
}

static int32_t count_spill(const census *s, int32_t m, int32_t width) {
  int32_t spill = 0;
  for (int32_t r = 0; r < m; r++) spill += s->length[r] > width ? s->length[r] - width : 0;
  return spill;
}

/* The width that stores fewest values, the wider one of equals. An entry behind the ELL part takes what a slot takes. */
static int32_t best_width(const census *s, int32_t m) {
  int32_t best = s->longest;
  for (int32_t width = s->longest - 1; width > 0; width--)
    if (width * m + count_spill(s, m, width) < best * m + count_spill(s, m, best)) best = width;
  return best;
}

/* deviation^2 / mean^2 = (m squares - entries^2) / entries^2 against the square of the bound, in 25ths. */
static bool varies_more(const census *s, int32_t m, int32_t bound25) {
  return 25 * (m * s->squares - s->entries * s->entries) > bound25 * s->entries * s->entries;
}

spti_tile_shape spti_tile_choose(const spti_tile_mask *t) {
  const census s = count_entries(t);
  spti_tile_shape shape = {.entries = s.entries, .width = s.longest};
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
  } else if (!varies_more(&s, t->m, 1)) {
    shape.format = SPTI_TILE_ELL;
    shape.positions = shape.values = s.longest * t->m;
  } else {
    const int32_t width = best_width(&s, t->m), spill = count_spill(&s, t->m, width);
    if (varies_more(&s, t->m, 25) && spill <= SPTI_TILE_SPILL_MOST) {
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

/* ---- arranging: slots in the order in which they are stored ---- */

typedef struct {
  uint8_t *positions;
  int16_t *order;
  int32_t slots;
} writer;

static void put(writer *w, int32_t r, int32_t c) { w->order[w->slots++] = (int16_t)(r << 4 | c); }

/* The c-th column of a row's entries; -1 behind them. */
static int32_t entry_of_row(uint32_t row, int32_t e) {
  for (; e > 0 && row; e--) row &= row - 1;
  return row ? count_bits((row & -row) - 1) : -1;
}

static void arrange_by_rows(writer *w, const spti_tile_mask *t, bool csr) {
  for (int32_t r = 0; r < t->m; r++) {
    if (csr) w->positions[r] = (uint8_t)w->slots;
    for (int32_t c = 0; c < t->c; c++)
      if (t->rows[r] >> c & 1) {
        if (csr) w->positions[t->m + w->slots] = (uint8_t)c;
        else w->positions[w->slots] = (uint8_t)(r << 4 | c);
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
