/* block_sum.cuh -- prefix sums over the threads of a warp and of a block. */
#ifndef SPTI_CORE_DEVICE_BLOCK_SUM_CUH
#define SPTI_CORE_DEVICE_BLOCK_SUM_CUH

#include "core/device/device.cuh"

namespace spti {

/* Whole warp: the sum of v over this lane and all lanes before it. */
SPTI_DEVICE int64_t warp_sum_up_to(int64_t v) {
  for (int by = 1; by < 32; by *= 2) {
    const int64_t other = shfl(v, (lane() - by) & 31);
    if (lane() >= by) v += other;
  }
  return v;
}

/* Whole block: the sum of v over all threads before this one. *total is the sum over all threads. */
SPTI_DEVICE int64_t block_sum_before(int64_t v, int64_t *total) {
  SPTI_SHARED(int64_t, sums, 33);
  const int64_t sum = warp_sum_up_to(v);
  if (lane() == 31) sums[warp_in_block()] = sum;
  syncthreads();
  if (warp_in_block() == 0) {
    const int64_t own = lane() < warps_per_block() ? sums[lane()] : 0, up_to = warp_sum_up_to(own);
    sums[lane()] = up_to - own;
    if (lane() == 31) sums[32] = up_to;
  }
  syncthreads();
  const int64_t before = sums[warp_in_block()] + sum - v;
  *total = sums[32];
  syncthreads();
  return before;
}

} // namespace spti
#endif
