/* rows.cuh -- the kernel of gather for the forms ROWS and PAIRS: a warp owns an item, a lane one right-hand side, or two neighbouring ones.
 *
 * A row's time is instructions and the latency from one load to the next, not memory traffic. So the terms are taken four at a time by code
 * that knows how many there are, all lanes share the load of each index and value, and the last lanes of a narrow tile repeat its last
 * right-hand side instead of testing before each load. See items.cuh for the protocol. */
#ifndef SPTI_TRSM_GATHER_ROWS_CUH
#define SPTI_TRSM_GATHER_ROWS_CUH

#include "trsm/gather/items.cuh"

namespace spti {

/* N terms for P right-hand sides, loaded together. */
template <typename T, int N, int P> struct gather_batch {
  T t[N];
  some_columns<T, P> x[N];
  const T *at[N];

  template <bool Cut>
  SPTI_DEVICE gather_batch(const spti_gather_args &a, const gather_item<Cut> &g, int32_t e, const gather_column<T> &column) {
    const int64_t entry = entry_of(g, e);
#pragma unroll
    for (int u = 0; u < N; u++) at[u] = column.at(from_of(a, g, e, u, entry));
#pragma unroll
    for (int u = 0; u < N; u++) x[u] = peek_columns<P>(at[u]);
#pragma unroll
    for (int u = 0; u < N; u++) t[u] = value_of<T>(a, g, e, u, entry);
  }
  SPTI_DEVICE bool misses() const {
    bool missing = false;
#pragma unroll
    for (int u = 0; u < N; u++) missing = missing || misses_any(x[u]);
    return missing;
  }
  /* Whole warp: polls until all solutions have come. False: a dependency is lost. */
  SPTI_DEVICE bool wait(const spti_gather_args &a, int32_t row) {
    spin_guard guard;
    guard.start();
    bool arrived = true;
    while (misses() && arrived) {
      arrived = guard.go_on(a.sync, row);
#pragma unroll
      for (int u = 0; u < N; u++)
        if (misses_any(x[u])) x[u] = peek_columns<P>(at[u]);
    }
    return all(arrived);
  }
  SPTI_DEVICE void add(some_columns<T, P> (&sum)[GATHER_SUMS], int count) const {
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
      for (int c = 0; c < P; c++)
        if (u < count) sum[u % GATHER_SUMS].v[c] = multiply_add(t[u], x[u].v[c], sum[u % GATHER_SUMS].v[c]);
  }
};

/* The sum of the four accumulators of right-hand side c. */
template <typename T, int P> SPTI_DEVICE T add_up_column(const some_columns<T, P> (&sum)[GATHER_SUMS], int c) {
  const T of_slots[GATHER_SUMS] = {sum[0].v[c], sum[1].v[c], sum[2].v[c], sum[3].v[c]};
  return add_up(of_slots);
}

/* The solution from the last N terms and the sums of the terms before them. False: a dependency is lost. */
template <typename T, bool Cut, int N, int P>
SPTI_DEVICE bool end_row(const spti_gather_args &a, const gather_item<Cut> &g, int32_t e, const gather_column<T> &column,
                         const gather_loaded<T, P> &loaded, some_columns<T, P> (&sum)[GATHER_SUMS], some_columns<T, P> *solution) {
  gather_ends<T, P> ends;
  if constexpr (N == 0) {
    ends.make(a, g, loaded);
#pragma unroll
    for (int c = 0; c < P; c++) solution->v[c] = ends.solution(a, g, add_up_column(sum, c), one<T>(), one<T>(), c);
  } else {
    gather_batch<T, N, P> batch(a, g, e, column);
    ends.make(a, g, loaded);
    if (!batch.wait(a, g.matrix_row())) return false;
    batch.add(sum, N - 1);
#pragma unroll
    for (int c = 0; c < P; c++) solution->v[c] = ends.solution(a, g, add_up_column(sum, c), batch.t[N - 1], batch.x[N - 1].v[c], c);
  }
  return true;
}

/* Whole warp: the solutions of the lane's right-hand sides. False if a dependency was lost. */
template <typename T, bool Cut, int P>
SPTI_DEVICE bool solve_row(const spti_gather_args &a, const gather_item<Cut> &g, const gather_column<T> &column, int32_t k,
                           some_columns<T, P> *solution) {
  const gather_loaded<T, P> loaded(a, g, k);
  const int32_t terms = g.terms();
  some_columns<T, P> sum[GATHER_SUMS] = {};
  int32_t e = 0;
  for (; terms - e > GATHER_SUMS; e += GATHER_SUMS) {
    gather_batch<T, GATHER_SUMS, P> batch(a, g, e, column);
    if (!batch.wait(a, g.matrix_row())) return false;
    batch.add(sum, GATHER_SUMS);
  }
  switch (terms - e) {
  case 0: return end_row<T, Cut, 0, P>(a, g, e, column, loaded, sum, solution);
  case 1: return end_row<T, Cut, 1, P>(a, g, e, column, loaded, sum, solution);
  case 2: return end_row<T, Cut, 2, P>(a, g, e, column, loaded, sum, solution);
  case 3: return end_row<T, Cut, 3, P>(a, g, e, column, loaded, sum, solution);
  default: return end_row<T, Cut, 4, P>(a, g, e, column, loaded, sum, solution);
  }
}

/* Values of 16 bytes, or two of 8 at a time, need twice the registers. */
template <typename T, int P> SPTI_ANYWHERE constexpr int gather_resident() { return sizeof(T) > 8 ? 4 : sizeof(T) * P > 8 ? 6 : 8; }

template <typename T, bool Cut, int P>
SPTI_KERNEL_RESIDENT(32 * SPTI_GATHER_WARPS, (gather_resident<T, P>()))
gather_rows_kernel(spti_gather_args a) {
  const gather_share share(a, SPTI_GATHER_WARPS);
  const int32_t i = share.first + warp_in_block();
  if (i >= a.item_count) return;
  const int32_t k = share.column + P * lane(), at = k < a.between.width ? k : a.between.width - P;
  const gather_item<Cut> item(a.items, i);
  const gather_column<T> column(a, share.second, at);
  some_columns<T, P> solution;
  if (!solve_row<T, Cut, P>(a, item, column, at, &solution)) return;
  if (item.is_read() && k < a.between.width) publish_columns(column.at(item.work_row), solution);
  const gather_column<T> own(a, share.second, k);
  leave(a, item, own, k, refill_end(a, share), solution);
}

} // namespace spti
#endif
