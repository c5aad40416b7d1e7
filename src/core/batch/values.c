/* values.c -- checks of sptrsm_batch_values: which items, which parts, and strides that are neither negative nor too short. */
#include <stdio.h>

#include "core/batch/batch.h"

const char *const spti_batch_part_names[SPTI_PARTS] = {"L", "U", "D", "D_sub", "scale_row", "scale_col"};

const void *spti_batch_part(int64_t *stride, const sptrsm_batch_values *v, int part) {
  const void *const parts[SPTI_PARTS] = {v->L, v->U, v->D, v->D_sub, v->scale_row, v->scale_col};
  const int64_t strides[SPTI_PARTS] = {v->L_stride, v->U_stride, v->D_stride, v->D_sub_stride, v->scale_row_stride, v->scale_col_stride};
  *stride = strides[part];
  return parts[part];
}

/* The number of entries is ptr[n]. Whether ptr is right is checked where the pattern is. */
static sptrsm_status read_entries(int64_t *out, const sptrsm_batch *b, const sptrsm_sparse *T, const char *name) {
  SPTI_TRY(spti_name_object(spti_validate_description(T), name));
  if (T->place == SPTRSM_CUDA && b->context->place == SPTRSM_HOST)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: arrays in device memory need a CUDA context", name);
  SPTI_TRY(spti_copy_bytes(b->context, out, SPTRSM_HOST, T->ptr + T->n, T->place, sizeof *out));
  if (*out < 0) return spti_fail(SPTRSM_ERR_STRUCTURE, "%s: ptr[%d] = %lld is negative", name, T->n, (long long)*out);
  return SPTRSM_OK;
}

sptrsm_status spti_batch_read_lengths(sptrsm_batch *b, const sptrsm_factors *f) {
  const int64_t n = f->L->n;
  const bool present[SPTI_PARTS] = {true, f->U != NULL, f->D != NULL, f->D_sub != NULL, f->scale_row != NULL, f->scale_col != NULL};
  for (int part = 0; part < SPTI_PARTS; part++) b->lengths[part] = present[part] ? n : -1;
  SPTI_TRY(read_entries(&b->lengths[SPTI_PART_L], b, f->L, "L"));
  return f->U ? read_entries(&b->lengths[SPTI_PART_U], b, f->U, "U") : SPTRSM_OK;
}

/* The stride of a part with `length` elements an item. */
static sptrsm_status check_stride(int64_t stride, int64_t length, int64_t count, const char *name) {
  const long long s = stride, most = length;
  if (stride < 0) return spti_fail(SPTRSM_ERR_ARGUMENT, "values: %s_stride = %lld is negative", name, s);
  if (stride > 0 && stride < length)
    return spti_fail(SPTRSM_ERR_ARGUMENT,
                     "values: %s_stride = %lld is less than the %lld elements of an item; 0 lets all items have the same values", name, s,
                     most);
  if (stride > 0 && count > 0 && count - 1 > (INT64_MAX / (int64_t)sizeof(double _Complex) - length) / stride)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "values: %lld items at %s_stride = %lld do not fit the address space", (long long)count, name, s);
  return SPTRSM_OK;
}

sptrsm_status spti_batch_check_values(const sptrsm_batch *b, const sptrsm_batch_values *v) {
  if (v->first < 0 || v->count < 0 || v->first > b->count || v->count > b->count - v->first)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "values: %lld items from item %lld on are not in a batch of %lld", (long long)v->count,
                     (long long)v->first, (long long)b->count);
  for (int part = 0; part < SPTI_PARTS; part++) {
    int64_t stride;
    const char *name = spti_batch_part_names[part];
    if (!spti_batch_part(&stride, v, part)) continue;
    if (!b->uniform) SPTI_TRY(check_stride(stride, 0, v->count, name));
    else if (b->lengths[part] < 0) return spti_fail(SPTRSM_ERR_ARGUMENT, "values: %s is given, but the factors have no %s", name, name);
    else SPTI_TRY(check_stride(stride, b->lengths[part], v->count, name));
  }
  return SPTRSM_OK;
}

void spti_batch_set_item(sptrsm_batch *b, int64_t item, const int32_t fault[SPTI_PARTS]) {
  sptrsm_item_status *status = &b->items[item];
  *status = (sptrsm_item_status){.status = SPTRSM_OK, .row = -1};
  for (int part = SPTI_PARTS - 1; part >= 0; part--)
    if (fault[part] >= 0) *status = (sptrsm_item_status){.status = SPTRSM_ERR_SINGULAR, .row = fault[part]};
}

sptrsm_status spti_batch_name_item(sptrsm_status status, int64_t item) {
  char name[32];
  snprintf(name, sizeof name, "item %lld", (long long)item);
  return spti_name_object(status, name);
}
