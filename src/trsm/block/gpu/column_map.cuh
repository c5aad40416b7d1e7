/* column_map.cuh -- the columns before a panel of `block` in which the panel has entries, each once, in the order in which they become
 * ready.
 *
 * A map in shared memory has four bits for every place in ready order, one for each strip with an entry in that column. Counting the
 * marked places before each place makes the list, sorted and without duplicates. Large matrices are taken by windows of the ready order in
 * which the panel has entries; a step does not cross from one window to the next. */
#ifndef SPTI_TRSM_BLOCK_GPU_COLUMN_MAP_CUH
#define SPTI_TRSM_BLOCK_GPU_COLUMN_MAP_CUH

#include "core/device/block_sum.cuh"
#include "trsm/block/gpu/analysis_kernels.h"
#include "trsm/block/gpu/kernels.h"

namespace spti {

enum { ENTRY_BATCH = 8 };

/* The entries of a panel, which follow each other in the view. */
struct panel_entries {
  int32_t first, rows;
  int64_t begin, end;
  const int64_t *bounds; /* shared memory, [SPTI_BLOCK_ROWS]: first entry of each row, rows in the order of the view */
};

/* Later panels of factors have more entries: these begin first. */
SPTI_DEVICE int32_t panel_of_block(const spti_block_columns_args &a) { return a.count - 1 - block_in_grid(); }

/* Whole block; a barrier must follow before row_of_entry. */
SPTI_DEVICE panel_entries entries_of(const spti_block_columns_args &a, int32_t p) {
  SPTI_SHARED(int64_t, bounds, SPTI_BLOCK_ROWS);
  const spti_view &v = a.view;
  const int32_t first = load_const(a.first + p), next = load_const(a.first + p + 1), line = v.backward ? v.n - next : first;
  if (thread_in_block() < SPTI_BLOCK_ROWS)
    bounds[thread_in_block()] = thread_in_block() < next - first ? load_const(v.ptr + line + thread_in_block()) : INT64_MAX;
  return {first, next - first, load_const(v.ptr + line), load_const(v.ptr + line + next - first), bounds};
}

/* The row of entry p, counted by place from the panel's first one. */
SPTI_DEVICE int32_t row_of_entry(const spti_view &v, const panel_entries &e, int64_t p) {
  int32_t line = 0;
#pragma unroll
  for (int32_t by = SPTI_BLOCK_ROWS / 2; by > 0; by /= 2)
    if (e.bounds[line + by] <= p) line += by;
  return v.backward ? e.rows - 1 - line : line;
}

/* Whole block. visit(p, ready_at) for each entry of the panel whose column is before the panel; several are loaded at once. */
template <typename Visit> SPTI_DEVICE void each_entry(const spti_block_columns_args &a, const panel_entries &e, Visit visit) {
  const spti_view &v = a.view;
  const int64_t stride = threads_per_block();
  for (int64_t p = e.begin + thread_in_block(); p < e.end; p += ENTRY_BATCH * stride) {
    int32_t place[ENTRY_BATCH], ready_at[ENTRY_BATCH];
#pragma unroll
    for (int b = 0; b < ENTRY_BATCH; b++) {
      const int32_t j = p + b * stride < e.end ? load_const(v.idx + p + b * stride) : -1;
      place[b] = j < 0 ? e.first : v.backward ? v.n - 1 - j : j;
    }
#pragma unroll
    for (int b = 0; b < ENTRY_BATCH; b++) ready_at[b] = load_const(a.ready_at + place[b]);
#pragma unroll
    for (int b = 0; b < ENTRY_BATCH; b++)
      if (place[b] < e.first) visit(p + b * stride, ready_at[b]);
  }
}

/* The map of one window. */
struct column_map {
  int32_t *words; /* [window / 8]: 4 bits a place; once ranked, 8 bits for 8 places and above them the number of columns before these */
  int32_t *steps; /* [window / 64 + 1]: 4 bits a step, the strips that need any of its columns */
  int32_t start, window;

  SPTI_DEVICE bool has(int32_t ready_at) const { return uint32_t(ready_at - start) < uint32_t(window); }

  SPTI_DEVICE void clear() {
    for (int32_t w = thread_in_block(); w < window / 8 + window / 64 + 1; w += threads_per_block()) shared_store(words + w, 0);
  }
  /* Most threads find the bit set by another row of the strip: so they look before the atomic. */
  SPTI_DEVICE void mark(int32_t ready_at, int32_t strip) {
    const int32_t at = ready_at - start, bit = int32_t(1u << (at % 8 * 4 + strip));
    if (!(shared_load_relaxed(words + at / 8) & bit)) shared_red_or(words + at / 8, bit);
  }
  /* One bit for each of the 8 places of a word. */
  static SPTI_DEVICE uint32_t marked_places(uint32_t word) {
    word |= word >> 1;
    word = (word | word >> 2) & 0x11111111u;
    word = (word | word >> 3) & 0x03030303u;
    word = (word | word >> 6) & 0x000f000fu;
    return (word | word >> 12) & 0xffu;
  }
  /* Whole block, after a barrier; ends with one. Returns the number of columns. */
  SPTI_DEVICE int32_t rank_all() {
    const int32_t share = ((window / 8 - 1) / threads_per_block() + 1) | 1; /* odd: lanes in different banks */
    const int32_t from = thread_in_block() * share, to = from + share < window / 8 ? from + share : window / 8;
    int64_t count = 0, total;
    for (int32_t w = from; w < to; w++) count += popcount(marked_places(uint32_t(shared_load_relaxed(words + w))));
    int32_t rank = int32_t(block_sum_before(count, &total));
    uint32_t strips = 0; /* of the step that `rank` is in, from this thread's columns */
    for (int32_t w = from; w < to; w++) {
      const uint32_t word = uint32_t(shared_load_relaxed(words + w));
      if (word == 0) continue;
      shared_store(words + w, int32_t(uint32_t(rank) << 8 | marked_places(word)));
      for (uint32_t left = word; left; left >>= 4) {
        if ((left & 15) == 0) continue;
        strips |= left & 15;
        if (++rank % SPTI_BLOCK_STEP == 0) add_strips(rank / SPTI_BLOCK_STEP - 1, &strips);
      }
    }
    add_strips(rank / SPTI_BLOCK_STEP, &strips);
    syncthreads();
    return int32_t(total);
  }
  SPTI_DEVICE void add_strips(int32_t step, uint32_t *strips) {
    if (*strips) shared_red_or(steps + step / 8, int32_t(*strips << step % 8 * 4));
    *strips = 0;
  }
  /* After rank_all: the word of the 8 places from 8 w on. */
  SPTI_DEVICE uint32_t ranked(int32_t w) const { return uint32_t(shared_load_relaxed(words + w)); }
  /* After rank_all: the strips of the 8 steps from 8 w on. */
  SPTI_DEVICE uint32_t strips_of(int32_t w) const { return uint32_t(shared_load_relaxed(steps + w)); }
};

static inline size_t column_map_bytes(int32_t window) { return sizeof(int32_t) * (size_t(window) / 8 + size_t(window) / 64 + 1); }

/* Whole block. visit(map, columns) for each window in which the panel has entries, after rank_all; no barrier is needed at the end of
 * visit. */
template <typename Visit> SPTI_DEVICE void each_window(const spti_block_columns_args &a, const panel_entries &e, Visit visit) {
  SPTI_DYNAMIC_SHARED(int32_t, memory);
  SPTI_SHARED(int32_t, needed, SPTI_BLOCK_WINDOWS / 32);
  const int32_t windows = (a.view.n - 1) / a.window + 1;
  for (int32_t w = thread_in_block(); w < (windows + 31) / 32; w += threads_per_block()) shared_store(needed + w, windows == 1);
  syncthreads();
  if (windows > 1)
    each_entry(a, e, [&](int64_t, int32_t ready_at) {
      const int32_t w = ready_at / a.window;
      shared_red_or(needed + w / 32, int32_t(1u << w % 32));
    });
  syncthreads();
  for (int32_t w = 0; w < windows; w++) {
    if ((uint32_t(shared_load_relaxed(needed + w / 32)) >> w % 32 & 1) == 0) continue;
    column_map map = {memory, memory + a.window / 8, w * a.window, a.window};
    map.clear();
    syncthreads();
    each_entry(a, e, [&](int64_t p, int32_t ready_at) {
      if (map.has(ready_at)) map.mark(ready_at, row_of_entry(a.view, e, p) / SPTI_BLOCK_STRIP);
    });
    syncthreads();
    visit(map, map.rank_all());
    syncthreads();
  }
}

} // namespace spti
#endif
