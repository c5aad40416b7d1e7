/* kernels.cu -- level(i) = 1 + the highest level of the rows on which row i depends, by one synchronisation-free sweep over the rows.
 *
 * A level is its own flag: level[i] is -1 until it is known, and rows wait for it by relaxed polls of this one word. A warp works on up to
 * 32 rows that are consecutive in solve order, in rounds. In each round every lane polls some entries of its own short row, and all lanes
 * together poll entries of the warp's first unfinished long row. No lane waits inside a round, so rows of one warp may depend on each
 * other. The resident lanes cover a window of about 270,000 rows, which is wide enough for most patterns in their natural order. Factors,
 * whose rows are long and depend on rows shortly before them, get a warp for each row instead. Rows of one thread block exchange their
 * levels in shared memory. Blocks draw tickets (core/device/syncfree.cuh), so rows wait only for blocks that run.
 * The search can end early, at a number of levels beyond which the caller needs no more.
 *
 * Wins: one pass, about the time of a solve. Loses: on stencils of many million rows, for which the window is narrow.
 * Source: the waiting of [liu2017syncfree], with values as flags. Deterministic: levels are unique integers. If a search ends early, only
 * that it does is deterministic. */
#include "core/levels/kernels.h"

#include "core/device/syncfree.cuh"
#include "core/device/walk_lines.cuh"

namespace spti {

enum { PLAIN_LEVEL_THREADS = 256, PLAIN_LEVEL_BLOCKS = 528, BATCH = 4, LANE_BLOCKS = 4 /* per multiprocessor */, ROUNDS_TO_ENOUGH = 16 };

static int64_t level_blocks(int64_t count) { return (count + PLAIN_LEVEL_THREADS - 1) / PLAIN_LEVEL_THREADS; }

SPTI_DEVICE int64_t plain_thread() { return int64_t(block_in_grid()) * PLAIN_LEVEL_THREADS + thread_in_block(); }

/* ---- transposing the pattern of a push view ---- */

SPTI_KERNEL(PLAIN_LEVEL_THREADS) turn_clear_kernel(spti_turn_args a) {
  const int64_t i = plain_thread();
  if (i < a.view.n) store(a.count + i, -(a.view.head + a.view.tail)); /* the next kernel counts stored diagonals, too */
}

SPTI_KERNEL(PLAIN_LEVEL_THREADS) turn_count_kernel(spti_turn_args a) {
  const int64_t p = plain_thread();
  if (p < a.view.nnz) red_add(a.count + load_const(a.view.idx + p), 1);
}

struct turned_column {
  int64_t begin;
  int32_t j, length;
};

SPTI_KERNEL(WALK_THREADS) turn_place_kernel(spti_turn_args a) {
  const auto column_at = [&](int32_t j) {
    const int64_t begin = load_const(a.view.ptr + j) + a.view.head;
    return turned_column{begin, j, int32_t(load_const(a.view.ptr + j + 1) - a.view.tail - begin)};
  };
  walk_lines(a.view.n, a.lanes, column_at, [&](const turned_column &c, int32_t e) {
    const int32_t i = load_const(a.view.idx + c.begin + e);
    store(a.idx + load_const(a.ptr + i) + fetch_add(a.count + i, -1) - 1, c.j);
  });
}

/* ---- the sweep ---- */

/* Threads of a grid that strides over all rows. */
SPTI_DEVICE int64_t plain_threads() { return int64_t(blocks_per_grid()) * PLAIN_LEVEL_THREADS; }

/* Initialises the facts: how many levels are enough, and a copy of the facts of the panels that determine it. */
SPTI_DEVICE void start_facts(const spti_levels_args &a) {
  const spti_row_panels_facts *from = a.panels;
  spti_row_panels_facts *to = &a.facts->panels;
  const int32_t levels = from ? load_const(&from->levels) : 0, most = from ? load_const(&from->most) : 0;
  const int64_t enough = int64_t(a.times) * spti_row_panels_hops(levels, most);
  store(&a.facts->count, 0);
  store(&a.facts->longest, 0);
  store(&a.facts->enough, levels == 0 || enough > INT32_MAX ? INT32_MAX : enough > a.least ? int32_t(enough) : a.least);
  store(&a.facts->reserved, 0);
  store(&to->count, from ? load_const(&from->count) : 0);
  store(&to->levels, levels);
  store(&to->most, most);
  store(&to->sampled, from ? load_const(&from->sampled) : 0);
  store(&to->needed, from ? load_const(&from->needed) : 0);
  store(&to->stored, from ? load_const(&from->stored) : 0);
}

SPTI_KERNEL(32) levels_clear_kernel(spti_levels_args a) {
  if (lane() < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + lane(), 0);
  if (lane() == 0) start_facts(a);
}

SPTI_KERNEL(PLAIN_LEVEL_THREADS) levels_start_kernel(spti_levels_args a) {
  int32_t longest = 0;
  for (int64_t i = plain_thread(); i < a.view.n; i += plain_threads()) {
    const int32_t length = int32_t(load_const(a.view.ptr + i + 1) - load_const(a.view.ptr + i)) - a.view.head - a.view.tail;
    longest = length > longest ? length : longest;
    store(a.level + i, -1);
  }
  longest = warp_max(longest);
  if (lane() == 0) red_max(&a.facts->longest, longest);
}

/* A copy in shared memory of the levels of the block's own rows [low, low + rows), where a poll takes a quarter of the time. */
struct near_levels {
  int32_t *level;
  int32_t low, rows;
  int32_t enough; /* number of levels at which the search ends */
};

/* Once there are enough levels, the abort flag ends all waits; this is no lost dependency. */
SPTI_DEVICE void publish_level(const spti_levels_args &a, const near_levels &near, int32_t row, int32_t level) {
  shared_store_relaxed(near.level + (row - near.low), level);
  store_relaxed(a.level + row, level);
  if (level + 1 >= near.enough) store_relaxed(a.sync.control + SPTI_SYNCFREE_ABORT, 1);
}

/* Whole warp, after its rows are done or given up. Most warps need no atomic operation, since the count is already high enough. */
SPTI_DEVICE void count_levels(const spti_levels_args &a, int32_t own) {
  const int32_t levels = warp_max(own) + 1;
  if (lane() == 0 && levels > load_relaxed(&a.facts->count)) red_max(&a.facts->count, levels);
}

/* Whole warp: has the search ended? */
SPTI_DEVICE bool has_enough(const spti_levels_args &a, const near_levels &near) {
  return near.enough < INT32_MAX && any(load_relaxed(a.sync.control + SPTI_SYNCFREE_ABORT) != 0);
}

/* A row, and the position of its first entry in solve order. row = -1: no row. */
struct level_row {
  int64_t start;
  int32_t row, length;
};

SPTI_DEVICE level_row level_row_at(const spti_view &v, int64_t s, bool mine) {
  level_row r = {0, -1, 0};
  if (!mine || s >= v.n) return r;
  r.row = int32_t(v.backward ? v.n - 1 - s : s);
  const int64_t begin = load_const(v.ptr + r.row) + v.head, end = load_const(v.ptr + r.row + 1) - v.tail;
  r.length = int32_t(end - begin);
  r.start = v.backward ? end - 1 : begin;
  return r;
}

/* BATCH entries of a row that one lane polls together, each until its level is known. All resident warps poll at once, so every
 * instruction between two polls takes time from warps that could proceed: keep them few. */
struct level_batch {
  const int32_t *at[BATCH];
  int32_t seen[BATCH]; /* level of the entry's column; -1: not yet known; 0: no entry */

  SPTI_DEVICE void clear() {
#pragma unroll
    for (int b = 0; b < BATCH; b++) seen[b] = 0;
  }
  /* Takes entries next, next + stride, ... of the row and returns the entry after them. All columns are loaded before one is used. */
  SPTI_DEVICE int32_t fetch(const spti_levels_args &a, const near_levels &near, const level_row &r, int32_t next, int32_t stride) {
    int32_t column[BATCH];
    clear();
    if (r.length == 0) return next;
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      const int32_t e = next + b * stride < r.length ? next + b * stride : 0;
      column[b] = load_const(a.view.idx + (a.view.backward ? r.start - e : r.start + e));
    }
#pragma unroll
    for (int b = 0; b < BATCH; b++, next += stride) {
      const int32_t in_block = column[b] - near.low;
      seen[b] = next < r.length ? -1 : 0;
      at[b] = uint32_t(in_block) < uint32_t(near.rows) ? near.level + in_block : a.level + column[b];
    }
    return next;
  }
  SPTI_DEVICE bool poll() {
    int32_t least = 0;
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      if (seen[b] < 0) seen[b] = generic_load_relaxed(at[b]);
    }
#pragma unroll
    for (int b = 0; b < BATCH; b++) least = seen[b] < least ? seen[b] : least;
    return least == 0;
  }
  SPTI_DEVICE int32_t highest(int32_t v) const {
#pragma unroll
    for (int b = 0; b < BATCH; b++) v = seen[b] > v ? seen[b] : v;
    return v;
  }
};

/* A long row that is polled by the whole warp. */
struct shared_row {
  level_row r;
  level_batch batch;
  int32_t next, highest, level; /* level: the highest level of the long rows that are done */

  SPTI_DEVICE void start(const spti_levels_args &a, const near_levels &near, const level_row &mine, int from) {
    r.start = shfl(mine.start, from);
    r.row = shfl(mine.row, from);
    r.length = shfl(mine.length, from);
    highest = 0;
    next = batch.fetch(a, near, r, lane(), 32);
  }
  /* A round of polls. True: the row is done. */
  SPTI_DEVICE bool poll(const spti_levels_args &a, const near_levels &near, bool *moved) {
    bool done = batch.poll();
    if (done && next < r.length) {
      highest = batch.highest(highest);
      next = batch.fetch(a, near, r, next, 32);
      *moved = true;
      done = false;
    }
    if (!all(done)) return false;
    const int32_t own = warp_max(batch.highest(highest)) + (r.length > 0);
    if (lane() == 0) publish_level(a, near, r.row, own);
    level = own > level ? own : level;
    return true;
  }
};

/* Limits the rounds of polls of a warp. False: give up. The row that is reported as lost is that of the first waiting lane, or else the
 * warp's long row. */
struct level_guard {
  spin_guard guard;
  int32_t rounds;

  SPTI_DEVICE void start() {
    guard.start();
    rounds = 0;
  }
  SPTI_DEVICE bool go_on(const spti_levels_args &a, const near_levels &near, bool *moved, uint32_t waiting, int32_t own_row,
                         int32_t row_of_warp) {
    if (++rounds % ROUNDS_TO_ENOUGH == 0 && has_enough(a, near)) return false;
    if (rounds % SPTI_LEVELS_ROUNDS_PER_CHECK != 0) return true;
    if (any(*moved)) guard.progress();
    *moved = false;
    const int32_t first = shfl(own_row, waiting ? first_lane(waiting) : 0);
    return all(guard.go_on(a.sync, waiting ? first : row_of_warp));
  }
};

SPTI_DEVICE near_levels near_levels_of(const spti_levels_args &a, int32_t *level, int64_t first, int32_t rows) {
  return {level, int32_t(a.view.backward ? a.view.n - first - rows : first), rows, load_const(&a.facts->enough)};
}

/* A lane for each row, but the whole warp for a long one. The host does not know whether there are long rows, so it launches the kernel
 * without long rows and one of the kernels with them; the one that does not apply returns at once. */
SPTI_DEVICE bool has_long_rows(const spti_levels_args &a) { return load_const(&a.facts->longest) > a.short_row; }

template <bool WithLong>
SPTI_KERNEL_RESIDENT(SPTI_LEVELS_LANE_THREADS, WithLong ? 2 : LANE_BLOCKS)
levels_lanes_kernel(spti_levels_args a) {
  SPTI_SHARED(int32_t, near_level, SPTI_LEVELS_LANE_THREADS);
  if (has_long_rows(a) != WithLong) return;
  shared_store(near_level + thread_in_block(), -1); /* the ticket's barrier follows */
  const int64_t first = block_ticket(a.sync) * threads_per_block();
  const near_levels near = near_levels_of(a, near_level, first, threads_per_block());
  if (has_enough(a, near)) return;
  const level_row mine = level_row_at(a.view, first + thread_in_block(), true);
  const bool is_long = WithLong && mine.row >= 0 && mine.length > a.short_row;
  bool waiting = mine.row >= 0 && !is_long, moved = false;
  uint32_t long_rows = WithLong ? ballot(is_long) : 0;
  int32_t next = 0, highest = 0, level = -1;
  level_batch batch;
  shared_row shared;
  shared.r.row = shared.level = -1;
  level_guard guard;
  guard.start();
  batch.clear();
  if (waiting) next = batch.fetch(a, near, mine, 0, 1);
  if (long_rows) shared.start(a, near, mine, first_lane(long_rows));
  for (;;) {
    const bool came = batch.poll();
    if (came && waiting) {
      highest = batch.highest(highest);
      if (next < mine.length) {
        next = batch.fetch(a, near, mine, next, 1);
      } else {
        level = highest + (mine.length > 0);
        publish_level(a, near, mine.row, level);
        waiting = false;
      }
      moved = true;
    }
    if (long_rows && shared.poll(a, near, &moved)) {
      long_rows &= long_rows - 1;
      if (long_rows) shared.start(a, near, mine, first_lane(long_rows));
    }
    const uint32_t left = ballot(waiting);
    if (!left && !long_rows) break;
    if (waiting && !came) spin_pause();
    if (!guard.go_on(a, near, &moved, left, mine.row, shared.r.row)) break;
  }
  count_levels(a, level > shared.level ? level : shared.level);
}

/* A warp for each row. */
SPTI_KERNEL(SPTI_LEVELS_WARP_THREADS) levels_warps_kernel(spti_levels_args a) {
  SPTI_SHARED(int32_t, near_level, SPTI_LEVELS_WARP_THREADS / 32);
  if (!has_long_rows(a)) return;
  if (lane() == 0) shared_store(near_level + warp_in_block(), -1); /* the ticket's barrier follows */
  const int64_t first = block_ticket(a.sync) * warps_per_block();
  const near_levels near = near_levels_of(a, near_level, first, warps_per_block());
  const level_row mine = level_row_at(a.view, first + warp_in_block(), true);
  if (mine.row < 0 || has_enough(a, near)) return;
  bool moved = false;
  shared_row row;
  level_guard guard;
  guard.start();
  row.level = -1;
  row.start(a, near, mine, 0);
  while (!row.poll(a, near, &moved)) {
    spin_pause();
    if (!guard.go_on(a, near, &moved, 0, mine.row, mine.row)) break;
  }
  count_levels(a, row.level);
}

SPTI_KERNEL(32) levels_result_kernel(spti_levels_args a) {
  static_assert(sizeof *a.facts % sizeof(int32_t) == 0);
  for (int32_t w = lane(); w < int32_t(sizeof *a.facts / sizeof(int32_t)); w += 32)
    store(reinterpret_cast<int32_t *>(a.result) + w, load_const(reinterpret_cast<const int32_t *>(a.facts) + w));
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
  return SPTI_LAUNCH(turn_place_kernel, walk_blocks(a->view.n, a->lanes), WALK_THREADS, 0, stream, *a);
}

extern "C" int spti_levels_find_launch(const spti_levels_args *a, void *stream) {
  using namespace spti;
  int64_t plain_blocks = level_blocks(a->view.n);
  if (plain_blocks > PLAIN_LEVEL_BLOCKS) plain_blocks = PLAIN_LEVEL_BLOCKS;
  int error = SPTI_LAUNCH(levels_clear_kernel, 1, 32, 0, stream, *a);
  if (!error) error = SPTI_LAUNCH(levels_start_kernel, plain_blocks, PLAIN_LEVEL_THREADS, 0, stream, *a);
  const int64_t lane_blocks = (a->view.n + int64_t(a->lane_threads) - 1) / a->lane_threads, warps = a->warp_threads / 32;
  if (!error) error = SPTI_LAUNCH(levels_lanes_kernel<false>, lane_blocks, a->lane_threads, 0, stream, *a);
  if (!error && a->all_by_warps) error = SPTI_LAUNCH(levels_warps_kernel, (a->view.n + warps - 1) / warps, a->warp_threads, 0, stream, *a);
  else if (!error) error = SPTI_LAUNCH(levels_lanes_kernel<true>, lane_blocks, a->lane_threads, 0, stream, *a);
  return error ? error : SPTI_LAUNCH(levels_result_kernel, 1, 32, 0, stream, *a);
}
