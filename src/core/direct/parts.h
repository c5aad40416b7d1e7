/* parts.h -- what a factor set has beside its triangles: permutations, scalings and D, in the context's place. */
#ifndef SPTI_CORE_DIRECT_PARTS_H
#define SPTI_CORE_DIRECT_PARTS_H

#include "core/plan/pipeline.h"

/* out = the caller's factor set, after checking that its members fit together; direct.c. */
sptrsm_status spti_factors_read(sptrsm_factors *out, const sptrsm_factors *in);

/* inverse[perm[i]] = i. STRUCTURE where perm, the array `name`, is no permutation of 0..n-1. */
sptrsm_status spti_permutation_invert(int32_t *inverse, const int32_t *perm, int32_t n, const char *name);

/* Scales are to be finite and not zero, as solved with in `dtype`, too; `given` is that of the factors. NULL is right. */
sptrsm_status spti_scale_check(const double *scale, sptrsm_scale_op, int32_t n, sptrsm_dtype given, sptrsm_dtype, const char *name);
/* D is to be regular, its blocks are not to overlap. NULL is right, but for D_sub without D. */
sptrsm_status spti_D_check(const void *val, const void *sub, bool hermitian, int32_t n, sptrsm_dtype);

/* A permutation M and its transpose as gather maps, y[i] = x[map[i]], and the scaling beside it. NULL: identity, ones. */
typedef struct {
  int32_t *map, *inverse;
  double *scale;
  bool divide;
} spti_side;

/* `name` is the array's in messages. perm, scale NULL: nothing to set. */
sptrsm_status spti_side_set_maps(spti_side *, const sptrsm_context *, const int32_t *perm, sptrsm_convention, int32_t n, const char *name);
sptrsm_status spti_side_set_scale(spti_side *, const sptrsm_context *, const double *scale, sptrsm_scale_op, int32_t n, sptrsm_dtype given,
                                  sptrsm_dtype, const char *name);
void spti_side_free(spti_side *, const sptrsm_context *);

/* D and D_sub: the host's copies stand in for what new values leave unchanged; `apply` points to them or to device copies. */
typedef struct {
  void *host[2], *device[2];
  spti_diagonal apply;
} spti_direct_diagonal;

/* val NULL: *out stays as it is. */
sptrsm_status spti_direct_diagonal_create(spti_direct_diagonal *out, const sptrsm_context *, int32_t n, sptrsm_dtype, const void *val,
                                          const void *sub, bool hermitian);
void spti_direct_diagonal_free(spti_direct_diagonal *, const sptrsm_context *);

#endif
