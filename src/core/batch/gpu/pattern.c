/* pattern.c -- see pattern.h. */
#include "core/batch/gpu/pattern.h"

#include "core/batch/stand_in.h"
#include "core/context/alloc.h"

sptrsm_status spti_batch_check_pattern(const sptrsm_sparse *T) {
  int64_t diagonals;
  void *ones;
  const int64_t entries = T->ptr[T->n] > 0 ? T->ptr[T->n] : 0;
  SPTI_TRY(spti_host_alloc(&ones, entries, sptrsm_dtype_bytes(T->dtype), "pattern of an item"));
  spti_batch_set_ones(ones, entries, T->dtype);
  sptrsm_sparse checked = *T;
  checked.val = ones;
  const sptrsm_status status = spti_validate(&checked, &diagonals);
  spti_host_free(ones);
  return status;
}
