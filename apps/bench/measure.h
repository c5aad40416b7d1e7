/* measure.h -- one measurement of sptrsm-bench: a triangle, an operation and right-hand sides, solved by one method or library. */
#ifndef APPS_BENCH_MEASURE_H
#define APPS_BENCH_MEASURE_H

#include "bench/machine/machine.h"

typedef struct {
  const sptrsm_sparse *T; /* host */
  sptrsm_op op;
  int64_t nrhs;
  int64_t batch; /* items of a batch, solved by one call, which all have the triangle's pattern and numbers; 0: one system */
  int reps;
  bool times_setup; /* fill in setup_ms and update_ms */
  const void *B;    /* host, row-major, ld = nrhs; of a batch: those of all items, one behind the other */
  void *X;          /* host, room for a solution */
} bench_case;
int64_t bench_items(const bench_case *); /* how many systems: at least 1 */

/* The result of a measurement: plain data, because the worker sends it through a pipe. */
typedef struct {
  double analysis_first_ms, analysis_ms; /* the first and a repeated analysis: plan and workspace; NaN: not timed */
  double view_ms;                        /* converting the stored format into the one that the method reads; not in the analysis */
  double setup_ms;                       /* matrix, plan, workspace and first solve, from arrays in the place of the work */
  double update_ms;                      /* new values and the solve after them; both NaN: not timed */
  double solve_ms, solve_ms_min;         /* median and minimum of the repetitions */
  double flops;                          /* of a solve */
  double g1;                             /* largest componentwise residual over its bound; NaN: not finite */
  double spread;                         /* largest difference between repetitions over the largest entry */
  size_t workspace_bytes, plan_bytes;
  int32_t deterministic, inverts;
  int32_t code;     /* exit code that this result calls for */
  char chosen[32];  /* the method that solved: with auto the one that it chose */
  char params[160]; /* of the method */
  char reason[160]; /* of auto's choice */
  char status[320]; /* "ok", "wrong: ...", "failed: ...", "unsupported: ...", "timeout", "crashed: ...", "skipped: budget"; "": none yet */
} bench_result;

/* ---- repetitions: measure.c ---- */

/* Memory of one measurement, in the place where it works, and its clock. */
typedef struct {
  const bench_case *c;
  sptrsm_place place;
  void *stream;
  void *B, *X;
  void *reference; /* the first solution, which later ones are compared with; NULL: no memory, each solution is checked on the host */
  bench_timer *timer;
} bench_blocks;
sptrsm_status bench_blocks_create(bench_blocks *, const bench_case *, sptrsm_place, void *stream);
void bench_blocks_free(bench_blocks *);

/* A warm-up and c->reps repetitions of solve(self), with X full of NaN before each and checked after each (docs/benchmarking.md). layout:
 * of B and X. Fills solve_ms, solve_ms_min, flops, g1, spread and status, and code where a solution is wrong. */
typedef sptrsm_status (*bench_solve)(void *self);
sptrsm_status bench_repeat(bench_result *, bench_blocks *, sptrsm_layout, bench_solve, void *self);
double bench_median(double *, int count); /* count > 0; sorts the numbers */

/* ---- what is measured: measure.c, batch.c, cusparse.c, cublas.c ---- */

/* Measures a method of the library on a context that works in `place` on `stream`. */
sptrsm_status bench_method(bench_result *out, const bench_case *, sptrsm_place place, void *stream, sptrsm_context *,
                           const sptrsm_options *);
/* The same of a batch: uniform where the method has that, else mixed. */
sptrsm_status bench_batch(bench_result *out, const bench_case *, sptrsm_place place, void *stream, sptrsm_context *,
                          const sptrsm_options *);
/* Measures cuSPARSE by direct calls: SpSV for one right-hand side, else the faster one of SpSM in row- and in column-major order.
 * UNSUPPORTED without CUDA. */
sptrsm_status bench_cusparse(bench_result *better, const bench_case *, void *stream);
/* Measures TRSM of cuBLAS on the triangle as a dense matrix, the faster one of both orders. cuBLAS solves in place, so the copy of B to X
 * is in the time. UNSUPPORTED without cuBLAS, and for triangles that are too large and sparse to be stored as dense matrices. */
sptrsm_status bench_cublas(bench_result *better, const bench_case *, void *stream);

#endif
