/* device.cuh -- the device interface: memory accesses with their order, atomics, collectives of warps and thread blocks, shared memory and
 * kernel launches. Kernels use nothing else of CUDA. PTX and CUDA intrinsics stand only here, in copy.cuh and in opaque.cuh.
 *
 * Compiled with SPTI_SIMT, the same names come from the emulator in tests/simt, which runs kernels on the host and chooses schedules
 * and the time at which writes become visible. Therefore every access to global memory must be a call of a function from here. A word
 * is an int32_t, int64_t, float or double; complex values are moved as two words.
 *
 *   load_const      reads data that nothing writes while the kernel runs (read-only cache); also for bytes
 *   load, store     weak accesses, ordered by barriers and kernel boundaries only; store also for bytes; load_once and store_once are for
 *                   data that need not stay in a cache
 *   *_relaxed       atomic at gpu scope, without an order
 *   *_acquire, *_release, fence     as in the PTX memory model
 *   red_add, red_max, red_or        atomic sum, maximum, union of bits, without a result
 *   fetch_add, exchange             atomic, and return the old value
 *   shared_*        the same for shared memory, ordered among the threads of a block only (cta scope)
 * two<W> is a pair of neighbouring words, aligned as a pair, which one access moves; each of them is atomic by itself, the pair is not.
 * Collectives (syncwarp, shfl, any, all, ballot, warp_max, warp_or, mma) must be called by whole warps. Of these only syncwarp orders
 * memory; syncthreads and syncwarps_apart do, too. */
#ifndef SPTI_CORE_DEVICE_DEVICE_CUH
#define SPTI_CORE_DEVICE_DEVICE_CUH

#include <stddef.h>
#include <stdint.h>

#include <sptrsm.h>

#include "core/device/host_device.h"

namespace spti {
/* Steps of the dependency protocol (core/device/syncfree.cuh). left_out(step) is constant false on a device. On the emulator one step at a
 * time can be left out, to show that the tests detect a protocol without it. */
enum class protocol_step {
  none,
  ticket,
  last_arrival,
  acquire,
  arrival_barrier,
  update_barrier,
  release,
  shared_acquire,
  shared_release,
  unpublish,
  publishable,
  level_barrier,
  tile_barrier
};

template <typename W> struct alignas(2 * sizeof(W)) two { W first, second; };
} // namespace spti

#ifdef SPTI_SIMT
#include SPTI_SIMT // the emulator's header, named by its build
#else
#include <cuda_runtime.h>

#define SPTI_DEVICE                           __device__ __forceinline__
#define SPTI_KERNEL(threads)                  __global__ void __launch_bounds__(threads)
/* `blocks`: blocks that must fit on a multiprocessor at once, which limits the registers of a thread. */
#define SPTI_KERNEL_RESIDENT(threads, blocks) __global__ void __launch_bounds__(threads, blocks)
#define SPTI_SHARED(type, name, count)        __shared__ type name[count]
/* The dynamic shared memory of the launch as an array of `type`; needed beyond the 48 KiB that SPTI_SHARED arrays can have. */
#define SPTI_DYNAMIC_SHARED(type, name)                                                                                                    \
  extern __shared__ __align__(16) unsigned char spti_dynamic_shared[];                                                                     \
  type *const name = reinterpret_cast<type *>(spti_dynamic_shared)

namespace spti {

/* ---- indices of threads ---- */

SPTI_DEVICE int lane() { return (int)(threadIdx.x & 31u); }
SPTI_DEVICE int warp_in_block() { return (int)(threadIdx.x >> 5); }
SPTI_DEVICE int warps_per_block() { return (int)(blockDim.x >> 5); }
SPTI_DEVICE int thread_in_block() { return (int)threadIdx.x; }
SPTI_DEVICE int threads_per_block() { return (int)blockDim.x; }
SPTI_DEVICE int block_in_grid() { return (int)blockIdx.x; }
SPTI_DEVICE int blocks_per_grid() { return (int)gridDim.x; }

/* ---- memory: one definition per word type ---- */

#define SPTI_WORD_ACCESS(word, suffix, constraint, constraint_inout)                                                                       \
  SPTI_DEVICE word load_const(const word *p) { return __ldg(p); }                                                                          \
  SPTI_DEVICE word load(const word *p) { return *p; }                                                                                      \
  SPTI_DEVICE void store(word *p, word v) { *p = v; }                                                                                      \
  SPTI_DEVICE word load_once(const word *p) { return __ldcs(p); }                                                                          \
  SPTI_DEVICE void store_once(word *p, word v) { __stcs(p, v); }                                                                           \
  SPTI_DEVICE word load_relaxed(const word *p) {                                                                                           \
    word v;                                                                                                                                \
    asm volatile("ld.relaxed.gpu.global." suffix " %0, [%1];" : constraint(v) : "l"(__cvta_generic_to_global(p)) : "memory");              \
    return v;                                                                                                                              \
  }                                                                                                                                        \
  /* wanted ? *p : v, without a branch. */                                                                                                 \
  SPTI_DEVICE word load_relaxed_if(bool wanted, const word *p, word v) {                                                                   \
    asm volatile("{\n\t.reg .pred wanted;\n\tsetp.ne.s32 wanted, %2, 0;\n\t@wanted ld.relaxed.gpu.global." suffix " %0, [%1];\n\t}"        \
                 : constraint_inout(v)                                                                                                     \
                 : "l"(__cvta_generic_to_global(p)), "r"((int)wanted)                                                                      \
                 : "memory");                                                                                                              \
    return v;                                                                                                                              \
  }                                                                                                                                        \
  /* The same as load_const. */                                                                                                            \
  SPTI_DEVICE word load_const_if(bool wanted, const word *p, word v) {                                                                     \
    asm("{\n\t.reg .pred wanted;\n\tsetp.ne.s32 wanted, %2, 0;\n\t@wanted ld.global.nc." suffix " %0, [%1];\n\t}"                          \
        : constraint_inout(v)                                                                                                              \
        : "l"(__cvta_generic_to_global(p)), "r"((int)wanted));                                                                             \
    return v;                                                                                                                              \
  }                                                                                                                                        \
  SPTI_DEVICE word load_acquire(const word *p) {                                                                                           \
    word v;                                                                                                                                \
    asm volatile("ld.acquire.gpu.global." suffix " %0, [%1];" : constraint(v) : "l"(__cvta_generic_to_global(p)) : "memory");              \
    return v;                                                                                                                              \
  }

#define SPTI_WORD_STORE(word, suffix, constraint)                                                                                          \
  SPTI_DEVICE void store_relaxed(word *p, word v) {                                                                                        \
    asm volatile("st.relaxed.gpu.global." suffix " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), constraint(v) : "memory");               \
  }                                                                                                                                        \
  SPTI_DEVICE void store_release(word *p, word v) {                                                                                        \
    asm volatile("st.release.gpu.global." suffix " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), constraint(v) : "memory");               \
  }

#define SPTI_WORD_ADD(name, order, word, suffix, constraint)                                                                               \
  SPTI_DEVICE void name(word *p, word v) {                                                                                                 \
    asm volatile("red." order ".gpu.global.add." suffix " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), constraint(v) : "memory");        \
  }

/* Shared memory, between threads that no barrier orders; but shared_store is weak and needs a barrier after it. */
#define SPTI_SHARED_WORD(word, suffix, in, out)                                                                                            \
  SPTI_DEVICE void shared_store(word *p, word v) { *p = v; }                                                                               \
  SPTI_DEVICE word shared_load_relaxed(const word *p) {                                                                                    \
    word v;                                                                                                                                \
    asm volatile("ld.relaxed.cta.shared." suffix " %0, [%1];" : out(v) : "l"(__cvta_generic_to_shared(p)) : "memory");                     \
    return v;                                                                                                                              \
  }                                                                                                                                        \
  SPTI_DEVICE void shared_store_relaxed(word *p, word v) {                                                                                 \
    asm volatile("st.relaxed.cta.shared." suffix " [%0], %1;" ::"l"(__cvta_generic_to_shared(p)), in(v) : "memory");                       \
  }                                                                                                                                        \
  SPTI_DEVICE void shared_red_add(word *p, word v) {                                                                                       \
    asm volatile("red.relaxed.cta.shared.add." suffix " [%0], %1;" ::"l"(__cvta_generic_to_shared(p)), in(v) : "memory");                  \
  }

SPTI_WORD_ACCESS(int32_t, "s32", "=r", "+r")
SPTI_WORD_ACCESS(int64_t, "s64", "=l", "+l")
SPTI_WORD_ACCESS(float, "f32", "=f", "+f")
SPTI_WORD_ACCESS(double, "f64", "=d", "+d")
SPTI_WORD_STORE(int32_t, "s32", "r")
SPTI_WORD_STORE(int64_t, "s64", "l")
SPTI_WORD_STORE(float, "f32", "f")
SPTI_WORD_STORE(double, "f64", "d")
SPTI_WORD_ADD(red_add, "relaxed", int32_t, "s32", "r")
SPTI_WORD_ADD(red_add, "relaxed", float, "f32", "f")
SPTI_WORD_ADD(red_add, "relaxed", double, "f64", "d")
SPTI_WORD_ADD(red_add_release, "release", int32_t, "s32", "r")

SPTI_SHARED_WORD(int32_t, "s32", "r", "=r")
SPTI_SHARED_WORD(float, "f32", "f", "=f")
SPTI_SHARED_WORD(double, "f64", "d", "=d")

SPTI_DEVICE uint8_t load_const(const uint8_t *p) { return __ldg(p); }
SPTI_DEVICE void store(uint8_t *p, uint8_t v) { *p = v; }
/* Pairs of words. */
#define SPTI_TWO_WORDS(word, vector, suffix, in, out)                                                                                      \
  SPTI_DEVICE two<word> load_const(const two<word> *p) {                                                                                   \
    const vector v = __ldg(reinterpret_cast<const vector *>(p));                                                                           \
    return {v.x, v.y};                                                                                                                     \
  }                                                                                                                                        \
  SPTI_DEVICE two<word> load(const two<word> *p) {                                                                                         \
    const vector v = *reinterpret_cast<const vector *>(p);                                                                                 \
    return {v.x, v.y};                                                                                                                     \
  }                                                                                                                                        \
  SPTI_DEVICE two<word> load_relaxed(const two<word> *p) {                                                                                 \
    two<word> v;                                                                                                                           \
    asm volatile("ld.relaxed.gpu.global.v2." suffix " {%0, %1}, [%2];"                                                                     \
                 : out(v.first), out(v.second)                                                                                             \
                 : "l"(__cvta_generic_to_global(p))                                                                                        \
                 : "memory");                                                                                                              \
    return v;                                                                                                                              \
  }                                                                                                                                        \
  SPTI_DEVICE void store(two<word> *p, two<word> v) { *reinterpret_cast<vector *>(p) = vector{v.first, v.second}; }                        \
  SPTI_DEVICE void store_once(two<word> *p, two<word> v) { __stcs(reinterpret_cast<vector *>(p), vector{v.first, v.second}); }             \
  SPTI_DEVICE void store_relaxed(two<word> *p, two<word> v) {                                                                              \
    asm volatile("st.relaxed.gpu.global.v2." suffix " [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), in(v.first), in(v.second)       \
                 : "memory");                                                                                                              \
  }

SPTI_TWO_WORDS(float, float2, "f32", "f", "=f")
SPTI_TWO_WORDS(double, double2, "f64", "d", "=d")
#undef SPTI_TWO_WORDS
#undef SPTI_SHARED_WORD
#undef SPTI_WORD_ACCESS
#undef SPTI_WORD_STORE
#undef SPTI_WORD_ADD

/* For a word in global or shared memory. */
SPTI_DEVICE int32_t generic_load_relaxed(const int32_t *p) {
  int32_t v;
  asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
SPTI_DEVICE int32_t shared_load_acquire(const int32_t *p) {
  int32_t v;
  asm volatile("ld.acquire.cta.shared.s32 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_shared(p)) : "memory");
  return v;
}
SPTI_DEVICE void shared_red_or(int32_t *p, int32_t v) {
  asm volatile("red.relaxed.cta.shared.or.b32 [%0], %1;" ::"l"(__cvta_generic_to_shared(p)), "r"(v) : "memory");
}
SPTI_DEVICE void shared_red_add_release(int32_t *p, int32_t v) {
  asm volatile("red.release.cta.shared.add.s32 [%0], %1;" ::"l"(__cvta_generic_to_shared(p)), "r"(v) : "memory");
}

SPTI_DEVICE int32_t fetch_add(int32_t *p, int32_t v) {
  int32_t old;
  asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], %2;" : "=r"(old) : "l"(__cvta_generic_to_global(p)), "r"(v) : "memory");
  return old;
}
SPTI_DEVICE void red_max(int32_t *p, int32_t v) {
  asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(v) : "memory");
}
SPTI_DEVICE void red_max(int64_t *p, int64_t v) {
  asm volatile("red.relaxed.gpu.global.max.s64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(v) : "memory");
}
SPTI_DEVICE int32_t exchange(int32_t *p, int32_t v) {
  int32_t old;
  asm volatile("atom.relaxed.gpu.global.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(__cvta_generic_to_global(p)), "r"(v) : "memory");
  return old;
}
/* Stores to mapped host memory; the host sees it after the kernel. */
SPTI_DEVICE void store_system(int64_t *p, int64_t v) {
  asm volatile("st.relaxed.sys.global.s64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(v) : "memory");
}
/* Fetches the memory around p to the second-level cache. p must point into an array or just behind its end. */
SPTI_DEVICE void prefetch(const void *p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p))); }
SPTI_DEVICE int64_t cycles_now() { return clock64(); } /* clock cycles of the multiprocessor */
SPTI_DEVICE void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

SPTI_DEVICE float bits_to_float(uint32_t v) { return __uint_as_float(v); }
SPTI_DEVICE double bits_to_double(uint64_t v) { return __longlong_as_double((long long)v); }
SPTI_DEVICE uint32_t float_bits(float v) { return __float_as_uint(v); }
SPTI_DEVICE uint64_t double_bits(double v) { return (uint64_t)__double_as_longlong(v); }

/* a b + c with a single rounding. */
SPTI_DEVICE float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
SPTI_DEVICE double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
/* a b, rounded: the compiler does not fuse it with a following addition. */
SPTI_DEVICE float product(float a, float b) { return __fmul_rn(a, b); }
SPTI_DEVICE double product(double a, double b) { return __dmul_rn(a, b); }

/* ---- collectives ---- */

SPTI_DEVICE void syncwarp() { __syncwarp(); }
SPTI_DEVICE void syncthreads() { __syncthreads(); }
/* A barrier of the block for warps that are in different branches of the code: every warp must call it equally often. (It is not .aligned,
 * which would require all threads of the block to execute the same instruction.) */
SPTI_DEVICE void syncwarps_apart() { asm volatile("barrier.cta.sync 1, %0;" ::"r"(blockDim.x) : "memory"); }
SPTI_DEVICE int32_t shfl(int32_t v, int from) { return __shfl_sync(0xffffffffu, v, from); }
SPTI_DEVICE int64_t shfl(int64_t v, int from) { return (int64_t)__shfl_sync(0xffffffffu, (long long)v, from); }
SPTI_DEVICE float shfl(float v, int from) { return __shfl_sync(0xffffffffu, v, from); }
SPTI_DEVICE double shfl(double v, int from) { return __shfl_sync(0xffffffffu, v, from); }
SPTI_DEVICE bool any(bool v) { return __any_sync(0xffffffffu, v) != 0; }
SPTI_DEVICE bool all(bool v) { return __all_sync(0xffffffffu, v) != 0; }
SPTI_DEVICE int popcount(uint32_t v) { return __popc(v); }
SPTI_DEVICE int first_lane(uint32_t lanes) { return __ffs((int)lanes) - 1; }
SPTI_DEVICE int last_lane(uint32_t lanes) { return 31 - __clz((int)lanes); }
SPTI_DEVICE int32_t warp_max(int32_t v) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffu, v);
#else
  for (int by = 16; by > 0; by >>= 1) v = max(v, __shfl_xor_sync(0xffffffffu, v, by));
  return v;
#endif
}
/* The union of the bits of all lanes. */
SPTI_DEVICE uint32_t warp_or(uint32_t v) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_or_sync(0xffffffffu, v);
#else
  for (int by = 16; by > 0; by >>= 1) v |= __shfl_xor_sync(0xffffffffu, v, by);
  return v;
#endif
}
SPTI_DEVICE uint32_t ballot(bool v) { return __ballot_sync(0xffffffffu, v); }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
/* For devices without tensor cores for f64. Not inlined: ptxas takes many minutes for kernels that hold dozens of copies. */
__device__ __noinline__ static void mma_by_shuffles(double (&c)[4], const double (&a)[4], double b0, double b1) {
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const double x0 = shfl(k < 4 ? b0 : b1, lane() % 4 * 8 + k % 4), x1 = shfl(k < 4 ? b0 : b1, lane() % 4 * 8 + 4 + k % 4);
    const double t0 = shfl(a[k / 4 * 2], lane() / 4 * 4 + k % 4), t1 = shfl(a[k / 4 * 2 + 1], lane() / 4 * 4 + k % 4);
    c[0] = fused(t0, x0, c[0]);
    c[1] = fused(t0, x1, c[1]);
    c[2] = fused(t1, x0, c[2]);
    c[3] = fused(t1, x1, c[3]);
  }
}
#endif

/* C += A B in f64 on the tensor cores, with A 16 x 8 and B 8 x 8. Lane 4 g + t holds A(g,t), A(g+8,t), A(g,t+4), A(g+8,t+4), B(t,g),
 * B(t+4,g) and C(g,2t), C(g,2t+1), C(g+8,2t), C(g+8,2t+1). */
SPTI_DEVICE void mma(double (&c)[4], const double (&a)[4], double b0, double b1) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < 4; i++) /* rows g, then rows g + 8; columns t, then columns t + 4 */
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[i / 2 * 2]), "+d"(c[i / 2 * 2 + 1])
                 : "d"(a[i / 2 + i % 2 * 2]), "d"(i % 2 ? b1 : b0));
#else
  mma_by_shuffles(c, a, b0, b1);
#endif
}
/* C += A B with A 16 x 16 and B 16 x 8: bit for bit the two products with the first and the last 8 columns of A, in this order. */
SPTI_DEVICE void mma(double (&c)[4], const double (&a)[4], const double (&a8)[4], const double (&b)[4]) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
               "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a8[0]), "d"(a8[1]), "d"(a8[2]), "d"(a8[3]), "d"(b[0]), "d"(b[1]),
                 "d"(b[2]), "d"(b[3]));
#else
  mma(c, a, b[0], b[1]);
  mma(c, a8, b[2], b[3]);
#endif
}

/* ---- waiting and launching ---- */

/* Called between two polls. It does nothing: the latency of the load is pause enough, and sleeping was measured to gain nothing. */
SPTI_DEVICE void spin_pause() {}
/* A nap of about a millisecond, the longest sleep that the instruction knows, and how many of them a wait takes before it gives up. */
SPTI_DEVICE void nap() { __nanosleep(1000000); }
enum { NAPS = 2000 };

enum { SHARED_WITHOUT_ASKING = 48 << 10 };

/* Success if the library holds code of the kernel for the current device. Returns a cudaError_t. */
template <typename Kernel> int find_code(Kernel kernel) {
  cudaFuncAttributes found;
  return (int)cudaFuncGetAttributes(&found, (const void *)kernel);
}

/* Launches a one-dimensional grid, or nothing if `blocks` is 0. Returns the cudaError_t of this launch. */
template <typename Args> int launch(void (*kernel)(Args), int64_t blocks, int threads, size_t shared, void *stream, const Args &args) {
  if (blocks == 0) return cudaSuccess;
  if (blocks < 0 || blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  if (shared > SHARED_WITHOUT_ASKING) {
    const cudaError_t error = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (error) return (int)error;
  }
  void *parameters[] = {(void *)&args};
  return (int)cudaLaunchKernel((const void *)kernel, dim3((unsigned)blocks), dim3((unsigned)threads), parameters, shared,
                               (cudaStream_t)stream);
}

SPTI_DEVICE constexpr bool left_out(protocol_step) { return false; }

} // namespace spti
#endif

#include "core/device/scalar.cuh"

/* Every kernel is started by this macro. A kernel with two template arguments needs parentheses. */
#define SPTI_LAUNCH(kernel, blocks, threads, shared, stream, args) spti::launch(kernel, blocks, threads, shared, stream, args)

#include "core/device/complex.cuh"

namespace spti {

/* ---- launchers choose a kernel by type: calls f(type_tag<T>) for the T that belongs to dtype ---- */

template <typename T> struct type_tag { using type = T; };
template <typename F> int dispatch(sptrsm_dtype dtype, F f) {
  switch (dtype) {
  case SPTRSM_F32: return f(type_tag<float>());
  case SPTRSM_F64: return f(type_tag<double>());
  case SPTRSM_C64: return f(type_tag<complex_t<float>>());
  default: return f(type_tag<complex_t<double>>());
  }
}

} // namespace spti
#endif
