/* single.h -- a double-precision factor set rounded to single precision, for SPTRSM_MIXED. */
#ifndef SPTI_CORE_DIRECT_SINGLE_H
#define SPTI_CORE_DIRECT_SINGLE_H

#include "core/matrix/matrix.h"

/* F64 -> F32, C128 -> C64; single types stay. */
sptrsm_dtype spti_single_of(sptrsm_dtype);

/* The set with values of its own in host memory; the rest points to where the caller's does. */
typedef struct {
  sptrsm_factors f;
  sptrsm_sparse T[2]; /* L, U */
  spti_storage fetched[2];
  void *values[4]; /* L, U, D, D_sub */
} spti_single_factors;

/* Errors: UNSUPPORTED names the first finite entry that overflows, or a nonzero diagonal that underflows.
 * *out is to be freed on success only. */
sptrsm_status spti_single_factors_create(spti_single_factors *out, const sptrsm_context *, const sptrsm_factors *);
void spti_single_factors_free(spti_single_factors *);

/* New values likewise: `count` of a double type in `place`, as host memory to be freed by spti_host_free; NULL for val NULL.
 * `lines`, if any: the triangle in host memory that they are the values of. */
sptrsm_status spti_single_values(void **out, const sptrsm_context *, const void *val, sptrsm_place place, int64_t count, sptrsm_dtype,
                                 const sptrsm_sparse *lines, const char *name);

/* D and D_sub, each NULL if not there: no pivot may underflow. In `given`, of a double type, what stays as it is may be NULL. */
sptrsm_status spti_single_check_D(const void *const given[2], const void *const rounded[2], int32_t n, sptrsm_dtype);

#endif
