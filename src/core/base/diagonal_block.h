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

/* Half of |re| + |im|: without overflow. */
static inline double spti_half_size(double complex x) { return fabs(creal(x)) / 2 + fabs(cimag(x)) / 2; }
static inline bool spti_parts_are_finite(double complex x) { return isfinite(creal(x)) && isfinite(cimag(x)); }

/* Eliminates [[a, u], [s, d]] in the type T, whose real type is R, with the pivot that the solve takes (core/matrix/arithmetic.tmpl.h):
 * a if |a d| > |u s|, else s. False where the second pivot is no larger than the rounding errors of the type, or where the factor
 * overflows, or |re| + |im| of a pivot or of the entry that the first one divides: devices add these parts. */
#define SPTI_DEFINE_BLOCK_IS_REGULAR(T, R, name, epsilon, half_of_least)                                                                   \
  static inline R name##_size(T x) { return (R)(fabs(creal(x)) + fabs(cimag(x))); }                                                        \
  static inline bool name(T a, T u, T s, T d) {                                                                                            \
    const bool swap = !(name##_size(a) / name##_size(u) > name##_size(s) / name##_size(d));                                                \
    const T p = swap ? s : a, q = swap ? d : u, r = swap ? a : s, t = swap ? u : d;                                                        \
    const T factor = r / p, product = factor * q, pivot = t - product;                                                                     \
    const double lost = (epsilon) * (spti_half_size(t) + spti_half_size(product));                                                         \
    return isfinite(name##_size(p)) && isfinite(name##_size(r)) && spti_parts_are_finite(factor) && isfinite(name##_size(pivot)) &&        \
           spti_half_size(pivot) > fmax(lost, half_of_least);                                                                              \
  }
SPTI_DEFINE_BLOCK_IS_REGULAR(float, float, spti_block_is_regular_f32, FLT_EPSILON, (double)FLT_TRUE_MIN / 2)
SPTI_DEFINE_BLOCK_IS_REGULAR(double, double, spti_block_is_regular_f64, DBL_EPSILON, 0)
SPTI_DEFINE_BLOCK_IS_REGULAR(float complex, float, spti_block_is_regular_c64, FLT_EPSILON, (double)FLT_TRUE_MIN / 2)
SPTI_DEFINE_BLOCK_IS_REGULAR(double complex, double, spti_block_is_regular_c128, DBL_EPSILON, 0)
#undef SPTI_DEFINE_BLOCK_IS_REGULAR

/* The four numbers are of this type. */
static inline bool spti_block_is_regular(double complex a, double complex u, double complex s, double complex d, sptrsm_dtype dtype) {
  switch (dtype) {
  case SPTRSM_F32: return spti_block_is_regular_f32((float)creal(a), (float)creal(u), (float)creal(s), (float)creal(d));
  case SPTRSM_F64: return spti_block_is_regular_f64(creal(a), creal(u), creal(s), creal(d));
  case SPTRSM_C64: return spti_block_is_regular_c64((float complex)a, (float complex)u, (float complex)s, (float complex)d);
  default: return spti_block_is_regular_c128(a, u, s, d);
  }
}

#endif
