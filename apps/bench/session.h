/* session.h -- the data of a run of sptrsm-bench: arguments, inputs, machine and results, and figures that follow from them.
 *
 * The parent process keeps the session and fills it with what workers report. Measurements are numbered; `index` is that number in all
 * functions.
 */
#ifndef APPS_BENCH_SESSION_H
#define APPS_BENCH_SESSION_H

#include <stdio.h>

#include <sptrsm_auto.h>
#include <sptrsm_inspect.h>

#include "bench/args.h"
#include "bench/inputs.h"
#include "bench/measure.h"

/* ---- the order of measurements ---- */

/* A measurement. They are ordered by triangle, then type, operation, right-hand sides and method. */
typedef struct {
  int input, dtype, op, nrhs, method; /* indices into the arguments' lists */
} bench_id;
int bench_count(const bench_args *, const bench_inputs *);
int bench_per_load(const bench_args *);           /* measurements of one triangle in one type, which is loaded once for all of them */
int bench_load_of(const bench_args *, int index); /* index into bench_session.features */
bench_id bench_id_of(const bench_args *, int index);

/* ---- the data ---- */

typedef struct {
  sptrsm_place place;
  char device[128];   /* "NVIDIA H200", "host, 16 threads" */
  char tuned[128];    /* the device's name in tables of bounds */
  char software[128]; /* versions */
  bench_limits limits;
} bench_machine;

/* Facts about a triangle in one type. */
typedef struct {
  int32_t n;
  int64_t nnz;
  sptrsm_uplo uplo;
  size_t matrix_bytes;                   /* as CSR with 4-byte indices and, below 2^31 entries, 4-byte offsets */
  sptrsm_level_stats levels[3];          /* by operation, for those that are measured */
  double known[3][SPTRSM_AUTO_FEATURES]; /* by operation: the features that auto decides by, except nrhs; NaN: not computed */
} bench_features;

typedef struct {
  bench_args args; /* complete once the machine is known (bench_args_settle) */
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

/* The triangle of a measurement, and its level sets for the measurement's operation. */
const bench_features *bench_features_of(const bench_session *, int index);
const sptrsm_level_stats *bench_levels_of(const bench_session *, int index);
/* The number of the measurement of the same case by another method. */
int bench_sibling(const bench_session *, int index, int method);
/* Time of cuSPARSE, or of the first method, over the time of this measurement; NaN: one of the two is missing. */
double bench_ratio_cusparse(const bench_session *, int index);
double bench_ratio_baseline(const bench_session *, int index);
/* Three models of the least time that a solve takes on this machine: bytes of the matrix and of two blocks over the copy bandwidth,
 * dependent steps times the dependency hop, flops over the rate of the fastest units. A share is that time over the measured one; NaN:
 * there is no measured time. */
typedef enum { LIMIT_BANDWIDTH, LIMIT_HOPS, LIMIT_FLOPS, LIMITS } bench_limit;
double bench_limit_ms(const bench_session *, int index, bench_limit); /* 0: does not apply, or the machine's figure is unknown */
bench_limit bench_limit_of(const bench_session *, int index);         /* the model with the longest time */
double bench_limit_share(const bench_session *, int index);           /* of that model */
double bench_copy_share(const bench_session *, int index);            /* of LIMIT_BANDWIDTH */
/* Steps that have to follow each other: levels of row panels where auto looks for panels (factors, bands), else levels of rows. */
double bench_chain(const bench_session *, int index);
bool bench_is_ok(const bench_session *, int index); /* measured and right */

#endif
