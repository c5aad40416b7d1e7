/* structgrid_pencils_kernels -- what precedes the solve of structgrid's pencils, and the choice of their kernel's type. */
#include "trsv/structgrid_pencils_kernels.h"

#include "core/device.cuh"

namespace spti {

enum { PENCILS_FILL_THREADS = 256 };

static SPTI_ANYWHERE int64_t pencils_of(const spti_structgrid_pencils_args *a) {
  return int64_t(a->tiles) * a->stencil.grid[1] * a->stencil.grid[2];
}

SPTI_KERNEL(PENCILS_FILL_THREADS) structgrid_pencils_start_kernel(spti_structgrid_pencils_args a) {
  const int64_t at = int64_t(block_in_grid()) * PENCILS_FILL_THREADS + thread_in_block();
  if (at < pencils_of(&a)) store(a.progress + at, 0);
  if (at < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + at, 0);
}

} // namespace spti

extern "C" int spti_structgrid_pencils_start_launch(const spti_structgrid_pencils_args *a, void *stream) {
  using namespace spti;
  const int64_t words = pencils_of(a) < SPTI_SYNCFREE_CONTROL_WORDS ? int64_t(SPTI_SYNCFREE_CONTROL_WORDS) : pencils_of(a);
  const int64_t blocks = (words + PENCILS_FILL_THREADS - 1) / PENCILS_FILL_THREADS;
  return SPTI_LAUNCH(structgrid_pencils_start_kernel, blocks, PENCILS_FILL_THREADS, 0, stream, *a);
}

extern "C" int spti_structgrid_pencils_solve_launch(const spti_structgrid_pencils_args *a, void *stream) {
  switch (a->view.dtype) {
  case SPTRSM_F32: return spti_structgrid_pencils_f32_launch(a, stream);
  case SPTRSM_F64: return spti_structgrid_pencils_f64_launch(a, stream);
  case SPTRSM_C64: return spti_structgrid_pencils_c64_launch(a, stream);
  default: return spti_structgrid_pencils_c128_launch(a, stream);
  }
}
