/* usable.cuh -- can a value be divided by? */
#ifndef SPTI_CORE_DEVICE_USABLE_CUH
#define SPTI_CORE_DEVICE_USABLE_CUH

#include "core/device/device.cuh"

namespace spti {

SPTI_DEVICE bool is_finite_number(float v) { return (float_bits(v) & 0x7f800000u) != 0x7f800000u; }
SPTI_DEVICE bool is_finite_number(double v) { return (double_bits(v) & 0x7ff0000000000000ull) != 0x7ff0000000000000ull; }

/* Neither zero nor infinite nor NaN. */
template <typename R> SPTI_DEVICE bool is_usable(R v) { return v != 0 && is_finite_number(v); }
template <typename R> SPTI_DEVICE bool is_usable(complex_t<R> v) {
  return (v.re != 0 || v.im != 0) && is_finite_number(v.re) && is_finite_number(v.im);
}

} // namespace spti
#endif
