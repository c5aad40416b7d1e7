/* bench.h -- parts of sptrsm-bench: what is measured, on the host or on a GPU, and the cuSPARSE baseline. */
#ifndef SPTRSM_BENCH_H
#define SPTRSM_BENCH_H

#include <stdbool.h>

#include <sptrsm.h>

typedef struct {
  const sptrsm_sparse *T; /* host */
  sptrsm_op op;
  int64_t nrhs;
  int reps;
  const void *B; /* host, row-major, ld = nrhs */
  void *X;       /* host, row-major, ld = nrhs: the last solution */
} bench_case;

typedef struct {
  double analysis_first_ms, analysis_ms; /* the first and a repeated analysis, ready to solve: plan and workspace */
  double view_ms;                        /* turning the stored format into the one the method reads, not in the above */
  double solve_ms, solve_ms_min;         /* median and minimum, everything a solve needs included */
  size_t workspace_bytes;
  sptrsm_info info;
} bench_times;

/* Measures one method on a context that works in `place` on `stream`. X is poisoned before every repetition. */
sptrsm_status bench_method(bench_times *out, const bench_case *, sptrsm_place place, void *stream, sptrsm_context *,
                           const sptrsm_options *);

/* Memory and clocks of the place a context works in; bench_gpu.c or bench_host.c. Times of queued work by device events. */
typedef struct bench_timer bench_timer;
sptrsm_status bench_timer_create(bench_timer **out, sptrsm_place, void *stream);
void bench_timer_destroy(bench_timer *);
void bench_timer_start(bench_timer *);
double bench_timer_stop(bench_timer *); /* ms; waits */
sptrsm_status bench_stream_create(void **stream, sptrsm_place);
void bench_stream_destroy(void *stream);
sptrsm_status bench_memory(void **out, sptrsm_place, size_t bytes, const void *initial /* host, or NULL */);
void bench_memory_free(void *, sptrsm_place);
sptrsm_status bench_memory_read(void *host, const void *, sptrsm_place, size_t bytes);
void bench_poison(void *, sptrsm_place, size_t bytes, void *stream);

/* cuSPARSE called directly, without this library: SpSM in row- and column-major order, and SpSV for one right-hand side.
 * The better one is the baseline. UNSUPPORTED without CUDA. */
sptrsm_status bench_cusparse(bench_times *better, const char **which, const bench_case *);

#endif
