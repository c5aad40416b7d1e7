/* order_kernels.cu -- the part of the analysis of syncfree-csc that only some patterns need: long columns and rows, and an order in which
 * columns become ready.
 *
 * In the order of their numbers, columns keep the resident warps waiting where neighbours depend on each other. Kahn's algorithm finds an
 * order without levels, in one kernel: the warp with ticket t takes item t of a queue, counts down the rows of its column, appends the rows
 * that reach zero, and goes on with the first of them. A shared tail numbers the appended items. A row is appended after all its columns
 * were taken, so each item comes after all items that it waits for: the queue itself is the order. Relaxed atomics are enough: between one
 * value of the tail and a later one there is a chain of values and branches that depend on each other, and no atomic is performed before
 * the branch that it depends on is taken.
 * Source: Kahn 1962 (topological sorting); the tickets are those of core/device/syncfree.cuh. Deterministic: no, nor is the solve. */
#include "core/device/syncfree.cuh"
#include "trsm/syncfree_csc/items.cuh"

namespace spti {

enum { ORDER_THREADS = 128 };

SPTI_KERNEL(ORDER_THREADS) syncfree_csc_survey_kernel(spti_syncfree_csc_survey_args a) {
  const int64_t j = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  if (j >= a.view.n) return;
  const int32_t extra = segments_of(a.limits, column_of(a.view, int32_t(j)).length) - 1;
  if (extra > 0) red_add(a.facts + SPTI_CSC_SEGMENTS, extra);
  const int32_t parts = parts_of(a.limits, load_const(a.in_degree + j));
  store(a.part_first + j, parts > 0 ? fetch_add(a.facts + SPTI_CSC_PARTIALS, parts) : -1);
}

SPTI_KERNEL(ORDER_THREADS) syncfree_csc_clear_facts_kernel(int32_t *facts) {
  if (thread_in_block() < SPTI_CSC_FACTS) store(facts + thread_in_block(), 0);
}

SPTI_KERNEL(ORDER_THREADS) syncfree_csc_target_kernel(spti_syncfree_csc_target_args a) {
  const int64_t p = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  if (p >= a.view.nnz) return;
  const int32_t i = load_const(a.view.idx + p), first = load_const(a.part_first + i);
  const int32_t parts = parts_of(a.limits, load_const(a.in_degree + i));
  store(a.target + p, first < 0 ? i : ~(first + int32_t(p % parts)));
}

/* ---- the queue ---- */

static constexpr int64_t EMPTY = -1, TAKEN = int64_t(1) << 62, COLUMN = 0x7fffffff, SEGMENT = 0x3fffffff;

SPTI_KERNEL(ORDER_THREADS) syncfree_csc_order_start_kernel(spti_syncfree_csc_order_args a) {
  const int64_t at = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  if (at < a.item_count) store(a.items + at, EMPTY);
  if (at < a.view.n) store(a.counters + at, load_const(a.in_degree + at));
  if (at < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + at, 0);
  if (at == 0) store(a.facts + SPTI_CSC_TAIL, 0);
}

/* Whole warp: appends the items of `lanes` in the order of the lanes. The first of them is marked as taken if the caller goes on with it at
 * once. */
SPTI_DEVICE void append(const spti_syncfree_csc_order_args &a, uint32_t lanes, int64_t item, bool take_first) {
  if (!lanes) return;
  int32_t base = 0;
  if (lane() == 0) base = fetch_add(a.facts + SPTI_CSC_TAIL, popcount(lanes));
  base = shfl(base, 0);
  const int32_t rank = popcount(lanes & ((1u << lane()) - 1u));
  if (lanes >> lane() & 1u) store_relaxed(a.items + base + rank, take_first && rank == 0 ? item | TAKEN : item);
}

SPTI_KERNEL(ORDER_THREADS) syncfree_csc_order_seed_kernel(spti_syncfree_csc_order_args a) {
  const int64_t s = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  const int32_t j = int32_t(a.view.backward ? a.view.n - 1 - s : s);
  append(a, ballot(s < a.view.n && load_const(a.in_degree + (s < a.view.n ? j : 0)) == 0), j, false);
}

/* One lane: polls for item t; EMPTY if it never comes. A tail that moves counts as progress, as a ticket does. */
SPTI_DEVICE int64_t poll_item(const spti_syncfree_csc_order_args &a, int64_t t) {
  spin_guard guard;
  guard.start();
  int32_t tail = 0;
  int64_t item = load_relaxed(a.items + t);
  while (item == EMPTY && guard.go_on(a.sync, t)) {
    if (guard.polls % POLLS_PER_CHECK == 0) {
      const int32_t now = load_relaxed(a.facts + SPTI_CSC_TAIL);
      if (now != tail) guard.progress();
      tail = now;
    }
    item = load_relaxed(a.items + t);
  }
  return item;
}

/* Whole warp: the entries of an item, given those of its column. */
SPTI_DEVICE column_span span_of_item(const spti_syncfree_csc_order_args &a, int64_t item, const column_span &column) {
  const int32_t segment = int32_t(item >> 32 & SEGMENT), segments = segments_of(a.limits, column.length);
  if (segment == 0) /* the other segments of a long column wait for the first one only */
    for (int32_t s = 1; s < segments; s += 32) append(a, ballot(s + lane() < segments), int64_t(s + lane()) << 32 | item, false);
  return segment_of(a.limits, column, segment, segments);
}

/* Whole warp: counts down the rows of an item, appends the rows that are ready, and returns the first of them, or EMPTY; *column belongs to
 * the item, and then to the returned one. Going on with it at once saves the way through the queue, and its pointers are loaded while the
 * tail is numbered. */
SPTI_DEVICE int64_t count_down(const spti_syncfree_csc_order_args &a, int64_t item, column_span *column) {
  const column_span span = span_of_item(a, item, *column);
  int64_t next = EMPTY;
  for (int32_t e = 0; e < span.length; e += 32) {
    const bool mine = e + lane() < span.length;
    const int64_t row = mine ? load_const(a.view.idx + span.start + int64_t(e + lane()) * span.step) : 0;
    const uint32_t ready = ballot(mine && fetch_add(a.counters + row, -1) == 1);
    const bool take = ready != 0 && next == EMPTY;
    if (take) {
      next = shfl(row, first_lane(ready));
      *column = column_of(a.view, int32_t(next));
    }
    append(a, ready, row, take);
  }
  return next;
}

SPTI_KERNEL(ORDER_THREADS) syncfree_csc_order_kernel(spti_syncfree_csc_order_args a) {
  const int64_t t = block_ticket(a.sync) * warps_per_block() + warp_in_block();
  if (t >= a.item_count) return;
  int64_t item = EMPTY;
  if (lane() == 0) item = poll_item(a, t);
  item = shfl(item, 0);
  if (item == EMPTY || item & TAKEN) return;
  column_span column = column_of(a.view, int32_t(item & COLUMN));
  while (item != EMPTY) item = count_down(a, item, &column);
}

SPTI_KERNEL(ORDER_THREADS) syncfree_csc_order_finish_kernel(spti_syncfree_csc_order_args a) {
  const int64_t t = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  if (t < a.item_count) store(a.items + t, load(a.items + t) & ~TAKEN);
}

static int64_t order_blocks(int64_t count) { return (count + ORDER_THREADS - 1) / ORDER_THREADS; }

} // namespace spti

extern "C" int spti_syncfree_csc_survey_launch(const spti_syncfree_csc_survey_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(syncfree_csc_clear_facts_kernel, 1, ORDER_THREADS, 0, stream, a->facts);
  if (error) return error;
  return SPTI_LAUNCH(syncfree_csc_survey_kernel, order_blocks(a->view.n), ORDER_THREADS, 0, stream, *a);
}

extern "C" int spti_syncfree_csc_target_launch(const spti_syncfree_csc_target_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(syncfree_csc_target_kernel, order_blocks(a->view.nnz), ORDER_THREADS, 0, stream, *a);
}

extern "C" int spti_syncfree_csc_order_launch(const spti_syncfree_csc_order_args *a, void *stream) {
  using namespace spti;
  const int64_t words = a->item_count + SPTI_SYNCFREE_CONTROL_WORDS;
  int error = SPTI_LAUNCH(syncfree_csc_order_start_kernel, order_blocks(words), ORDER_THREADS, 0, stream, *a);
  if (!error) error = SPTI_LAUNCH(syncfree_csc_order_seed_kernel, order_blocks(a->view.n), ORDER_THREADS, 0, stream, *a);
  const int64_t blocks = (a->item_count + ORDER_THREADS / 32 - 1) / (ORDER_THREADS / 32);
  if (!error) error = SPTI_LAUNCH(syncfree_csc_order_kernel, blocks, ORDER_THREADS, 0, stream, *a);
  if (!error) error = SPTI_LAUNCH(syncfree_csc_order_finish_kernel, order_blocks(a->item_count), ORDER_THREADS, 0, stream, *a);
  return error;
}
