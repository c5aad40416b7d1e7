/* bench_check.h -- right-hand sides with distinct entries, and the componentwise residual G1 of a solution. */
#ifndef SPTRSM_BENCH_CHECK_H
#define SPTRSM_BENCH_CHECK_H

#include <sptrsm.h>

/* B(i,k) in (0.5, 1.5), row-major with ld = nrhs; all different in a row and from row to row. */
void bench_fill(void *B, int32_t n, int64_t nrhs, sptrsm_dtype);

/* The largest |r| / ((entries of the row + 1) u (|T| |X|)) over up to 8 columns spread over the block, r in long double;
 * NaN if any entry of X is not finite. Real types and op N only: the bench's cases. */
double bench_g1(const sptrsm_sparse *T, const void *B, const void *X, int64_t nrhs);

#endif
