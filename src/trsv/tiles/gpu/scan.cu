/* scan.cu -- running sums of the sizes of tiles, by CUB. On the emulator tests/simt/emulator/scan_sort_host.cpp stands in. */
#include "trsv/tiles/gpu/part_kernels.h"

#include <cub/device/device_scan.cuh>

namespace spti {

struct add_tile_counts {
  __device__ __forceinline__ spti_tile_counts operator()(const spti_tile_counts &a, const spti_tile_counts &b) const {
    return {a.positions + b.positions, a.values + b.values, a.inner_bytes + b.inner_bytes, a.coo + b.coo, a.others + b.others,
            a.inner + b.inner,         a.tiles + b.tiles};
  }
};

} // namespace spti

extern "C" int spti_tile_scan_launch(void *temporary, size_t *bytes, spti_tile_counts *counts, int32_t count, void *stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  if (temporary) {
    const cudaError_t error = cudaMemsetAsync(counts, 0, sizeof *counts, queue);
    if (error != cudaSuccess) return error;
  }
  if (count == 0) return *bytes = 1, cudaSuccess;
  return cub::DeviceScan::InclusiveScan(temporary, *bytes, counts + 1, counts + 1, spti::add_tile_counts(), count, queue);
}
