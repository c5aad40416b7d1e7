/* solve.cuh -- the loop of all kernels of syncfree-csr: a warp solves 32 / s rows side by side, with s lanes for each row.
 *
 * Each lane holds a batch of entries of its row: indices and values, which are loaded ahead, and the solutions x that they need, which
 * are polled together. Then the whole warp loops: rows whose batches are complete add them up, and take their next batch or publish
 * their x; lanes that miss a value poll again. All lanes stay together. A row may therefore depend on a row of the same warp: that row
 * publishes its x before the warp polls again, and no lane spins in a branch of its own while the lane that it waits for is held up.
 *
 * The template parameter Rows says where the entries of a task are: source(task, e), value(task, e), diagonal(task). */
#ifndef SPTI_TRSV_SYNCFREE_CSR_SOLVE_CUH
#define SPTI_TRSV_SYNCFREE_CSR_SOLVE_CUH

#include "core/device/transfer.cuh"
#include "core/two_blocks/two_blocks.cuh"
#include "trsv/syncfree_csr/kernels.h"

namespace spti {

/* The number of a thread block and the work blocks of its solve: value i of right-hand side k is at k * stride + i. Has a barrier:
 * all threads of the block construct it, once. */
template <typename T> struct drawn_block {
  int64_t number;
  two_blocks<T> work;

  SPTI_DEVICE explicit drawn_block(const spti_syncfree_csr_args &a) : work(nullptr, 0, 0, 0) {
    SPTI_SHARED(int32_t, drawn, 2);
    if (thread_in_block() == 0) {
      drawn[0] = draw_ticket(a.sync, a.transfer.width);
      drawn[1] = dirty_of_other(a.sync, drawn[0]);
    }
    syncthreads();
    number = drawn[0] & INT32_MAX;
    work = two_blocks<T>(a.work, a.block_size, drawn[0], drawn[1]);
  }
};

/* A warp divided into groups of 2^log lanes, one row for each group. */
struct lane_groups {
  int32_t log;

  SPTI_DEVICE int32_t size() const { return 1 << log; }
  SPTI_DEVICE int32_t group() const { return lane() >> log; }
  SPTI_DEVICE int32_t member() const { return lane() & (size() - 1); }
  SPTI_DEVICE uint32_t mask() const { return (0xffffffffu >> (32 - size())) << (group() << log); }
};

SPTI_DEVICE int32_t log_of(int32_t lanes) {
  int32_t log = 0;
  while (1 << log < lanes) log++;
  return log;
}

/* The work of a group of lanes: a row, a segment of a row, or the sum of the segments of a row. */
template <typename Offset> struct row_task {
  Offset first;         /* entry e is at first + e * step */
  int32_t length, step; /* number of entries; step 0: entry e is 1 times the sum of segment first + e */
  int32_t row, place;   /* where the solution goes, in X and in the workspace */
  bool mine, whole;     /* mine: there is a task; whole: it gives a solution, else only the sum of a segment is published */
};

template <typename T, int Entries> struct batch {
  int32_t from[Entries]; /* -1: no entry; then val and x are zero */
  T val[Entries], x[Entries];

  template <typename Rows> SPTI_DEVICE void load(const Rows &rows, const typename Rows::task &task, lane_groups lanes, uint32_t begin) {
#pragma unroll
    for (int u = 0; u < Entries; u++) {
      const uint32_t e = begin + uint32_t(lanes.member() + u * lanes.size());
      const bool there = e < uint32_t(task.length);
      from[u] = there ? rows.source(task, e) : -1;
      val[u] = there ? rows.value(task, e) : from_reals<T>::make(0, 0);
    }
  }
  SPTI_DEVICE void peek_all(const T *work) {
#pragma unroll
    for (int u = 0; u < Entries; u++) x[u] = load_relaxed_if(from[u] >= 0, work + from[u], from_reals<T>::make(0, 0));
  }
  SPTI_DEVICE void peek_missing(const T *work) {
#pragma unroll
    for (int u = 0; u < Entries; u++) x[u] = peek_again(work + from[u], x[u]);
  }
  SPTI_DEVICE bool complete() const {
    bool all_there = true;
#pragma unroll
    for (int u = 0; u < Entries; u++) all_there = int(all_there) & int(!is_sentinel(x[u]));
    return all_there;
  }
  SPTI_DEVICE T add_to(T sum) const {
#pragma unroll
    for (int u = 0; u < Entries; u++) sum = sum + val[u] * x[u];
    return sum;
  }
};

/* Whole warp: the sum over the lanes of each group, in a fixed order. */
template <typename T> SPTI_DEVICE T sum_of_group(T sum, lane_groups lanes) {
  for (int32_t distance = lanes.size() / 2; distance > 0; distance /= 2) sum = sum + shfl(sum, lane() ^ distance);
  return sum;
}

/* Whole warp: waits for a value, which one lane polls. False: it was never published, and `row` is reported. */
template <typename T> SPTI_DEVICE bool wait_for_value(const spti_syncfree &sync, const T *value, int32_t row) {
  bool on = true;
  if (lane() == 0) {
    spin_guard guard;
    guard.start();
    for (uint32_t polls = 1; on && is_sentinel(peek(value)); polls++) {
      if (polls % SPTI_CSR_POLLS_PER_GUARD == 0) on = guard.go_on(sync, row);
      else spin_pause();
    }
  }
  return all(on);
}

/* Whole warp: bounds the wait of the lanes in `waiting`. False: their values were never published, and `row` is reported. */
SPTI_DEVICE bool keep_waiting(spin_guard *guard, const spti_syncfree &sync, uint32_t waiting, int32_t row) {
  bool on = true;
  if (lane() == first_lane(waiting)) on = guard->go_on(sync, row);
  return all(on);
}

/* Turns the sum of a task into its solution, or publishes the sum of a segment. prepare reads the right-hand side and the diagonal, and
 * refills the task's value in the other work block, before the sum is known. */
template <typename T, typename Rows> struct row_solution {
  const spti_syncfree_csr_args &a;
  const Rows &rows;
  const typename Rows::task &task;
  const two_blocks<T> &blocks;
  T *work; /* values of right-hand side k */
  int32_t k;
  divisor<T> diagonal;
  T rhs;
  bool plain; /* a solution whose diagonal allows the quick division (is_plain) */

  SPTI_DEVICE void prepare(bool owner) {
    const int32_t end = owner && !left_out(protocol_step::unpublish) ? blocks.fill_end(k + 1, a.transfer.width) : 0;
    for (int32_t c = k; c < end; c++) store(blocks.other + c * a.stride + task.place, sentinel<T>());
    owner = owner && task.whole;
    const T t = owner ? rows.diagonal(task) : one<T>();
    plain = is_plain(t) && task.whole;
    diagonal.set(t);
    rhs = owner ? read_rhs<T>(a.transfer, task.row, k) : from_reals<T>::make(0, 0);
  }
  SPTI_DEVICE T value(T sum) const {
    const T x = diagonal.quick(rhs - sum);
    return plain && is_plain(x) ? x : task.whole ? diagonal.divide(rhs - sum) : sum;
  }
  SPTI_DEVICE void give(T x) const {
    if (plain && is_plain(x)) store_relaxed(work + task.place, x);
    else publish(work + task.place, x);
    if (task.whole) write_solution(a.transfer, task.row, k, x);
  }
  SPTI_DEVICE void finish(T sum) const {
    const T x = diagonal.quick(rhs - sum);
    if (plain && is_plain(x)) {
      store_relaxed(work + task.place, x);
      write_solution(a.transfer, task.row, k, x);
    } else {
      give(value(sum));
    }
  }
};

/* Whole warp: sums up the row of each group whose lanes have `ends` set, and finishes it in one lane. */
template <typename T, typename Result> SPTI_DEVICE void finish_groups(bool ends, T so_far, lane_groups lanes, Result *result) {
  const T total = sum_of_group(so_far, lanes);
  if (ends && lanes.member() == 0) result->finish(total);
}

/* Whole warp, one task for each group: sums up, in batches of `Entries` entries for each lane. Calls result->prepare(owner) in all lanes,
 * and result->finish(sum) in one lane of each group. OneBatch: no task has more than one batch. gate: a place whose value is waited for
 * first, or -1. False: a value was never published. */
template <int Entries, bool OneBatch, typename T, typename Rows, typename Result>
SPTI_DEVICE bool sum_rows(const spti_syncfree_csr_args &a, const Rows &rows, const typename Rows::task &task, lane_groups lanes,
                          int32_t gate, const T *work, Result *result) {
  batch<T, Entries> now, next;
  now.load(rows, task, lanes, 0);
  result->prepare(task.mine && lanes.member() == 0);
  const uint32_t step = uint32_t(Entries * lanes.size());
  uint32_t ahead = step; /* entries of the row up to the end of batch `now` */
  if (!OneBatch) next.load(rows, task, lanes, ahead);
  if (gate >= 0 && !wait_for_value(a.sync, work + gate, task.row)) return false;
  now.peek_all(work);
  T sum = from_reals<T>::make(0, 0);
  const uint32_t group = lanes.mask();
  bool active = task.mine;
  spin_guard guard;
  guard.start();
  if (!any(active)) return true;
  for (uint32_t polls = 1;; polls++) {
    const uint32_t waiting = ballot(!now.complete());
    const bool turn = active && (waiting & group) == 0, ends = turn && (OneBatch || ahead >= uint32_t(task.length));
    if (any(turn)) {
      const T so_far = now.add_to(sum);
      const bool finishing = OneBatch || any(ends);
      if (finishing) {
        finish_groups(ends, so_far, lanes, result);
        active = active && !ends;
      }
      if (finishing && !any(active)) return true;
      if (!OneBatch && turn) {
        sum = so_far;
        now = next;
        now.peek_all(work);
        ahead += step;
        next.load(rows, task, lanes, ahead);
      }
      guard.progress();
    }
    now.peek_missing(work);
    if (polls % SPTI_CSR_POLLS_PER_GUARD == 0 && waiting && !keep_waiting(&guard, a.sync, waiting, task.row)) return false;
  }
}

/* Whole warp: solves one task for each group, for right-hand side k. */
template <int Entries, bool OneBatch, typename T, typename Rows>
SPTI_DEVICE bool solve_rows(const spti_syncfree_csr_args &a, const Rows &rows, const typename Rows::task &task, lane_groups lanes,
                            int32_t gate, const two_blocks<T> &blocks, int32_t k) {
  row_solution<T, Rows> solution = {a, rows, task, blocks, blocks.now + k * a.stride, k, {}, {}, false};
  return sum_rows<Entries, OneBatch>(a, rows, task, lanes, gate, static_cast<const T *>(solution.work), &solution);
}

} // namespace spti
#endif
