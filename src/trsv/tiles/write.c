/* write.c -- see write.h. */
#include "trsv/tiles/write.h"

#include <string.h>

#include "core/context/alloc.h"

/* ---- values of any type ---- */

static void negate_real(void *value, size_t bytes, size_t at) { ((uint8_t *)value)[at + bytes - 1] ^= 0x80; /* little endian */ }

/* to[slot] = the view's entry p, conjugated where the view says so. */
static void *put_value(const spti_view *v, void *values, int64_t slot, int64_t p) {
  const size_t bytes = sptrsm_dtype_bytes(v->dtype);
  uint8_t *to = (uint8_t *)values + (size_t)slot * bytes;
  memcpy(to, (const uint8_t *)v->val + (size_t)p * bytes, bytes);
  if (v->conj && v->dtype >= SPTRSM_C64) negate_real(to, bytes / 2, bytes / 2);
  return to;
}

static bool all_bits_zero(const uint8_t *value, size_t bytes) {
  for (size_t b = 0; b < bytes; b++)
    if (value[b]) return false;
  return true;
}

/* The same in a DNS tile: p -1 is no entry; a zero that is one has a sign. */
static void put_dense_value(const spti_view *v, void *values, int64_t slot, int64_t p) {
  const size_t bytes = sptrsm_dtype_bytes(v->dtype);
  if (p < 0) {
    memset((uint8_t *)values + (size_t)slot * bytes, 0, bytes);
    return;
  }
  void *to = put_value(v, values, slot, p);
  if (all_bits_zero(to, bytes)) negate_real(to, v->dtype >= SPTRSM_C64 ? bytes / 2 : bytes, 0);
}

static void put_one(void *values, int64_t slot, sptrsm_dtype dtype) {
  static const float f32[2] = {1, 0};
  static const double f64[2] = {1, 0};
  const size_t bytes = sptrsm_dtype_bytes(dtype);
  memcpy((uint8_t *)values + (size_t)slot * bytes, dtype == SPTRSM_F32 || dtype == SPTRSM_C64 ? (const void *)f32 : (const void *)f64,
         bytes);
}

static int64_t stored_diagonal(const spti_view *v, int32_t i) { return v->head ? v->ptr[i] : v->ptr[i + 1] - 1; }

static void write_diagonal(const spti_tiles *t, const spti_view *v, int32_t tile_row) {
  for (int32_t q = tile_row * SPTI_TILE; q < (tile_row + 1) * SPTI_TILE; q++) {
    if (t->row[q] < 0 || v->unit) put_one(t->diagonal, q, t->dtype);
    else put_value(v, t->diagonal, q, stored_diagonal(v, t->row[q]));
  }
}

/* ---- tiles ---- */

/* Where the next tile goes. */
typedef struct {
  const spti_tiles *t;
  spti_tile_sorter *s;
  int32_t tile_row, tile, other, coo, position, value, inner, inner_byte;
} cursor;

static void put_word(const cursor *c, int32_t to, const spti_tile_shape *shape, int32_t t) {
  const uint32_t code = (uint32_t)spti_tile_code(shape->format, shape->entries);
  const uint32_t word = (uint32_t)c->s->other[t] << SPTI_TILE_CODE_BITS | code;
  memcpy(&c->t->word[to], &word, sizeof word);
}

/* At most 12 entries: sorted as they are put in. */
static void write_coo(cursor *c, int32_t t) {
  const spti_tile_entry *from = c->s->sorted + c->s->begin[t];
  const int32_t count = c->s->begin[t + 1] - c->s->begin[t];
  for (int32_t e = 0; e < count; e++) {
    int32_t rank = 0;
    for (int32_t f = 0; f < count; f++) rank += from[f].within < from[e].within;
    c->t->coo_position[c->coo + rank] = from[e].within;
    put_value(c->s->view, c->t->coo_value, c->coo + rank, from[e].p);
  }
  c->coo += count;
}

static void write_other(cursor *c, const spti_tile_mask *mask, const spti_tile_shape *shape) {
  int16_t order[SPTI_TILE_PLACES];
  spti_tile_arrange(c->t->position + c->position, order, mask, shape);
  for (int32_t slot = 0; slot < shape->values; slot++)
    put_dense_value(c->s->view, c->t->value, c->value + slot, order[slot] < 0 ? -1 : c->s->source[order[slot]]);
  c->t->shape[2 * c->other] = (uint8_t)(shape->format == SPTI_TILE_HYB ? shape->extra : shape->entries - 1);
  c->t->shape[2 * c->other + 1] = (uint8_t)shape->width;
  c->other++;
  c->position += shape->positions;
  c->value += shape->values;
}

/* Tiles [first, last) of the tile row: COO tiles, then the others. Returns how many are COO. */
static int32_t write_tiles(cursor *c, int32_t first, int32_t last) {
  int32_t coos = 0, others = 0;
  for (int32_t t = first; t < last; t++) {
    spti_tile_mask mask;
    const spti_tile_shape shape = spti_tile_shape_of(&mask, c->s, c->tile_row, t);
    if (shape.format == SPTI_TILE_COO) {
      put_word(c, c->tile + coos++, &shape, t);
      write_coo(c, t);
    }
  }
  for (int32_t t = first; t < last; t++) {
    spti_tile_mask mask;
    const spti_tile_shape shape = spti_tile_shape_of(&mask, c->s, c->tile_row, t);
    if (shape.format != SPTI_TILE_COO) {
      put_word(c, c->tile + coos + others++, &shape, t);
      write_other(c, &mask, &shape);
    }
  }
  c->tile += last - first;
  return coos;
}

/* By rows: where each row ends, and columns; by columns likewise, where each column ends, and rows. */
static void write_inner(cursor *c) {
  spti_tile_sorter *s = c->s;
  const bool by_columns = c->t->by_columns;
  if (s->inner_count == 0) return;
  int32_t count = 0;
  for (int32_t own = 0; own < SPTI_TILE; own++) {
    for (int32_t other = 0; other < SPTI_TILE; other++) {
      const int32_t r = by_columns ? other : own, column = by_columns ? own : other;
      if (!(s->inner[r] >> column & 1)) continue;
      c->t->inner_byte[c->inner_byte + SPTI_TILE + count] = (uint8_t)other;
      put_value(s->view, c->t->inner_value, c->inner + count++, s->inner_source[r << 4 | column]);
    }
    c->t->inner_byte[c->inner_byte + own] = (uint8_t)count;
  }
}

/* ---- items ---- */

static void put_item(int32_t **item, const int32_t words[SPTI_TILE_ITEM_WORDS]) {
  memcpy(*item, words, SPTI_TILE_ITEM_WORDS * sizeof *words);
  *item += SPTI_TILE_ITEM_WORDS;
}

static int32_t out_word(const cursor *c, int32_t block) {
  const uint32_t word = (uint32_t)block | (uint32_t)(c->t->used[c->tile_row] - 1) << SPTI_TILE_OUT_BITS;
  int32_t out;
  memcpy(&out, &word, sizeof out);
  return out;
}

/* Items that add up the sums [first, last) of others, until so few are left that the final item can. Returns those. */
typedef struct {
  int32_t first, last;
} span;

static span write_sums(const cursor *c, int32_t **item, span sums) {
  while (sums.last - sums.first > SPTI_TILE_SUMS_MOST) {
    span next = {sums.last, sums.last};
    for (int32_t from = sums.first; from < sums.last; from += SPTI_TILE_SUMS_MOST, next.last++) {
      const int32_t count = sums.last - from < SPTI_TILE_SUMS_MOST ? sums.last - from : SPTI_TILE_SUMS_MOST;
      put_item(item, (int32_t[SPTI_TILE_ITEM_WORDS]){[SPTI_TILE_ITEM_OUT] = out_word(c, next.last),
                                                     [SPTI_TILE_ITEM_INNER] = -1,
                                                     [SPTI_TILE_ITEM_SUM] = from,
                                                     [SPTI_TILE_ITEM_SUMS] = count});
    }
    sums = next;
  }
  return sums;
}

void spti_tile_write_row(const spti_tiles *t, const spti_tile_sizes *sizes, spti_tile_sorter *s, int32_t *items, int32_t tile_row) {
  int32_t *const *running = sizes->running, *item = items + (size_t)running[SPTI_TILE_ITEMS][tile_row] * SPTI_TILE_ITEM_WORDS;
  cursor c = {t,
              s,
              tile_row,
              running[SPTI_TILE_TILES][tile_row],
              running[SPTI_TILE_OTHERS][tile_row],
              running[SPTI_TILE_COOS][tile_row],
              running[SPTI_TILE_POSITIONS][tile_row],
              running[SPTI_TILE_VALUES][tile_row],
              running[SPTI_TILE_INNERS][tile_row],
              running[SPTI_TILE_INNER_BYTES][tile_row]};
  const int32_t step = t->by_columns ? s->tile_count : t->most;
  span parts = {t->tile_rows + running[SPTI_TILE_PARTS][tile_row], t->tile_rows + running[SPTI_TILE_PARTS][tile_row]};
  write_diagonal(t, s->view, tile_row);
  write_inner(&c);
  for (int32_t first = 0, last; first == 0 || first < s->tile_count; first = last) {
    last = s->tile_count - first > step ? first + step : s->tile_count;
    const bool is_final = last == s->tile_count;
    int32_t words[SPTI_TILE_ITEM_WORDS] = {[SPTI_TILE_ITEM_TILE] = c.tile,
                                           [SPTI_TILE_ITEM_COO] = c.coo,
                                           [SPTI_TILE_ITEM_OTHER] = c.other,
                                           [SPTI_TILE_ITEM_POSITION] = c.position,
                                           [SPTI_TILE_ITEM_VALUE] = c.value,
                                           [SPTI_TILE_ITEM_INNER] = -1,
                                           [SPTI_TILE_ITEM_INNER_BYTE] = c.inner_byte};
    const int32_t coos = write_tiles(&c, first, last);
    words[SPTI_TILE_ITEM_COO_TILES] = coos;
    words[SPTI_TILE_ITEM_OTHER_TILES] = last - first - coos;
    if (is_final) {
      parts = write_sums(&c, &item, parts);
      if (s->inner_count > 0) words[SPTI_TILE_ITEM_INNER] = c.inner;
      words[SPTI_TILE_ITEM_SUM] = parts.first;
      words[SPTI_TILE_ITEM_SUMS] = parts.last - parts.first;
    }
    words[SPTI_TILE_ITEM_OUT] = out_word(&c, is_final ? tile_row : parts.last++);
    put_item(&item, words);
    if (is_final) break;
  }
}
