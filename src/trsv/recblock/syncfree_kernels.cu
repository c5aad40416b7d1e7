/* syncfree_kernels.cu -- triangles of recblock with too many levels for a launch each: rows wait for each other.
 *
 * The places of a triangle ascend by level, and warps take them by ticket. A solution is its own flag: x holds the sentinel until the
 * row is solved. A lane keeps its slots of one row and right-hand side (sums.cuh); it polls the solutions that its loaded entries need,
 * adds the products in order once none is missing, and loads the next entries. The whole warp is in one loop, so that rows of the same
 * warp may wait for each other: no lane stays in a loop that the lane it waits for has to leave first.
 * Source: [lu2020recblock] for where it is used. Deterministic: the order of additions does not depend on arrival. */
#include "trsv/recblock/sums.cuh"

namespace spti {

enum { SYNCFREE_THREADS = 128 };

/* The loaded entries of one lane. */
template <typename T, int A> struct hand {
  static constexpr int size = A > 4 ? A : 4;
  int64_t next; /* the first of them; at or beyond the segment's end: nothing to wait for */
  int32_t from[size];
  T t[size], x[size];
  uint32_t missing;

  SPTI_DEVICE void take(const spti_recblock_solve_args &a, int64_t end, int32_t stride) {
    missing = 0;
#pragma unroll
    for (int e = 0; e < size; e++) {
      const int64_t p = next + int64_t(e) * stride;
      t[e] = x[e] = zero<T>();
      if (p >= end) continue;
      from[e] = load_const(a.from + p);
      t[e] = load_const((const T *)a.val + p);
      missing |= 1u << e;
    }
  }
  /* True: something arrived. */
  SPTI_DEVICE bool poll(const T *x_of_column, int64_t width) {
    const uint32_t before = missing;
    T seen[size];
#pragma unroll
    for (int e = 0; e < size; e++) seen[e] = before >> e & 1u ? peek(x_of_column + int64_t(from[e]) * width) : x[e];
#pragma unroll
    for (int e = 0; e < size; e++)
      if ((before >> e & 1u) && !is_sentinel(seen[e])) {
        x[e] = seen[e];
        missing &= ~(1u << e);
      }
    return missing != before;
  }
  SPTI_DEVICE void add(T (&acc)[A], int64_t end, int32_t stride) {
#pragma unroll
    for (int e = 0; e < size; e++)
      if (next + int64_t(e) * stride < end) acc[e % A] = acc[e % A] + t[e] * x[e];
    next += int64_t(size) * stride;
  }
};

template <typename T, int A> SPTI_KERNEL(SYNCFREE_THREADS) recblock_syncfree_kernel(spti_recblock_step_args a) {
  a.all.between = transfer_of(a.all.between, a.all.bound);
  const int64_t warp = block_ticket(a.sync) * warps_per_block() + warp_in_block();
  const int64_t width = a.all.between.width, tiles = spti_recblock_tiles(a.all.between.width);
  const int log_w = log_columns(a.all.between.width);
  const lane_shape shape = {log_w, log_slot_lanes(a.step.slots, log_w)};
  const int64_t u = ((warp / tiles) << shape.log_rows()) + shape.row(), k = warp % tiles * SPTI_RECBLOCK_TILE + shape.column();
  const int32_t stride = 1 << shape.log_l;
  const bool mine = u < a.step.rows && k < width, leads = mine && shape.slot() == 0;
  row_segment r = {0, 0, 0, false};
  if (mine) r = segment_at(a, int32_t(u));
  T base = zero<T>(), d = one<T>(), acc[A];
  int32_t i = 0;
  for (int s = 0; s < A; s++) acc[s] = zero<T>();
  if (mine) i = load_const(a.all.order + r.place);
  if (leads) {
    base = base_of<T>(a.all, r, k);
    d = load_const((const T *)a.all.diag + r.place);
  }
  divisor<T> divide;
  divide.set(d);
  const uint32_t row_lanes = (shape.log_w + shape.log_l == 5 ? ~0u : (1u << (1 << (shape.log_w + shape.log_l))) - 1u)
                             << (shape.row() << (shape.log_w + shape.log_l));
  const T *x = (const T *)a.all.x + k;
  hand<T, A> at_hand;
  at_hand.next = int64_t(r.begin) + shape.slot();
  at_hand.take(a.all, r.end, stride);
  bool solved = !mine;
  spin_guard guard;
  guard.start();
  for (;;) {
    bool alive = true;
    if (at_hand.next < r.end) {
      if (at_hand.poll(x, width)) guard.progress();
      else alive = guard.go_on(a.sync, i);
      if (at_hand.missing == 0) {
        at_hand.add(acc, r.end, stride);
        at_hand.take(a.all, r.end, stride);
      }
    }
    const bool complete = (ballot(at_hand.next >= r.end) & row_lanes) == row_lanes;
    if (any(complete && !solved)) {
      T copy[A];
      for (int s = 0; s < A; s++) copy[s] = acc[s];
      const T sum = add_slots<T, A>(copy, shape);
      if (complete && !solved && leads) {
        const T solution = divide.divide(base - sum);
        publish((T *)a.all.x + int64_t(r.place) * width + k, solution);
        write_solution(a.all.between, i, k, solution);
      }
      solved = solved || complete;
    }
    if (all(solved) || any(!alive)) return;
  }
}

template <typename T, int A> static int launch_syncfree(const spti_recblock_step_args *a, int log_w, void *stream) {
  const lane_shape shape = {log_w, log_slot_lanes(a->step.slots, log_w)};
  const int64_t rows = (int64_t(a->step.rows) + (1 << shape.log_rows()) - 1) >> shape.log_rows();
  const int64_t warps = rows * spti_recblock_tiles(a->all.between.width);
  return SPTI_LAUNCH((recblock_syncfree_kernel<T, A>), (warps * 32 + SYNCFREE_THREADS - 1) / SYNCFREE_THREADS, SYNCFREE_THREADS, 0, stream,
                     *a);
}

template <typename T> static int launch_syncfree(const spti_recblock_step_args *a, void *stream) {
  const int log_w = log_columns(a->all.between.width);
  if (a->step.slots == 1) return launch_syncfree<T, 1>(a, log_w, stream);
  switch (log_w) {
  case 5: return launch_syncfree<T, 8>(a, log_w, stream);
  case 4: return launch_syncfree<T, 4>(a, log_w, stream);
  case 3: return launch_syncfree<T, 2>(a, log_w, stream);
  default: return launch_syncfree<T, 1>(a, log_w, stream);
  }
}

} // namespace spti

extern "C" int spti_recblock_syncfree_launch(const spti_recblock_step_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->all.dtype, [&](auto tag) { return launch_syncfree<typename decltype(tag)::type>(a, stream); });
}
