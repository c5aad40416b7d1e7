/* joined_values.c -- values of a mixed batch on a GPU. An item with a fault gets an identity in the joined factors, which harms no
 * other item; solves leave its X alone. L and U are checked on the device, D and the scalings on the host, where the solver takes
 * them from. */
#include <string.h>

#include "core/batch/gpu/joined.h"
#include "core/batch/stand_in.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"

/* ---- L and U ---- */

static spti_joined_check_args check_args(const spti_joined_set *set, int t, int64_t begin, int64_t end) {
  return (spti_joined_check_args){.rows = set->rows,
                                  .begin = set->first[begin],
                                  .end = set->first[end],
                                  .diagonal_first = (set->form.format[t] == SPTRSM_CSR) == (t == 1),
                                  .ptr = set->ptr[t],
                                  .idx = set->idx[t],
                                  .val = set->val[t],
                                  .bad = set->bad};
}

sptrsm_status spti_joined_check(sptrsm_batch *b, spti_joined_set *set, int t, int64_t begin, int64_t end) {
  const int part = t ? SPTI_PART_U : SPTI_PART_L;
  const spti_joined *s = b->state;
  const spti_joined_check_args args = check_args(set, t, begin, end);
  int32_t *bad;
  bool any = false;
  if (set->form.diag[t] == SPTRSM_UNIT || begin == end) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(&bad, end - begin, sizeof *bad, "item statuses"));
  sptrsm_status status;
  SPTI_TRY_DONE(spti_gpu_zero(b->context, set->bad + begin, (size_t)(end - begin) * sizeof *bad));
  SPTI_TRY_DONE(spti_gpu_check(spti_joined_check_launch(&args, b->dtype, b->context->stream), "the check of a batch"));
  SPTI_TRY_DONE(spti_gpu_fetch(b->context, bad, set->bad + begin, (size_t)(end - begin) * sizeof *bad));
  for (int64_t m = begin; m < end; m++) {
    const int32_t n = set->first[m + 1] - set->first[m], worst = bad[m - begin];
    s->faults[set->item[m]][part] = worst > 0 ? n - worst : -1;
    any = any || worst > 0;
  }
  if (any) status = spti_gpu_check(spti_joined_mend_launch(&args, b->dtype, b->context->stream), "the check of a batch");
done:
  spti_host_free(bad);
  return status;
}

/* ---- D and scalings ---- */

sptrsm_status spti_joined_judge(sptrsm_batch *b, const spti_joined_set *set, int64_t m) {
  const spti_joined *s = b->state;
  const int32_t n = set->first[m + 1] - set->first[m];
  int32_t *fault = s->faults[set->item[m]];
  const size_t skipped = (size_t)set->first[m], bytes = sptrsm_dtype_bytes(b->dtype);
  if (set->given[0]) {
    const spti_D_values D = {.val = (const char *)set->given[0] + skipped * bytes,
                             .sub = set->given[1] ? (const char *)set->given[1] + skipped * bytes : NULL,
                             .val_step = 1,
                             .sub_step = 1,
                             .hermitian = set->form.hermitian};
    SPTI_TRY(spti_D_fault(&fault[SPTI_PART_D], &D, n, b->dtype));
  }
  for (int side = 0; side < 2; side++)
    if (set->given[2 + side])
      fault[SPTI_PART_SCALE_ROW + side] = spti_scale_fault((const double *)set->given[2 + side] + skipped, n, b->dtype);
  return SPTRSM_OK;
}

sptrsm_status spti_joined_sound(void **out, const sptrsm_batch *b, const spti_joined_set *set, int p) {
  const spti_joined *s = b->state;
  const sptrsm_dtype dtype = p < 2 ? b->dtype : SPTRSM_F64;
  const size_t bytes = sptrsm_dtype_bytes(dtype), total = (size_t)set->first[set->members] * bytes;
  const int part = p < 2 ? SPTI_PART_D : SPTI_PART_D + p;
  *out = NULL;
  if (!set->given[p]) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(out, set->first[set->members], bytes, "joined items"));
  if (total > 0) memcpy(*out, set->given[p], total);
  for (int64_t m = 0; m < set->members; m++) {
    const int32_t first = set->first[m], n = set->first[m + 1] - first;
    char *own = (char *)*out + (size_t)first * bytes;
    if (s->faults[set->item[m]][part] < 0) continue;
    if (p == 1) memset(own, 0, (size_t)n * bytes);
    else spti_batch_set_ones(own, n, dtype);
  }
  return SPTRSM_OK;
}

sptrsm_status spti_joined_tell(sptrsm_batch *b) {
  const spti_joined *s = b->state;
  for (int64_t i = 0; i < b->count; i++) spti_batch_set_item(b, i, s->faults[i]);
  return spti_copy_bytes(b->context, s->device.status, SPTRSM_CUDA, b->items, SPTRSM_HOST, (size_t)b->count * sizeof *b->items);
}

/* ---- new values of one item ---- */

enum { MOST_BYTES = 16 /* of a value */ };

/* Before anything is written: a part that is not there, a pointer that the device can't reach. */
static sptrsm_status check_parts(const sptrsm_batch *b, const spti_joined_set *set, int64_t m, const sptrsm_batch_values *v) {
  const spti_joined *s = b->state;
  for (int part = SPTI_PART_U; part < SPTI_PARTS; part++) { /* all have L */
    int64_t stride;
    const char *name = spti_batch_part_names[part];
    const bool has = part == SPTI_PART_U ? set->form.has_U : set->has[part - SPTI_PART_D][m];
    if (spti_batch_part(&stride, v, part) && !has)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "%s is given, but the factors have no %s", name, name);
  }
  for (int t = 0; t < 2; t++) {
    const void *val = t ? v->U : v->L;
    const bool used = val && set->at[t][m + 1] > set->at[t][m] && s->places[set->item[m]][t] == SPTRSM_CUDA;
    if (used) SPTI_TRY(spti_gpu_check_pointer(b->context, val, t ? "U" : "L"));
  }
  return SPTRSM_OK;
}

/* The place of an item's values: where its triangles were when the batch was made. */
static sptrsm_status take_triangle(sptrsm_batch *b, spti_joined_set *set, int64_t m, int t, const void *val) {
  const spti_joined *s = b->state;
  const sptrsm_place place = s->places[set->item[m]][t];
  const size_t bytes = sptrsm_dtype_bytes(b->dtype);
  const int64_t at = set->at[t][m], nnz = set->at[t][m + 1] - at;
  if (!val || nnz == 0) return SPTRSM_OK;
  SPTI_TRY(spti_copy_bytes(b->context, (char *)set->val[t] + (size_t)at * bytes, SPTRSM_CUDA, val, place, (size_t)nnz * bytes));
  return spti_joined_check(b, set, t, m, m + 1);
}

/* D lies where L lies, the scalings in host memory. */
static sptrsm_status take_host_part(sptrsm_batch *b, spti_joined_set *set, int64_t m, int p, const void *val) {
  const spti_joined *s = b->state;
  const size_t bytes = p < 2 ? sptrsm_dtype_bytes(b->dtype) : sizeof(double);
  const int32_t first = set->first[m], n = set->first[m + 1] - first;
  const sptrsm_place place = p < 2 ? s->places[set->item[m]][0] : SPTRSM_HOST;
  if (!val) return SPTRSM_OK;
  return spti_copy_bytes(b->context, (char *)set->given[p] + (size_t)first * bytes, SPTRSM_HOST, val, place, (size_t)n * bytes);
}

static sptrsm_status hand_over(sptrsm_batch *b, spti_joined_set *set, const sptrsm_batch_values *v) {
  sptrsm_direct *d = set->direct;
  void *sound[SPTI_HOST_PARTS] = {NULL};
  const bool new_D = v->D || v->D_sub;
  sptrsm_status status = SPTRSM_OK;
  for (int p = new_D ? 0 : 2; p < SPTI_HOST_PARTS; p++) SPTI_TRY_DONE(spti_joined_sound(&sound[p], b, set, p));
  SPTI_TRY_DONE(sptrsm_direct_set_values(d, v->L ? set->val[0] : NULL, sound[0], sound[1], v->U ? set->val[1] : NULL));
  spti_side *const sides[2] = {&d->row, &d->col};
  for (int side = 0; side < 2; side++)
    if (side ? v->scale_col : v->scale_row)
      SPTI_TRY_DONE(
          spti_copy_bytes(b->context, sides[side]->scale, SPTRSM_CUDA, sound[2 + side], SPTRSM_HOST, (size_t)d->n * sizeof(double)));
done:
  for (int p = 0; p < SPTI_HOST_PARTS; p++) spti_host_free(sound[p]);
  return status;
}

/* Copies D and the scalings of a member, as they were given, to a store or back. */
static void keep_host_parts(char *kept, const sptrsm_batch *b, const spti_joined_set *set, int64_t m, bool back) {
  const size_t first = (size_t)set->first[m], n = (size_t)set->first[m + 1] - first;
  for (int p = 0; p < SPTI_HOST_PARTS; p++) {
    const size_t bytes = p < 2 ? sptrsm_dtype_bytes(b->dtype) : sizeof(double);
    char *own = (char *)set->given[p] + first * bytes, *store = kept + (size_t)p * n * MOST_BYTES;
    if (set->given[p] && n > 0) memcpy(back ? own : store, back ? store : own, n * bytes);
  }
}

/* What was there comes back if new values are refused. */
static sptrsm_status take_host_parts(sptrsm_batch *b, spti_joined_set *set, int64_t m, const sptrsm_batch_values *v) {
  const spti_joined *s = b->state;
  const void *const parts[SPTI_HOST_PARTS] = {v->D, v->D_sub, v->scale_row, v->scale_col};
  int32_t fault[SPTI_PARTS];
  char *kept;
  sptrsm_status status;
  SPTI_TRY(spti_host_alloc(&kept, SPTI_HOST_PARTS * (int64_t)(set->first[m + 1] - set->first[m]), MOST_BYTES, "new values of an item"));
  keep_host_parts(kept, b, set, m, false);
  memcpy(fault, s->faults[set->item[m]], sizeof fault);
  for (int p = 0; p < SPTI_HOST_PARTS; p++) SPTI_TRY_DONE(take_host_part(b, set, m, p, parts[p]));
  status = spti_joined_judge(b, set, m);
done:
  if (status != SPTRSM_OK) {
    keep_host_parts(kept, b, set, m, true);
    memcpy(s->faults[set->item[m]], fault, sizeof fault);
  }
  spti_host_free(kept);
  return status;
}

sptrsm_status spti_joined_set_values(sptrsm_batch *b, const sptrsm_batch_values *v) {
  spti_joined *s = b->state;
  spti_joined_set *set = &s->sets[s->set_of[v->first]];
  const int64_t m = s->member_of[v->first];
  SPTI_TRY(spti_gpu_refuse_capture(b->context, "new values"));
  SPTI_TRY(spti_batch_name_item(check_parts(b, set, m, v), v->first));
  SPTI_TRY(spti_batch_name_item(take_host_parts(b, set, m, v), v->first));
  SPTI_TRY(take_triangle(b, set, m, 0, v->L));
  SPTI_TRY(take_triangle(b, set, m, 1, v->U));
  SPTI_TRY(hand_over(b, set, v));
  return spti_joined_tell(b);
}
