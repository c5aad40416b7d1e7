/* lanes.cuh -- the kernel of gather for the form LANES, few right-hand sides and very wide levels: four items side by side in a warp, eight
 * lanes and right-hand sides each. Items of a warp may wait for each other, so no lane spins alone: in one loop the lanes that have their
 * terms go on, and the others poll again. See items.cuh for the protocol. */
#ifndef SPTI_TRSM_GATHER_LANES_CUH
#define SPTI_TRSM_GATHER_LANES_CUH

#include "trsm/gather/items.cuh"

namespace spti {

enum { GATHER_ITEM_LANES = 8, GATHER_SIDE_BY_SIDE = 32 / GATHER_ITEM_LANES };

/* One lane's item and right-hand side. */
template <typename T, bool Cut> struct gather_lane {
  gather_item<Cut> item;
  gather_column<T> column;
  gather_ends<T> ends;
  T x[GATHER_SUMS], sum[GATHER_SUMS];
  int32_t e; /* term that x[0] belongs to */

  SPTI_DEVICE gather_lane(const spti_gather_args &a, int32_t i, bool second, int32_t k) : item(a.items, i), column(a, second, k), e(0) {
    const gather_loaded<T> loaded(a, item, k);
#pragma unroll
    for (int u = 0; u < GATHER_SUMS; u++) sum[u] = from_reals<T>::make(0, 0);
    take(a);
    ends.make(a, item, loaded);
  }
  SPTI_DEVICE const T *at(const spti_gather_args &a, int u) const { return column.at(from_of(a, item, e, u, entry_of(item, e))); }

  SPTI_DEVICE void take(const spti_gather_args &a) {
#pragma unroll
    for (int u = 0; u < GATHER_SUMS; u++) {
      x[u] = from_reals<T>::make(0, 0);
      if (e + u < item.terms()) x[u] = peek(at(a, u));
    }
  }
  SPTI_DEVICE bool misses() const {
    bool missing = false;
#pragma unroll
    for (int u = 0; u < GATHER_SUMS; u++) missing = missing || is_sentinel(x[u]);
    return missing;
  }
  SPTI_DEVICE void ask_again(const spti_gather_args &a) {
#pragma unroll
    for (int u = 0; u < GATHER_SUMS; u++)
      if (is_sentinel(x[u])) x[u] = peek(at(a, u));
  }
  /* Adds the terms of x, which have all come. True: they were the last ones, and *solution is set. */
  SPTI_DEVICE bool go_on(const spti_gather_args &a, T *solution) {
    const int32_t terms = item.terms();
    T t = from_reals<T>::make(0, 0), last = t;
#pragma unroll
    for (int u = 0; u < GATHER_SUMS; u++) {
      if (e + u >= terms) continue;
      const T value = value_of<T>(a, item, e, u, entry_of(item, e));
      if (e + u < terms - 1) {
        sum[u] = multiply_add(value, x[u], sum[u]);
      } else {
        t = value;
        last = x[u];
      }
    }
    e += GATHER_SUMS;
    if (e < terms) {
      take(a);
      return false;
    }
    *solution = ends.solution(a, item, add_up(sum), t, last);
    return true;
  }
};

template <typename T, bool Cut>
SPTI_KERNEL_RESIDENT(32 * SPTI_GATHER_WARPS, sizeof(T) > 8 ? 4 : 8)
gather_lanes_kernel(spti_gather_args a) {
  const gather_share share(a, SPTI_GATHER_WARPS * GATHER_SIDE_BY_SIDE);
  const int32_t first = share.first + warp_in_block() * GATHER_SIDE_BY_SIDE, i = first + lane() / GATHER_ITEM_LANES;
  if (first >= a.item_count) return;
  const int32_t k = share.column + lane() % GATHER_ITEM_LANES, width = a.between.width;
  const bool mine = i < a.item_count, solves = mine && k < width;
  gather_lane<T, Cut> l(a, mine ? i : a.item_count - 1, share.second, k < width ? k : width - 1);
  T solution = from_reals<T>::make(0, 0);
  bool done = !solves, lost = false;
  spin_guard guard;
  guard.start();
  while (!all(done)) {
    if (done) continue;
    if (l.misses()) {
      lost = done = !guard.go_on(a.sync, l.item.matrix_row());
      l.ask_again(a);
    } else {
      guard.progress();
      done = l.go_on(a, &solution);
      if (done && l.item.is_read()) publish(l.column.at(l.item.work_row), solution);
    }
  }
  if (lost || !mine) return;
  const gather_column<T> own(a, share.second, k);
  leave(a, l.item, own, k, refill_end(a, share), some_columns<T, 1>{{solution}});
}

} // namespace spti
#endif
