/* scan_sort.cu -- see scan_sort.h. CUB is the library of parallel primitives that comes with CUDA; on the emulator
 * tests/simt/emulator/scan_sort_host.cpp takes its place. Deterministic. */
#include "core/device/scan_sort.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

namespace spti {

/* Sets to[0] by itself, so that an inclusive sum gives the other `count` words. */
template <typename Sum> static int scan(void *temporary, size_t *bytes, const int32_t *from, Sum *to, int32_t count, void *stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  if (temporary) {
    const cudaError_t error = cudaMemsetAsync(to, 0, sizeof *to, queue);
    if (error != cudaSuccess) return error;
  }
  if (count == 0) return *bytes = 1, cudaSuccess;
  return cub::DeviceScan::InclusiveScan(temporary, *bytes, from, to + 1, cuda::std::plus<Sum>(), count, queue);
}

} // namespace spti

extern "C" int spti_scan_launch(void *temporary, size_t *bytes, const int32_t *from, int64_t *to, int32_t count, void *stream) {
  return spti::scan(temporary, bytes, from, to, count, stream);
}

extern "C" int spti_scan_narrow_launch(void *temporary, size_t *bytes, const int32_t *from, int32_t *to, int32_t count, void *stream) {
  return spti::scan(temporary, bytes, from, to, count, stream);
}

extern "C" int spti_sort_launch(void *temporary, size_t *bytes, const spti_sort_args *a, void *stream) {
  return cub::DeviceRadixSort::SortPairs(temporary, *bytes, a->keys, a->sorted_keys, a->values, a->sorted_values, a->count, 0, a->bits,
                                         static_cast<cudaStream_t>(stream));
}

extern "C" int spti_sort_long_launch(void *temporary, size_t *bytes, const spti_sort_long_args *a, void *stream) {
  return cub::DeviceRadixSort::SortPairs(temporary, *bytes, reinterpret_cast<const uint64_t *>(a->keys),
                                         reinterpret_cast<uint64_t *>(a->sorted_keys), a->values, a->sorted_values, a->count, 0, a->bits,
                                         static_cast<cudaStream_t>(stream));
}
