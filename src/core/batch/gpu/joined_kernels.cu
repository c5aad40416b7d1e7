/* joined_kernels.cu -- see joined_kernels.h. A thread block moves a tile of 32 rows by 32 columns. Lanes run along the columns of
 * the panel; a column-major block is accessed with lanes along its rows, and the tile is transposed in shared memory.
 * Deterministic. */
#include "core/batch/gpu/joined_kernels.h"

#include "core/batch/gpu/item_blocks.cuh"
#include "core/device/usable.cuh"

namespace spti {

enum { MOVE_THREADS = 256, TILE = 32 };

/* Element (row r, column k) of the joined panel in its item's block. */
template <typename T> struct element { T *at; /* NULL: the item has no such column, or is not solved */ };
template <typename T> SPTI_DEVICE element<T> element_of(const spti_joined_move_args &a, int32_t r, int32_t k) {
  const int32_t member = load_const(a.rows.row_member + r), first = load_const(a.rows.first + member);
  const int64_t item = load_const(a.rows.item + member);
  if (k >= item_width(a.items, item, 0, a.width)) return {nullptr};
  item_block<T> b;
  if (a.staged) {
    const int32_t n = load_const(a.rows.first + member + 1) - first;
    b = block_at((T *)a.place.data + int64_t(first) * a.width, a.place.row_major ? a.width : n, a.place.row_major != 0, 0);
  } else {
    b = block_of<T>(a.items, a.place, item, 0);
  }
  return {b.data + (r - first) * b.row_stride + k * b.column_stride};
}

template <typename T, bool ToPanel> SPTI_KERNEL(MOVE_THREADS) joined_move_kernel(spti_joined_move_args a) {
  SPTI_SHARED(T, tile, TILE * (TILE + 1));
  const int32_t tiles = (a.width - 1) / TILE + 1, r0 = block_in_grid() / tiles * TILE, k0 = block_in_grid() % tiles * TILE;
  const bool turn = !a.place.row_major;
  for (int e = thread_in_block(); e < TILE * TILE; e += MOVE_THREADS) {
    const bool along_rows = ToPanel && turn;
    const int row = along_rows ? e % TILE : e / TILE, column = along_rows ? e / TILE : e % TILE;
    const int32_t r = r0 + row, k = k0 + column;
    if (r >= a.rows.n || k >= a.width) continue;
    if constexpr (ToPanel) {
      const T *from = element_of<T>(a, r, k).at;
      tile[row * (TILE + 1) + column] = from ? load(from) : from_reals<T>::make(0, 0);
    } else {
      tile[row * (TILE + 1) + column] = load((const T *)a.panel + int64_t(r) * a.width + k);
    }
  }
  if (!left_out(protocol_step::tile_barrier)) syncthreads();
  for (int e = thread_in_block(); e < TILE * TILE; e += MOVE_THREADS) {
    const bool along_rows = !ToPanel && turn;
    const int row = along_rows ? e % TILE : e / TILE, column = along_rows ? e / TILE : e % TILE;
    const int32_t r = r0 + row, k = k0 + column;
    if (r >= a.rows.n || k >= a.width) continue;
    T *to = ToPanel ? (T *)a.panel + int64_t(r) * a.width + k : element_of<T>(a, r, k).at;
    if (to) store(to, tile[row * (TILE + 1) + column]);
  }
}

template <typename T> SPTI_KERNEL(MOVE_THREADS) joined_check_kernel(spti_joined_check_args a) {
  const int64_t r = a.begin + int64_t(block_in_grid()) * MOVE_THREADS + thread_in_block();
  if (r >= a.end) return;
  const int64_t p = a.diagonal_first ? load_const(a.ptr + r) : load_const(a.ptr + r + 1) - 1;
  if (is_usable(load_const((const T *)a.val + p))) return;
  const int32_t member = load_const(a.rows.row_member + r);
  red_max(a.bad + member, load_const(a.rows.first + member + 1) - int32_t(r));
}

template <typename T> SPTI_KERNEL(MOVE_THREADS) joined_mend_kernel(spti_joined_check_args a) {
  const int64_t r = a.begin + (int64_t(block_in_grid()) * MOVE_THREADS + thread_in_block()) / 32; /* a warp for each line */
  if (r >= a.end || load_const(a.bad + load_const(a.rows.row_member + r)) == 0) return;
  for (int64_t p = load_const(a.ptr + r) + lane(); p < load_const(a.ptr + r + 1); p += 32)
    store((T *)a.val + p, load_const(a.idx + p) == r ? one<T>() : from_reals<T>::make(0, 0));
}

template <bool ToPanel> static int launch_move(const spti_joined_move_args *a, sptrsm_dtype dtype, void *stream) {
  const int64_t blocks = (int64_t(a->rows.n) + TILE - 1) / TILE * ((a->width - 1) / TILE + 1);
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH((joined_move_kernel<T, ToPanel>), blocks, MOVE_THREADS, 0, stream, *a);
  });
}

} // namespace spti

extern "C" int spti_joined_pack_launch(const spti_joined_move_args *a, sptrsm_dtype dtype, void *stream) {
  return spti::launch_move<true>(a, dtype, stream);
}

extern "C" int spti_joined_unpack_launch(const spti_joined_move_args *a, sptrsm_dtype dtype, void *stream) {
  return spti::launch_move<false>(a, dtype, stream);
}

extern "C" int spti_joined_check_launch(const spti_joined_check_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t blocks = (int64_t(a->end) - a->begin + MOVE_THREADS - 1) / MOVE_THREADS;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(joined_check_kernel<T>, blocks, MOVE_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_joined_mend_launch(const spti_joined_check_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t blocks = ((int64_t(a->end) - a->begin) * 32 + MOVE_THREADS - 1) / MOVE_THREADS;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(joined_mend_kernel<T>, blocks, MOVE_THREADS, 0, stream, *a);
  });
}
