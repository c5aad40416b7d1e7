/* kernels.cu -- see kernels.h. A warp unpacks a tile. Deterministic. */
#include "trsm/block/gpu/streamed/kernels.h"

#include "core/device/device.cuh"

namespace spti {

enum { UNPACK_THREADS = 256, TILE_VALUES = 32 * SPTI_STREAMED_WORDS };

template <typename T> SPTI_KERNEL(UNPACK_THREADS) streamed_unpack_kernel(spti_streamed_unpack_args a) {
  const int64_t tile = int64_t(block_in_grid()) * (UNPACK_THREADS / 32) + warp_in_block();
  if (tile >= a.tiles) return;
  const T *value = (const T *)a.value + load_const(a.start + tile);
  T *to = (T *)a.tile + tile * TILE_VALUES + lane();
  for (int w = 0; w < SPTI_STREAMED_WORDS; w++) {
    const uint32_t there = uint32_t(load_const((const int32_t *)a.there + tile * SPTI_STREAMED_WORDS + w));
    T v = from_reals<T>::make(0, 0);
    if (there >> lane() & 1) v = load(value + popcount(there & ((1u << lane()) - 1)));
    store(to + 32 * w, v);
    value += popcount(there);
  }
}

} // namespace spti

extern "C" int spti_streamed_unpack_launch(const spti_streamed_unpack_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t blocks = (a->tiles + UNPACK_THREADS / 32 - 1) / (UNPACK_THREADS / 32);
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH((streamed_unpack_kernel<T>), blocks, UNPACK_THREADS, 0, stream, *a);
  });
}
