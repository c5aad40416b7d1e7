/* stand_in.c -- see stand_in.h. */
#include "core/batch/stand_in.h"

#include <string.h>

#include "core/context/alloc.h"

static sptrsm_status count_entries(int64_t *most, const sptrsm_sparse *T, const char *name) {
  SPTI_TRY(spti_name_object(spti_validate_description(T), name));
  const int64_t nnz = T->ptr[T->n];
  if (nnz < 0 || nnz > (int64_t)T->n * ((int64_t)T->n + 1) / 2)
    return spti_fail(SPTRSM_ERR_STRUCTURE, "%s: ptr[%d] = %lld is not a number of entries of an n = %d matrix", name, T->n, (long long)nnz,
                     T->n);
  if (nnz > *most) *most = nnz;
  return SPTRSM_OK;
}

void spti_batch_set_ones(void *values, int64_t count, sptrsm_dtype dtype) {
  for (int64_t i = 0; i < count; i++) switch (dtype) {
    case SPTRSM_F32: ((float *)values)[i] = 1; break;
    case SPTRSM_F64: ((double *)values)[i] = 1; break;
    case SPTRSM_C64: ((float _Complex *)values)[i] = 1; break;
    default: ((double _Complex *)values)[i] = 1;
    }
}

static sptrsm_status fill(spti_stand_in *s, const sptrsm_factors *f) {
  const int32_t n = f->L->n;
  const size_t bytes = sptrsm_dtype_bytes(f->L->dtype);
  int64_t most = n;
  SPTI_TRY(count_entries(&most, f->L, "L"));
  if (f->U) SPTI_TRY(count_entries(&most, f->U, "U"));
  SPTI_TRY(spti_host_alloc(&s->ones, most, bytes, "values"));
  SPTI_TRY(spti_host_alloc(&s->zeros, n, bytes, "values"));
  SPTI_TRY(spti_host_alloc(&s->scale, n, sizeof(double), "values"));
  spti_batch_set_ones(s->ones, most, f->L->dtype);
  spti_batch_set_ones(s->scale, n, SPTRSM_F64);
  memset(s->zeros, 0, (size_t)n * bytes);
  s->f = *f;
  s->f.L = &s->T[0], s->T[0] = *f->L, s->T[0].val = s->ones;
  if (f->U) s->f.U = &s->T[1], s->T[1] = *f->U, s->T[1].val = s->ones;
  if (f->D) s->f.D = s->ones;
  if (f->D_sub) s->f.D_sub = s->zeros;
  if (f->scale_row) s->f.scale_row = s->scale;
  if (f->scale_col) s->f.scale_col = s->scale;
  return SPTRSM_OK;
}

sptrsm_status spti_stand_in_create(spti_stand_in *out, const sptrsm_factors *f) {
  *out = (spti_stand_in){0};
  const sptrsm_status status = fill(out, f);
  if (status != SPTRSM_OK) spti_stand_in_free(out);
  return status;
}

void spti_stand_in_free(spti_stand_in *s) {
  spti_host_free(s->ones);
  spti_host_free(s->zeros);
  spti_host_free(s->scale);
}
