/* blocks.c -- checks of the blocks and the run of one call. All that a solve relies on is checked before anything is written: each block by
 * itself and against its partner as in sptrsm_solve, then that no X touches a block of another item.
 * Where all items have one shape and strides, that takes one item and some arithmetic; otherwise core/base/overlap.h compares them. */
#include "core/batch/batch.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"

sptrsm_block spti_batch_block_of(const sptrsm_batch *b, const sptrsm_batch_block *block, int64_t item) {
  sptrsm_block out = {.ld = block->ld_of ? block->ld_of[item] : block->ld,
                      .n = spti_batch_order(b, item),
                      .nrhs = block->nrhs_of ? block->nrhs_of[item] : block->nrhs,
                      .dtype = block->dtype,
                      .layout = block->layout,
                      .place = block->place};
  if (block->data_of) out.data = block->data_of[item];
  else if (block->data) out.data = (char *)block->data + item * block->stride * (int64_t)sptrsm_dtype_bytes(block->dtype);
  return out;
}

sptrsm_status spti_batch_check_number(const sptrsm_batch *b, int64_t item, const char *call) {
  if (item >= 0 && item < b->count) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: there is no item %lld in a batch of %lld", call, (long long)item, (long long)b->count);
}

/* ---- one item ---- */

static sptrsm_status check_item(const sptrsm_batch *b, const spti_batch_call *call, int64_t item) {
  const sptrsm_block B = spti_batch_block_of(b, call->B, item), X = spti_batch_block_of(b, call->X, item);
  const spti_pipeline pipe = {.context = b->context, .dtype = b->dtype, .n = spti_batch_order(b, item)};
  return spti_batch_name_item(spti_pipeline_check(&pipe, &B, &X), item);
}

/* Do all items have blocks of one shape, at strides? */
static bool is_regular(const sptrsm_batch *b, const sptrsm_batch_block *block) {
  return !b->n_of && !block->data_of && !block->ld_of && !block->nrhs_of;
}

static sptrsm_status check_items(const sptrsm_batch *b, const spti_batch_call *call) {
  if (is_regular(b, call->B) && is_regular(b, call->X)) return check_item(b, call, 0);
  for (int64_t i = 0; i < b->count; i++)
    if (spti_batch_wants(call, i)) SPTI_TRY(check_item(b, call, i));
  return SPTRSM_OK;
}

/* ---- strides ---- */

/* The shapes of all blocks at strides, in elements. */
typedef struct {
  int64_t span, item; /* of the block with the longest span */
  int64_t length;     /* most elements of a row of a row-major block, or a column */
  int64_t ld;         /* of all of them; INT64_MIN: they differ */
} extent;

static void add_extent(extent *e, const sptrsm_block *block, int64_t item) {
  const int64_t span = (int64_t)(spti_block_span(block) / sptrsm_dtype_bytes(block->dtype));
  const int64_t length = block->layout == SPTRSM_ROW_MAJOR ? block->nrhs : block->n;
  if (span == 0) return;
  e->ld = e->span == 0 || e->ld == block->ld ? block->ld : INT64_MIN;
  if (length > e->length) e->length = length;
  if (span > e->span) e->span = span, e->item = item;
}

static extent extent_of(const sptrsm_batch *b, const spti_batch_call *call, const sptrsm_batch_block *block) {
  extent e = {0};
  const int64_t shapes = is_regular(b, block) ? 1 : b->count;
  for (int64_t i = 0; i < shapes; i++) {
    const sptrsm_block at = spti_batch_block_of(b, block, i);
    if (shapes == 1 || spti_batch_wants(call, i)) add_extent(&e, &at, i);
  }
  return e;
}

/* Blocks of different items must not meet. They lie one behind the other, or side by side in one larger block. */
static sptrsm_status check_stride(const sptrsm_batch *b, const sptrsm_batch_block *block, const extent *e, const char *name) {
  const long long stride = block->stride, span = e->span;
  if (e->span == 0 || b->count == 1 || block->stride >= e->span) return SPTRSM_OK;
  const bool beside = block->stride >= e->length && e->ld >= (b->count - 1) * block->stride + e->length;
  if (beside) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "item %lld: %s: stride = %lld is less than the %lld elements from its first to its last one",
                   (long long)e->item, name, stride, span);
}

/* Can the last item, of which `span` elements are known, be reached? */
static sptrsm_status check_range(const sptrsm_batch *b, const sptrsm_batch_block *block, int64_t span, const char *name) {
  const int64_t most = INT64_MAX / (int64_t)sizeof(double _Complex);
  if (block->data_of) return SPTRSM_OK;
  if (block->stride < 0) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: stride = %lld is negative", name, (long long)block->stride);
  if (block->stride == 0 || b->count - 1 <= (most - span) / block->stride) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: %lld items at stride = %lld do not fit the address space", name, (long long)b->count,
                   (long long)block->stride);
}

static sptrsm_status check_reach(const sptrsm_batch *b, const spti_batch_call *call, const sptrsm_batch_block *block, const char *name) {
  if (block->data_of) return SPTRSM_OK;
  const extent e = extent_of(b, call, block);
  SPTI_TRY(check_range(b, block, e.span, name));
  return block == call->X ? check_stride(b, block, &e, name) : SPTRSM_OK;
}

/* ---- blocks of different items ---- */

enum { SHARED = -1 }; /* the item of a B that all items read */

static int64_t add_claims(spti_claim *out, const sptrsm_batch *b, const spti_batch_call *call, const sptrsm_batch_block *block) {
  int64_t used = 0;
  const bool shared = block == call->B && is_regular(b, block) && block->stride == 0 && b->count > 1;
  for (int64_t i = shared ? SHARED : 0; i < (shared ? 0 : b->count); i++) {
    const sptrsm_block at = spti_batch_block_of(b, block, i);
    if (spti_block_span(&at) == 0 || (i != SHARED && !spti_batch_wants(call, i))) continue;
    out[used++] = spti_claim_of(&at, i, block == call->X);
  }
  return used;
}

static sptrsm_status fail_by(const spti_claim *X, const spti_claim *other) {
  if (other->item == SHARED)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "item %lld: X overlaps B, which all items read (its stride is 0)", (long long)X->item);
  return spti_fail(SPTRSM_ERR_ARGUMENT, "item %lld: X overlaps %s of item %lld", (long long)X->item, other->is_written ? "X" : "B",
                   (long long)other->item);
}

/* Is each X the B of its item? Then what holds among the X holds for both. */
static bool in_place(const sptrsm_batch *b, const spti_batch_call *call) {
  const sptrsm_batch_block *B = call->B, *X = call->X;
  if (is_regular(b, B) && is_regular(b, X)) return B->data == X->data && B->stride == X->stride;
  for (int64_t i = 0; i < b->count; i++)
    if (spti_batch_wants(call, i) && spti_batch_block_of(b, B, i).data != spti_batch_block_of(b, X, i).data) return false;
  return true;
}

/* Do all addresses of B lie in front of or behind those of X? */
static bool apart(const spti_claim *claims, int64_t of_B, int64_t count) {
  uintptr_t begin[2] = {UINTPTR_MAX, UINTPTR_MAX}, end[2] = {0, 0};
  for (int64_t c = 0; c < count; c++) {
    const int which = c >= of_B;
    if (claims[c].begin < begin[which]) begin[which] = claims[c].begin;
    if (claims[c].end > end[which]) end[which] = claims[c].end;
  }
  return end[0] <= begin[1] || end[1] <= begin[0];
}

static sptrsm_status compare_items(sptrsm_batch *b, const spti_batch_call *call, bool with_B) {
  if (!b->claims) SPTI_TRY(spti_host_alloc(&b->claims, 2 * b->count, sizeof *b->claims, "blocks of the items"));
  const spti_claim *pair[2];
  const int64_t of_B = with_B ? add_claims(b->claims, b, call, call->B) : 0, count = of_B + add_claims(b->claims + of_B, b, call, call->X);
  const bool strides_hold = !call->X->data_of; /* the X do not meet */
  if (strides_hold && (of_B == 0 || apart(b->claims, of_B, count))) return SPTRSM_OK;
  if (!spti_find_overlap(pair, b->claims, count, &b->compared)) return SPTRSM_OK;
  return fail_by(pair[0], pair[1]);
}

/* The ranges of all B and of all X at strides lie apart: the usual case, which takes no list. */
static bool regular_and_apart(const sptrsm_batch *b, const spti_batch_call *call) {
  uintptr_t begin[2], end[2];
  for (int which = 0; which < 2; which++) {
    const sptrsm_batch_block *block = which ? call->X : call->B;
    if (!is_regular(b, block)) return false;
    const sptrsm_block first = spti_batch_block_of(b, block, 0), last = spti_batch_block_of(b, block, b->count - 1);
    begin[which] = (uintptr_t)first.data;
    end[which] = (uintptr_t)last.data + spti_block_span(&last);
  }
  return end[0] <= begin[1] || end[1] <= begin[0];
}

/* ---- the call ---- */

static sptrsm_status check_place(const sptrsm_batch *b, sptrsm_place place, const char *name) {
  if (place != SPTRSM_HOST && place != SPTRSM_CUDA) return spti_fail(SPTRSM_ERR_ARGUMENT, "run: unknown %s_place %d", name, (int)place);
  if (place == SPTRSM_CUDA && b->context->place == SPTRSM_HOST)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "run: %s is in device memory, the context works on the host", name);
  return SPTRSM_OK;
}

sptrsm_status spti_batch_check_call(sptrsm_batch *b, const spti_batch_call *call) {
  b->compared = 0;
  if (call->run->mask) SPTI_TRY(check_place(b, call->run->mask_place, "mask"));
  if (call->run->status) SPTI_TRY(check_place(b, call->run->status_place, "status"));
  if (b->count == 0) return SPTRSM_OK;
  if (call->run->status && call->run->status_place == SPTRSM_CUDA)
    SPTI_TRY(spti_gpu_check_array(b->context, call->run->status, sizeof call->run->status->status, "run: status"));
  SPTI_TRY(check_range(b, call->B, 0, "B"));
  SPTI_TRY(check_range(b, call->X, 0, "X"));
  SPTI_TRY(check_items(b, call));
  SPTI_TRY(check_reach(b, call, call->B, "B"));
  SPTI_TRY(check_reach(b, call, call->X, "X"));
  const bool cross = call->B->place == call->X->place && !in_place(b, call) && !regular_and_apart(b, call);
  return cross || call->X->data_of ? compare_items(b, call, cross) : SPTRSM_OK;
}
