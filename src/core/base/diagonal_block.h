/* diagonal_block.h -- is a 2x2 block of the diagonal D regular? The files' readers and the solves must give one answer. */
#ifndef SPTI_CORE_BASE_DIAGONAL_BLOCK_H
#define SPTI_CORE_BASE_DIAGONAL_BLOCK_H

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/dtype.h"

/* The value i of an array of this type. */
static inline double complex spti_value_at(const void *values, int64_t i, sptrsm_dtype dtype) {
  switch (dtype) {
  case SPTRSM_F32: return (double)((const float *)values)[i];
  case SPTRSM_F64: return ((const double *)values)[i];
  case SPTRSM_C64: return (double complex)((const float complex *)values)[i];
  default: return ((const double complex *)values)[i];
  }
}

static inline double spti_one_norm(double complex x) { return fabs(creal(x)) + fabs(cimag(x)); }

/* Eliminates [[a, u], [s, d]] with the pivot that the solve takes (core/matrix/arithmetic.tmpl.h): a if |a d| > |u s|, else s, and s where
 * both quotients of sizes overflow. False where the second pivot is no larger than the rounding errors of this type, or where it or the
 * factor overflows. */
static inline bool spti_block_is_regular(double complex a, double complex u, double complex s, double complex d, sptrsm_dtype dtype) {
  const bool single = spti_is_single(dtype);
  const double epsilon = single ? (double)FLT_EPSILON : DBL_EPSILON, largest = single ? (double)FLT_MAX : DBL_MAX;
  const double least = single ? (double)FLT_TRUE_MIN : DBL_TRUE_MIN;
  const double first = spti_one_norm(a) / spti_one_norm(u), second = spti_one_norm(s) / spti_one_norm(d);
  bool swap = !(first > second) || second > largest;
  double complex p = swap ? s : a, q = swap ? d : u, r = swap ? a : s, t = swap ? u : d;
  double complex factor = r / p, product = factor * q;
  double size = cabs(t) + cabs(product), pivot = cabs(t - product);
  return size <= largest && isfinite(cabs(p)) && cabs(factor) <= largest && pivot > fmax(epsilon * size, least);
}

#endif
