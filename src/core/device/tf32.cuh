/* tf32.cuh -- mma in single precision. Part of the device interface (device.cuh), with PTX. */
#ifndef SPTI_CORE_DEVICE_TF32_CUH
#define SPTI_CORE_DEVICE_TF32_CUH

#include "core/device/device.cuh"

namespace spti {

/* A number with 11 significant bits: rounded to nearest, or cut off. */
SPTI_DEVICE float rounded_tf32(float v) { return bits_to_float((float_bits(v) + 0x1000u) & 0xffffe000u); }
SPTI_DEVICE float cut_tf32(float v) { return bits_to_float(float_bits(v) & 0xffffe000u); }

/* C += A B on the tensor cores, sums in f32, with A 16 x 8 and B 8 x 8 in the places of mma in f64. The last 13 bits of each number of A
 * and B must be 0 (TF32), as the functions above make them. */
SPTI_DEVICE void mma(float (&c)[4], const float (&a)[4], float b0, float b1) {
#if !defined(SPTI_SIMT) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(float_bits(a[0])), "r"(float_bits(a[1])), "r"(float_bits(a[2])), "r"(float_bits(a[3])), "r"(float_bits(b0)),
                 "r"(float_bits(b1)));
#else
  double sum[4] = {c[0], c[1], c[2], c[3]};
  const double wide[4] = {a[0], a[1], a[2], a[3]};
  mma(sum, wide, double(b0), double(b1));
  for (int i = 0; i < 4; i++) c[i] = float(sum[i]);
#endif
}

} // namespace spti
#endif
