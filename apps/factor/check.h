/* check.h -- does the factor set solve, and how well conditioned is the matrix? */
#ifndef APPS_FACTOR_CHECK_H
#define APPS_FACTOR_CHECK_H

#include "factor/factor.h"

typedef struct {
  bool done;
  double condition; /* estimate of norm1(A) norm1(A^-1), mostly exact and never above */
  double
      backward; /* norm(b - A x) / (normF(A) norm(x) + norm(b)) of a test solve with b = (1, ..., 1), largest entries as norms of vectors */
  double seconds;
} factor_verdict;

int factor_check(factor_verdict *out, const factor_matrix *, const factor_set *);

#endif
