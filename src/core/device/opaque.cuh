/* opaque.cuh -- opaque(v) is v, but the compiler cannot tell how it was computed. Otherwise it recomputes the addresses of a loop in every
 * step instead of keeping them, and joins two tests of the halves of a word into one test of the whole. Part of the device interface
 * (device.cuh), with PTX. */
#ifndef SPTI_CORE_DEVICE_OPAQUE_CUH
#define SPTI_CORE_DEVICE_OPAQUE_CUH

#include "core/device/device.cuh"

namespace spti {

#ifndef SPTI_SIMT
SPTI_DEVICE int32_t opaque(int32_t v) {
  asm volatile("" : "+r"(v));
  return v;
}
SPTI_DEVICE uint64_t opaque(uint64_t v) {
  asm volatile("" : "+l"(v));
  return v;
}
#else
template <typename W> SPTI_DEVICE W opaque(W v) { return v; }
#endif

} // namespace spti
#endif
