/* table.h -- what sptrsm-bench prints: a table while it measures, means at the end. Lines of at most 140 columns. */
#ifndef APPS_BENCH_TABLE_H
#define APPS_BENCH_TABLE_H

#include "bench/run.h"

void bench_table_begin(const bench_session *);               /* machine, limits, heading */
void bench_table_triangle(const bench_session *, int index); /* the triangle of a measurement, once it is known */
void bench_table_row(const bench_session *, int index);
void bench_table_end(const bench_session *);

/* A mean over cases of baseline's time / method's time. */
enum { BENCH_BEST = -1, BENCH_ANY = -1 };
typedef struct {
  int cases;
  double mean, least, most; /* geometric mean; NaN without cases */
} bench_mean;
/* Of one method, or of BENCH_BEST, the best of all but the baseline in each case; type, operation and right-hand sides by index or
 * BENCH_ANY. */
bench_mean bench_mean_of(const bench_session *, int method, int dtype, int op, int nrhs);
/* How often auto is close to the best of the other methods. */
typedef struct {
  int cases, within_10, within_25;
} bench_auto;
bench_auto bench_auto_of(const bench_session *);
/* Solves after which this analysis with its view has paid for itself beside cuSPARSE: 0 at once, infinity never, NaN unknown. */
double bench_amortised(const bench_session *, int index);

#endif
