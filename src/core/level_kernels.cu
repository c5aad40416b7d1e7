/* level_kernels -- level(i) = 1 + the highest level of the rows that row i needs, found by one synchronisation-free sweep.
 *
 * A level is its own flag: level[] holds -1 until it is known, and relaxed polls of that one word are all the protocol there
 * is. A warp works on up to 32 rows that follow each other in solve order, in rounds: in each, every lane polls the entries of its
 * own short row, and all lanes together those of the first long row that is not done. No lane ever waits inside a round, so rows
 * of one warp may need each other, and the resident threads are a window of some 270,000 rows, wide enough for most patterns in
 * the order of their numbers. Blocks take tickets (core/syncfree.cuh), so what is needed belongs to blocks that run.
 * Source: the waiting of [liu2017syncfree], with values as flags. Deterministic: yes, levels are integers and unique.
 */
#include "core/level_kernels.h"

#include "core/syncfree.cuh"

namespace spti {

enum { LEVEL_THREADS = 128, LEVEL_WARPS = LEVEL_THREADS / 32, PLAIN_LEVEL_THREADS = 256, BATCH = 4, SHORT_ROW = 48, FACT_BLOCKS = 528 };

static int64_t level_blocks(int64_t count) { return (count + PLAIN_LEVEL_THREADS - 1) / PLAIN_LEVEL_THREADS; }

SPTI_DEVICE int64_t plain_thread() { return int64_t(block_in_grid()) * PLAIN_LEVEL_THREADS + thread_in_block(); }

/* ---- a push pattern turned ---- */

SPTI_KERNEL(PLAIN_LEVEL_THREADS) turn_clear_kernel(spti_turn_args a) {
  const int64_t i = plain_thread();
  if (i < a.view.n) store(a.count + i, -(a.view.head + a.view.tail)); /* the stored diagonal is counted too, below */
}

SPTI_KERNEL(PLAIN_LEVEL_THREADS) turn_count_kernel(spti_turn_args a) {
  const int64_t p = plain_thread();
  if (p < a.view.nnz) red_add(a.count + load_const(a.view.idx + p), 1);
}

/* A warp to 32 columns, one after the other. */
SPTI_KERNEL(PLAIN_LEVEL_THREADS) turn_place_kernel(spti_turn_args a) {
  const int64_t first = plain_thread() - lane();
  for (int32_t s = 0; s < 32 && first + s < a.view.n; s++) {
    const int32_t j = int32_t(first + s);
    const int64_t end = load_const(a.view.ptr + j + 1) - a.view.tail;
    for (int64_t p = load_const(a.view.ptr + j) + a.view.head + lane(); p < end; p += 32) {
      const int32_t i = load_const(a.view.idx + p);
      store(a.idx + load_const(a.ptr + i) + fetch_add(a.count + i, -1) - 1, j);
    }
  }
}

/* ---- the sweep ---- */

SPTI_KERNEL(PLAIN_LEVEL_THREADS) levels_start_kernel(spti_levels_args a) {
  const int64_t i = plain_thread();
  if (i < a.view.n) store(a.level + i, -1);
  if (i < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + i, 0);
  if (i < SPTI_LEVELS_FACTS) store(a.facts + i, 0);
}

/* Entries of a row that one lane polls: the next is number `next`, then every `stride`-th. */
struct poller {
  int64_t start;
  int32_t length, next, stride, step; /* step: +1, or -1 where entries are walked from the end */
  int32_t column[BATCH];              /* waited for; -1: nothing */
  int32_t highest, missing;           /* missing: how many are waited for */

  SPTI_DEVICE void set(int64_t s, int32_t l, int32_t first, int32_t by, int32_t direction) {
    start = s, length = l, next = first, stride = by, step = direction;
    highest = -1;
    missing = 0;
#pragma unroll
    for (int b = 0; b < BATCH; b++) column[b] = -1;
  }
  SPTI_DEVICE bool done() const { return missing == 0 && next >= length; }
  SPTI_DEVICE void fetch(const int32_t *idx) {
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      if (next >= length) continue;
      column[b] = load_const(idx + start + int64_t(next) * step);
      missing++;
      next += stride;
    }
  }
  /* One poll of all that is missing; true if something came. */
  SPTI_DEVICE bool poll(const spti_levels_args &a) {
    if (missing == 0) fetch(a.view.idx);
    int32_t seen[BATCH];
#pragma unroll
    for (int b = 0; b < BATCH; b++) seen[b] = column[b] >= 0 ? load_relaxed(a.level + column[b]) : -1;
    const int32_t before = missing;
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      if (seen[b] < 0) continue;
      column[b] = -1;
      missing--;
      highest = seen[b] > highest ? seen[b] : highest;
    }
    return missing != before;
  }
};

SPTI_DEVICE int32_t highest_of_warp(int32_t v) {
#pragma unroll
  for (int by = 16; by > 0; by >>= 1) {
    const int32_t other = shfl(v, lane() ^ by);
    v = other > v ? other : v;
  }
  return v;
}

/* A row and where its entries are; row -1: none. */
struct level_row {
  int32_t row, length;
  int64_t start;
};

SPTI_DEVICE level_row level_row_at(const spti_view &v, int64_t s, bool mine) {
  level_row r = {-1, 0, 0};
  if (!mine || s >= v.n) return r;
  r.row = int32_t(v.backward ? v.n - 1 - s : s);
  const int64_t begin = load_const(v.ptr + r.row) + v.head, end = load_const(v.ptr + r.row + 1) - v.tail;
  r.length = int32_t(end - begin);
  r.start = v.backward ? end - 1 : begin;
  return r;
}

SPTI_KERNEL(LEVEL_THREADS) levels_sweep_kernel(spti_levels_args a) {
  const int64_t warp = block_ticket(a.sync) * LEVEL_WARPS + warp_in_block();
  const level_row mine = level_row_at(a.view, warp * a.rows_per_warp + lane(), lane() < a.rows_per_warp);
  const int32_t step = a.view.backward ? -1 : 1, short_row = a.rows_per_warp == 1 ? -1 : SHORT_ROW;
  const bool is_long = mine.row >= 0 && mine.length > short_row;
  bool waiting = mine.row >= 0 && !is_long;
  uint32_t long_rows = ballot(is_long);
  int32_t shared_row = -1;
  poller own, shared;
  own.set(mine.start, mine.length, 0, 1, step);
  shared.set(0, 0, 0, 32, step);
  spin_guard guard;
  guard.start();
  for (;;) {
    bool progress = false;
    if (waiting) {
      progress = own.poll(a);
      if (own.done()) {
        store_relaxed(a.level + mine.row, own.highest + 1);
        waiting = false;
      }
    }
    if (long_rows) {
      const int from = first_lane(long_rows);
      if (shared_row < 0) {
        shared_row = shfl(mine.row, from);
        shared.set(shfl(mine.start, from), shfl(mine.length, from), lane(), 32, step);
      }
      progress = shared.poll(a) || progress;
      if (all(shared.done())) {
        const int32_t highest = highest_of_warp(shared.highest);
        if (lane() == 0) store_relaxed(a.level + shared_row, highest + 1);
        long_rows &= long_rows - 1;
        shared_row = -1;
      }
    }
    const uint32_t left = ballot(waiting);
    if (!left && !long_rows) return;
    if (any(progress)) guard.progress();
    else if (any(!guard.go_on(a.sync, left ? shfl(mine.row, first_lane(left)) : shared_row))) return;
  }
}

/* A grid of fixed size strides over all rows. */
SPTI_KERNEL(PLAIN_LEVEL_THREADS) levels_facts_kernel(spti_levels_args a) {
  int32_t count = 0, longest = 0;
  for (int64_t i = plain_thread(); i < a.view.n; i += int64_t(blocks_per_grid()) * PLAIN_LEVEL_THREADS) {
    const int32_t level = load_const(a.level + i) + 1;
    const int32_t length = int32_t(load_const(a.view.ptr + i + 1) - load_const(a.view.ptr + i)) - a.view.head - a.view.tail;
    count = level > count ? level : count;
    longest = length > longest ? length : longest;
  }
  count = highest_of_warp(count);
  longest = highest_of_warp(longest);
  if (lane() != 0) return;
  red_max(a.facts + SPTI_LEVELS_COUNT, count);
  red_max(a.facts + SPTI_LEVELS_LONGEST, longest);
}

/* ---- around the sort ---- */

SPTI_KERNEL(PLAIN_LEVEL_THREADS) level_keys_kernel(spti_level_order_args a) {
  const int64_t s = plain_thread();
  if (s >= a.n) return;
  const int32_t i = int32_t(a.backward ? a.n - 1 - s : s);
  store(a.keys + s, load_const(a.level + i));
  store(a.rows + s, i);
}

SPTI_KERNEL(PLAIN_LEVEL_THREADS) level_bounds_kernel(spti_level_order_args a) {
  const int64_t t = plain_thread();
  if (t >= a.n) return;
  const int32_t own = load_const(a.sorted + t);
  if (t == 0 || load_const(a.sorted + t - 1) != own) store(a.ptr + own, int32_t(t));
  if (t == a.n - 1) store(a.ptr + a.count, a.n);
}

} // namespace spti

extern "C" int spti_turn_count_launch(const spti_turn_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(turn_clear_kernel, level_blocks(a->view.n), PLAIN_LEVEL_THREADS, 0, stream, *a);
  if (error) return error;
  return SPTI_LAUNCH(turn_count_kernel, level_blocks(a->view.nnz), PLAIN_LEVEL_THREADS, 0, stream, *a);
}

extern "C" int spti_turn_place_launch(const spti_turn_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(turn_place_kernel, level_blocks(a->view.n), PLAIN_LEVEL_THREADS, 0, stream, *a);
}

extern "C" int spti_levels_find_launch(const spti_levels_args *a, void *stream) {
  using namespace spti;
  const int64_t start_words = a->view.n > SPTI_SYNCFREE_CONTROL_WORDS ? a->view.n : SPTI_SYNCFREE_CONTROL_WORDS;
  int error = SPTI_LAUNCH(levels_start_kernel, level_blocks(start_words), PLAIN_LEVEL_THREADS, 0, stream, *a);
  const int64_t rows_per_block = int64_t(a->rows_per_warp) * LEVEL_WARPS, blocks = (a->view.n + rows_per_block - 1) / rows_per_block;
  if (!error) error = SPTI_LAUNCH(levels_sweep_kernel, blocks, LEVEL_THREADS, 0, stream, *a);
  const int64_t fact_blocks = level_blocks(a->view.n);
  if (!error)
    error = SPTI_LAUNCH(levels_facts_kernel, fact_blocks < FACT_BLOCKS ? fact_blocks : int64_t(FACT_BLOCKS), PLAIN_LEVEL_THREADS, 0, stream,
                        *a);
  return error;
}

extern "C" int spti_level_keys_launch(const spti_level_order_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(level_keys_kernel, level_blocks(a->n), PLAIN_LEVEL_THREADS, 0, stream, *a);
}

extern "C" int spti_level_bounds_launch(const spti_level_order_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(level_bounds_kernel, level_blocks(a->n), PLAIN_LEVEL_THREADS, 0, stream, *a);
}
