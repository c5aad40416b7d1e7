/* block_solve_kernels -- what block's solve needs besides its kernel (solve.cuh): the choice of it by type, and the heralds of steps.
 * Deterministic. */
#include "core/device/device.cuh"
#include "trsm/block/gpu/kernels.h"

namespace spti {

enum { HERALD_THREADS = 256 };

typedef struct {
  spti_block_panels panels;
  int64_t steps;
  int32_t *herald;
} herald_args;

/* The last column of a step: the one that is ready last. */
SPTI_DEVICE int32_t last_column(const spti_block_panels &p, int64_t step) {
  int32_t c = -1;
  for (int i = SPTI_BLOCK_STEP - 1; i >= 0 && c < 0; i--) c = load_const(p.col + step * SPTI_BLOCK_STEP + i);
  return c;
}

SPTI_DEVICE int32_t panel_of(const spti_block_panels &p, int32_t place) {
  int32_t low = 0, high = p.count; /* first[low] <= place < first[high] */
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    if (load_const(p.first + middle) <= place) low = middle;
    else high = middle;
  }
  return low;
}

SPTI_KERNEL(HERALD_THREADS) block_herald_kernel(herald_args a) {
  const int64_t step = int64_t(block_in_grid()) * HERALD_THREADS + thread_in_block();
  if (step >= a.steps) return;
  const int32_t panel = panel_of(a.panels, last_column(a.panels, step));
  const int32_t begin = load_const(a.panels.step_start + panel), end = load_const(a.panels.step_start + panel + 1);
  store(a.herald + step, begin < end ? last_column(a.panels, end - 1) : -1);
}

} // namespace spti

extern "C" int spti_block_herald_launch(const spti_block_panels *panels, int64_t steps, int32_t *herald, void *stream) {
  using namespace spti;
  const herald_args args = {*panels, steps, herald};
  return SPTI_LAUNCH(block_herald_kernel, (steps + HERALD_THREADS - 1) / HERALD_THREADS, HERALD_THREADS, 0, stream, args);
}

extern "C" int spti_block_solve_launch(const spti_block_solve_args *a, sptrsm_dtype dtype, void *stream) {
  switch (dtype) {
  case SPTRSM_F32: return spti_block_f32_launch(a, stream);
  case SPTRSM_F64: return spti_block_f64_launch(a, stream);
  case SPTRSM_C64: return spti_block_c64_launch(a, stream);
  default: return spti_block_c128_launch(a, stream);
  }
}
