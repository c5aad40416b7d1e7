/* solve.cuh -- the choice among the kernels of gather for one type. */
#ifndef SPTI_TRSM_GATHER_SOLVE_CUH
#define SPTI_TRSM_GATHER_SOLVE_CUH

#include "trsm/gather/lanes.cuh"
#include "trsm/gather/rows.cuh"
#include "trsm/gather/slots.cuh"

namespace spti {

template <typename T, bool Cut> int launch_gather(const spti_gather_args *a, void *stream) {
  const int64_t blocks = spti_gather_blocks(a);
  switch (a->form) {
  case SPTI_GATHER_SLOTS: return SPTI_LAUNCH((gather_slots_kernel<T, Cut>), blocks, 32 * SPTI_GATHER_WARPS, 0, stream, *a);
  case SPTI_GATHER_LANES: return SPTI_LAUNCH((gather_lanes_kernel<T, Cut>), blocks, 32 * SPTI_GATHER_WARPS, 0, stream, *a);
  case SPTI_GATHER_PAIRS:
    if constexpr (sizeof(real_of<T>) == sizeof(T))
      return SPTI_LAUNCH((gather_rows_kernel<T, Cut, 2>), blocks, 32 * SPTI_GATHER_WARPS, 0, stream, *a);
    else return 1; /* cudaErrorInvalidValue: callers choose PAIRS for real values only */
  default: return SPTI_LAUNCH((gather_rows_kernel<T, Cut, 1>), blocks, 32 * SPTI_GATHER_WARPS, 0, stream, *a);
  }
}

template <typename T> int launch_gather_type(const spti_gather_args *a, void *stream) {
  return a->items.parts ? launch_gather<T, true>(a, stream) : launch_gather<T, false>(a, stream);
}

} // namespace spti
#endif
