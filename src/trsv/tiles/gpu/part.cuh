/* part.cuh -- shared by the kernels of the partition: keys of entries, extents and packed shapes of tiles, the tiles of a tile row. */
#ifndef SPTI_TRSV_TILES_PART_CUH
#define SPTI_TRSV_TILES_PART_CUH

#include "core/device/device.cuh"
#include "trsv/tiles/gpu/part_kernels.h"

namespace spti {

enum { PART_THREADS = 256 };

static inline int64_t part_blocks(int64_t threads) { return (threads + PART_THREADS - 1) / PART_THREADS; }
SPTI_DEVICE int64_t part_thread() { return int64_t(block_in_grid()) * PART_THREADS + thread_in_block(); }

/* ---- keys: (own tile row << tile_row_bits | other tile row) << 8 | row << 4 | column ---- */

SPTI_DEVICE int64_t tile_key(const spti_tile_part_args &a, int32_t own, int32_t other, int32_t within) {
  return ((int64_t(own) << a.tile_row_bits | other) << 8) | within;
}
SPTI_DEVICE int32_t own_tile_row(const spti_tile_part_args &a, int64_t key) { return int32_t(key >> 8 >> a.tile_row_bits); }
SPTI_DEVICE int32_t other_tile_row(const spti_tile_part_args &a, int64_t key) {
  return int32_t(key >> 8 & ((int64_t(1) << a.tile_row_bits) - 1));
}
SPTI_DEVICE int32_t within_tile(int64_t key) { return int32_t(key & 255); }

/* ---- tiles ---- */

/* Rows and columns of the tile at the crossing of the two tile rows. */
struct tile_extent {
  int32_t m, c;
  SPTI_DEVICE tile_extent(const spti_tile_part_args &a, int64_t key) {
    const int32_t own = load_const(a.used + own_tile_row(a, key)), other = load_const(a.used + other_tile_row(a, key));
    m = a.by_columns ? other : own;
    c = a.by_columns ? own : other;
  }
};

/* Stored as (trsv/tiles/tiles.h); SPTI_TILE_FORMATS: a diagonal one. */
struct part_shape {
  int32_t format, first, width;
};
SPTI_DEVICE int32_t packed_shape(const part_shape &s) { return s.format | s.first << 8 | s.width << 16; }
SPTI_DEVICE part_shape unpacked_shape(int32_t word) { return {word & 255, word >> 8 & 255, word >> 16}; }

/* The tiles of a tile row off its diagonal: sorted tiles [begin, begin + count), of which the first is number `number` of all.
 * Its diagonal tile, if it has any, is behind them by rows and before them by columns, since tile rows stand behind those they
 * need. */
struct tiles_of_row {
  int32_t begin, count;
  int64_t number;
  bool has_inner;
  SPTI_DEVICE tiles_of_row(const spti_tile_part_args &a, int32_t tile_row) {
    const int32_t first = load_const(a.tile_row_begin + tile_row), end = load_const(a.tile_row_begin + tile_row + 1);
    number = load_const(a.tile_row_ptr + tile_row);
    count = int32_t(load_const(a.tile_row_ptr + tile_row + 1) - number);
    has_inner = end - first > count;
    begin = first + (a.by_columns && has_inner);
  }
};

} // namespace spti
#endif
