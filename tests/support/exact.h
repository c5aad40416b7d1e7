/* exact.h -- blocks in extended precision that know how far computed numbers may be off, so that several solves in a row can be checked:
 * the solution is multiplied by the matrices, and must then be as near to the right-hand sides as the bounds of all solves together say. */
#ifndef TESTS_SUPPORT_EXACT_H
#define TESTS_SUPPORT_EXACT_H

#include "support/oracle.h"

/* What an operation may be off: by u times its result, and by `tiny`. */
typedef struct {
  long double u, tiny;
} test_rounding;

test_rounding test_rounding_of(sptrsm_dtype); /* to nearest, with subnormal numbers */

/* Numbers by rows, their sizes, and how far the computed ones may be off. */
typedef struct {
  int32_t n;
  int64_t columns;
  bool complex;
  long double *re, *im, *size, *off;
} test_exact;

test_exact test_exact_of(const test_block *);
void test_exact_free(test_exact *);

/* What the library did backwards, or, with right-hand sides, what it does first. Each adds its roundings. */
void test_exact_times(test_exact *, const double alpha[2], test_rounding);
void test_exact_scale(test_exact *, const double *scale, bool divide, test_rounding); /* row i by scale[i] */
void test_exact_permute(test_exact *, const int32_t *from);                           /* row i is what row from[i] was */
void test_exact_conjugate(test_exact *);
/* X := op(T) X, where X came from a substitution: by its bound it is off by (entries of row i + 1) (u |op(T)| |X| + 8 tiny), besides what X
 * was off. T need not be a triangle. */
void test_exact_multiply(test_exact *, const sptrsm_sparse *T, sptrsm_op, test_rounding);

/* The largest difference beside what both may be off; NaN where one of them has one. */
double test_exact_ratio(const test_exact *, const test_exact *);

#endif
