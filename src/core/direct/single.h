/* single.h -- a double-precision factor set rounded to single precision, for SPTRSM_MIXED. */
#ifndef SPTI_CORE_DIRECT_SINGLE_H
#define SPTI_CORE_DIRECT_SINGLE_H

#include "core/matrix/matrix.h"

/* F64 -> F32, C128 -> C64; F32 and C64 stay. */
sptrsm_dtype spti_single_of(sptrsm_dtype);

/* A factor set whose values are rounded copies in host memory; its other pointers are the caller's. */
typedef struct {
  sptrsm_factors f;
  sptrsm_sparse T[2];      /* L, U */
  spti_storage fetched[2]; /* host copies of L and U, where the caller's are in device memory */
  void *values[4];         /* L, U, D, D_sub */
} spti_single_factors;

/* Fails with UNSUPPORTED at the first finite entry that overflows, or a nonzero diagonal entry that underflows, in single precision.
 * *out must be freed on success only. */
sptrsm_status spti_single_factors_create(spti_single_factors *out, const sptrsm_context *, const sptrsm_factors *);
void spti_single_factors_free(spti_single_factors *);

/* Rounds new values in the same way: `count` values of a double type in `place`. *out is host memory to be freed by spti_host_free, or
 * NULL if val is. `pattern`, if not NULL, is the triangle in host memory to which the values belong; its diagonal is checked. */
sptrsm_status spti_single_values(void **out, const sptrsm_context *, const void *val, sptrsm_place place, int64_t count, sptrsm_dtype,
                                 const sptrsm_sparse *pattern, const char *name);

/* No pivot of D may underflow when rounded. Each array is D, then D_sub, NULL if absent; in `given`, of a double type, an array whose
 * values do not change may be NULL too. */
sptrsm_status spti_single_check_D(const void *const given[2], const void *const rounded[2], int32_t n, sptrsm_dtype);

#endif
