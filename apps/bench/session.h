/* session.h -- all that a run of sptrsm-bench measures and has measured, and figures that follow from it.
 *
 * The parent process keeps the session; workers fill in one result after the other. Measurements are numbered, and everything is asked for
 * by that number (`index`).
 */
#ifndef APPS_BENCH_SESSION_H
#define APPS_BENCH_SESSION_H

#include <stdio.h>

#include <sptrsm_auto.h>

#include "bench/args.h"
#include "bench/inputs.h"
#include "bench/measure.h"

/* ---- the order of measurements ---- */

/* One measurement. Their order: by triangle, type, operation, right-hand sides, method. */
typedef struct {
  int input, dtype, op, nrhs, method; /* indices into the arguments' lists */
} bench_id;
int bench_count(const bench_args *, const bench_inputs *);
int bench_per_load(const bench_args *); /* measurements of one triangle in one type, which is loaded once for all of them */
int bench_load_of(const bench_args *, int index);
bench_id bench_id_of(const bench_args *, int index);

/* ---- what is known ---- */

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
  bench_args args; /* settled once the machine is known */
  bench_inputs inputs;
  bench_machine machine;
  int count;                /* of measurements */
  bench_features *features; /* [inputs x dtypes]; n = -1: not loaded */
  bench_result *results;    /* [count] */
  FILE *table;              /* stdout, or stderr where the JSON goes to stdout */
  double seconds;
  int worst; /* highest exit code so far */
} bench_session;

void bench_session_free(bench_session *);

/* ---- figures of a measurement ---- */

/* Of measurement `index`. */
const bench_features *bench_features_of(const bench_session *, int index);
const sptrsm_level_stats *bench_levels_of(const bench_session *, int index);
/* Index of the measurement of the same case by method m. */
int bench_sibling(const bench_session *, int index, int method);
/* Time of cuSPARSE (or of the first method) over that of this measurement; NaN: one of them is missing. */
double bench_ratio_cusparse(const bench_session *, int index);
double bench_ratio_baseline(const bench_session *, int index);
/* The least time that a solve takes on this machine by what limits it: bytes of the matrix and of two blocks over the copy bandwidth,
 * dependent steps times the hop, flops over the rate of the fastest units. Shares are of the measured time; NaN: no time. */
typedef enum { LIMIT_BANDWIDTH, LIMIT_HOPS, LIMIT_FLOPS, LIMITS } bench_limit;
double bench_limit_ms(const bench_session *, int index, bench_limit); /* 0: does not limit, or not measured */
bench_limit bench_limit_of(const bench_session *, int index);         /* the one that takes longest */
double bench_limit_share(const bench_session *, int index);           /* of that one */
double bench_copy_share(const bench_session *, int index);            /* of the bandwidth */
/* Steps that can't be taken side by side: levels of row panels where auto looks for them (it does in factors and bands), else of rows. */
double bench_chain(const bench_session *, int index);
bool bench_is_ok(const bench_session *, int index); /* measured and right */

#endif
