/* check.h -- a test solve with the factor set, and an estimate of the condition number. */
#ifndef APPS_FACTOR_CHECK_H
#define APPS_FACTOR_CHECK_H

#include "factor/factor.h"

typedef struct {
  bool done;
  double condition; /* estimate of norm1(A) norm1(A^-1): a lower bound, mostly exact */
  double
      backward; /* norm(b - A x) / (normF(A) norm(x) + norm(b)) of a test solve with b = (1, ..., 1), largest entries as norms of vectors */
  double seconds;
} factor_verdict;

int factor_check(factor_verdict *out, const factor_matrix *, const factor_set *);

#endif
