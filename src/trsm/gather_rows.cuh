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
    const int64_t entry = entry_of(g, e);
#pragma unroll
    for (int u = 0; u < N; u++) at[u] = column.at(from_of(a, g, e, u, entry));
#pragma unroll
    for (int u = 0; u < N; u++) x[u] = peek(at[u]);
#pragma unroll
    for (int u = 0; u < N; u++) t[u] = value_of<T>(a, g, e, u, entry);
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

/* The solution from the last N terms and the sums before them, or false. */
template <typename T, bool Cut, int N>
SPTI_DEVICE bool end_row(const spti_gather_args &a, const gather_item<Cut> &g, int32_t e, const gather_column<T> &column,
                         const gather_loaded<T> &loaded, T (&sum)[GATHER_SUMS], T *solution) {
  gather_ends<T> ends;
  if constexpr (N == 0) {
    ends.make(a, g, loaded);
    *solution = ends.solution(a, g, add_up(sum), one<T>(), one<T>());
  } else {
    gather_batch<T, N> batch(a, g, e, column);
    ends.make(a, g, loaded);
    if (!batch.wait(a, g.matrix_row())) return false;
    batch.add(sum, N - 1);
    *solution = ends.solution(a, g, add_up(sum), batch.t[N - 1], batch.x[N - 1]);
  }
  return true;
}

/* Whole warp: the solution of the lane's right-hand side. False if a dependency was lost. */
template <typename T, bool Cut>
SPTI_DEVICE bool solve_row(const spti_gather_args &a, const gather_item<Cut> &g, const gather_column<T> &column, int32_t k, T *solution) {
  const T zero = from_reals<T>::make(0, 0);
  const gather_loaded<T> loaded(a, g, k);
  const int32_t terms = g.terms();
  T sum[GATHER_SUMS] = {zero, zero, zero, zero};
  int32_t e = 0;
  for (; terms - e > GATHER_SUMS; e += GATHER_SUMS) {
    gather_batch<T, GATHER_SUMS> batch(a, g, e, column);
    if (!batch.wait(a, g.matrix_row())) return false;
    batch.add(sum, GATHER_SUMS);
  }
  switch (terms - e) {
  case 0: return end_row<T, Cut, 0>(a, g, e, column, loaded, sum, solution);
  case 1: return end_row<T, Cut, 1>(a, g, e, column, loaded, sum, solution);
  case 2: return end_row<T, Cut, 2>(a, g, e, column, loaded, sum, solution);
  case 3: return end_row<T, Cut, 3>(a, g, e, column, loaded, sum, solution);
  default: return end_row<T, Cut, 4>(a, g, e, column, loaded, sum, solution);
  }
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
