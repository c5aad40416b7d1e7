/* solve_reference.h -- a solve of `block` by plain loops over the panels of reference.h: the operations of the kernel in f64 or c128, in
 * its order, and so its bits. It is fast enough for whole factors and many right-hand sides, which the emulated kernel is not. */
#ifndef TESTS_TRSM_BLOCK_SOLVE_REFERENCE_H
#define TESTS_TRSM_BLOCK_SOLVE_REFERENCE_H

#include "trsm/block/reference.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X = inv(T) B for finite values of f64 or c128. B and X: [n * width], row-major, a complex value being two words; they may not be the
 * same. False: no memory. */
bool block_reference_solve(const block_reference *, const spti_view *, int32_t width, const double *B, double *X);

/* Right-hand sides as solutions come in practice; complex ones have two such parts. What is left of sums that cancel differs most between
 * them. */
typedef enum {
  BLOCK_B_POSITIVE, /* B uniform in 0.5 to 1.5 */
  BLOCK_X_NORMAL,   /* B = T X with X normal */
  BLOCK_B_UNIFORM,  /* B uniform in -1 to 1 */
  BLOCK_B_NORMAL,
  BLOCK_DISTRIBUTIONS
} block_distribution;
extern const char *const block_distribution_names[BLOCK_DISTRIBUTIONS];

/* The largest componentwise residual over its bound, |b - T x|(i) / ((entries of row i + 1) u (|T| |x|)(i)), of `columns` right-hand sides
 * of each distribution; NaN if a solution has one. False: no memory. */
bool block_accuracy(double worst[BLOCK_DISTRIBUTIONS], const block_reference *, const spti_view *, int64_t columns);

#ifdef __cplusplus
}
#endif
#endif
