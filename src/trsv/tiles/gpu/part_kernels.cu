/* part_kernels.cu -- first half of the partition on the device: which tiles the triangle has and the format of each. Entries get keys by
 * tile row, other tile row and place in the tile, and are sorted; a thread applies the rule of choose.h to each run of entries of one
 * tile. Deterministic. */
#include "trsv/tiles/choose.h"
#include "trsv/tiles/gpu/part.cuh"
#include "core/device/walk_lines.cuh"

namespace spti {

/* ---- tile rows ---- */

SPTI_KERNEL(PART_THREADS) tile_rows_kernel(spti_tile_part_args a) {
  const int64_t q = part_thread();
  const int32_t tile_row = int32_t(q / SPTI_TILE), r = int32_t(q % SPTI_TILE);
  if (tile_row >= a.tile_rows) return;
  const int32_t first = load_const(a.first + tile_row), used = load_const(a.first + tile_row + 1) - first, place = first + r;
  int32_t row = -1;
  if (r < used) row = a.order ? load_const(a.order + place) : a.view.backward ? a.view.n - 1 - place : place;
  store(a.row + q, row);
  if (r == 0) store(a.used + tile_row, uint8_t(used));
}

SPTI_KERNEL(PART_THREADS) tile_places_kernel(spti_tile_part_args a) {
  const int64_t q = part_thread();
  const int32_t row = q < int64_t(a.tile_rows) * SPTI_TILE ? load_const(a.row + q) : -1;
  if (row >= 0) store(a.place + row, int32_t(q));
}

/* ---- entries ---- */

struct keyed_line {
  int64_t begin; /* first entry in the view */
  int64_t at;    /* the same without diagonals */
  int32_t place, length;
};

SPTI_KERNEL(WALK_THREADS) tile_keys_kernel(spti_tile_part_args a) {
  const spti_view &v = a.view;
  const auto line_at = [&](int32_t i) {
    const int64_t begin = load_const(v.ptr + i) + v.head, end = load_const(v.ptr + i + 1) - v.tail;
    const int64_t diagonals = v.head ? int64_t(i) + 1 : v.tail ? i : 0;
    return keyed_line{begin, begin - diagonals, load_const(a.place + i), int32_t(end - begin)};
  };
  walk_lines(v.n, a.lanes, line_at, [&](const keyed_line &l, int32_t e) {
    const int32_t q = load_const(a.place + load_const(v.idx + l.begin + e));
    const int32_t own = l.place / SPTI_TILE, other = q / SPTI_TILE, r = l.place % SPTI_TILE, c = q % SPTI_TILE;
    /* A diagonal tile is stored by rows, or by columns, as the view is. */
    const bool turned = a.by_columns && own != other;
    store(a.key + l.at + e, tile_key(a, own, other, turned ? c << 4 | r : r << 4 | c));
    store(a.source + l.at + e, int32_t(l.begin + e));
  });
}

SPTI_KERNEL(PART_THREADS) tile_heads_kernel(spti_tile_part_args a) {
  const int64_t e = part_thread();
  if (e >= a.entries) return;
  const int64_t tile = load_const(a.sorted_key + e) >> 8;
  store(a.head + e, int32_t(e == 0 || load_const(a.sorted_key + e - 1) >> 8 != tile));
}

/* ---- tiles ---- */

SPTI_KERNEL(PART_THREADS) tile_begins_kernel(spti_tile_part_args a) {
  const int64_t e = part_thread();
  if (e > a.entries) return;
  const int32_t tile = load_const(a.tiles_to + e);
  if (e == a.entries || load_const(a.tiles_to + e + 1) != tile) store(a.begin + tile, int32_t(e));
}

/* The first tile of each tile row: that of the first entry whose key is not below the tile row's. */
SPTI_KERNEL(PART_THREADS) tile_row_begins_kernel(spti_tile_part_args a) {
  const int64_t tile_row = part_thread();
  if (tile_row > a.tile_rows) return;
  int32_t low = 0, high = a.entries;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (own_tile_row(a, load_const(a.sorted_key + middle)) < tile_row) low = middle + 1;
    else high = middle;
  }
  store(a.tile_row_begin + tile_row, load_const(a.tiles_to + low));
}

SPTI_DEVICE spti_tile_shape shape_of(const spti_tile_part_args &a, int32_t begin, int32_t end, int64_t key) {
  const tile_extent extent(a, key);
  const int32_t entries = end - begin;
  spti_tile_shape coo = {SPTI_TILE_COO, entries, 0, 0, entries, entries};
  if (entries <= SPTI_TILE_COO_MOST && 4 * entries < 3 * extent.m * extent.c) return coo;
  spti_tile_mask mask;
  for (int r = 0; r < SPTI_TILE; r++) mask.rows[r] = 0;
  mask.m = extent.m;
  mask.c = extent.c;
  for (int32_t e = begin; e < end; e++) {
    const int32_t within = within_tile(load_const(a.sorted_key + e));
    mask.rows[within >> 4] = uint16_t(mask.rows[within >> 4] | 1u << (within & 15));
  }
  return spti_tile_shape_for(&mask);
}

SPTI_DEVICE void store_counts(spti_tile_counts *to, const spti_tile_counts &c) {
  store(&to->positions, c.positions);
  store(&to->values, c.values);
  store(&to->inner_bytes, c.inner_bytes);
  store(&to->coo, c.coo);
  store(&to->others, c.others);
  store(&to->inner, c.inner);
  store(&to->tiles, c.tiles);
}

SPTI_KERNEL(PART_THREADS) tile_shapes_kernel(spti_tile_part_args a) {
  const int64_t t = part_thread();
  if (t >= a.sorted_tiles) return;
  const int32_t begin = load_const(a.begin + t), end = load_const(a.begin + t + 1);
  const int64_t key = load_const(a.sorted_key + begin);
  part_shape packed = {SPTI_TILE_FORMATS, 0, 0};
  spti_tile_counts counts = {0, 0, 0, 0, 0, 0, 0};
  if (own_tile_row(a, key) == other_tile_row(a, key)) {
    counts.inner = end - begin;
    counts.inner_bytes = SPTI_TILE + end - begin;
  } else {
    const spti_tile_shape shape = shape_of(a, begin, end, key);
    packed = {int32_t(shape.format), shape.format == SPTI_TILE_HYB ? shape.extra : shape.entries - 1, shape.width};
    counts.tiles = 1;
    if (shape.format == SPTI_TILE_COO) {
      counts.coo = shape.entries;
    } else {
      counts.others = 1;
      counts.positions = shape.positions;
      counts.values = shape.values;
    }
  }
  store(a.shape + t, packed_shape(packed));
  store_counts(a.counts + t + 1, counts);
}

/* ---- tile rows ---- */

SPTI_KERNEL(PART_THREADS) tile_row_ptr_kernel(spti_tile_part_args a) {
  const int64_t tile_row = part_thread();
  if (tile_row > a.tile_rows) return;
  const int32_t tile = load_const(&a.counts[load_const(a.tile_row_begin + tile_row)].tiles);
  store(a.tile_row_ptr + tile_row, int64_t(tile));
  if (tile_row == a.tile_rows) return;
  const int32_t end = load_const(&a.counts[load_const(a.tile_row_begin + tile_row + 1)].tiles);
  store(a.parts + tile_row, a.by_columns ? 0 : spti_tile_parts_of(end - tile, a.most));
}

SPTI_KERNEL(PART_THREADS) tile_row_idx_kernel(spti_tile_part_args a) {
  const int64_t t = part_thread();
  if (t >= a.sorted_tiles) return;
  const int64_t key = load_const(a.sorted_key + load_const(a.begin + t));
  const int32_t format = unpacked_shape(load_const(a.shape + t)).format;
  if (format != SPTI_TILE_FORMATS) store(a.tile_row_idx + load_const(&a.counts[t].tiles), other_tile_row(a, key));
  if (format != SPTI_TILE_FORMATS && format != SPTI_TILE_COO) store(a.other_tile + load_const(&a.counts[t].others), int32_t(t));
}

SPTI_KERNEL(PART_THREADS) tile_items_of_rows_kernel(spti_tile_part_args a) {
  const int64_t s = part_thread();
  if (s >= a.tile_rows) return;
  store(a.items + s, 1 + load_const(a.parts + (a.tile_row_order ? load_const(a.tile_row_order + s) : s)));
}

SPTI_KERNEL(PART_THREADS) tile_items_of_levels_kernel(spti_tile_part_args a) {
  const int64_t l = part_thread();
  if (l <= a.levels) store(a.level_item + l, load_const(a.item_to + load_const(a.level_ptr + l)));
}

} // namespace spti

extern "C" int spti_tile_rows_launch(const spti_tile_part_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(tile_rows_kernel, part_blocks(int64_t(a->tile_rows) * SPTI_TILE), PART_THREADS, 0, stream, *a);
}

extern "C" int spti_tile_places_launch(const spti_tile_part_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(tile_places_kernel, part_blocks(int64_t(a->tile_rows) * SPTI_TILE), PART_THREADS, 0, stream, *a);
}

extern "C" int spti_tile_keys_launch(const spti_tile_part_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(tile_keys_kernel, walk_blocks(a->view.n, a->lanes), WALK_THREADS, 0, stream, *a);
}

extern "C" int spti_tile_heads_launch(const spti_tile_part_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(tile_heads_kernel, part_blocks(a->entries), PART_THREADS, 0, stream, *a);
}

extern "C" int spti_tile_shapes_launch(const spti_tile_part_args *a, void *stream) {
  using namespace spti;
  int error = SPTI_LAUNCH(tile_begins_kernel, part_blocks(int64_t(a->entries) + 1), PART_THREADS, 0, stream, *a);
  if (!error) error = SPTI_LAUNCH(tile_row_begins_kernel, part_blocks(int64_t(a->tile_rows) + 1), PART_THREADS, 0, stream, *a);
  if (!error) error = SPTI_LAUNCH(tile_shapes_kernel, part_blocks(a->sorted_tiles), PART_THREADS, 0, stream, *a);
  return error;
}

extern "C" int spti_tile_pattern_launch(const spti_tile_part_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(tile_row_ptr_kernel, part_blocks(int64_t(a->tile_rows) + 1), PART_THREADS, 0, stream, *a);
  return error ? error : SPTI_LAUNCH(tile_row_idx_kernel, part_blocks(a->sorted_tiles), PART_THREADS, 0, stream, *a);
}

extern "C" int spti_tile_items_of_rows_launch(const spti_tile_part_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(tile_items_of_rows_kernel, part_blocks(a->tile_rows), PART_THREADS, 0, stream, *a);
}

extern "C" int spti_tile_items_of_levels_launch(const spti_tile_part_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(tile_items_of_levels_kernel, part_blocks(int64_t(a->levels) + 1), PART_THREADS, 0, stream, *a);
}
