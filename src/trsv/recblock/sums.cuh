/* sums.cuh -- shared by the solve kernels of recblock: the lanes of a warp, the sum over a row's entries in a block, and the
 * right-hand side from which it is subtracted.
 *
 * A row's sum has slots: entry e belongs to slot e mod SLOTS, each slot adds in the order of the entries, and slots are added as a
 * tree, 4 apart, then 2, then 1. A lane keeps A = 1, 2, 4 or 8 slots for one right-hand side, as many as make a warp full, so the
 * sum is the same whatever the width of the panel. Rows with one slot are summed by one lane a right-hand side. */
#ifndef SPTI_TRSV_RECBLOCK_SUMS_CUH
#define SPTI_TRSV_RECBLOCK_SUMS_CUH

#include "core/device/syncfree.cuh"
#include "core/device/transfer.cuh"
#include "trsv/recblock/kernels.h"

namespace spti {

/* The lanes of a warp: 2^log_w right-hand sides, 2^log_l lanes on the slots of a row, the rest different rows. */
struct lane_shape {
  int log_w, log_l;
  SPTI_ANYWHERE int log_rows() const { return 5 - log_w - log_l; }
  SPTI_DEVICE int column() const { return lane() & ((1 << log_w) - 1); }
  SPTI_DEVICE int slot() const { return lane() >> log_w & ((1 << log_l) - 1); }
  SPTI_DEVICE int row() const { return lane() >> (log_w + log_l); }
};

SPTI_ANYWHERE inline int log_columns(int32_t width) {
  int log_w = 0;
  while (log_w < 5 && (1 << log_w) < width) log_w++;
  return log_w;
}

/* Lanes on the slots of a row that fit into a warp beside 2^log_w right-hand sides. */
SPTI_ANYWHERE inline int log_slot_lanes(int slots, int log_w) { return slots == 1 ? 0 : log_w <= 2 ? 3 : 5 - log_w; }

template <typename T> SPTI_DEVICE T zero() { return from_reals<T>::make(0, 0); }

/* Whole warp: slots added as a tree; the result is in the lane with slot() 0 of each row and right-hand side. */
template <typename T, int A> SPTI_DEVICE T add_slots(T (&acc)[A], const lane_shape &shape) {
#pragma unroll
  for (int half = A / 2; half > 0; half /= 2)
#pragma unroll
    for (int s = 0; s < half; s++) acc[s] = acc[s] + acc[s + half];
  T sum = acc[0];
  for (int apart = 1 << shape.log_l >> 1; apart > 0; apart >>= 1) sum = sum + shfl(sum, lane() ^ apart << shape.log_w);
  return sum;
}

/* N loaded entries of a segment that ends at `end`, `stride` apart, and the solutions that they multiply, from earlier kernels. */
template <typename T, int N> struct entries_at_hand {
  T t[N], x[N];

  SPTI_DEVICE void take(const spti_recblock_solve_args &a, int64_t first, int64_t end, int32_t stride, int64_t k) {
#pragma unroll
    for (int e = 0; e < N; e++) {
      const int64_t p = first + int64_t(e) * stride;
      t[e] = x[e] = zero<T>();
      if (p >= end) continue;
      t[e] = load_const((const T *)a.val + p);
      x[e] = load((const T *)a.x + int64_t(load_const(a.from + p)) * a.between.width + k);
    }
  }
  template <int A> SPTI_DEVICE void add(T (&acc)[A], int64_t first, int64_t end, int32_t stride) const {
#pragma unroll
    for (int e = 0; e < N; e++)
      if (first + int64_t(e) * stride < end) acc[e % A] = acc[e % A] + t[e] * x[e];
  }
};

/* This lane's slots of the sum over [first, end), where first is the lane's own first entry; Steps entries of each slot are loaded
 * together. */
template <typename T, int A, int Steps>
SPTI_DEVICE void sum_entries(T (&acc)[A], const spti_recblock_solve_args &a, int64_t first, int64_t end, int64_t k,
                             const lane_shape &shape) {
  const int32_t stride = 1 << shape.log_l;
  for (; first < end; first += int64_t(stride) * A * Steps) {
    entries_at_hand<T, A * Steps> hand;
    hand.take(a, first, end, stride, k);
    hand.add(acc, first, end, stride);
  }
}

/* ---- one row's part in a block ---- */

struct row_segment {
  int32_t place, begin, end;
  bool in_panel;
};

SPTI_DEVICE row_segment segment_at(const spti_recblock_step_args &a, int32_t row) {
  const int32_t s = a.step.segment + row, word = load_const(a.all.start + s);
  return {a.step.row + row, word & SPTI_RECBLOCK_OFFSET, load_const(a.all.start + s + 1) & SPTI_RECBLOCK_OFFSET, word < 0};
}

template <typename T> SPTI_DEVICE T *panel_at(const spti_recblock_solve_args &a, int32_t place, int64_t k) {
  return (T *)a.b + int64_t(place - a.panel_row) * a.between.width + k;
}

template <typename T> SPTI_DEVICE T base_of(const spti_recblock_solve_args &a, const row_segment &r, int64_t k) {
  return r.in_panel ? load(panel_at<T>(a, r.place, k)) : read_rhs<T>(a.between, load_const(a.order + r.place), k);
}

} // namespace spti
#endif
