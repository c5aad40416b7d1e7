/* means.h -- figures of a whole run: geometric means of ratios, and how good auto's choices were. */
#ifndef APPS_BENCH_MEANS_H
#define APPS_BENCH_MEANS_H

#include "bench/session.h"

/* Ratios over cases: time of the baseline over time of the method. A case is a triangle, type, operation and number of right-hand sides. */
enum { BENCH_BEST = -1, BENCH_ANY = -1 };
typedef struct {
  int cases;
  double mean, least, most; /* geometric mean; NaN without cases */
} bench_mean;
/* For one method, or for BENCH_BEST: the fastest method of each case, the baseline left out. Type, operation and right-hand sides are
 * indices into the arguments' lists or BENCH_ANY. */
bench_mean bench_mean_of(const bench_session *, int method, int dtype, int op, int nrhs);
/* In how many cases auto takes at most 10 % or 25 % longer than the fastest other method. */
typedef struct {
  int cases, within_10, within_25;
} bench_auto;
bench_auto bench_auto_of(const bench_session *);
/* The number of solves after which this method's longer analysis (with its view) has paid for itself beside cuSPARSE; 0: its analysis is
 * not longer; infinity: never; NaN: unknown. */
double bench_amortised(const bench_session *, int index);

#endif
