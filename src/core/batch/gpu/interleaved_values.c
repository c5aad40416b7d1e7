/* interleaved_values.c -- new values of a uniform batch on a GPU: parts of the values go to the device, are interleaved there, and their
 * diagonals are checked there. Values in device memory never pass through the host. */
#include "core/base/dtype.h"
#include "core/batch/gpu/interleaved.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"

enum { CHUNK_BYTES = 64 << 20 }; /* of values in host memory that go to the device at once */

/* One part of the values of the items [first, first + items). */
typedef struct {
  const char *name;
  const void *from;
  int64_t stride, length; /* in elements */
  sptrsm_place place;
  sptrsm_dtype dtype;
  int64_t first, items;
} part;

/* Where entries of a part go. */
typedef struct {
  int64_t entries;
  const int32_t *source;
  void *to;
} target;

static sptrsm_status interleave(const sptrsm_batch *b, const part *p, const void *device, int64_t first, int64_t items,
                                const target *targets, int count) {
  const spti_batch_interleaved *s = b->state;
  for (int i = 0; i < count; i++) {
    const spti_batch_interleave_args args = {.from = device,
                                             .stride = p->stride,
                                             .first = first,
                                             .items = items,
                                             .entries = targets[i].entries,
                                             .source = targets[i].source,
                                             .to = targets[i].to,
                                             .log_group = s->log_group};
    SPTI_CUDA(spti_batch_interleave_launch(&args, p->dtype, b->context->stream));
  }
  return SPTRSM_OK;
}

/* By way of a buffer on the device, some items at a time. */
static sptrsm_status interleave_from_host(const sptrsm_batch *b, const part *p, const target *targets, int count) {
  const size_t bytes = sptrsm_dtype_bytes(p->dtype), item_bytes = (size_t)p->length * bytes;
  int64_t chunk = p->stride == 0 ? p->items : item_bytes < CHUNK_BYTES ? (int64_t)(CHUNK_BYTES / item_bytes) : 1;
  if (chunk > p->items) chunk = p->items;
  void *buffer;
  part dense = *p;
  sptrsm_status status;
  if (p->stride) dense.stride = p->length;
  SPTI_TRY(spti_alloc(b->context, &buffer, p->stride == 0 ? p->length : chunk * p->length, bytes, "new values of a batch"));
  for (int64_t at = 0; at < p->items; at += chunk) {
    const int64_t items = p->items - at < chunk ? p->items - at : chunk;
    const char *from = (const char *)p->from + at * p->stride * (int64_t)bytes;
    SPTI_TRY_DONE(spti_gpu_copy(b->context, buffer, item_bytes, from, (size_t)p->stride * bytes, item_bytes, p->stride ? (size_t)items : 1,
                                SPTI_TO_DEVICE));
    SPTI_TRY_DONE(interleave(b, &dense, buffer, p->first + at, items, targets, count));
  }
  status = SPTRSM_OK;
done:
  spti_free(b->context, buffer);
  return status;
}

static sptrsm_status take_part(const sptrsm_batch *b, const part *p, const target *targets, int count) {
  if (p->length == 0) return SPTRSM_OK;
  if (p->place == SPTRSM_HOST) return interleave_from_host(b, p, targets, count);
  return interleave(b, p, p->from, p->first, p->items, targets, count);
}

sptrsm_status spti_batch_interleaved_turn(const sptrsm_batch *b, const spti_batch_triangle *t, int64_t first, int64_t items) {
  const spti_batch_interleaved *s = b->state;
  const spti_batch_order_of *from = &t->of[0], *to = &t->of[1];
  const int64_t group = first >> s->log_group, groups = ((first + items - 1) >> s->log_group) - group + 1;
  const size_t skipped = (size_t)(group * from->entries << s->log_group) * sptrsm_dtype_bytes(b->dtype);
  const spti_batch_reorder_args args = {.from = (const char *)from->val + skipped,
                                        .entries = from->entries,
                                        .groups = groups,
                                        .source = to->source,
                                        .to = (char *)to->val + skipped,
                                        .log_group = s->log_group};
  if (from->entries == 0 || items == 0) return SPTRSM_OK;
  SPTI_CUDA(spti_batch_reorder_launch(&args, b->dtype, b->context->stream));
  return SPTRSM_OK;
}

/* ---- checks ---- */

enum { BAD_L, BAD_U, BAD_D, BAD_SCALE /* of rows, then of columns */ };

static sptrsm_status check(const sptrsm_batch *b, int which, const void *diag, const void *sub, const part *p) {
  const spti_batch_interleaved *s = b->state;
  int32_t *bad = s->bad + which * b->count;
  const spti_batch_check_args args = {.n = b->n,
                                      .log_group = s->log_group,
                                      .first = p->first,
                                      .items = p->items,
                                      .diag = diag,
                                      .sub = sub,
                                      .hermitian = s->hermitian,
                                      .in_single = which >= BAD_SCALE && spti_is_single(b->dtype),
                                      .bad = bad};
  if (b->n == 0) return SPTRSM_OK;
  SPTI_CUDA(spti_batch_check_launch(&args, p->dtype, b->context->stream));
  return SPTRSM_OK;
}

static sptrsm_status forget(const sptrsm_batch *b, int which, int64_t first, int64_t items) {
  const spti_batch_interleaved *s = b->state;
  return spti_gpu_zero(b->context, s->bad + which * b->count + first, (size_t)items * sizeof *s->bad);
}

static sptrsm_status judge(sptrsm_batch *b, int64_t first, int64_t items) {
  spti_batch_interleaved *s = b->state;
  spti_batch_status_args args = {.n = b->n, .first = first, .items = items, .status = s->device.status};
  for (int which = 0; which < SPTI_BATCH_PARTS; which++) args.bad[which] = s->bad + which * b->count;
  SPTI_CUDA(spti_batch_status_launch(&args, b->context->stream));
  s->stale = true;
  return SPTRSM_OK;
}

sptrsm_status spti_batch_interleaved_look(sptrsm_batch *b) {
  spti_batch_interleaved *s = b->state;
  if (!s->stale || b->count == 0) return SPTRSM_OK;
  SPTI_TRY(spti_gpu_fetch(b->context, b->items, s->device.status, (size_t)b->count * sizeof *b->items));
  s->stale = false;
  return SPTRSM_OK;
}

/* ---- parts ---- */

static sptrsm_status take_triangle(const sptrsm_batch *b, const part *p, const spti_batch_triangle *t, int which) {
  const target targets[] = {{t->of[0].entries, t->of[0].source, t->of[0].val}, {b->n, t->diagonal, t->diag}};
  SPTI_TRY(forget(b, which, p->first, p->items));
  SPTI_TRY(take_part(b, p, targets, t->unit ? 1 : 2));
  if (t->of[1].made) SPTI_TRY(spti_batch_interleaved_turn(b, t, p->first, p->items));
  return t->unit ? SPTRSM_OK : check(b, which, t->diag, NULL, p);
}

static sptrsm_status take_whole(const sptrsm_batch *b, const part *p, void *to) { return take_part(b, p, &(target){b->n, NULL, to}, 1); }

/* The part `which` of the new values; from is NULL if there is none. */
static part part_of(const sptrsm_batch *b, const sptrsm_batch_values *v, const sptrsm_factors *rest, int which) {
  const spti_batch_interleaved *s = b->state;
  const bool scale = which >= SPTI_PART_SCALE_ROW;
  part p = {.name = spti_batch_part_names[which], .length = b->lengths[which], .first = v->first, .items = v->count};
  p.dtype = scale ? SPTRSM_F64 : b->dtype;
  p.place = scale ? SPTRSM_HOST : s->triangle[which == SPTI_PART_U].values_place;
  p.from = spti_batch_part(&p.stride, v, which);
  if (p.from || !rest) return p;
  const void *const own[SPTI_PARTS] = {rest->L->val, rest->U ? rest->U->val : NULL, rest->D, rest->D_sub, rest->scale_row, rest->scale_col};
  p.from = own[which];
  p.stride = 0;
  if (which != SPTI_PART_L && which != SPTI_PART_U) p.place = SPTRSM_HOST;
  return p;
}

static sptrsm_status check_parts(const sptrsm_batch *b, const part *parts, bool all) {
  for (int i = 0; i < SPTI_PARTS; i++) {
    if (parts[i].from && parts[i].place == SPTRSM_CUDA)
      SPTI_TRY(spti_gpu_check_array(b->context, parts[i].from, sptrsm_dtype_bytes(parts[i].dtype), parts[i].name));
    if (all && !parts[i].from && parts[i].length > 0)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "values: %s is NULL, and so is that of the pattern", parts[i].name);
  }
  return SPTRSM_OK;
}

static sptrsm_status take_D(const sptrsm_batch *b, const part *D, const part *sub) {
  const spti_batch_interleaved *s = b->state;
  if (!D->from && !sub->from) return SPTRSM_OK;
  SPTI_TRY(forget(b, BAD_D, D->first, D->items));
  if (D->from) SPTI_TRY(take_whole(b, D, s->D[0]));
  if (sub->from) SPTI_TRY(take_whole(b, sub, s->D[1]));
  return check(b, BAD_D, s->D[0], s->D[1], D);
}

static sptrsm_status take_scale(const sptrsm_batch *b, const part *scale, int side) {
  const spti_batch_interleaved *s = b->state;
  if (!scale->from) return SPTRSM_OK;
  SPTI_TRY(forget(b, BAD_SCALE + side, scale->first, scale->items));
  SPTI_TRY(take_whole(b, scale, s->scale[side]));
  return check(b, BAD_SCALE + side, s->scale[side], NULL, scale);
}

/* 2x2 blocks must not overlap. Of a D_sub in device memory such a row counts as singular. */
static sptrsm_status check_pairs(const sptrsm_batch *b, const part *sub) {
  const int64_t items = sub->stride == 0 && sub->items > 0 ? 1 : sub->items;
  if (!sub->from || sub->place != SPTRSM_HOST) return SPTRSM_OK;
  for (int64_t i = 0; i < items; i++) {
    const void *own = (const char *)sub->from + (size_t)(i * sub->stride) * sptrsm_dtype_bytes(b->dtype);
    const spti_D_values D = {.val = own, .sub = own, .val_step = 1, .sub_step = 1};
    int32_t row;
    SPTI_TRY(spti_batch_name_item(spti_D_fault(&row, &D, b->n, b->dtype), sub->first + i));
  }
  return SPTRSM_OK;
}

sptrsm_status spti_batch_interleaved_take(sptrsm_batch *b, const sptrsm_batch_values *v, const sptrsm_factors *rest) {
  const spti_batch_interleaved *s = b->state;
  part parts[SPTI_PARTS];
  if (v->count == 0) return SPTRSM_OK;
  for (int i = 0; i < SPTI_PARTS; i++) parts[i] = part_of(b, v, rest, i);
  SPTI_TRY(check_parts(b, parts, rest != NULL));
  SPTI_TRY(check_pairs(b, &parts[SPTI_PART_D_SUB]));
  for (int m = 0; m < 2; m++)
    if (parts[m].from) SPTI_TRY(take_triangle(b, &parts[m], &s->triangle[m], m == 0 ? BAD_L : BAD_U));
  SPTI_TRY(take_D(b, &parts[SPTI_PART_D], &parts[SPTI_PART_D_SUB]));
  for (int side = 0; side < 2; side++) SPTI_TRY(take_scale(b, &parts[SPTI_PART_SCALE_ROW + side], side));
  return judge(b, v->first, v->count);
}
