/* kernels.cu -- see kernels.h. Deterministic. */
#include "core/device/device.cuh"
#include "core/two_blocks/kernels.h"

namespace spti {

enum { TWO_BLOCKS_THREADS = 256, GATE_THREADS = 32 };

SPTI_KERNEL(TWO_BLOCKS_THREADS) two_blocks_start_kernel(spti_two_blocks_args a) {
  const int64_t at = int64_t(block_in_grid()) * TWO_BLOCKS_THREADS + thread_in_block();
  if (at < SPTI_TWO_BLOCKS_CONTROL_WORDS) store(a.control + at, 0);
  if (at < a.words) store(a.work + at, int64_t(-1)); /* sentinels of any type */
}

SPTI_KERNEL(GATE_THREADS) two_blocks_gate_kernel(spti_two_blocks_gate_args a) {
  if (thread_in_block() > 0) return;
  while (load_relaxed(a.control + SPTI_SYNCFREE_TICKET) < a.tickets) spin_pause();
}

} // namespace spti

extern "C" int spti_two_blocks_start_launch(const spti_two_blocks_args *a, void *stream) {
  using namespace spti;
  const int64_t control = SPTI_TWO_BLOCKS_CONTROL_WORDS, threads = a->words > control ? a->words : control;
  return SPTI_LAUNCH(two_blocks_start_kernel, (threads + TWO_BLOCKS_THREADS - 1) / TWO_BLOCKS_THREADS, TWO_BLOCKS_THREADS, 0, stream, *a);
}

extern "C" int spti_two_blocks_gate_launch(const spti_two_blocks_gate_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(two_blocks_gate_kernel, 1, GATE_THREADS, 0, stream, *a);
}
