/* kernels.cu -- structgrid's tiles, all but the solve: start resets the published values, soa copies the matrix's values by tile, step and
 * stencil entry (layout=soa), and the solve is dispatched by type. */
#include "trsv/structgrid/tiles/kernels.h"

#include "trsv/structgrid/entries.cuh"

namespace spti {

enum { FILL_THREADS = 256 };

SPTI_DEVICE int64_t thread_in_grid() { return int64_t(block_in_grid()) * FILL_THREADS + thread_in_block(); }

/* Real numbers of `edges`. */
static SPTI_ANYWHERE int64_t edge_reals(const spti_structgrid_args *a) {
  const spti_structgrid_tiling t = spti_structgrid_tiling_of(&a->stencil, a->view.dtype);
  const int64_t words = a->view.dtype == SPTRSM_C64 || a->view.dtype == SPTRSM_C128 ? 2 : 1;
  const int64_t blocks = (a->transfer.width + a->columns - 1) / a->columns;
  return blocks * a->columns * t.groups * t.bands * t.steps * t.edge * words;
}

template <typename Real> SPTI_KERNEL(FILL_THREADS) structgrid_start_kernel(spti_structgrid_args a) {
  const int64_t at = thread_in_grid();
  if (at < edge_reals(&a) && !left_out(protocol_step::unpublish)) store(static_cast<Real *>(a.edges) + at, sentinel<Real>());
  if (at < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + at, 0);
}

template <typename Real> static int launch_start(const spti_structgrid_args *a, void *stream) {
  const int64_t control = SPTI_SYNCFREE_CONTROL_WORDS, reals = edge_reals(a), threads = reals < control ? control : reals;
  return SPTI_LAUNCH(structgrid_start_kernel<Real>, (threads + FILL_THREADS - 1) / FILL_THREADS, FILL_THREADS, 0, stream, *a);
}

/* The value of an entry, or of the diagonal, of the row at position s. An entry that the row lacks is zero; the sentinel if rows lack
 * entries that the grid allows. */
template <typename T> SPTI_DEVICE T value_of(const spti_structgrid_args &a, int64_t s, int32_t entry, int32_t entries) {
  const int64_t i = a.view.backward ? a.view.n - 1 - s : s;
  const int32_t stored = a.view.head || a.view.tail ? 1 << entries : 0, present = load_const(a.present + s) | stored;
  if (!(present >> entry & 1)) return a.missing ? sentinel<T>() : zero<T>();
  const int32_t before = popcount(uint32_t(present & ((1 << entry) - 1)));
  const T *from = static_cast<const T *>(a.view.val);
  return distinct(
      load_const(a.view.backward ? from + load_const(a.view.ptr + i + 1) - 1 - before : from + load_const(a.view.ptr + i) + before));
}

/* A thread block for each step of a tile; the values lie as they will lie in shared memory. */
template <typename T> SPTI_KERNEL(FILL_THREADS) structgrid_soa_kernel(spti_structgrid_args a) {
  const spti_structgrid_tiling tiling = spti_structgrid_tiling_of(&a.stencil, a.view.dtype);
  const int32_t X = a.stencil.grid[0], turn = block_in_grid() % X, tile = block_in_grid() / X, lanes = SPTI_STRUCTGRID_LANES;
  const int32_t group = load_const(a.order + 2 * tile), band = load_const(a.order + 2 * tile + 1);
  T *const to = static_cast<T *>(a.soa) + (spti_structgrid_place(&a.stencil, &tiling, group, band) * X + turn) * tiling.slot;
  for (int32_t i = thread_in_block(); i < tiling.slot; i += FILL_THREADS) {
    const int32_t entry = i / tiling.stride, line = i % tiling.stride, j = line % lanes, w = line / lanes;
    const int64_t z = int64_t(group) * tiling.planes + w, y = int64_t(band) * lanes + j - (a.stencil.cube ? z : 0);
    const bool exists = entry <= tiling.entries && w < tiling.planes && z < a.stencil.grid[2] && y >= 0 && y < a.stencil.grid[1];
    const int32_t x = ((turn - tiling.skew * (j + w)) % X + X) % X;
    store(to + i, exists ? value_of<T>(a, (z * a.stencil.grid[1] + y) * X + x, entry, tiling.entries) : zero<T>());
  }
}

template <typename T> static int launch_soa(const spti_structgrid_args *a, void *stream) {
  return SPTI_LAUNCH(structgrid_soa_kernel<T>, int64_t(a->tiles) * a->stencil.grid[0], FILL_THREADS, 0, stream, *a);
}

} // namespace spti

extern "C" int spti_structgrid_start_launch(const spti_structgrid_args *a, void *stream) {
  const bool single = a->view.dtype == SPTRSM_F32 || a->view.dtype == SPTRSM_C64;
  return single ? spti::launch_start<float>(a, stream) : spti::launch_start<double>(a, stream);
}

extern "C" int spti_structgrid_soa_launch(const spti_structgrid_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->view.dtype, [&](auto tag) { return launch_soa<typename decltype(tag)::type>(a, stream); });
}

extern "C" int spti_structgrid_solve_launch(const spti_structgrid_args *a, void *stream) {
  switch (a->view.dtype) {
  case SPTRSM_F32: return spti_structgrid_f32_launch(a, stream);
  case SPTRSM_F64: return spti_structgrid_f64_launch(a, stream);
  case SPTRSM_C64: return spti_structgrid_c64_launch(a, stream);
  default: return spti_structgrid_c128_launch(a, stream);
  }
}
