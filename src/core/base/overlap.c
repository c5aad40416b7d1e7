/* overlap.c -- see overlap.h. */
#include "core/base/overlap.h"

#include <stdlib.h>

/* ---- two blocks ---- */

static int64_t run_of(const sptrsm_block *b) { return b->layout == SPTRSM_ROW_MAJOR ? b->nrhs : b->n; } /* elements without a gap */

size_t spti_block_span(const sptrsm_block *b) {
  const int64_t vectors = b->layout == SPTRSM_ROW_MAJOR ? b->n : b->nrhs, length = run_of(b);
  return vectors > 0 && length > 0 ? (size_t)((vectors - 1) * b->ld + length) * sptrsm_dtype_bytes(b->dtype) : 0;
}

/* Are these different columns of one larger row-major block, or different rows of one column-major block? They have the same ld then, and
 * each lies in the padding of the other. `low` begins at the lower address. */
static bool lie_side_by_side(const sptrsm_block *low, const sptrsm_block *high) {
  const size_t bytes = sptrsm_dtype_bytes(low->dtype), distance = (uintptr_t)high->data - (uintptr_t)low->data;
  if (low->dtype != high->dtype || low->layout != high->layout || low->ld != high->ld || distance % bytes != 0) return false;
  const int64_t shift = (int64_t)(distance / bytes) % low->ld;
  return shift >= run_of(low) && shift + run_of(high) <= low->ld;
}

bool spti_blocks_overlap(const sptrsm_block *a, const sptrsm_block *b) {
  const sptrsm_block *low = (uintptr_t)a->data <= (uintptr_t)b->data ? a : b, *high = low == a ? b : a;
  if (a->place != b->place || spti_block_span(a) == 0 || spti_block_span(b) == 0) return false;
  return (uintptr_t)low->data + spti_block_span(low) > (uintptr_t)high->data && !lie_side_by_side(low, high);
}

/* ---- many blocks ---- */

spti_claim spti_claim_of(const sptrsm_block *block, int64_t item, bool is_written) {
  const uintptr_t begin = (uintptr_t)block->data;
  return (spti_claim){.block = *block, .item = item, .is_written = is_written, .begin = begin, .end = begin + spti_block_span(block)};
}

/* Blocks side by side in one larger block all meet by their addresses. Where all have one pitch, two that overlap also meet by their places
 * within it, so these become begin and end if fewer blocks meet by them. */
static void choose_ranges(spti_claim *claims, int64_t count) {
  uintptr_t lowest = UINTPTR_MAX, highest = 0;
  const size_t value = count > 0 ? sptrsm_dtype_bytes(claims[0].block.dtype) : 0;
  const uintptr_t pitch = count > 0 ? (size_t)claims[0].block.ld * value : 0;
  double bytes = 0, runs = 0; /* of all: divided by the range that they lie in, how many meet */
  for (int64_t c = 0; c < count; c++) {
    if (claims[c].block.ld != claims[0].block.ld || claims[c].block.dtype != claims[0].block.dtype) return;
    if (claims[c].begin < lowest) lowest = claims[c].begin;
    if (claims[c].end > highest) highest = claims[c].end;
    bytes += (double)(claims[c].end - claims[c].begin);
    runs += (double)run_of(&claims[c].block) * (double)value;
  }
  if (runs * (double)(highest - lowest) >= bytes * (double)pitch) return;
  for (int64_t c = 0; c < count; c++) {
    const uintptr_t at = (claims[c].begin - lowest) % pitch, run = (size_t)run_of(&claims[c].block) * value;
    const bool wraps = at + run > pitch;
    claims[c].begin = wraps ? 0 : at;
    claims[c].end = wraps ? pitch : at + run;
  }
}

static int compare_begins(const void *left, const void *right) {
  const spti_claim *a = left, *b = right;
  return (a->begin > b->begin) - (a->begin < b->begin);
}

typedef struct {
  spti_claim *first, **end; /* end: where the next one is linked */
} claim_list;

/* Compares a block with those of a list, which begin before it; those that end before it begins leave the list. Returns one that overlaps
 * the block, or NULL. */
static const spti_claim *overlaps(claim_list *list, const spti_claim *now, int64_t *compared) {
  spti_claim **at = &list->first;
  while (*at) {
    const spti_claim *before = *at;
    if (compared) ++*compared;
    if (before->end <= now->begin) {
      *at = before->next;
      continue;
    }
    if (before->item != now->item && spti_blocks_overlap(&before->block, &now->block)) return before;
    at = &(*at)->next;
  }
  list->end = at;
  return NULL;
}

/* In the order of their begins, each block is compared with those that have not ended. One that is only read is compared with written ones
 * alone. */
bool spti_find_overlap(const spti_claim *pair[2], spti_claim *claims, int64_t count, int64_t *compared) {
  claim_list read = {NULL, &read.first}, written = {NULL, &written.first};
  bool sorted = true;
  if (compared) *compared = 0;
  choose_ranges(claims, count);
  for (int64_t c = 1; c < count && sorted; c++) sorted = claims[c - 1].begin <= claims[c].begin;
  if (!sorted) qsort(claims, (size_t)count, sizeof *claims, compare_begins);
  for (int64_t c = 0; c < count; c++) {
    spti_claim *now = &claims[c];
    const spti_claim *other = now->is_written ? overlaps(&read, now, compared) : NULL;
    if (!other) other = overlaps(&written, now, compared);
    if (other) {
      pair[0] = other->is_written ? other : now;
      pair[1] = other->is_written ? now : other;
      return true;
    }
    claim_list *mine = now->is_written ? &written : &read;
    *mine->end = now;
    mine->end = &now->next;
  }
  return false;
}
