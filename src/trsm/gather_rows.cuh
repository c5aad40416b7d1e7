/* gather_rows.cuh -- the kernel of gather where rows are short: a warp owns an item, a lane a right-hand side.
 *
 * What a row costs here is instructions and the way from one load to the next, not memory traffic: so the terms are taken four at a time
 * by code that knows how many there are, every index and value by one load that all lanes share, and the last lanes of a narrow tile
 * repeat its last right-hand side instead of asking before each load. See gather_items.cuh for the protocol. */
#ifndef SPTI_GATHER_ROWS_CUH
#define SPTI_GATHER_ROWS_CUH

#include "trsm/gather_items.cuh"

namespace spti {

/* N terms at hand. */
template <typename T, int N> struct gather_batch {
  T t[N], x[N];
  const T *at[N];

  template <bool Cut>
  SPTI_DEVICE gather_batch(const spti_gather_args &a, const gather_item<Cut> &g, int32_t e, const gather_column<T> &column) {
#pragma unroll
    for (int u = 0; u < N; u++) {
      const gather_term<T> term = load_term<T>(a, g, e + u);
      t[u] = term.t;
      at[u] = column.at(term.from);
    }
#pragma unroll
    for (int u = 0; u < N; u++) x[u] = peek(at[u]);
  }
  SPTI_DEVICE bool misses() const {
    bool missing = false;
#pragma unroll
    for (int u = 0; u < N; u++) missing = missing || is_sentinel(x[u]);
    return missing;
  }
  /* Whole warp. False: something never comes. */
  SPTI_DEVICE bool wait(const spti_gather_args &a, int32_t row) {
    spin_guard guard;
    guard.start();
    bool arrived = true;
    while (misses() && arrived) {
      arrived = guard.go_on(a.sync, row);
#pragma unroll
      for (int u = 0; u < N; u++)
        if (is_sentinel(x[u])) x[u] = peek(at[u]);
    }
    return all(arrived);
  }
  SPTI_DEVICE void add(T (&sum)[GATHER_SUMS], int count) const {
#pragma unroll
    for (int u = 0; u < N; u++)
      if (u < count) sum[u % GATHER_SUMS] = multiply_add(t[u], x[u], sum[u % GATHER_SUMS]);
  }
};

/* What the last N terms of an item make of the sums. */
template <typename T, bool Cut, int N>
SPTI_DEVICE bool end_of_terms(const spti_gather_args &a, const gather_item<Cut> &g, int32_t e, const gather_column<T> &column,
                              T (&sum)[GATHER_SUMS], gather_term<T> *last, T *x) {
  gather_batch<T, N> batch(a, g, e, column);
  if (!batch.wait(a, g.matrix_row())) return false;
  batch.add(sum, N - 1);
  last->t = batch.t[N - 1];
  *x = batch.x[N - 1];
  return true;
}

/* Whole warp: the solution of the lane's right-hand side. False if a dependency was lost. */
template <typename T, bool Cut>
SPTI_DEVICE bool solve_row(const spti_gather_args &a, const gather_item<Cut> &g, const gather_column<T> &column, int32_t k, T *solution) {
  const T zero = from_reals<T>::make(0, 0), b = right_hand_side<T>(a, g, k);
  const divisor<T> d = divisor_of<T>(a, g);
  T sum[GATHER_SUMS] = {zero, zero, zero, zero}, x = zero;
  gather_term<T> last = {0, zero};
  const int32_t terms = g.terms();
  int32_t e = 0;
  for (; terms - e > GATHER_SUMS; e += GATHER_SUMS) {
    gather_batch<T, GATHER_SUMS> batch(a, g, e, column);
    if (!batch.wait(a, g.matrix_row())) return false;
    batch.add(sum, GATHER_SUMS);
  }
  bool arrived = true;
  switch (terms - e) {
  case 0: break;
  case 1: arrived = end_of_terms<T, Cut, 1>(a, g, e, column, sum, &last, &x); break;
  case 2: arrived = end_of_terms<T, Cut, 2>(a, g, e, column, sum, &last, &x); break;
  case 3: arrived = end_of_terms<T, Cut, 3>(a, g, e, column, sum, &last, &x); break;
  default: arrived = end_of_terms<T, Cut, 4>(a, g, e, column, sum, &last, &x); break;
  }
  if (arrived) *solution = solution_of(a, g, d, b, sum, last.t, x);
  return arrived;
}

/* Values of 16 bytes need twice the registers. */
template <typename T, bool Cut> SPTI_KERNEL_RESIDENT(32 * SPTI_GATHER_WARPS, sizeof(T) > 8 ? 4 : 8) gather_rows_kernel(spti_gather_args a) {
  const gather_share share(a, SPTI_GATHER_WARPS);
  const int32_t i = share.first + warp_in_block();
  if (i >= a.item_count) return;
  const int32_t k = share.column + lane(), at = k < a.between.width ? k : a.between.width - 1;
  const gather_item<Cut> item(a.items, i);
  const gather_column<T> column(a, share.second, at);
  T solution;
  if (!solve_row<T, Cut>(a, item, column, at, &solution)) return;
  if (item.is_read() && k < a.between.width) publish(column.at(item.work_row), solution);
  const gather_column<T> own(a, share.second, k);
  leave(a, item, own, k, refill_end(a, share), solution);
}

} // namespace spti
#endif
