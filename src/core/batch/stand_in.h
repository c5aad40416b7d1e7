/* stand_in.h -- a factor set with another one's pattern and permutations, and ones for all values, whose diagonals are sound whatever those
 * of the other one are. For the pattern of a uniform batch, and for items of which a part is singular. On the host. */
#ifndef SPTI_CORE_BATCH_STAND_IN_H
#define SPTI_CORE_BATCH_STAND_IN_H

#include "core/batch/batch.h"

typedef struct {
  sptrsm_factors f;   /* with the other one's pattern and permutations; D_sub is zero */
  sptrsm_sparse T[2]; /* L, U */
  void *ones, *zeros;
  double *scale;
} spti_stand_in;

/* f has passed spti_factors_read. What its arrays hold is not checked. *out must be freed on success only. */
sptrsm_status spti_stand_in_create(spti_stand_in *out, const sptrsm_factors *f);
void spti_stand_in_free(spti_stand_in *);

void spti_batch_set_ones(void *values, int64_t count, sptrsm_dtype);

#endif
