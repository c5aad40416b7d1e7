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

#define SPTI_TEMPLATE "core/base/diagonal_pair.tmpl.h"
#include "core/base/for_each_dtype.h"

/* The four numbers are of this type. */
static inline bool spti_block_is_regular(double complex a, double complex u, double complex s, double complex d, sptrsm_dtype dtype) {
  switch (dtype) {
  case SPTRSM_F32: return spti_diagonal_pair_is_regular_f32((float)creal(a), (float)creal(u), (float)creal(s), (float)creal(d));
  case SPTRSM_F64: return spti_diagonal_pair_is_regular_f64(creal(a), creal(u), creal(s), creal(d));
  case SPTRSM_C64: return spti_diagonal_pair_is_regular_c64((float complex)a, (float complex)u, (float complex)s, (float complex)d);
  default: return spti_diagonal_pair_is_regular_c128(a, u, s, d);
  }
}

#endif
