/* compare_device.cu -- compares two solutions in device memory: equal bits, finite entries, largest difference and largest entry. */
#include <cuda/atomic>
#include <cuda_runtime.h>

#include "bench/machine/device.h"

/* The maxima are kept as the bits of doubles, as integers, which have the order of the numbers as long as these are not negative. */
struct findings {
  unsigned int different, not_finite;
  unsigned long long difference, size;
};

template <typename Word> __device__ void raise(Word *place, Word value) {
  cuda::atomic_ref<Word, cuda::thread_scope_device> found(*place);
  if (value > found.load(cuda::std::memory_order_relaxed)) found.fetch_max(value, cuda::std::memory_order_relaxed);
}

template <typename T, typename Bits> __global__ void bench_compare_kernel(const T *x, const T *y, size_t count, findings *out) {
  const Bits *bits_x = reinterpret_cast<const Bits *>(x), *bits_y = reinterpret_cast<const Bits *>(y);
  bool different = false, not_finite = false;
  double difference = 0, size = 0;
  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < count; e += (size_t)gridDim.x * blockDim.x) {
    different = different || bits_x[e] != bits_y[e];
    not_finite = not_finite || !isfinite(x[e]) || !isfinite(y[e]);
    if (not_finite) break;
    difference = fmax(difference, fabs((double)x[e] - (double)y[e]));
    size = fmax(size, fabs((double)y[e]));
  }
  if (different) raise(&out->different, 1u);
  if (not_finite) raise(&out->not_finite, 1u);
  raise(&out->difference, (unsigned long long)__double_as_longlong(difference));
  raise(&out->size, (unsigned long long)__double_as_longlong(size));
}

static double as_double(unsigned long long bits) {
  union {
    unsigned long long bits;
    double value;
  } both = {bits};
  return both.value;
}

extern "C" int bench_compare_device(bench_difference *d, const void *x, const void *y, int64_t count, size_t bytes) {
  enum { BLOCKS = 1024, THREADS = 256 };
  findings *device, found = {};
  cudaError_t error = cudaMalloc(&device, sizeof *device);
  if (error != cudaSuccess) return error;
  error = cudaMemset(device, 0, sizeof *device);
  if (error == cudaSuccess && bytes == sizeof(float))
    bench_compare_kernel<float, unsigned int><<<BLOCKS, THREADS>>>((const float *)x, (const float *)y, (size_t)count, device);
  else if (error == cudaSuccess)
    bench_compare_kernel<double, unsigned long long><<<BLOCKS, THREADS>>>((const double *)x, (const double *)y, (size_t)count, device);
  if (error == cudaSuccess) error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaMemcpy(&found, device, sizeof found, cudaMemcpyDeviceToHost);
  (void)cudaFree(device);
  d->same = !found.different;
  d->finite = !found.not_finite;
  d->difference = as_double(found.difference);
  d->size = as_double(found.size);
  return error;
}
