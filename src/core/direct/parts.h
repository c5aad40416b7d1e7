/* parts.h -- the parts of a factor set other than its triangles: permutations, scalings and D, copied to where the context works. */
#ifndef SPTI_CORE_DIRECT_PARTS_H
#define SPTI_CORE_DIRECT_PARTS_H

#include "core/plan/pipeline.h"

/* *out is a copy of the caller's factor set *in. Fails unless its members go together: L lower, U upper, of one order and type, and
 * u_kind. No array is read. */
sptrsm_status spti_factors_read(sptrsm_factors *out, const sptrsm_factors *in);

/* inverse[perm[i]] = i. Fails with STRUCTURE if perm, called `name` in messages, is not a permutation of 0..n-1. */
sptrsm_status spti_permutation_invert(int32_t *inverse, const int32_t *perm, int32_t n, const char *name);

/* Every scale factor must be finite and nonzero, also when rounded to the precision of `dtype`, which the solves work in; `given` is the
 * type of the caller's factors. scale may be NULL. */
sptrsm_status spti_scale_check(const double *scale, sptrsm_scale_op, int32_t n, sptrsm_dtype given, sptrsm_dtype, const char *name);
/* The first unusable factor, without a message; -1: none. */
int32_t spti_scale_fault(const double *scale, int32_t n, sptrsm_dtype);
/* D must be regular and its 2x2 blocks must not overlap. val may be NULL, but not with sub (D_sub) given. */
sptrsm_status spti_D_check(const void *val, const void *sub, bool hermitian, int32_t n, sptrsm_dtype);

/* The same for values that lie `step` elements apart, without a message for a singular D: *row is its first bad row, or -1. */
typedef struct {
  const void *val, *sub;
  int64_t val_step, sub_step;
  bool hermitian;
} spti_D_values;
sptrsm_status spti_D_fault(int32_t *row, const spti_D_values *, int32_t n, sptrsm_dtype);

/* The row or the column side of the factors: a permutation and its transpose as gather maps, y[i] = x[map[i]], and a scaling. NULL stands
 * for the identity. */
typedef struct {
  int32_t *map, *inverse;
  double *scale;
  bool divide;
} spti_side;

/* perm and scale may be NULL. `name` is the name of the array in messages. */
sptrsm_status spti_side_set_maps(spti_side *, const sptrsm_context *, const int32_t *perm, sptrsm_convention, int32_t n, const char *name);
sptrsm_status spti_side_set_scale(spti_side *, const sptrsm_context *, const double *scale, sptrsm_scale_op, int32_t n, sptrsm_dtype given,
                                  sptrsm_dtype, const char *name);
/* The same side in another context. A failure leaves it half made, for spti_side_free. */
sptrsm_status spti_side_clone(spti_side *out, const sptrsm_context *, const spti_side *, const sptrsm_context *from_context, int32_t n);
void spti_side_free(spti_side *, const sptrsm_context *);

/* D and D_sub. The copies on the host are the old values where a caller changes only one of the two; `apply` points to them, or to
 * copies on the device. */
typedef struct {
  void *host[2], *device[2];
  spti_diagonal apply;
} spti_direct_diagonal;

/* With val NULL *out stays unchanged. */
sptrsm_status spti_direct_diagonal_create(spti_direct_diagonal *out, const sptrsm_context *, int32_t n, sptrsm_dtype, const void *val,
                                          const void *sub, bool hermitian);
void spti_direct_diagonal_free(spti_direct_diagonal *, const sptrsm_context *);

#endif
