/* copy.cuh -- asynchronous copies from global to shared memory, for kernels in which some warps fetch data for others. Part of the device
 * interface (device.cuh), with PTX. Under SPTI_SIMT the functions come from the emulator, which copies as late as allowed. */
#ifndef SPTI_CORE_DEVICE_COPY_CUH
#define SPTI_CORE_DEVICE_COPY_CUH

#include "core/device/device.cuh"

#ifndef SPTI_SIMT
namespace spti {

/* copy_async: *shared = *global at some time before await_copies; nothing may write either until then. end_copies ends a batch of copies;
 * await_copies<But> waits for all batches of this thread except the latest `But`. Other threads see the data after a barrier. Devices
 * before sm_80 copy at once. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define SPTI_COPY_ASYNC(word, bytes)                                                                                                       \
  SPTI_DEVICE void copy_async(word *shared, const word *global) {                                                                          \
    asm volatile("cp.async.ca.shared.global [%0], [%1], " bytes ";" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),                     \
                 "l"(__cvta_generic_to_global(global))                                                                                     \
                 : "memory");                                                                                                              \
  }
/* Copies 16 bytes, aligned to 16. */
SPTI_DEVICE void copy_async_16(void *shared, const void *global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),
               "l"(__cvta_generic_to_global(global))
               : "memory");
}
SPTI_DEVICE void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int But> SPTI_DEVICE void await_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(But) : "memory"); }
#else
#define SPTI_COPY_ASYNC(word, bytes)                                                                                                       \
  SPTI_DEVICE void copy_async(word *shared, const word *global) { *shared = *global; }
SPTI_DEVICE void copy_async_16(void *shared, const void *global) { *static_cast<int4 *>(shared) = *static_cast<const int4 *>(global); }
SPTI_DEVICE void end_copies() {}
template <int But> SPTI_DEVICE void await_copies() {}
#endif
SPTI_COPY_ASYNC(float, "4")
SPTI_COPY_ASYNC(double, "8")
#undef SPTI_COPY_ASYNC

} // namespace spti
#endif

namespace spti {

template <typename R> SPTI_DEVICE void copy_async(complex_t<R> *shared, const complex_t<R> *global) {
  copy_async(&shared->re, &global->re);
  copy_async(&shared->im, &global->im);
}

} // namespace spti
#endif
