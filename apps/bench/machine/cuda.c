/* cuda.c -- memory, streams and clocks of host and device, in a build with CUDA. */
#include "bench/machine/device.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench_timer {
  bool on_device;
  cudaStream_t stream;
  cudaEvent_t begin, end;
  struct timespec start;
};

/* Clears the error, which would else be reported for the next launch. */
static sptrsm_status check(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return SPTRSM_OK;
  (void)cudaGetLastError();
  return sptrsm_error_set(error == cudaErrorMemoryAllocation ? SPTRSM_ERR_MEMORY : SPTRSM_ERR_DEVICE, "%s: %s", what,
                          cudaGetErrorString(error));
}

sptrsm_status bench_timer_create(bench_timer **out, sptrsm_place place, void *stream) {
  bench_timer *timer = calloc(1, sizeof *timer);
  if (!timer) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "timer: no memory");
  timer->on_device = place == SPTRSM_CUDA;
  timer->stream = (cudaStream_t)stream;
  sptrsm_status status = SPTRSM_OK;
  if (timer->on_device) {
    status = check(cudaEventCreate(&timer->begin), "cudaEventCreate");
    if (status == SPTRSM_OK) status = check(cudaEventCreate(&timer->end), "cudaEventCreate");
  }
  if (status != SPTRSM_OK) {
    bench_timer_destroy(timer);
    return status;
  }
  *out = timer;
  return SPTRSM_OK;
}

void bench_timer_destroy(bench_timer *timer) {
  if (!timer) return;
  if (timer->begin) (void)cudaEventDestroy(timer->begin);
  if (timer->end) (void)cudaEventDestroy(timer->end);
  free(timer);
}

void bench_timer_start(bench_timer *timer) {
  if (timer->on_device) (void)cudaEventRecord(timer->begin, timer->stream);
  else clock_gettime(CLOCK_MONOTONIC, &timer->start);
}

double bench_timer_stop(bench_timer *timer) {
  if (timer->on_device) {
    float ms = -1;
    (void)cudaEventRecord(timer->end, timer->stream);
    (void)cudaEventSynchronize(timer->end);
    (void)cudaEventElapsedTime(&ms, timer->begin, timer->end);
    return (double)ms;
  }
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)(now.tv_sec - timer->start.tv_sec) + 1e-6 * (double)(now.tv_nsec - timer->start.tv_nsec);
}

sptrsm_status bench_stream_create(void **stream, sptrsm_place place) {
  *stream = NULL;
  return place == SPTRSM_CUDA ? check(cudaStreamCreateWithFlags((cudaStream_t *)stream, cudaStreamNonBlocking), "cudaStreamCreate")
                              : SPTRSM_OK;
}

void bench_stream_destroy(void *stream) {
  if (stream) (void)cudaStreamDestroy((cudaStream_t)stream);
}

sptrsm_status bench_select(sptrsm_place place, int device) {
  return place == SPTRSM_CUDA ? check(cudaSetDevice(device), "cudaSetDevice") : SPTRSM_OK;
}

sptrsm_status bench_memory(void **out, sptrsm_place place, size_t bytes, const void *initial) {
  if (place == SPTRSM_HOST) {
    if (posix_memalign(out, 64, bytes ? bytes : 1)) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for a block of %zu bytes", bytes);
    if (initial) memcpy(*out, initial, bytes);
    return SPTRSM_OK;
  }
  sptrsm_status status = check(cudaMalloc(out, bytes ? bytes : 1), "cudaMalloc of a block");
  if (status == SPTRSM_OK && initial) status = check(cudaMemcpy(*out, initial, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  return status;
}

void bench_memory_free(void *memory, sptrsm_place place) {
  if (place == SPTRSM_HOST) free(memory);
  else if (memory) (void)cudaFree(memory);
}

sptrsm_status bench_memory_read(void *host, const void *memory, sptrsm_place place, size_t bytes) {
  if (place == SPTRSM_CUDA) return check(cudaMemcpy(host, memory, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  memcpy(host, memory, bytes);
  return SPTRSM_OK;
}

void bench_poison(void *memory, sptrsm_place place, size_t bytes, void *stream) {
  if (place == SPTRSM_CUDA) (void)cudaMemsetAsync(memory, 0xff, bytes, (cudaStream_t)stream);
  else memset(memory, 0xff, bytes);
}

sptrsm_status bench_memory_copy(void *to, const void *from, sptrsm_place place, size_t bytes) {
  if (place == SPTRSM_CUDA) { /* a copy on the device may return before it is done, and the stream of the solves does not wait for it */
    sptrsm_status status = check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice), "cudaMemcpy");
    return status == SPTRSM_OK ? check(cudaDeviceSynchronize(), "cudaMemcpy") : status;
  }
  memcpy(to, from, bytes);
  return SPTRSM_OK;
}

sptrsm_status bench_compare(bench_difference *d, const void *x, const void *y, int64_t count, size_t bytes, sptrsm_place place) {
  if (place == SPTRSM_CUDA) return check((cudaError_t)bench_compare_device(d, x, y, count, bytes), "comparing two solutions");
  bench_compare_host(d, x, y, count, bytes);
  return SPTRSM_OK;
}

sptrsm_status bench_limits_measure(bench_limits *limits, sptrsm_place place) {
  if (place == SPTRSM_CUDA) return check((cudaError_t)bench_device_limits(limits), "measuring the limits of the device");
  bench_host_limits(limits);
  return SPTRSM_OK;
}

void bench_software(char *text, size_t size) {
  int runtime = 0, driver = 0;
  (void)cudaRuntimeGetVersion(&runtime);
  (void)cudaDriverGetVersion(&driver);
  snprintf(text, size, "sptrsm %s, CUDA %d.%d, driver for CUDA %d.%d", sptrsm_version(), runtime / 1000, runtime % 1000 / 10, driver / 1000,
           driver % 1000 / 10);
}
