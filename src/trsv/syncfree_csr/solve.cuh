/* syncfree_csr_solve -- the one loop of syncfree-csr: a warp solves 32 / s rows side by side, s lanes a row.
 *
 * Each lane holds a batch of its row's entries: indices and values, read ahead; and the x they need, peeked all at once. Then the whole
 * warp goes round: rows whose batches are complete add them up and take their next batch, or publish their x; lanes that miss
 * something peek again. All lanes keep together, so a row may need one of the same warp: that one's x is published before the
 * warp peeks again, and no lane spins in a branch of its own while its producer is held up.
 *
 * Rows, one of two kinds, say where a task's entries are: source(task, e), value(task, e), diagonal(task). */
#ifndef SPTI_TRSV_SYNCFREE_CSR_SOLVE_CUH
#define SPTI_TRSV_SYNCFREE_CSR_SOLVE_CUH

#include "core/device/syncfree.cuh"
#include "core/device/transfer.cuh"
#include "trsv/syncfree_csr/kernels.h"

namespace spti {

/* A warp shared out: groups of 2^log lanes, one row each. */
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

/* What a group of lanes does. */
template <typename Offset> struct row_task {
  Offset first;         /* entry e is at first + e * step */
  int32_t length, step; /* step 0: entry e is once the sum of segment first + e */
  int32_t row, place;   /* of the solution in B and X, and in the work */
  bool mine, whole;     /* there is a row; and it has a right-hand side and a diagonal: else its sum alone is published */
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

/* Whole warp: each lane gets the sum over its group, added up in a fixed tree. */
template <typename T> SPTI_DEVICE T sum_of_group(T sum, lane_groups lanes) {
  for (int32_t distance = lanes.size() / 2; distance > 0; distance /= 2) sum = sum + shfl(sum, lane() ^ distance);
  return sum;
}

/* The guard hears of one poll in so many, to keep the way short from the arrival of a value to what it is waited for. */
enum { SPTI_CSR_POLLS_PER_GUARD = 16 };

/* Whole warp: until a value is there, polled by one lane; row is what is reported. False: lost. */
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

/* Whole warp: after polls in vain that left `waiting` lanes without a value. False: lost. */
SPTI_DEVICE bool keep_waiting(spin_guard *guard, const spti_syncfree &sync, uint32_t waiting, int32_t row) {
  bool on = true;
  if (lane() == first_lane(waiting)) on = guard->go_on(sync, row);
  return all(on);
}

/* What becomes of a row's sum: its x. What can be read before the sum is known is read by prepare. */
template <typename T, typename Rows> struct row_solution {
  const spti_syncfree_csr_args &a;
  const Rows &rows;
  const typename Rows::task &task;
  T *work;
  int32_t k;
  divisor<T> diagonal;
  T rhs;
  bool plain; /* a whole row with a plain diagonal */

  SPTI_DEVICE void prepare(bool owner) {
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

template <typename T> SPTI_DEVICE T *work_of(const spti_syncfree_csr_args &a, int32_t k) { return static_cast<T *>(a.work) + k * a.stride; }

/* Whole warp, one task a group, batches of `Entries`, with OneBatch no task of more than one: sums up, and calls result->finish(sum) in
 * one lane of each group; before that result->prepare(owner) in all. gate: a place to wait for first, or -1. False: a dependency is
 * lost. */
template <int Entries, bool OneBatch, typename T, typename Rows, typename Result>
SPTI_DEVICE bool sum_rows(const spti_syncfree_csr_args &a, const Rows &rows, const typename Rows::task &task, lane_groups lanes,
                          int32_t gate, const T *work, Result *result) {
  batch<T, Entries> now, next;
  now.load(rows, task, lanes, 0);
  result->prepare(task.mine && lanes.member() == 0);
  const uint32_t step = uint32_t(Entries * lanes.size());
  uint32_t ahead = step; /* entries of the row in `now` and before it */
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
      if (OneBatch || any(ends)) {
        const T total = sum_of_group(so_far, lanes);
        if (ends && lanes.member() == 0) result->finish(total);
        active = active && !ends;
        if (!any(active)) return true;
      }
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

/* Whole warp, one task a group, for right-hand side k. */
template <int Entries, bool OneBatch, typename T, typename Rows>
SPTI_DEVICE bool solve_rows(const spti_syncfree_csr_args &a, const Rows &rows, const typename Rows::task &task, lane_groups lanes,
                            int32_t gate, int32_t k) {
  row_solution<T, Rows> solution = {a, rows, task, work_of<T>(a, k), k, {}, {}, false};
  return sum_rows<Entries, OneBatch>(a, rows, task, lanes, gate, static_cast<const T *>(solution.work), &solution);
}

} // namespace spti
#endif
