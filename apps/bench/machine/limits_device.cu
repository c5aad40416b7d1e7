/* limits_device.cu -- the limits of the device, measured before anything else: copy bandwidth, dependency hop, kernel launch, arithmetic.
 *
 * Dependency hop: a ring of warps, each in a thread block of its own, all resident. Warp w waits until word h-1 differs from its sentinel,
 * then writes word h, for h = w, w + WARPS, ... This is the least time for a row that depends on one other row, where the value itself is
 * the flag. */
#include <algorithm>
#include <cuda/atomic>
#include <cuda_runtime.h>

#include "bench/machine/device.h"

#define TRY(call)                                                                                                                          \
  do {                                                                                                                                     \
    cudaError_t error_ = (call);                                                                                                           \
    if (error_ != cudaSuccess) return error_;                                                                                              \
  } while (0)

enum { HOPS = 20000, WARPS = 32, LAUNCHES = 1000, TRIES = 5, PRODUCTS = 4096, CHAINS = 8, BLOCK_THREADS = 256 };
static const unsigned long long SENTINEL = ~0ull;
static const long long SPINS = 100 * 1000 * 1000; /* some seconds: nothing but a device that has stopped takes as long */

typedef cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> shared_word;

__global__ void bench_hop_kernel(unsigned long long *words) {
  if (threadIdx.x != 0) return;
  for (int h = (int)blockIdx.x; h < HOPS; h += (int)gridDim.x) {
    unsigned long long value = 0;
    if (h > 0) {
      shared_word before(words[h - 1]);
      long long spins = 0;
      while ((value = before.load(cuda::std::memory_order_relaxed)) == SENTINEL && spins < SPINS) spins++;
    }
    shared_word(words[h]).store(value + 1, cuda::std::memory_order_relaxed);
  }
}

__global__ void bench_empty_kernel() {}

/* c = a b + c, one step of one of several independent chains; double precision uses tensor cores where these are faster. Returns the flops
 * of a thread: a product of shape m16n8k16 has 2 * 16 * 8 * 16 in a warp. */
__device__ double step(double (&c)[4], double a, double b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %4, %4, %4, %4, %4, %4, %4}, "
               "{%5, %5, %5, %5}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a), "d"(b));
  return 2 * 16 * 8 * 16 / 32;
#else
  for (int i = 0; i < 4; i++) c[i] = fma(a, b, c[i]);
  return 2 * 4;
#endif
}

__device__ double step(float (&c)[4], float a, float b) {
  for (int i = 0; i < 4; i++) c[i] = fmaf(a, b, c[i]);
  return 2 * 4;
}

/* told[0]: the flops of a thread; told[1]: stored only for a sum that never occurs, so that the compiler keeps the work. */
template <typename real> __global__ void bench_flops_kernel(double *told, real a, real b) {
  real c[CHAINS][4] = {};
  double flops = 0, sum = 0;
  for (int k = 0; k < PRODUCTS; k++)
#pragma unroll
    for (int chain = 0; chain < CHAINS; chain++) flops = step(c[chain], a, b);
#pragma unroll
  for (int chain = 0; chain < CHAINS; chain++)
    for (int i = 0; i < 4; i++) sum += (double)c[chain][i];
  if (blockIdx.x == 0 && threadIdx.x == 0) told[0] = flops * PRODUCTS * CHAINS;
  if (sum == -1) told[1] = sum;
}

namespace {

/* Two events on a stream of its own. */
struct stopwatch {
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaError_t open() {
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(cudaEventCreate(&begin));
    return cudaEventCreate(&end);
  }
  cudaError_t start() { return cudaEventRecord(begin, stream); }
  cudaError_t stop(double *seconds) {
    float ms = 0;
    TRY(cudaEventRecord(end, stream));
    TRY(cudaEventSynchronize(end));
    TRY(cudaEventElapsedTime(&ms, begin, end));
    *seconds = 1e-3 * (double)ms;
    return cudaSuccess;
  }
  ~stopwatch() {
    if (begin) (void)cudaEventDestroy(begin);
    if (end) (void)cudaEventDestroy(end);
    if (stream) (void)cudaStreamDestroy(stream);
  }
};

struct device_memory {
  void *data = nullptr;
  ~device_memory() {
    if (data) (void)cudaFree(data);
  }
};

cudaError_t measure_copy(stopwatch &watch, double *bytes_per_s) {
  size_t free_bytes, total;
  double seconds, best = 1e30;
  TRY(cudaMemGetInfo(&free_bytes, &total));
  const size_t bytes = std::min<size_t>((size_t)1 << 30, free_bytes / 8);
  device_memory from, to;
  TRY(cudaMalloc(&from.data, bytes));
  TRY(cudaMalloc(&to.data, bytes));
  TRY(cudaMemsetAsync(from.data, 1, bytes, watch.stream));
  for (int t = 0; t <= TRIES; t++) {
    TRY(watch.start());
    TRY(cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDeviceToDevice, watch.stream));
    TRY(watch.stop(&seconds));
    if (t > 0) best = std::min(best, seconds);
  }
  *bytes_per_s = 2.0 * (double)bytes / best;
  return cudaSuccess;
}

cudaError_t measure_hop(stopwatch &watch, double *hop) {
  double seconds, best = 1e30;
  device_memory words;
  unsigned long long last = 0;
  TRY(cudaMalloc(&words.data, HOPS * sizeof last));
  for (int t = 0; t <= TRIES; t++) {
    TRY(cudaMemsetAsync(words.data, 0xff, HOPS * sizeof last, watch.stream));
    TRY(watch.start());
    bench_hop_kernel<<<WARPS, 32, 0, watch.stream>>>((unsigned long long *)words.data);
    TRY(cudaGetLastError());
    TRY(watch.stop(&seconds));
    if (t > 0) best = std::min(best, seconds);
  }
  TRY(cudaMemcpy(&last, (unsigned long long *)words.data + HOPS - 1, sizeof last, cudaMemcpyDeviceToHost));
  *hop = best / HOPS;
  return last == HOPS ? cudaSuccess : cudaErrorLaunchTimeout;
}

cudaError_t measure_launch(stopwatch &watch, double *launch) {
  double seconds, best = 1e30;
  for (int t = 0; t <= TRIES; t++) {
    TRY(watch.start());
    for (int k = 0; k < LAUNCHES; k++) bench_empty_kernel<<<1, 32, 0, watch.stream>>>();
    TRY(cudaGetLastError());
    TRY(watch.stop(&seconds));
    if (t > 0) best = std::min(best, seconds);
  }
  *launch = best / LAUNCHES;
  return cudaSuccess;
}

cudaError_t measure_graph(stopwatch &watch, double *launch) {
  double seconds, best = 1e30;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  TRY(cudaStreamBeginCapture(watch.stream, cudaStreamCaptureModeThreadLocal));
  for (int k = 0; k < LAUNCHES; k++) bench_empty_kernel<<<1, 32, 0, watch.stream>>>();
  TRY(cudaGetLastError());
  TRY(cudaStreamEndCapture(watch.stream, &graph));
  TRY(cudaGraphInstantiateWithFlags(&ready, graph, 0));
  for (int t = 0; t <= TRIES; t++) {
    TRY(watch.start());
    TRY(cudaGraphLaunch(ready, watch.stream));
    TRY(watch.stop(&seconds));
    if (t > 0) best = std::min(best, seconds);
  }
  *launch = best / LAUNCHES;
  TRY(cudaGraphExecDestroy(ready));
  return cudaGraphDestroy(graph);
}

template <typename real> cudaError_t measure_flops(stopwatch &watch, double *rate) {
  double seconds, best = 1e30, each = 0;
  int device = 0, processors = 0;
  device_memory told;
  TRY(cudaGetDevice(&device));
  TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  TRY(cudaMalloc(&told.data, 2 * sizeof each));
  const int blocks = 4 * processors;
  for (int t = 0; t <= TRIES; t++) {
    TRY(watch.start());
    bench_flops_kernel<real><<<blocks, BLOCK_THREADS, 0, watch.stream>>>((double *)told.data, (real)1e-3, (real)1e-3);
    TRY(cudaGetLastError());
    TRY(watch.stop(&seconds));
    if (t > 0) best = std::min(best, seconds);
  }
  TRY(cudaMemcpy(&each, told.data, sizeof each, cudaMemcpyDeviceToHost));
  *rate = each * blocks * BLOCK_THREADS / best;
  return cudaSuccess;
}

} // namespace

extern "C" int bench_device_limits(bench_limits *limits) {
  stopwatch watch;
  TRY(watch.open());
  TRY(measure_copy(watch, &limits->copy_bytes_per_s));
  TRY(measure_hop(watch, &limits->hop_s));
  TRY(measure_launch(watch, &limits->launch_s));
  TRY(measure_flops<double>(watch, &limits->flops_per_s[0]));
  TRY(measure_flops<float>(watch, &limits->flops_per_s[1]));
  return measure_graph(watch, &limits->graph_launch_s);
}
