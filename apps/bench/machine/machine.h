/* machine.h -- the host or the GPU that sptrsm-bench works on: memory, streams, clocks, comparing two solutions where they are, limits.
 *
 * One of two files is built: cuda.c serves host and device in a build with CUDA, no_cuda.c the host alone.
 */
#ifndef APPS_BENCH_MACHINE_MACHINE_H
#define APPS_BENCH_MACHINE_MACHINE_H

#include <stdbool.h>

#include <sptrsm.h>

/* ---- memory, streams and clocks: cuda.c or no_cuda.c ---- */

/* Measures queued work by the device's events, work on the host by its monotonic clock. */
typedef struct bench_timer bench_timer;
sptrsm_status bench_timer_create(bench_timer **out, sptrsm_place, void *stream);
void bench_timer_destroy(bench_timer *);
void bench_timer_start(bench_timer *);
double bench_timer_stop(bench_timer *);                         /* milliseconds; waits for the work */
sptrsm_status bench_stream_create(void **stream, sptrsm_place); /* NULL on the host */
void bench_stream_destroy(void *stream);
sptrsm_status bench_select(sptrsm_place, int device); /* whose memory the next calls of bench_memory take; 0 at first */
sptrsm_status bench_memory(void **out, sptrsm_place, size_t bytes, const void *initial /* in host memory, or NULL */);
void bench_memory_free(void *, sptrsm_place);
sptrsm_status bench_memory_read(void *host, const void *, sptrsm_place, size_t bytes);
sptrsm_status bench_memory_copy(void *to, const void *from, sptrsm_place, size_t bytes); /* within the place */
void bench_poison(void *, sptrsm_place, size_t bytes, void *stream);                     /* fills with NaN */

/* ---- two solutions: compare_host.c, compare_device.cu ---- */

typedef struct {
  bool same;         /* every bit */
  bool finite;       /* all of X */
  double difference; /* max |x - y| */
  double size;       /* max |y| */
} bench_difference;
/* count real numbers of 4 or 8 bytes each. */
sptrsm_status bench_compare(bench_difference *, const void *x, const void *y, int64_t count, size_t bytes, sptrsm_place);
void bench_compare_host(bench_difference *, const void *x, const void *y, int64_t count, size_t bytes);

/* ---- limits: limits_host.c, limits_device.cu ---- */

/* What the machine can do; NaN: not measured. */
typedef struct {
  double copy_bytes_per_s;         /* of a copy, bytes read and written */
  double hop_s;                    /* a value that travels from one waiting warp (host: thread) to the next */
  double launch_s, graph_launch_s; /* an empty kernel, back to back in a stream and as a node of a graph */
  double flops_per_s[2];           /* of double and single precision; double in tensor cores where there are any for it */
} bench_limits;

sptrsm_status bench_limits_measure(bench_limits *, sptrsm_place);
void bench_host_limits(bench_limits *);
void bench_software(char *text, size_t size); /* versions of the library and of CUDA */

#endif
