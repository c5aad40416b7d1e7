/* bench_limits.cu -- what the device can do, measured before anything else: copy bandwidth, dependency hop, kernel launch.
 *
 * hop: a ring of warps, each in a block of its own, all resident; warp w waits until word h-1 has lost its sentinel, then writes
 * word h, for h = w, w + warps, ... This is the least a row that depends on one other row costs if the value itself is the flag. */
#include <algorithm>
#include <cuda/atomic>
#include <cuda_runtime.h>

#include "bench_device.h"

#define TRY(call)                                                                                                                          \
  do {                                                                                                                                     \
    cudaError_t error_ = (call);                                                                                                           \
    if (error_ != cudaSuccess) return error_;                                                                                              \
  } while (0)

enum { HOPS = 20000, WARPS = 32, LAUNCHES = 1000, TRIES = 5 };
static const unsigned long long SENTINEL = ~0ull;
static const long long SPINS = 100 * 1000 * 1000; /* seconds: only a device that stopped takes as long */

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

} // namespace

extern "C" int bench_device_limits(bench_limits *limits) {
  stopwatch watch;
  TRY(watch.open());
  TRY(measure_copy(watch, &limits->copy_bytes_per_s));
  TRY(measure_hop(watch, &limits->hop_s));
  TRY(measure_launch(watch, &limits->launch_s));
  return measure_graph(watch, &limits->graph_launch_s);
}
