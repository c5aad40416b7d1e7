/* pack_kernels.cu -- copies between the caller's block and the row-major panel, and the product with D^-1 between the
 * triangles of L D L^T.
 *
 * work(i,k) = alpha scale[b] block(b,k), and back, where b is the row of the block for row i of the panel (work), by an
 * optional map. A thread block moves a tile of 1024 elements: 2^log_k columns (32, fewer for narrow panels) and as many
 * rows as fit. The lanes of a warp run along the columns where both sides are row-major. A column-major block is
 * accessed with lanes along its rows, and the tile is transposed in shared memory. So both sides are accessed in full
 * sectors, except where a row map scatters them. Deterministic. */
#include "core/device/diagonal_pair.cuh"
#include "core/plan/pack_kernels.h"

namespace spti {

enum { PACK_THREADS = 256, PACK_TILE = 1024, PACK_SHARED = 1536 }; /* PACK_SHARED: rows of 2^log_k + 1 elements, most for log_k = 1 */

struct pack_job {
  spti_pack_args a;
  int log_k; /* log2 of a tile's columns */
  int32_t column_tiles;
  bool turn; /* the caller's block is column-major: lanes run along its rows */
};

/* The place of element e of a tile, with lanes along the columns or along the rows. */
struct tile_place {
  int row, column;
};
SPTI_DEVICE tile_place place_in_tile(int e, int log_k, bool along_rows) {
  const int log_rows = 10 - log_k;
  if (along_rows) return {e & ((1 << log_rows) - 1), e >> log_rows};
  return {e >> log_k, e & ((1 << log_k) - 1)};
}

template <typename T> SPTI_DEVICE T scale_row(const spti_pack_args &a, int64_t block_row, T v) {
  return a.scale ? scale_by(v, load_const(a.scale + block_row), a.scale_op == SPTRSM_DIVIDE) : v;
}

/* The rows of the caller's block and of the panel that belong together: i counts the rows of one side, the map gives
 * the other. */
template <bool ToWork> SPTI_DEVICE void matching_rows(const spti_pack_args &a, int64_t i, int64_t *block_row, int64_t *work_row) {
  const int64_t mapped = a.map ? load_const(a.map + i) : i;
  const bool map_on_block = (a.convention == SPTRSM_GATHER) == ToWork;
  *block_row = map_on_block ? mapped : i;
  *work_row = map_on_block ? i : mapped;
}

/* Plain loads, not through the read-only cache: without a map the caller's block may itself be the panel. */
template <typename T, bool ToWork> SPTI_DEVICE T fetch(const spti_pack_args &a, int64_t i, int64_t k) {
  int64_t b, w;
  matching_rows<ToWork>(a, i, &b, &w);
  if (!ToWork) return load((const T *)a.work + w * a.ld + k);
  if (k >= a.width) return from_reals<T>::make(0, 0);
  const T v = load((const T *)a.block + b * a.row_stride + k * a.col_stride);
  return scale_row(a, b, times_alpha(a.alpha, v));
}

template <typename T, bool ToWork> SPTI_DEVICE void deliver(const spti_pack_args &a, int64_t i, int64_t k, T v) {
  int64_t b, w;
  matching_rows<ToWork>(a, i, &b, &w);
  if (ToWork) store((T *)a.work + w * a.ld + k, v);
  else store((T *)a.block + b * a.row_stride + k * a.col_stride, scale_row(a, b, v));
}

template <typename T, bool ToWork> SPTI_KERNEL(PACK_THREADS) pack_kernel(pack_job job) {
  SPTI_SHARED(T, tile, PACK_SHARED);
  const spti_pack_args &a = job.a;
  const int64_t first_row = int64_t(block_in_grid() / job.column_tiles) * (PACK_TILE >> job.log_k);
  const int64_t first_column = int64_t(block_in_grid() % job.column_tiles) << job.log_k;
  const int64_t columns = ToWork ? a.padded : a.width;
  const int pitch = (1 << job.log_k) + 1;

  for (int e = thread_in_block(); e < PACK_TILE; e += PACK_THREADS) {
    const tile_place t = place_in_tile(e, job.log_k, ToWork && job.turn);
    const int64_t i = first_row + t.row, k = first_column + t.column;
    if (i >= a.n || k >= columns) continue;
    const T v = fetch<T, ToWork>(a, i, k);
    if (job.turn) tile[t.row * pitch + t.column] = v;
    else deliver<T, ToWork>(a, i, k, v);
  }
  if (!job.turn) return;
  syncthreads();
  for (int e = thread_in_block(); e < PACK_TILE; e += PACK_THREADS) {
    const tile_place t = place_in_tile(e, job.log_k, !ToWork);
    const int64_t i = first_row + t.row, k = first_column + t.column;
    if (i < a.n && k < columns) deliver<T, ToWork>(a, i, k, tile[t.row * pitch + t.column]);
  }
}

/* ---- D ---- */

struct diagonal_job {
  spti_diagonal_args a;
  int log_k;
  int32_t column_tiles;
};

template <typename T> SPTI_KERNEL(PACK_THREADS) diagonal_kernel(diagonal_job job) {
  const spti_diagonal_args &a = job.a;
  const int64_t i = int64_t(block_in_grid() / job.column_tiles) * (PACK_THREADS >> job.log_k) + (thread_in_block() >> job.log_k);
  const int64_t k = (int64_t(block_in_grid() % job.column_tiles) << job.log_k) + (thread_in_block() & ((1 << job.log_k) - 1));
  if (i >= a.n || k >= a.width) return;
  const T *sub = (const T *)a.D_sub;
  T *w = (T *)a.work + i * a.ld + k;
  if (sub && i > 0 && !is_zero(load_const(sub + i - 1))) return; /* second row of a pair */
  const T s = sub && i + 1 < a.n ? load_const(sub + i) : from_reals<T>::make(0, 0);
  if (is_zero(s)) store(w, quotient(load(w), conj_if(a.conj, load_const((const T *)a.D + i))));
  else {
    const diagonal_pair<T> D(load_const((const T *)a.D + i), load_const((const T *)a.D + i + 1), s,
                             {a.transpose != 0, a.conj != 0, a.hermitian != 0});
    T x0 = load(w), x1 = load(w + a.ld);
    D.solve(x0, x1);
    store(w, x0);
    store(w + a.ld, x1);
  }
}

/* ---- launchers ---- */

static int log_columns(int64_t columns) {
  int log_k = 0;
  while (log_k < 5 && (int64_t(1) << log_k) < columns) log_k++;
  return log_k;
}

static int64_t tiles(int64_t count, int64_t size) { return (count + size - 1) / size; }

template <bool ToWork> static int launch_pack(const spti_pack_args *a, sptrsm_dtype dtype, void *stream) {
  const int64_t columns = ToWork ? a->padded : a->width;
  const int log_k = log_columns(columns);
  const pack_job job = {*a, log_k, int32_t(tiles(columns, int64_t(1) << log_k)), log_k > 0 && a->col_stride != 1};
  const int64_t blocks = tiles(a->n, PACK_TILE >> log_k) * job.column_tiles;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH((pack_kernel<T, ToWork>), blocks, PACK_THREADS, 0, stream, job);
  });
}

} // namespace spti

extern "C" int spti_pack_launch(const spti_pack_args *a, sptrsm_dtype dtype, void *stream) {
  return spti::launch_pack<true>(a, dtype, stream);
}

extern "C" int spti_unpack_launch(const spti_pack_args *a, sptrsm_dtype dtype, void *stream) {
  return spti::launch_pack<false>(a, dtype, stream);
}

extern "C" int spti_diagonal_launch(const spti_diagonal_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int log_k = log_columns(a->width);
  const diagonal_job job = {*a, log_k, int32_t(tiles(a->width, int64_t(1) << log_k))};
  const int64_t blocks = tiles(a->n, PACK_THREADS >> log_k) * job.column_tiles;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(diagonal_kernel<T>, blocks, PACK_THREADS, 0, stream, job);
  });
}
