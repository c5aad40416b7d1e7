/* kernels.cu -- tile-syncfree on a GPU: substitution over tiles by columns, without levels; a warp for each tile column and right-hand
 * side. The warp of tile column J:
 *     waits until no tile of tile row J is missing
 *     x(J) = T(J,J)^-1 (b(J) - sums(J))
 *     for each tile below:  sums(I) += T(I,J) x(J) by atomics; then one tile fewer of tile row I is missing
 * Tickets hand out tile columns in order, so a warp waits only for tile columns that are running or done. A barrier gathers the warp's
 * updates before it releases the tile's tile row (core/device/syncfree.cuh). COO tiles are taken 32 at once: each entry's product is
 * added by itself, then all their tile rows are released.
 * Source: [lu2023tile], Algorithm 7, whose graphInDegree counts the diagonal tile too. Differs: tickets; acquire and release in place of
 * fences; the diagonal tile by the warp. Not deterministic: sums are added in the order of arrival. */
#include "core/device/syncfree.cuh"
#include "trsv/tiles/gpu/products.cuh"
#include "core/device/transfer.cuh"
#include "trsv/tiles/syncfree/kernels.h"

namespace spti {

enum { PUSH_THREADS = 32 * SPTI_TILE_SYNCFREE_WARPS };

/* acc: the right-hand side of the lane's row, less the columns before. Returns its solution. own: of the lane's column. */
template <typename T> SPTI_DEVICE T solve_inner_columns(const inner_tile<T> &inner, const inner_line &own, const divisor<T> &pivot, T acc) {
  for (uint32_t columns = ballot(own.mask != 0) & 0xffffu; columns; columns &= columns - 1) {
    const int c = first_lane(columns);
    const T x = shfl(pivot.divide(acc), c);
    const uint32_t rows = uint32_t(shfl(int32_t(own.mask), c));
    const int32_t begin = shfl(own.begin, c);
    if (rows >> row_in_tile() & 1) acc = acc - inner.value[begin + popcount(rows & lanes_below(row_in_tile()))] * x;
  }
  return pivot.divide(acc);
}

/* A tile row that is solved: x in lanes c and 16 + c. */
template <typename T> struct tile_push {
  const spti_tile_syncfree_args &a;
  const tile_item &item;
  T *sums;
  int32_t *missing;
  T x;

  SPTI_DEVICE void push_coo() const {
    int32_t entry = item[SPTI_TILE_ITEM_COO];
    for (int32_t first = 0; first < item[SPTI_TILE_ITEM_COO_TILES]; first += 32) {
      const coo_tiles tiles(a.tiles, item[SPTI_TILE_ITEM_TILE] + first, item[SPTI_TILE_ITEM_COO_TILES] - first);
      for (int32_t base = 0; base < tiles.total; base += 32) {
        const bool used = base + lane() < tiles.total;
        const int32_t e = entry + base + (used ? lane() : 0), tile_row = tiles.tile_row_of_entry(base);
        const int32_t position = load_const(a.tiles.coo_position + e);
        const T t = load_const(static_cast<const T *>(a.tiles.coo_value) + e), of_column = shfl(x, position % SPTI_TILE);
        if (used) red_add(sums + int64_t(tile_row) * SPTI_TILE + position / SPTI_TILE, t * of_column);
      }
      gather_updates();
      if (tiles.used) release_one(missing + tiles.tile_row);
      entry += tiles.total;
    }
  }

  SPTI_DEVICE void push_others() const {
    const int32_t count = item[SPTI_TILE_ITEM_OTHER_TILES];
    const uint8_t *position = a.tiles.position + item[SPTI_TILE_ITEM_POSITION];
    const T *value = static_cast<const T *>(a.tiles.value) + item[SPTI_TILE_ITEM_VALUE];
    for (int32_t first = 0; first < count; first += 32) {
      const other_tiles tiles(a.tiles, item[SPTI_TILE_ITEM_TILE] + item[SPTI_TILE_ITEM_COO_TILES] + first,
                              item[SPTI_TILE_ITEM_OTHER] + first, count - first);
      for (int t = 0; t < 32 && first + t < count; t++) {
        const tile_at<T> tile = tiles.at(t, item.used(), true, position, value);
        const int32_t tile_row = tiles.tile_row_of(t);
        tile_share<T> share;
        load_tile(share, tile);
        const T half = add_share(T(), share, share_length(share), x), sum = half + shfl(half, lane() ^ SPTI_TILE);
        if (lane() < tile.m) red_add(sums + int64_t(tile_row) * SPTI_TILE + lane(), sum);
        gather_updates();
        if (lane() == 0) release_one(missing + tile_row);
        position += positions_of(tile);
        value += values_of(tile);
      }
    }
  }
};

template <typename T> SPTI_KERNEL(PUSH_THREADS) tile_syncfree_solve_kernel(spti_tile_syncfree_args a) {
  SPTI_SHARED(inner_tile<T>, inners, SPTI_TILE_SYNCFREE_WARPS);
  const int64_t at = block_ticket(a.sync) * SPTI_TILE_SYNCFREE_WARPS + warp_in_block(), k = at % a.transfer.width;
  const int32_t tile_row = int32_t(at / a.transfer.width);
  if (tile_row >= a.tiles.tile_rows) return;
  const tile_item item(a.tiles, tile_row);
  const int r = row_in_tile();
  const bool has_row = r < item.used();
  const int32_t row = has_row ? load_const(a.tiles.row + tile_row * SPTI_TILE + r) : 0;
  const T b = has_row ? read_rhs<T>(a.transfer, row, k) : T();
  T *const sums = static_cast<T *>(a.sums) + k * a.tiles.tile_rows * SPTI_TILE;
  int32_t *const missing = a.missing + k * a.tiles.tile_rows;
  divisor<T> pivot;
  pivot.set(load_const(static_cast<const T *>(a.tiles.diagonal) + tile_row * SPTI_TILE + r));
  const inner_line own = load_inner(inners + warp_in_block(), a.tiles, item);
  if (!wait_until(a.sync, missing + tile_row, READY, load_const(a.tiles.row + tile_row * SPTI_TILE))) return;
  const T sum = load(sums + int64_t(tile_row) * SPTI_TILE + r);
  const T x = solve_inner_columns(inners[warp_in_block()], own, pivot, b - sum);
  if (has_row && half_in_tile() == 0) write_solution(a.transfer, row, k, x);
  const tile_push<T> push = {a, item, sums, missing, x};
  push.push_coo();
  push.push_others();
}

template <typename T> SPTI_KERNEL(PUSH_THREADS) tile_syncfree_reset_kernel(spti_tile_syncfree_args a) {
  const int64_t tile_rows = int64_t(a.tiles.tile_rows) * a.transfer.width, step = int64_t(blocks_per_grid()) * PUSH_THREADS;
  const int64_t first = int64_t(block_in_grid()) * PUSH_THREADS + thread_in_block();
  for (int64_t w = first; w < tile_rows * SPTI_TILE; w += step) store(static_cast<T *>(a.sums) + w, T());
  for (int64_t w = first; w < tile_rows; w += step) store(a.missing + w, load_const(a.in_degree + w % a.tiles.tile_rows));
  if (first < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + first, 0);
}

/* ---- analysis ---- */

SPTI_DEVICE int64_t plain_thread() { return int64_t(block_in_grid()) * PUSH_THREADS + thread_in_block(); }
static int64_t plain_blocks(int32_t count) { return (int64_t(count) + PUSH_THREADS - 1) / PUSH_THREADS; }

SPTI_KERNEL(PUSH_THREADS) tile_syncfree_clear_kernel(spti_tile_degrees_args a) {
  if (plain_thread() < a.tile_rows) store(a.in_degree + plain_thread(), 0);
}

SPTI_KERNEL(PUSH_THREADS) tile_syncfree_degrees_kernel(spti_tile_degrees_args a) {
  if (plain_thread() < a.tiles) red_add(a.in_degree + tile_row_of_word(load_const(a.word + plain_thread())), 1);
}

} // namespace spti

extern "C" int spti_tile_syncfree_degrees_launch(const spti_tile_degrees_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(tile_syncfree_clear_kernel, plain_blocks(a->tile_rows), PUSH_THREADS, 0, stream, *a);
  return error ? error : SPTI_LAUNCH(tile_syncfree_degrees_kernel, plain_blocks(a->tiles), PUSH_THREADS, 0, stream, *a);
}

extern "C" int spti_tile_syncfree_reset_launch(const spti_tile_syncfree_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t most = 1 << 12, wanted = (int64_t(a->tiles.tile_rows) * SPTI_TILE * a->transfer.width + PUSH_THREADS - 1) / PUSH_THREADS;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(tile_syncfree_reset_kernel<T>, wanted < most ? wanted : most, PUSH_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_tile_syncfree_solve_launch(const spti_tile_syncfree_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t warps = int64_t(a->tiles.tile_rows) * a->transfer.width;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(tile_syncfree_solve_kernel<T>, (warps + SPTI_TILE_SYNCFREE_WARPS - 1) / SPTI_TILE_SYNCFREE_WARPS, PUSH_THREADS, 0,
                       stream, *a);
  });
}
