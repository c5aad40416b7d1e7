/* no_cuda.c -- memory and clocks of the host, in a build without CUDA. */
#include "bench/machine/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench_timer {
  struct timespec start;
};

sptrsm_status bench_timer_create(bench_timer **out, sptrsm_place place, void *stream) {
  (void)place, (void)stream;
  *out = calloc(1, sizeof **out);
  return *out ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_MEMORY, "timer: no memory");
}
void bench_timer_destroy(bench_timer *timer) { free(timer); }
void bench_timer_start(bench_timer *timer) { clock_gettime(CLOCK_MONOTONIC, &timer->start); }
double bench_timer_stop(bench_timer *timer) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)(now.tv_sec - timer->start.tv_sec) + 1e-6 * (double)(now.tv_nsec - timer->start.tv_nsec);
}

sptrsm_status bench_stream_create(void **stream, sptrsm_place place) {
  (void)place;
  *stream = NULL;
  return SPTRSM_OK;
}
void bench_stream_destroy(void *stream) { (void)stream; }

sptrsm_status bench_select(sptrsm_place place, int device) {
  (void)place, (void)device;
  return SPTRSM_OK;
}

sptrsm_status bench_memory(void **out, sptrsm_place place, size_t bytes, const void *initial) {
  (void)place;
  if (posix_memalign(out, 64, bytes ? bytes : 1)) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for a block of %zu bytes", bytes);
  if (initial) memcpy(*out, initial, bytes);
  return SPTRSM_OK;
}
void bench_memory_free(void *memory, sptrsm_place place) {
  (void)place;
  free(memory);
}
sptrsm_status bench_memory_read(void *host, const void *memory, sptrsm_place place, size_t bytes) {
  (void)place;
  memcpy(host, memory, bytes);
  return SPTRSM_OK;
}
void bench_poison(void *memory, sptrsm_place place, size_t bytes, void *stream) {
  (void)place, (void)stream;
  memset(memory, 0xff, bytes);
}

sptrsm_status bench_memory_copy(void *to, const void *from, sptrsm_place place, size_t bytes) {
  (void)place;
  memcpy(to, from, bytes);
  return SPTRSM_OK;
}
sptrsm_status bench_compare(bench_difference *d, const void *x, const void *y, int64_t count, size_t bytes, sptrsm_place place) {
  (void)place;
  bench_compare_host(d, x, y, count, bytes);
  return SPTRSM_OK;
}

sptrsm_status bench_limits_measure(bench_limits *limits, sptrsm_place place) {
  (void)place;
  bench_host_limits(limits);
  return SPTRSM_OK;
}
void bench_software(char *text, size_t size) { snprintf(text, size, "sptrsm %s, no CUDA", sptrsm_version()); }
