/* solve.tmpl.h -- bodies of solve.c for one type T. */

/* A tile's entries as a plain list, whatever its format. */
typedef struct {
  int32_t count, tile_row; /* tile row on the other side */
  uint8_t within[PLACES];  /* row << 4 | column */
  T value[PLACES];
} NAME(tile);

/* Where the next tile of an item is stored. */
typedef struct {
  int32_t coo, other, position, value;
} NAME(cursor);

static void NAME(unpack_coo)(NAME(tile) * to, const spti_tiles *t, NAME(cursor) * at, int32_t entries) {
  to->count = entries;
  memcpy(to->within, t->coo_position + at->coo, (size_t)entries);
  memcpy(to->value, (const T *)t->coo_value + at->coo, (size_t)entries * sizeof(T));
  at->coo += entries;
}

static void NAME(unpack_other)(NAME(tile) * to, const spti_tiles *t, NAME(cursor) * at, int32_t format, int32_t m, int32_t c) {
  static const T none = 0; /* no sign: no entry of a DNS tile */
  const int32_t first = t->shape[2 * at->other], width = t->shape[2 * at->other + 1];
  const int32_t values = spti_tile_values(format, first, width, m, c);
  const T *value = (const T *)t->value + at->value;
  int16_t order[PLACES];
  spti_tile_unpack(order, t->position + at->position, (spti_tile_format)format, first, width, m, c);
  to->count = 0;
  for (int32_t s = 0; s < values; s++) {
    if (order[s] < 0 || (format == SPTI_TILE_DNS && memcmp(&value[s], &none, sizeof none) == 0)) continue;
    to->within[to->count] = (uint8_t)order[s];
    to->value[to->count++] = value[s];
  }
  at->other++;
  at->position += spti_tile_positions(format, first, width, m);
  at->value += values;
}

/* Unpacks tile number `tile`, which has `rows` rows and `columns` columns; 0 stands for the number that the tile's own tile row has. */
static void NAME(unpack)(NAME(tile) * to, const spti_tiles *t, NAME(cursor) * at, int32_t tile, int32_t columns, int32_t rows) {
  const uint32_t word = word_at(t, tile), code = word & SPTI_TILE_CODE_MASK;
  const int32_t format = spti_tile_format_of((int32_t)code);
  to->tile_row = (int32_t)(word >> SPTI_TILE_CODE_BITS);
  if (format == SPTI_TILE_COO) NAME(unpack_coo)(to, t, at, (int32_t)code + 1);
  else NAME(unpack_other)(to, t, at, format, rows ? rows : t->used[to->tile_row], columns ? columns : t->used[to->tile_row]);
}

static NAME(cursor) NAME(begin)(const int32_t *item) {
  return (NAME(cursor)){item[SPTI_TILE_ITEM_COO], item[SPTI_TILE_ITEM_OTHER], item[SPTI_TILE_ITEM_POSITION], item[SPTI_TILE_ITEM_VALUE]};
}

/* ---- by rows ---- */

/* sums += the tile's entries times the solutions of its columns. */
static void NAME(multiply)(T sums[][COLUMNS], const NAME(tile) * tile, const spti_tiles *t, const T *w, int64_t ld, int32_t width) {
  for (int32_t e = 0; e < tile->count; e++) {
    const T *x = w + t->row[tile->tile_row * SPTI_TILE + (tile->within[e] & 15)] * ld;
    for (int32_t k = 0; k < width; k++) sums[tile->within[e] >> 4][k] += tile->value[e] * x[k];
  }
}

/* The diagonal tile of a final item: sums are what the other tiles give. */
static void NAME(solve_tile_row)(T sums[][COLUMNS], const spti_tiles *t, const int32_t *item, T *w, int64_t ld, int32_t width) {
  const int32_t tile_row = item_tile_row(item), inner = item[SPTI_TILE_ITEM_INNER];
  const uint8_t *ends = t->inner_byte + item[SPTI_TILE_ITEM_INNER_BYTE];
  for (int32_t r = 0, e = 0; r < t->used[tile_row]; r++) {
    T *x = w + t->row[tile_row * SPTI_TILE + r] * ld;
    for (; inner >= 0 && e < ends[r]; e++) {
      const T *needed = w + t->row[tile_row * SPTI_TILE + ends[SPTI_TILE + e]] * ld;
      for (int32_t k = 0; k < width; k++) sums[r][k] += ((const T *)t->inner_value)[inner + e] * needed[k];
    }
    for (int32_t k = 0; k < width; k++) x[k] = (x[k] - sums[r][k]) / ((const T *)t->diagonal)[tile_row * SPTI_TILE + r];
  }
}

/* A tile row's parts stand before its final item, so their sums need no place of their own. */
static void NAME(pull_columns)(const spti_tiles *t, T *w, int64_t ld, int32_t width) {
  T sums[SPTI_TILE][COLUMNS] = {{0}};
  for (int32_t i = 0; i < t->items; i++) {
    const int32_t *item = t->item + (size_t)i * SPTI_TILE_ITEM_WORDS;
    NAME(cursor) at = NAME(begin)(item);
    const int32_t end = item[SPTI_TILE_ITEM_TILE] + item[SPTI_TILE_ITEM_COO_TILES] + item[SPTI_TILE_ITEM_OTHER_TILES];
    for (int32_t tile = item[SPTI_TILE_ITEM_TILE]; tile < end; tile++) {
      NAME(tile) plain;
      NAME(unpack)(&plain, t, &at, tile, 0, out_rows(item));
      NAME(multiply)(sums, &plain, t, w, ld, width);
    }
    if (item_tile_row(item) >= t->tile_rows) continue;
    NAME(solve_tile_row)(sums, t, item, w, ld, width);
    memset(sums, 0, sizeof sums);
  }
}

static void NAME(pull_items)(const spti_tiles *t, void *panel, int64_t ld, int32_t width) {
  for (int32_t k = 0; k < width; k += COLUMNS) NAME(pull_columns)(t, (T *)panel + k, ld, width - k < COLUMNS ? width - k : COLUMNS);
}

/* ---- by columns ---- */

static void NAME(solve_column)(const spti_tiles *t, const int32_t *item, T *w, int64_t ld, int32_t width) {
  const int32_t tile_row = item_tile_row(item), inner = item[SPTI_TILE_ITEM_INNER];
  const uint8_t *ends = t->inner_byte + item[SPTI_TILE_ITEM_INNER_BYTE];
  for (int32_t c = 0, e = 0; c < t->used[tile_row]; c++) {
    T *x = w + t->row[tile_row * SPTI_TILE + c] * ld;
    for (int32_t k = 0; k < width; k++) x[k] /= ((const T *)t->diagonal)[tile_row * SPTI_TILE + c];
    for (; inner >= 0 && e < ends[c]; e++) {
      T *fed = w + t->row[tile_row * SPTI_TILE + ends[SPTI_TILE + e]] * ld;
      for (int32_t k = 0; k < width; k++) fed[k] -= ((const T *)t->inner_value)[inner + e] * x[k];
    }
  }
}

/* Rows of the tile -= its entries times the solutions of its columns, which are those of tile column `own`. */
static void NAME(feed)(const NAME(tile) * tile, const spti_tiles *t, int32_t own, T *w, int64_t ld, int32_t width) {
  for (int32_t e = 0; e < tile->count; e++) {
    const T *x = w + t->row[own * SPTI_TILE + (tile->within[e] & 15)] * ld;
    T *fed = w + t->row[tile->tile_row * SPTI_TILE + (tile->within[e] >> 4)] * ld;
    for (int32_t k = 0; k < width; k++) fed[k] -= tile->value[e] * x[k];
  }
}

static void NAME(push_items)(const spti_tiles *t, void *panel, int64_t ld, int32_t width) {
  T *w = panel;
  for (int32_t i = 0; i < t->items; i++) {
    const int32_t *item = t->item + (size_t)i * SPTI_TILE_ITEM_WORDS;
    const int32_t tile_row = item_tile_row(item),
                  end = item[SPTI_TILE_ITEM_TILE] + item[SPTI_TILE_ITEM_COO_TILES] + item[SPTI_TILE_ITEM_OTHER_TILES];
    NAME(cursor) at = NAME(begin)(item);
    NAME(solve_column)(t, item, w, ld, width);
    for (int32_t tile = item[SPTI_TILE_ITEM_TILE]; tile < end; tile++) {
      NAME(tile) plain;
      NAME(unpack)(&plain, t, &at, tile, t->used[tile_row], 0);
      NAME(feed)(&plain, t, tile_row, w, ld, width);
    }
  }
}
