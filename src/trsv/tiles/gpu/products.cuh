/* products.cuh -- tiles in the solve kernels: items, the COO entries of an item, and a loader for each other format.
 *
 * Tiles of other formats than COO: a warp takes a tile; lane r + 16 h has every second entry of row r, from entry h on, at most 8. The
 * format's loader finds the lane's entries before the solutions are waited for. Multiplying is then the same for all formats: the
 * solutions of the tile's 16 columns are in 16 lanes and are passed by shuffles.
 *
 * COO tiles have too few entries for that. The COO entries of an item are contiguous: a warp takes 32 at once, from one or more tiles,
 * and finds the tile of each entry by counting the tiles that begin before it. Votes on the four bits of the row numbers find the
 * products of one row, which the row's two lanes add in a fixed order, so that sums have the same bits every time. */
#ifndef SPTI_TRSV_TILES_PRODUCTS_CUH
#define SPTI_TRSV_TILES_PRODUCTS_CUH

#include "core/device/device.cuh"
#include "trsv/tiles/arrays.h"

namespace spti {

enum { TILE_SHARE = SPTI_TILE / 2, TILE_INNER_MOST = SPTI_TILE * (SPTI_TILE - 1) / 2 };

SPTI_DEVICE int row_in_tile() { return lane() % SPTI_TILE; }
SPTI_DEVICE int half_in_tile() { return lane() / SPTI_TILE; }
SPTI_DEVICE uint32_t lanes_below(int count) { return (1u << count) - 1; } /* count < 32 */

/* A product that rounds in the same way wherever it stands: a method's solutions for one right-hand side and for many have the
 * same bits. */
SPTI_DEVICE float rounded(float a, float b) { return product(a, b); }
SPTI_DEVICE double rounded(double a, double b) { return product(a, b); }
template <typename R> SPTI_DEVICE complex_t<R> rounded(complex_t<R> a, complex_t<R> b) {
  return {fused(-a.im, b.im, product(a.re, b.re)), fused(a.im, b.re, product(a.re, b.im))};
}

/* ---- items ---- */

struct tile_item {
  int32_t words[SPTI_TILE_ITEM_WORDS];

  /* Whole warp. */
  SPTI_DEVICE tile_item(const spti_tile_arrays &a, int32_t i) {
    const int32_t own = lane() < SPTI_TILE_ITEM_WORDS ? load_const(a.item + int64_t(i) * SPTI_TILE_ITEM_WORDS + lane()) : 0;
#pragma unroll
    for (int w = 0; w < SPTI_TILE_ITEM_WORDS; w++) words[w] = shfl(own, w);
  }
  SPTI_DEVICE int32_t out() const { return words[SPTI_TILE_ITEM_OUT] & ((1 << SPTI_TILE_OUT_BITS) - 1); }
  SPTI_DEVICE int32_t used() const { return int32_t(uint32_t(words[SPTI_TILE_ITEM_OUT]) >> SPTI_TILE_OUT_BITS) + 1; }
  SPTI_DEVICE int32_t operator[](int w) const { return words[w]; }
};

SPTI_DEVICE int32_t tile_row_of_word(int32_t word) { return int32_t(uint32_t(word) >> SPTI_TILE_CODE_BITS); }

/* ---- COO tiles, up to 32 at once ---- */

/* A lane has one tile: its tile row, and where its entries begin among those of the batch. */
struct coo_tiles {
  int32_t tile_row, start, total;
  bool used;

  /* Whole warp: tiles [tile, tile + count) of the item. */
  SPTI_DEVICE coo_tiles(const spti_tile_arrays &a, int32_t tile, int32_t count) : used(lane() < count) {
    const int32_t word = used ? load_const(a.word + tile + lane()) : 0;
    const int32_t entries = used ? (word & SPTI_TILE_CODE_MASK) + 1 : 0;
    int32_t sum = entries;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const int32_t below = shfl(sum, lane() >= by ? lane() - by : lane());
      if (lane() >= by) sum += below;
    }
    tile_row = tile_row_of_word(word);
    start = sum - entries;
    total = shfl(sum, 31);
  }
  /* Whole warp: the tile row of entry base + lane. */
  SPTI_DEVICE int32_t tile_row_of_entry(int32_t base) const {
    const uint32_t begins = warp_or(used && start >= base && start < base + 32 ? 1u << (start - base) : 0u);
    const int32_t before = popcount(ballot(used && start < base));
    const int32_t tile = before + popcount(begins & (lanes_below(lane()) | 1u << lane())) - 1;
    return shfl(tile_row, tile);
  }
};

/* Whole warp: the lanes whose entries are in the lane's row, of the lower or the upper half of the lanes. */
SPTI_DEVICE uint32_t lanes_of_row(int row, bool used) {
  const int own = row_in_tile();
  const uint32_t bit0 = ballot(row & 1), bit1 = ballot(row & 2), bit2 = ballot(row & 4), bit3 = ballot(row & 8);
  const uint32_t same = (own & 1 ? bit0 : ~bit0) & (own & 2 ? bit1 : ~bit1) & (own & 4 ? bit2 : ~bit2) & (own & 8 ? bit3 : ~bit3);
  return same & ballot(used) & (half_in_tile() ? 0xffff0000u : 0x0000ffffu);
}
/* ---- tiles of other formats ---- */

/* A tile and where it is stored. */
template <typename T> struct tile_at {
  int32_t format, first, width, m, c;
  const uint8_t *position;
  const T *value;
};

/* What a lane has of it: entries h, h + 2, ... of row r. Kept small, since a lane holds two of them. */
template <typename T> struct tile_share {
  T value[TILE_SHARE];
  uint32_t columns, entries; /* four bits each; a bit each */

  SPTI_DEVICE void clear() { columns = entries = 0; }
  SPTI_DEVICE void set(int i, int32_t column, T v) {
    columns |= uint32_t(column) << 4 * i;
    entries |= 1u << i;
    value[i] = v;
  }
  SPTI_DEVICE bool has(int i) const { return entries >> i & 1; }
  SPTI_DEVICE int column(int i) const { return int(columns >> 4 * i & 15); }
};

SPTI_DEVICE bool is_stored(float v) { return float_bits(v) != 0; } /* no entry of a DNS tile is a zero without a sign */
SPTI_DEVICE bool is_stored(double v) { return double_bits(v) != 0; }
template <typename R> SPTI_DEVICE bool is_stored(complex_t<R> v) { return is_stored(v.re) || is_stored(v.im); }

template <typename T> SPTI_DEVICE void load_csr(tile_share<T> &s, const tile_at<T> &t) {
  const int r = row_in_tile();
  const int32_t begin = r < t.m ? load_const(t.position + r) : 0;
  const int32_t end = r + 1 < t.m ? load_const(t.position + r + 1) : r < t.m ? t.first + 1 : 0;
#pragma unroll
  for (int i = 0; i < TILE_SHARE; i++) {
    const int32_t e = begin + 2 * i + half_in_tile();
    if (e < end) s.set(i, load_const(t.position + t.m + e), load_const(t.value + e));
  }
}

template <typename T> SPTI_DEVICE void load_ell(tile_share<T> &s, const tile_at<T> &t) {
  const int r = row_in_tile();
#pragma unroll
  for (int i = 0; i < TILE_SHARE; i++) {
    const int32_t slot = 2 * i + half_in_tile(), at = slot * t.m + r;
    const int32_t byte = slot < t.width && r < t.m ? load_const(t.position + at) : int32_t(SPTI_TILE_EMPTY);
    if (byte != SPTI_TILE_EMPTY) s.set(i, byte, load_const(t.value + at));
  }
}

/* A row that has entries behind the ELL part has none missing in it. */
template <typename T> SPTI_DEVICE void load_hyb(tile_share<T> &s, const tile_at<T> &t) {
  load_ell(s, t);
  int32_t e = t.width;
  for (int32_t at = t.width * t.m; at < t.width * t.m + t.first; at++) {
    const int32_t byte = load_const(t.position + at);
    if (byte >> 4 != row_in_tile()) continue;
#pragma unroll
    for (int i = 0; i < TILE_SHARE; i++)
      if (e == 2 * i + half_in_tile()) s.set(i, byte & 15, load_const(t.value + at));
    e++;
  }
}

template <typename T> SPTI_DEVICE void load_dns(tile_share<T> &s, const tile_at<T> &t) {
  const int r = row_in_tile();
#pragma unroll
  for (int i = 0; i < TILE_SHARE; i++) {
    const int32_t c = 2 * i + half_in_tile();
    if (c >= t.c || r >= t.m) continue;
    const T v = load_const(t.value + c * t.m + r);
    if (is_stored(v)) s.set(i, c, v);
  }
}

template <typename T> SPTI_DEVICE void load_dnsrow(tile_share<T> &s, const tile_at<T> &t) {
  int32_t at = -1;
  for (int32_t full = 0; full < t.width; full++)
    if (load_const(t.position + full) == row_in_tile()) at = full;
#pragma unroll
  for (int i = 0; i < TILE_SHARE; i++) {
    const int32_t c = 2 * i + half_in_tile();
    if (at >= 0 && c < t.c) s.set(i, c, load_const(t.value + at * t.c + c));
  }
}

template <typename T> SPTI_DEVICE void load_dnscol(tile_share<T> &s, const tile_at<T> &t) {
  const int r = row_in_tile();
#pragma unroll
  for (int i = 0; i < TILE_SHARE; i++) {
    const int32_t full = 2 * i + half_in_tile();
    if (full < t.width && r < t.m) s.set(i, load_const(t.position + full), load_const(t.value + full * t.m + r));
  }
}

template <typename T> SPTI_DEVICE void load_tile(tile_share<T> &s, const tile_at<T> &t) {
  s.clear();
  switch (t.format) {
  case SPTI_TILE_CSR: return load_csr(s, t);
  case SPTI_TILE_ELL: return load_ell(s, t);
  case SPTI_TILE_HYB: return load_hyb(s, t);
  case SPTI_TILE_DNS: return load_dns(s, t);
  case SPTI_TILE_DNSROW: return load_dnsrow(s, t);
  default: return load_dnscol(s, t);
  }
}

/* Whole warp: the number of entries of the lane that has most; 0 to TILE_SHARE. */
template <typename T> SPTI_DEVICE int share_length(const tile_share<T> &s) {
  const uint32_t entries = warp_or(s.entries);
  return entries ? last_lane(entries) + 1 : 0;
}
/* Whole warp: sum and the lane's share times x, of which lanes c and 16 + c have column c. */
template <typename T> SPTI_DEVICE T add_share(T sum, const tile_share<T> &s, int length, T x) {
#pragma unroll
  for (int i = 0; i < TILE_SHARE; i++)
    if (i < length) {
      const T of_column = shfl(x, s.column(i));
      if (s.has(i)) sum = sum + rounded(s.value[i], of_column);
    }
  return sum;
}

/* The tiles of an item that are not COO, up to 32 at once, a lane to each. */
struct other_tiles {
  int32_t word, first, width, extent; /* extent: rows or columns of the tile's own tile row */

  SPTI_DEVICE other_tiles(const spti_tile_arrays &a, int32_t tile, int32_t other, int32_t count) : word(0), first(0), width(0), extent(0) {
    if (lane() >= count) return;
    word = load_const(a.word + tile + lane());
    first = load_const(a.shape + 2 * (other + lane()));
    width = load_const(a.shape + 2 * (other + lane()) + 1);
    extent = load_const(a.used + tile_row_of_word(word));
  }
  SPTI_DEVICE int32_t tile_row_of(int t) const { return tile_row_of_word(shfl(word, t)); }
  SPTI_DEVICE int32_t extent_of(int t) const { return shfl(extent, t); }
  /* Whole warp: tile t, whose extent on the side of the item is `own`. */
  template <typename T> SPTI_DEVICE tile_at<T> at(int t, int32_t own, bool by_columns, const uint8_t *position, const T *value) const {
    const int32_t of_tile_row = shfl(extent, t);
    return {spti_tile_format_of(shfl(word, t) & SPTI_TILE_CODE_MASK),
            shfl(first, t),
            shfl(width, t),
            by_columns ? of_tile_row : own,
            by_columns ? own : of_tile_row,
            position,
            value};
  }
};

template <typename T> SPTI_DEVICE int32_t positions_of(const tile_at<T> &t) { return spti_tile_positions(t.format, t.first, t.width, t.m); }
template <typename T> SPTI_DEVICE int32_t values_of(const tile_at<T> &t) { return spti_tile_values(t.format, t.first, t.width, t.m, t.c); }

/* ---- diagonal tiles ---- */

/* In shared memory, of one warp: the entries below the diagonal, by rows or by columns. */
template <typename T> struct inner_tile {
  T value[TILE_INNER_MOST];
  int32_t other[TILE_INNER_MOST]; /* their columns, or rows */
};

/* What a lane knows of its row (column): its entries, and where they lie. */
struct inner_line {
  int32_t begin, end;
  uint32_t mask; /* columns (rows) with an entry */
};

/* Whole warp; a barrier follows. */
template <typename T> SPTI_DEVICE inner_line load_inner(inner_tile<T> *to, const spti_tile_arrays &a, const tile_item &item) {
  inner_line own = {0, 0, 0};
  if (item[SPTI_TILE_ITEM_INNER] < 0) return own;
  const uint8_t *bytes = a.inner_byte + item[SPTI_TILE_ITEM_INNER_BYTE];
  const T *values = static_cast<const T *>(a.inner_value) + item[SPTI_TILE_ITEM_INNER];
  own.end = load_const(bytes + row_in_tile());
  const int32_t count = shfl(own.end, SPTI_TILE - 1), before = shfl(own.end, row_in_tile() > 0 ? row_in_tile() - 1 : 0);
  own.begin = row_in_tile() > 0 ? before : 0;
  for (int32_t e = lane(); e < count; e += 32) {
    to->other[e] = load_const(bytes + SPTI_TILE + e);
    to->value[e] = load_const(values + e);
  }
  syncwarp();
  for (int32_t e = own.begin; e < own.end; e++) own.mask |= 1u << to->other[e];
  return own;
}

} // namespace spti
#endif
