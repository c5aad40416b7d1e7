/* blocks.c -- checks of the blocks and the run of one call. All that a solve relies on is checked before anything is written: each block by
 * itself and against its partner as in sptrsm_solve, then that no X touches a block of another item.
 * Where all items have one shape and strides, that takes one item and some arithmetic. Otherwise blocks are sorted by address, or by place
 * within a pitch that all have, and those that meet by this are compared. */
#include <stdlib.h>

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
  int64_t ld_least, ld_most;
} extent;

static void add_extent(extent *e, const sptrsm_block *block, int64_t item) {
  const int64_t span = (int64_t)(spti_block_span(block) / sptrsm_dtype_bytes(block->dtype));
  const int64_t length = block->layout == SPTRSM_ROW_MAJOR ? block->nrhs : block->n;
  if (span == 0) return;
  if (e->span == 0 || block->ld < e->ld_least) e->ld_least = block->ld;
  if (block->ld > e->ld_most) e->ld_most = block->ld;
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
  const bool beside = e->ld_least == e->ld_most && block->stride >= e->length && e->ld_least >= (b->count - 1) * block->stride + e->length;
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

typedef struct {
  uintptr_t begin, end; /* addresses */
  uintptr_t run, pitch; /* bytes of a row of a row-major block, or of a column, and from one to the next */
  int64_t item;
  bool is_X;
} span;

static int compare_begins(const void *left, const void *right) {
  const span *a = left, *b = right;
  return (a->begin > b->begin) - (a->begin < b->begin);
}

enum { SHARED = -1 }; /* the item of a B that all items read */

static int64_t add_spans(span *out, const sptrsm_batch *b, const spti_batch_call *call, const sptrsm_batch_block *block) {
  int64_t used = 0;
  const bool shared = block == call->B && is_regular(b, block) && block->stride == 0 && b->count > 1;
  for (int64_t i = shared ? SHARED : 0; i < (shared ? 0 : b->count); i++) {
    const sptrsm_block at = spti_batch_block_of(b, block, i);
    const size_t bytes = spti_block_span(&at);
    if (bytes == 0 || (i != SHARED && !spti_batch_wants(call, i))) continue;
    const size_t value = sptrsm_dtype_bytes(at.dtype);
    out[used++] = (span){.begin = (uintptr_t)at.data,
                         .end = (uintptr_t)at.data + bytes,
                         .run = (size_t)(at.layout == SPTRSM_ROW_MAJOR ? at.nrhs : at.n) * value,
                         .pitch = (size_t)at.ld * value,
                         .item = i,
                         .is_X = block == call->X};
  }
  return used;
}

static sptrsm_status compare(const sptrsm_batch *b, const spti_batch_call *call, const span *a, const span *c) {
  if (a->item == c->item) return SPTRSM_OK; /* compared already */
  const sptrsm_block left = spti_batch_block_of(b, a->is_X ? call->X : call->B, a->item);
  const sptrsm_block right = spti_batch_block_of(b, c->is_X ? call->X : call->B, c->item);
  if (!spti_blocks_overlap(&left, &right)) return SPTRSM_OK;
  const span *X = a->is_X ? a : c, *other = a->is_X ? c : a;
  if (other->item == SHARED)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "item %lld: X overlaps B, which all items read (its stride is 0)", (long long)X->item);
  return spti_fail(SPTRSM_ERR_ARGUMENT, "item %lld: X overlaps %s of item %lld", (long long)X->item, other->is_X ? "X" : "B",
                   (long long)other->item);
}

/* Blocks side by side in one larger block all meet by their addresses. Where all have one pitch, two that overlap also meet by their places
 * within it, so these become begin and end if fewer blocks meet by them. */
static void choose_ranges(span *spans, int64_t count) {
  uintptr_t lowest = UINTPTR_MAX, highest = 0;
  const uintptr_t pitch = count > 0 ? spans[0].pitch : 0;
  double bytes = 0, runs = 0; /* of all: divided by the range that they lie in, how many meet */
  for (int64_t s = 0; s < count; s++) {
    if (spans[s].pitch != pitch) return;
    if (spans[s].begin < lowest) lowest = spans[s].begin;
    if (spans[s].end > highest) highest = spans[s].end;
    bytes += (double)(spans[s].end - spans[s].begin);
    runs += (double)spans[s].run;
  }
  if (runs * (double)(highest - lowest) >= bytes * (double)pitch) return;
  for (int64_t s = 0; s < count; s++) {
    const uintptr_t at = (spans[s].begin - lowest) % pitch;
    const bool wraps = at + spans[s].run > pitch;
    spans[s].begin = wraps ? 0 : at;
    spans[s].end = wraps ? pitch : at + spans[s].run;
  }
}

/* Compares each block with those that begin before it and end behind its begin, of which `open` has the numbers: those of B in its first
 * half, those of X in the second. A block of B is compared with those of X alone. */
static sptrsm_status sweep(sptrsm_batch *b, const spti_batch_call *call, const span *spans, int64_t *open, int64_t count) {
  int64_t opened[2] = {0, 0};
  for (int64_t s = 0; s < count; s++) {
    for (int which = spans[s].is_X ? 0 : 1; which < 2; which++) {
      int64_t *list = open + which * b->count, kept = 0;
      b->compared += opened[which];
      for (int64_t o = 0; o < opened[which]; o++) {
        if (spans[list[o]].end <= spans[s].begin) continue;
        SPTI_TRY(compare(b, call, &spans[list[o]], &spans[s]));
        list[kept++] = list[o];
      }
      opened[which] = kept;
    }
    open[spans[s].is_X * b->count + opened[spans[s].is_X]++] = s;
  }
  return SPTRSM_OK;
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
static bool apart(const span *spans, int64_t of_B, int64_t count) {
  uintptr_t begin[2] = {UINTPTR_MAX, UINTPTR_MAX}, end[2] = {0, 0};
  for (int64_t s = 0; s < count; s++) {
    const int which = s >= of_B;
    if (spans[s].begin < begin[which]) begin[which] = spans[s].begin;
    if (spans[s].end > end[which]) end[which] = spans[s].end;
  }
  return end[0] <= begin[1] || end[1] <= begin[0];
}

static sptrsm_status compare_items(sptrsm_batch *b, const spti_batch_call *call, bool with_B) {
  if (!b->spans) SPTI_TRY(spti_host_alloc(&b->spans, 2 * b->count, sizeof(span) + sizeof(int64_t), "addresses of blocks"));
  span *spans = b->spans;
  int64_t *open = (int64_t *)(spans + 2 * b->count);
  const int64_t of_B = with_B ? add_spans(spans, b, call, call->B) : 0, count = of_B + add_spans(spans + of_B, b, call, call->X);
  const bool strides_hold = !call->X->data_of; /* the X do not meet */
  if (strides_hold && (of_B == 0 || apart(spans, of_B, count))) return SPTRSM_OK;
  choose_ranges(spans, count);
  bool sorted = true;
  for (int64_t s = 1; s < count && sorted; s++) sorted = spans[s - 1].begin <= spans[s].begin;
  if (!sorted) qsort(spans, (size_t)count, sizeof *spans, compare_begins);
  return sweep(b, call, spans, open, count);
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
