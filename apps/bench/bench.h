/* bench.h -- parts of sptrsm-bench: what is measured, on the host or on a GPU, and the cuSPARSE baseline.
 *
 * main.c            the program: options in, exit code out
 * args.c       options, lists of methods
 * inputs.c     triangles from files, folders and generators
 * run.c        the parent: starts workers, watches their time, collects results (it never opens a device)
 * worker.c     the child: loads triangles, measures, tells each result through a pipe
 * measure.c    one method: analysis, repetitions, checks; bench/machine/cusparse.c: cuSPARSE by direct calls
 * bench/machine/cublas.c     cuBLAS TRSM on a dense copy, where the triangle is small or nearly dense
 * check.c      right-hand sides and the residual; bench/machine/compare.cu: repetitions compared on the device
 * bench_limits*      bandwidth, dependency hop, launch and arithmetic of the machine
 * table.c, means.c, json.c, bench_tune*.c   what is shown and written
 */
#ifndef APPS_BENCH_BENCH_H
#define APPS_BENCH_BENCH_H

#include <stdbool.h>

#include <sptrsm_auto.h>
#include <sptrsm_inspect.h>

/* What the machine can do; NaN: not measured. */
typedef struct {
  double copy_bytes_per_s;         /* of a copy, bytes read and written */
  double hop_s;                    /* a value that travels from one waiting warp (host: thread) to the next */
  double launch_s, graph_launch_s; /* an empty kernel, back to back in a stream and as a node of a graph */
  double flops_per_s[2];           /* of double and single precision; double in tensor cores where there are any for it */
} bench_limits;

typedef struct {
  sptrsm_place place;
  char device[128];   /* "NVIDIA H200", "host, 16 threads" */
  char software[128]; /* versions */
  bench_limits limits;
} bench_machine;

/* A triangle as read, for the report. */
typedef struct {
  int32_t n;
  int64_t nnz;
  sptrsm_uplo uplo;
  size_t matrix_bytes;                   /* of a compressed form with 4-byte indices and, below 2^31 entries, 4-byte offsets */
  sptrsm_level_stats levels[3];          /* by operation, where asked for */
  double known[3][SPTRSM_AUTO_FEATURES]; /* likewise: what auto goes by, but for the right-hand sides; NaN: not found out */
} bench_features;

typedef struct {
  const sptrsm_sparse *T; /* host */
  sptrsm_op op;
  int64_t nrhs;
  int reps;
  const void *B; /* host, row-major, ld = nrhs */
  void *X;       /* host, room for a solution */
} bench_case;

/* What one measurement gives. Plain data: it travels through a pipe. */
typedef struct {
  double analysis_first_ms, analysis_ms; /* the first and a repeated analysis, ready to solve: plan and workspace; NaN: not timed */
  double view_ms;                        /* turning the stored format into the one the method reads, not in the above */
  double solve_ms, solve_ms_min;         /* median and minimum, everything a solve needs included */
  double flops;                          /* of a solve */
  double g1;                             /* largest componentwise residual over its bound; NaN: not finite */
  double spread;                         /* largest difference between repetitions over the largest entry */
  size_t workspace_bytes, plan_bytes;
  int32_t deterministic, inverts;
  int32_t code;     /* exit code that this result calls for */
  char chosen[32];  /* the method that worked; differs from the one asked for with auto */
  char params[160]; /* what the method decided */
  char reason[160]; /* why auto chose it */
  char status[320]; /* "ok", "wrong: ...", "failed: ...", "unsupported: ...", "timeout", "crashed: ...", "skipped: budget"; "": not yet */
} bench_result;

/* ---- one measurement: measure.c, bench/machine/cusparse.c ---- */

/* Device or host memory of one measurement, and its clock. */
typedef struct bench_timer bench_timer;
typedef struct {
  const bench_case *c;
  sptrsm_place place;
  void *stream;
  void *B, *X;
  void *reference; /* the first solution, to compare the later ones with; NULL: no room, each is checked on the host */
  bench_timer *timer;
} bench_blocks;
sptrsm_status bench_blocks_create(bench_blocks *, const bench_case *, sptrsm_place, void *stream);
void bench_blocks_free(bench_blocks *);

/* A warm-up and c->reps repetitions of solve(self) with X poisoned before each and checked after each (see docs/benchmarking.md);
 * layout is that of B and X. Fills solve_ms, solve_ms_min, g1 and spread, and status where a solution is wrong. */
typedef sptrsm_status (*bench_solve)(void *self);
sptrsm_status bench_repeat(bench_result *, bench_blocks *, sptrsm_layout, bench_solve, void *self);
double bench_median(double *, int count); /* count > 0; sorts them */

/* One method on a context that works in `place` on `stream`. */
sptrsm_status bench_method(bench_result *out, const bench_case *, sptrsm_place place, void *stream, sptrsm_context *,
                           const sptrsm_options *);
/* cuSPARSE called directly, without this library: the better of SpSM in row- and column-major order, and SpSV for one right-hand
 * side. UNSUPPORTED without CUDA. */
sptrsm_status bench_cusparse(bench_result *better, const bench_case *, void *stream);
/* cuBLAS TRSM on the triangle as a dense matrix, the better of both layouts. The copy of B to X, where cuBLAS solves, is in the time.
 * UNSUPPORTED without cuBLAS, and for triangles that nobody would store so. */
sptrsm_status bench_cublas(bench_result *better, const bench_case *, void *stream);

/* ---- memory and clocks of a place: bench/machine/gpu.c or bench/machine/host.c. Times of queued work by device events ---- */

sptrsm_status bench_timer_create(bench_timer **out, sptrsm_place, void *stream);
void bench_timer_destroy(bench_timer *);
void bench_timer_start(bench_timer *);
double bench_timer_stop(bench_timer *); /* ms; waits */
sptrsm_status bench_stream_create(void **stream, sptrsm_place);
void bench_stream_destroy(void *stream);
sptrsm_status bench_memory(void **out, sptrsm_place, size_t bytes, const void *initial /* host, or NULL */);
void bench_memory_free(void *, sptrsm_place);
sptrsm_status bench_memory_read(void *host, const void *, sptrsm_place, size_t bytes);
sptrsm_status bench_memory_copy(void *to, const void *from, sptrsm_place, size_t bytes); /* within the place */
void bench_poison(void *, sptrsm_place, size_t bytes, void *stream);

typedef struct {
  bool same;         /* every bit */
  bool finite;       /* all of X */
  double difference; /* max |x - y| */
  double size;       /* max |y| */
} bench_difference;
/* count real numbers of 4 or 8 bytes each. */
sptrsm_status bench_compare(bench_difference *, const void *x, const void *y, int64_t count, size_t bytes, sptrsm_place);
void bench_compare_host(bench_difference *, const void *x, const void *y, int64_t count, size_t bytes);

/* ---- limits: bench/machine/limits_host.c, bench/machine/limits.cu ---- */

sptrsm_status bench_limits_measure(bench_limits *, sptrsm_place);
void bench_host_limits(bench_limits *);
void bench_software(char *text, size_t size); /* versions of the library and of CUDA */

#endif
