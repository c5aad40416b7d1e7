/* kernels.cu -- structgrid's pencils, all but the solve: start fills X with sentinels, and the solve is dispatched by type. */
#include "trsv/structgrid/pencils/kernels.h"

#include "core/device/syncfree.cuh"

namespace spti {

enum { PENCILS_FILL_WARPS = 8, PENCILS_FILL_ROWS = 16 }; /* of a thread block; of a warp */

static SPTI_ANYWHERE int64_t groups_of(const spti_structgrid_pencils_args *a) {
  return (int64_t(a->view.n) + PENCILS_FILL_ROWS - 1) / PENCILS_FILL_ROWS * a->tiles;
}

/* A warp fills some rows of a tile of right-hand sides with sentinels: no row is solved. */
template <typename T> SPTI_KERNEL(32 * PENCILS_FILL_WARPS) structgrid_pencils_start_kernel(spti_structgrid_pencils_args a) {
  const int64_t item = int64_t(block_in_grid()) * PENCILS_FILL_WARPS + warp_in_block();
  if (block_in_grid() == 0 && thread_in_block() < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + thread_in_block(), 0);
  const int64_t first = item / a.tiles * PENCILS_FILL_ROWS, k = item % a.tiles * SPTI_PENCIL_TILE + lane();
  if (k >= a.transfer.width) return;
  T *at = static_cast<T *>(a.transfer.to.data) + first * a.transfer.to.row_stride + k;
#pragma unroll
  for (int i = 0; i < PENCILS_FILL_ROWS; i++, at += a.transfer.to.row_stride)
    if (first + i < a.view.n) store(at, sentinel<T>());
}

} // namespace spti

extern "C" int spti_structgrid_pencils_start_launch(const spti_structgrid_pencils_args *a, void *stream) {
  using namespace spti;
  const int64_t blocks = (groups_of(a) + PENCILS_FILL_WARPS - 1) / PENCILS_FILL_WARPS;
  return dispatch(a->view.dtype, [&](auto tag) {
    return SPTI_LAUNCH(structgrid_pencils_start_kernel<typename decltype(tag)::type>, blocks, 32 * PENCILS_FILL_WARPS, 0, stream, *a);
  });
}

extern "C" int spti_structgrid_pencils_solve_launch(const spti_structgrid_pencils_args *a, void *stream) {
  switch (a->view.dtype) {
  case SPTRSM_F32: return spti_structgrid_pencils_f32_launch(a, stream);
  case SPTRSM_F64: return spti_structgrid_pencils_f64_launch(a, stream);
  case SPTRSM_C64: return spti_structgrid_pencils_c64_launch(a, stream);
  default: return spti_structgrid_pencils_c128_launch(a, stream);
  }
}
