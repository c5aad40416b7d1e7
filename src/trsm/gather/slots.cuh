/* slots.cuh -- the kernel of gather for the form SLOTS, few right-hand sides and longer rows: a warp owns an item, and its lanes are four
 * slots times eight right-hand sides. Slot s has the terms e with e mod 4 = s, those of accumulator s, so four loads a lane bring sixteen
 * terms. At the end the slots are added in the same order as in all kernels. See items.cuh for the protocol. */
#ifndef SPTI_TRSM_GATHER_SLOTS_CUH
#define SPTI_TRSM_GATHER_SLOTS_CUH

#include "trsm/gather/items.cuh"

namespace spti {

enum { GATHER_SLOT_LANES = 32 / GATHER_SUMS };

/* Four terms of the lane's slot: e, e + 4, e + 8 and e + 12, as far as they are before `end`. */
template <typename T> struct gather_slot_batch {
  T t[GATHER_SUMS], x[GATHER_SUMS];
  const T *at[GATHER_SUMS];

  template <bool Cut>
  SPTI_DEVICE gather_slot_batch(const spti_gather_args &a, const gather_item<Cut> &g, int32_t e, int32_t end,
                                const gather_column<T> &column) {
    const int64_t entry = entry_of(g, e);
#pragma unroll
    for (int u = 0; u < GATHER_SUMS; u++) {
      const int by = u * GATHER_SUMS;
      t[u] = x[u] = from_reals<T>::make(0, 0);
      at[u] = column.at(0);
      if (e + by >= end) continue;
      at[u] = column.at(from_of(a, g, e, by, entry));
      t[u] = value_of<T>(a, g, e, by, entry);
      x[u] = peek(at[u]);
    }
  }
  /* One lane. */
  SPTI_DEVICE bool wait(const spti_gather_args &a, int32_t row) {
    spin_guard guard;
    guard.start();
    for (;;) {
      bool missing = false;
#pragma unroll
      for (int u = 0; u < GATHER_SUMS; u++) missing = missing || is_sentinel(x[u]);
      if (!missing) return true;
      if (!guard.go_on(a.sync, row)) return false;
#pragma unroll
      for (int u = 0; u < GATHER_SUMS; u++)
        if (is_sentinel(x[u])) x[u] = peek(at[u]);
    }
  }
  SPTI_DEVICE T add(T sum, int32_t e, int32_t end) const {
#pragma unroll
    for (int u = 0; u < GATHER_SUMS; u++)
      if (e + u * GATHER_SUMS < end) sum = multiply_add(t[u], x[u], sum);
    return sum;
  }
};

/* One lane: waits for the last term, which all slots share. False: it is lost. */
template <typename T> SPTI_DEVICE bool wait_for_one(const spti_gather_args &a, const T *at, T *x, int32_t row) {
  spin_guard guard;
  guard.start();
  while (is_sentinel(*x)) {
    if (!guard.go_on(a.sync, row)) return false;
    *x = peek(at);
  }
  return true;
}

/* Whole warp: the solution of the lane's right-hand side. False if a dependency was lost. */
template <typename T, bool Cut>
SPTI_DEVICE bool solve_in_slots(const spti_gather_args &a, const gather_item<Cut> &g, const gather_column<T> &column, int32_t k,
                                T *solution) {
  const T zero = from_reals<T>::make(0, 0);
  const gather_loaded<T> loaded(a, g, k);
  const int32_t last = g.terms() - 1, slot = lane() / GATHER_SLOT_LANES, row = g.matrix_row();
  const T *at = column.at(0);
  T x = zero, t = zero, own = zero;
  if (last >= 0) {
    const int64_t entry = entry_of(g, last);
    at = column.at(from_of(a, g, last, 0, entry));
    x = peek(at);
    t = value_of<T>(a, g, last, 0, entry);
  }
  gather_ends<T> ends;
  bool arrived = true;
  for (int32_t e = slot; e < last + slot && arrived; e += GATHER_SUMS * GATHER_SUMS) {
    gather_slot_batch<T> batch(a, g, e, last, column);
    arrived = all(batch.wait(a, row));
    own = batch.add(own, e, last);
  }
  ends.make(a, g, loaded);
  T sum = own + shfl(own, lane() ^ 2 * GATHER_SLOT_LANES); /* as add_up does */
  sum = sum + shfl(sum, lane() ^ GATHER_SLOT_LANES);
  if (arrived) arrived = all(wait_for_one(a, at, &x, row));
  if (arrived) *solution = ends.solution(a, g, sum, t, x);
  return arrived;
}

template <typename T, bool Cut>
SPTI_KERNEL_RESIDENT(32 * SPTI_GATHER_WARPS, sizeof(T) > 8 ? 4 : 8)
gather_slots_kernel(spti_gather_args a) {
  const gather_share share(a, SPTI_GATHER_WARPS);
  const int32_t i = share.first + warp_in_block();
  if (i >= a.item_count) return;
  const int32_t k = share.column + lane() % GATHER_SLOT_LANES, at = k < a.between.width ? k : a.between.width - 1;
  const gather_item<Cut> item(a.items, i);
  const gather_column<T> column(a, share.second, at);
  T solution;
  if (!solve_in_slots<T, Cut>(a, item, column, at, &solution) || lane() >= GATHER_SLOT_LANES) return;
  if (item.is_read() && k < a.between.width) publish(column.at(item.work_row), solution);
  const gather_column<T> own(a, share.second, k);
  leave(a, item, own, k, refill_end(a, share), some_columns<T, 1>{{solution}});
}

} // namespace spti
#endif
