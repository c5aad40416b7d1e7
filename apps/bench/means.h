/* means.h -- what a run says as a whole: geometric means of ratios, the least of them, and how good auto's choices were. */
#ifndef APPS_BENCH_MEANS_H
#define APPS_BENCH_MEANS_H

#include "bench/session.h"

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
