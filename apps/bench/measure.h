/* measure.h -- one measurement of sptrsm-bench: a triangle, an operation, right-hand sides and a method, and what is found out of them. */
#ifndef APPS_BENCH_MEASURE_H
#define APPS_BENCH_MEASURE_H

#include "bench/machine/machine.h"

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

/* ---- repetitions: measure.c ---- */

/* Device or host memory of one measurement, and its clock. */
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

/* ---- what is measured: measure.c, cusparse.c, cublas.c ---- */

/* One method on a context that works in `place` on `stream`. */
sptrsm_status bench_method(bench_result *out, const bench_case *, sptrsm_place place, void *stream, sptrsm_context *,
                           const sptrsm_options *);
/* cuSPARSE called directly, without this library: the better of SpSM in row- and column-major order, and SpSV for one right-hand
 * side. UNSUPPORTED without CUDA. */
sptrsm_status bench_cusparse(bench_result *better, const bench_case *, void *stream);
/* cuBLAS TRSM on the triangle as a dense matrix, the better of both layouts. The copy of B to X, where cuBLAS solves, is in the time.
 * UNSUPPORTED without cuBLAS, and for triangles that nobody would store so. */
sptrsm_status bench_cublas(bench_result *better, const bench_case *, void *stream);

#endif
