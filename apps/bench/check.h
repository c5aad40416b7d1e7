/* check.h -- right-hand sides with distinct entries, and the componentwise residual G1 that solutions are judged by. */
#ifndef APPS_BENCH_CHECK_H
#define APPS_BENCH_CHECK_H

#include "bench/measure.h"

/* The largest G1 of a right solution: substitution keeps 1 (complex numbers: 4), cuSPARSE with its reciprocals half more, methods that
 * invert diagonal blocks 10 times as much. */
double bench_g1_bound(sptrsm_dtype, bool inverts);

/* Fills B with numbers in (0.5, 1.5), complex ones in both parts, that differ within a row and from row to row. */
void bench_fill(void *B, int32_t n, int64_t nrhs, sptrsm_dtype);

/* Operations of a solve, the same for every method: flops_per_rhs of sptrsm_plan_info times the right-hand sides. */
double bench_flops(const bench_case *);

/* The largest |r| / ((entries of the row + 1) u (|op(T)| |X|)) over up to 8 columns spread over the block, r in long double;
 * NaN if any entry of X is not finite. B and X in the same layout, without padding. */
sptrsm_status bench_g1(double *g1, const bench_case *, const void *B, const void *X, sptrsm_layout);

#endif
