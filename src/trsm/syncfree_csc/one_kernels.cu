/* one_kernels.cu -- synchronisation-free substitution by columns for one right-hand side.
 *
 * Column j, by one warp: wait until all updates of row j have arrived; x(j) = (w(j) + s(j)) / t(j,j); for each other entry (i,j): subtract
 * t(i,j) x(j) from w(i) in global memory, or, if column i belongs to the same thread block, from s(i) in its shared memory.
 *
 * Source: [liu2017syncfree] Algorithm 3, two sums and two in-degrees. Differs: w starts as alpha b and is the global sum; release and
 * acquire, at the scope of the device or of the block, because lanes of a warp no longer run in step. In the published form a warp
 * compares the two in-degrees in each poll, and each poll goes to global memory. Here the block counts the updates among its own columns
 * before it waits: a row first waits in global memory for the updates from other blocks, then in shared memory alone. Columns are sorted,
 * so the entries that stay in a block are among the first of their column. SPTI_CSC_ONE_VALUES goes further: the block stores its small
 * triangle in shared memory, and a row pulls the solutions of its block as they appear, each its own flag: no atomics and no memory order
 * between the columns of a block.
 *
 * Wins: neighbouring columns that depend on each other, as in factors and bands. Loses: as method.c says, and grids of many columns, of
 * which only a small window is resident. Deterministic: no (the order of atomic sums changes). */
#include "trsm/syncfree_csc/one_kernels.h"

#include "core/device/syncfree.cuh"
#include "trsm/syncfree_csc/items.cuh"

namespace spti {

enum { ONE_MOST = SPTI_SYNCFREE_CSC_ONE_MAX_WARPS };

using one_inside = spti_syncfree_csc_inside;

template <typename T> struct one_entry {
  int32_t row, target; /* row -1: none; target: the row, or ~(accumulator of a long row) */
  T t;
};

template <typename T, bool Gathered>
SPTI_DEVICE one_entry<T> one_entry_of(const spti_syncfree_csc_args &a, const column_span &c, int64_t e) {
  if (e >= c.length) return {-1, -1, from_reals<T>::make(0, 0)};
  const int64_t p = c.start + e * c.step;
  const int32_t row = load_const(a.view.idx + p);
  return {row, Gathered ? load_const(a.target + p) : row, conj_if(a.view.conj, load_const((const T *)a.view.val + p))};
}

/* What the columns of a thread block share. Slot k is the k-th of them in solve order; a warp's slot is its number in the block. */
template <typename T> struct one_block {
  int32_t *updates; /* [slot]: SUMS: number of updates from within the block; VALUES: a bit for each slot that updates it */
  int32_t *arrived; /* SUMS, [slot]: number of these updates that have been made */
  T *sum;           /* SUMS, [slot] */
  T *x;             /* VALUES, [slot] */
  T *t;             /* VALUES, [slot * ONE_MOST + slot of the column] */
  int64_t first;    /* solve position of slot 0 */

  SPTI_DEVICE int64_t slot_of(const spti_view &v, int32_t i) const { return (v.backward ? v.n - 1 - i : i) - first; }
  SPTI_DEVICE bool has(const spti_view &v, int32_t i) const { return i >= 0 && slot_of(v, i) < warps_per_block(); }

  template <one_inside Inside> SPTI_DEVICE void clear() const {
    const int slot = thread_in_block();
    if (slot >= warps_per_block()) return;
    shared_store(updates + slot, 0);
    if (Inside == SPTI_CSC_ONE_SUMS) {
      shared_store(arrived + slot, 0);
      shared_store(sum + slot, from_reals<T>::make(0, 0));
    }
    if (Inside == SPTI_CSC_ONE_VALUES) clear_shared(x + slot);
  }

  /* One lane: counts its entry if its row is in the block; a barrier must follow. */
  template <one_inside Inside> SPTI_DEVICE void announce(const spti_view &v, const one_entry<T> &e) const {
    if (!has(v, e.row)) return;
    const int64_t slot = slot_of(v, e.row);
    shared_red_add(updates + slot, Inside == SPTI_CSC_ONE_SUMS ? 1 : int32_t(1u << warp_in_block()));
    if (Inside == SPTI_CSC_ONE_VALUES) shared_store(t + slot * ONE_MOST + warp_in_block(), e.t);
  }
};

/* One lane: *w = row j with all updates from other blocks, once they have arrived. False: one is lost. */
template <typename T, bool Gathered> SPTI_DEVICE bool one_outside(const spti_syncfree_csc_args &a, int32_t j, int32_t within, T *w) {
  if (!poll_until(a.sync, a.counters + j, within, j)) return false;
  *w = load_relaxed((const T *)a.work + j * a.ld);
  if (Gathered && load_const(a.part_first + j) >= 0) {
    const T *partial = (const T *)a.partial + load_const(a.part_first + j);
    const int32_t parts = parts_of(a.limits, load_const(a.in_degree + j));
    for (int32_t part = 0; part < parts; part++) *w = *w + load_relaxed(partial + part);
  }
  return true;
}

/* Whole warp: waits for all updates of row j; every lane gets w. False: one is lost. */
template <typename T, one_inside Inside, bool Gathered>
SPTI_DEVICE bool one_wait(const spti_syncfree_csc_args &a, const one_block<T> &b, int32_t j, T *w) {
  const int slot = warp_in_block();
  const uint32_t updates = Inside == SPTI_CSC_ONE_GLOBAL ? 0 : uint32_t(shared_load_relaxed(b.updates + slot));
  const int32_t within = Inside == SPTI_CSC_ONE_VALUES ? popcount(updates) : int32_t(updates);
  bool arrived = true;
  if (lane() == 0) {
    arrived = one_outside<T, Gathered>(a, j, within, w);
    if (Inside == SPTI_CSC_ONE_SUMS && arrived && within > 0) {
      arrived = poll_shared_until(a.sync, b.arrived + slot, within, j);
      *w = *w + shared_load_relaxed(b.sum + slot);
    }
  }
  if (!all(arrived)) return false;
  *w = shfl(*w, 0);
  if (Inside == SPTI_CSC_ONE_VALUES)
    for (uint32_t rest = updates; rest; rest &= rest - 1) { /* the same in all lanes, in the order of readiness */
      const int from = first_lane(rest);
      const T t = shared_load_relaxed(b.t + slot * ONE_MOST + from);
      T x;
      if (!await_shared(a.sync, b.x + from, j, &x)) return false;
      *w = *w - t * x;
    }
  return true;
}

/* Address that the update of an entry goes to. */
template <typename T, bool Gathered> SPTI_DEVICE T *one_target(const spti_syncfree_csc_args &a, const one_entry<T> &e) {
  if (Gathered && e.target < 0) return (T *)a.partial + ~e.target;
  return (T *)a.work + e.target * a.ld;
}

/* Whole warp: the updates that column j makes, nearest rows first. Each lane releases the row that it alone updated: no barrier. */
template <typename T, one_inside Inside, bool Gathered>
SPTI_DEVICE void one_push(const spti_syncfree_csc_args &a, const one_block<T> &b, const column_span &column, one_entry<T> e, T x) {
  if (Inside != SPTI_CSC_ONE_GLOBAL && b.has(a.view, e.row)) {
    if (Inside == SPTI_CSC_ONE_SUMS) {
      shared_red_add(b.sum + b.slot_of(a.view, e.row), -(e.t * x));
      release_one_shared(b.arrived + b.slot_of(a.view, e.row));
    }
    e.row = -1;
  }
  for (int64_t base = 0; base < column.length; base += 32) {
    const one_entry<T> next = one_entry_of<T, Gathered>(a, column, base + 32 + lane());
    if (e.row >= 0) {
      red_add(one_target<T, Gathered>(a, e), -(e.t * x));
      release_one(a.counters + e.row);
    }
    e = next;
  }
}

template <typename T, one_inside Inside, bool Gathered> SPTI_KERNEL(32 * ONE_MOST) syncfree_csc_one_kernel(spti_syncfree_csc_args a) {
  const spti_view &v = a.view;
  SPTI_SHARED(int32_t, updates, ONE_MOST);
  SPTI_SHARED(int32_t, arrived, ONE_MOST);
  SPTI_SHARED(T, sum, ONE_MOST);
  SPTI_SHARED(T, solution, ONE_MOST);
  SPTI_SHARED(T, triangle, ONE_MOST * ONE_MOST);
  one_block<T> block = {updates, arrived, sum, solution, triangle, 0};
  if (Inside != SPTI_CSC_ONE_GLOBAL) block.template clear<Inside>();
  block.first = block_ticket(a.sync) * warps_per_block(); /* a barrier: what was cleared is clear for all */
  const int64_t s = block.first + warp_in_block();
  const bool mine = s < v.n;
  const int32_t j = int32_t(!mine ? 0 : v.backward ? v.n - 1 - s : s);

  /* Everything that does not depend on other columns, before the wait. */
  column_span column = column_of(v, j);
  if (!mine) column.length = 0;
  const one_entry<T> first = one_entry_of<T, Gathered>(a, column, lane());
  divisor<T> diagonal;
  const int64_t at = v.head ? load_const(v.ptr + j) : load_const(v.ptr + j + 1) - 1;
  diagonal.set(v.unit ? one<T>() : conj_if(v.conj, load_const((const T *)v.val + at)));
  if (Inside != SPTI_CSC_ONE_GLOBAL) {
    block.template announce<Inside>(v, first);
    syncthreads();
  }
  if (!mine) return;

  T x = from_reals<T>::make(0, 0);
  if (!one_wait<T, Inside, Gathered>(a, block, j, &x)) return;
  if (!v.unit) x = diagonal.divide(x);
  if (Inside == SPTI_CSC_ONE_VALUES && lane() == 0) publish_shared(block.x + warp_in_block(), x);
  one_push<T, Inside, Gathered>(a, block, column, first, x);
  if (lane() == 0) store((T *)a.work + j * a.ld, x);
}

template <typename T, one_inside Inside> static int one_launch(const spti_syncfree_csc_args &a, void *stream) {
  const int64_t blocks = (int64_t(a.view.n) + a.block_warps - 1) / a.block_warps;
  const int threads = 32 * a.block_warps;
  if (a.target) return SPTI_LAUNCH((syncfree_csc_one_kernel<T, Inside, true>), blocks, threads, 0, stream, a);
  return SPTI_LAUNCH((syncfree_csc_one_kernel<T, Inside, false>), blocks, threads, 0, stream, a);
}

template <typename T> static int one_launch_any(const spti_syncfree_csc_one_args *a, void *stream) {
  switch (a->inside) {
  case SPTI_CSC_ONE_GLOBAL: return one_launch<T, SPTI_CSC_ONE_GLOBAL>(a->solve, stream);
  case SPTI_CSC_ONE_SUMS: return one_launch<T, SPTI_CSC_ONE_SUMS>(a->solve, stream);
  default: return one_launch<T, SPTI_CSC_ONE_VALUES>(a->solve, stream);
  }
}

} // namespace spti

extern "C" int spti_syncfree_csc_one_launch(const spti_syncfree_csc_one_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->solve.view.dtype, [&](auto tag) { return one_launch_any<typename decltype(tag)::type>(a, stream); });
}
