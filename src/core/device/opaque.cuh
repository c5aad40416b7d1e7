/* opaque.cuh -- values of which the compiler knows no more than that they are there. It would compute the addresses of a loop anew
 * each time from what they were made of, and join two looks at halves of a word into one at the whole. As device.cuh, with PTX. */
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
