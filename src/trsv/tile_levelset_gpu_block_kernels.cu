/* tile_levelset_gpu_block_kernels -- the same items for several right-hand sides: lanes over them, 32 to a warp, in one pass over the
 * tiles. Entries are loaded as for one right-hand side, a lane each, then passed by shuffles; rows of sums stand in shared memory, so each
 * entry costs a row of x, a product and a sum per lane. The diagonal tile row by row, without any exchange between lanes. No tile method
 * is published for blocks. Deterministic: each sum in one order, whatever the width, that of the kernel
 * for one. */
#include "trsv/tile_levelset_gpu_wait.cuh"

namespace spti {

enum { AHEAD = 4 }; /* rows of x that are loaded at once */

template <typename T> struct tile_block_sums {
  const spti_tile_levelset_args &a;
  const tile_item &item;
  T *sums;   /* shared, [32][32]: the lane's of each row, in two halves: as lane r + 16 h has them for one right-hand side */
  int64_t k; /* the lane's right-hand side */
  bool on, arrived;

  SPTI_DEVICE T peek_at(int64_t q) const { return peek(static_cast<const T *>(a.x) + q * a.transfer.width + k); }

  /* Whole warp: adds the entries of the lanes in `lanes`: value t times the solution of place q to sum r. */
  SPTI_DEVICE void add_entries(uint32_t lanes, int32_t q, int32_t r, T t) {
    while (lanes) {
      int64_t place[AHEAD];
      int from[AHEAD];
      T x[AHEAD];
      int count = 0;
#pragma unroll
      for (int i = 0; i < AHEAD; i++) {
        from[i] = lanes ? first_lane(lanes) : 0;
        count += lanes != 0;
        lanes &= lanes - 1;
        place[i] = shfl(q, from[i]);
        x[i] = i < count && on && arrived ? peek_at(place[i]) : T();
      }
      if (on && arrived && !a.single_level) arrived = await_all(a, place, k, x);
#pragma unroll
      for (int i = 0; i < AHEAD; i++) {
        const T value = shfl(t, from[i]);
        const int32_t at = shfl(r, from[i]) * 32 + lane();
        if (i < count) sums[at] = sums[at] + rounded(value, x[i]);
      }
    }
  }

  SPTI_DEVICE void add_coo() {
    int32_t entry = item[SPTI_TILE_ITEM_COO];
    for (int32_t first = 0; first < item[SPTI_TILE_ITEM_COO_TILES]; first += 32) {
      const coo_tiles tiles(a.tiles, item[SPTI_TILE_ITEM_TILE] + first, item[SPTI_TILE_ITEM_COO_TILES] - first);
      for (int32_t base = 0; base < tiles.total; base += 32) {
        const bool used = base + lane() < tiles.total;
        const int32_t e = entry + base + (used ? lane() : 0), line = tiles.line_of_entry(base);
        const int32_t position = load_const(a.tiles.coo_position + e);
        const T t = load_const(static_cast<const T *>(a.tiles.coo_value) + e);
        add_entries(ballot(used), line * SPTI_TILE + position % SPTI_TILE, position / SPTI_TILE + SPTI_TILE * tile_half(), t);
      }
      entry += tiles.total;
    }
  }

  SPTI_DEVICE void add_others() {
    const int32_t count = item[SPTI_TILE_ITEM_OTHER_TILES];
    const uint8_t *position = a.tiles.position + item[SPTI_TILE_ITEM_POSITION];
    const T *value = static_cast<const T *>(a.tiles.value) + item[SPTI_TILE_ITEM_VALUE];
    for (int32_t first = 0; first < count; first += 32) {
      const other_tiles tiles(a.tiles, item[SPTI_TILE_ITEM_TILE] + item[SPTI_TILE_ITEM_COO_TILES] + first,
                              item[SPTI_TILE_ITEM_OTHER] + first, count - first);
      for (int t = 0; t < 32 && first + t < count; t++) {
        const tile_at<T> tile = tiles.at(t, item.used(), false, position, value);
        const int32_t place = tiles.line_of(t) * SPTI_TILE;
        tile_share<T> share;
        load_tile(share, tile);
#pragma unroll
        for (int i = 0; i < TILE_SHARE; i++) add_entries(ballot(share.column[i] >= 0), place + share.column[i], lane(), share.value[i]);
        position += positions_of(tile);
        value += values_of(tile);
      }
    }
  }

  SPTI_DEVICE void add_parts() {
    const int32_t first = item[SPTI_TILE_ITEM_SUM];
    for (int32_t s = first; s < first + item[SPTI_TILE_ITEM_SUMS]; s++)
      for (int r = 0; r < SPTI_TILE; r += AHEAD) {
        int64_t place[AHEAD];
        T v[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
          place[i] = int64_t(s) * SPTI_TILE + r + i;
          v[i] = on && arrived ? peek_at(place[i]) : T();
        }
        if (on && arrived) arrived = await_all(a, place, k, v);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
          const int at = (r + i + SPTI_TILE * ((s - first) % 2)) * 32 + lane();
          sums[at] = sums[at] + v[i];
        }
      }
  }

  SPTI_DEVICE void join_halves() {
    for (int r = 0; r < SPTI_TILE; r++) sums[r * 32 + lane()] = sums[r * 32 + lane()] + sums[(r + SPTI_TILE) * 32 + lane()];
  }

  /* The sums become solutions, row by row. */
  SPTI_DEVICE void solve(const inner_tile<T> &inner, const inner_line &own) {
    const int32_t line = item.out();
    const T *diagonal = static_cast<const T *>(a.tiles.diagonal) + line * SPTI_TILE;
    for (int r = 0; r < item.used(); r++) {
      const int32_t begin = shfl(own.begin, r), end = shfl(own.end, r), row = load_const(a.tiles.row + line * SPTI_TILE + r);
      T acc = (on ? read_rhs<T>(a.transfer, row, k) : T()) - sums[r * 32 + lane()];
      for (int32_t e = begin; e < end; e++) acc = acc - rounded(inner.value[e], sums[inner.other[e] * 32 + lane()]);
      const T x = quotient(acc, load_const(diagonal + r));
      sums[r * 32 + lane()] = x;
      if (on) write_solution(a.transfer, row, k, x);
    }
  }
};

template <typename T> SPTI_KERNEL(TILE_THREADS) tile_levelset_block_kernel(spti_tile_levelset_args a) {
  SPTI_DYNAMIC_SHARED(T, all_sums);
  SPTI_SHARED(inner_tile<T>, inners, SPTI_TILE_LEVELSET_WARPS);
  const int32_t groups = (a.transfer.width + 31) / 32;
  const int64_t at = next_item(a), i = a.first + at / groups;
  if (i >= a.last) return;
  const tile_item item(a.tiles, int32_t(i));
  const int32_t line = item.out();
  const bool solves = line < a.tiles.lines && !a.sums_only;
  a.transfer = transfer_of(a.transfer, a.bound);
  const int64_t k = at % groups * 32 + lane();
  tile_block_sums<T> sums = {a, item, all_sums + warp_in_block() * 32 * 32, k, k < a.transfer.width, true};
#pragma unroll
  for (int r = 0; r < 32; r++) sums.sums[r * 32 + lane()] = T();
  inner_line own = {0, 0, 0};
  if (solves) own = load_inner(inners + warp_in_block(), a.tiles, item);
  sums.add_coo();
  sums.add_others();
  sums.add_parts();
  if (!all(sums.arrived)) return;
  sums.join_halves();
  if (solves) sums.solve(inners[warp_in_block()], own);
  T *const x = static_cast<T *>(a.x) + int64_t(line) * SPTI_TILE * a.transfer.width + k;
  for (int r = 0; r < SPTI_TILE && sums.on; r++) publish(x + r * a.transfer.width, r < item.used() ? sums.sums[r * 32 + lane()] : T());
}

} // namespace spti

extern "C" int spti_tile_levelset_block_launch(const spti_tile_levelset_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t groups = (a->transfer.width + 31) / 32, warps = (a->last - a->first) * groups;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const size_t shared = sizeof(T) * 32 * 32 * SPTI_TILE_LEVELSET_WARPS;
    return SPTI_LAUNCH(tile_levelset_block_kernel<T>, (warps + SPTI_TILE_LEVELSET_WARPS - 1) / SPTI_TILE_LEVELSET_WARPS, TILE_THREADS,
                       shared, stream, *a);
  });
}
