/* check.h -- a test solve with the factor set, and an estimate of the condition number. */
#ifndef APPS_FACTOR_CHECK_H
#define APPS_FACTOR_CHECK_H

#include "factor/factor.h"

typedef struct {
  bool done;
  double condition;        /* estimate of norm1(A) norm1(A^-1): a lower bound, mostly exact */
  double scaled_condition; /* the same of A with rows scaled to the same sum of magnitudes, in the maximum norm */
  /* Of a test solve with b = A x for whole numbers x from -9 to 9, as sptrsm-verify computes them. */
  double backward;      /* norm(b - A x) / (normF(A) norm(x) + norm(b)), 2-norms of vectors */
  double componentwise; /* max |b - A x| / (|A| |x| + |b|) over the rows */
  double seconds;
} factor_verdict;

int factor_check(factor_verdict *out, const factor_matrix *, const factor_set *);

#endif
