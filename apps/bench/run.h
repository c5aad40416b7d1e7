/* run.h -- all measurements of a run: kept by the parent, made by workers. */
#ifndef APPS_BENCH_RUN_H
#define APPS_BENCH_RUN_H

#include <stdio.h>
#include <sptrsm_inspect.h>

#include "bench/worker.h"

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

/* Measures everything, calls bench_table_* as it goes. False: no machine to measure on. */
bool bench_run(bench_session *);
void bench_session_free(bench_session *);

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
