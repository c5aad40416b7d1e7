/* syncfree_csc_one_kernels -- synchronisation-free substitution by columns for one right-hand side.
 *
 * Column j, by one warp: wait until all updates of row j have arrived; x(j) = (w(j) + s(j)) / t(j,j); for each other entry (i,j):
 * subtract t(i,j) x(j) from w(i) in global memory, or, if column i belongs to the same thread block, from s(i) in its shared memory.
 *
 * Source: [liu2017syncfree] Algorithm 3, two sums and two in-degrees. Differs: w starts as alpha b and is the global sum;
 * release and acquire, at the scope of the device or of the block, because lanes of a warp no longer run in step. In the
 * published form a warp compares the two in-degrees in each poll, and each poll goes to global memory. Here the block
 * counts the updates among its own columns before it waits: a row first waits, in global memory, for those from elsewhere, and then
 * in shared memory alone. Columns are sorted, so the entries that stay in a block are among the first of their column.
 * Wins: neighbours that depend on each other, as in factors and bands. Loses: as syncfree_csc.c, and wide problems, where
 * the columns of one block do not meet. Deterministic: no (the order of atomic sums changes). */
#include "trsv/syncfree_csc_one_kernels.h"

#include "core/syncfree.cuh"

namespace spti {

enum { ONE_MOST = SPTI_SYNCFREE_CSC_ONE_MAX_WARPS };

/* A column's off-diagonal entries in the order in which their rows become ready: the e-th is at start + e * step. */
struct one_column {
  int64_t start;
  int32_t step, length;
};

SPTI_DEVICE one_column one_column_of(const spti_view &v, int32_t j) {
  const int64_t begin = load_const(v.ptr + j) + v.head, end = load_const(v.ptr + j + 1) - v.tail;
  return {v.backward ? end - 1 : begin, v.backward ? -1 : 1, int32_t(end - begin)};
}

template <typename T> struct one_entry {
  int32_t row; /* -1: none */
  T t;
};

template <typename T> SPTI_DEVICE one_entry<T> one_entry_of(const spti_view &v, const one_column &c, int64_t e) {
  if (e >= c.length) return {-1, from_reals<T>::make(0, 0)};
  const int64_t p = c.start + e * c.step;
  return {load_const(v.idx + p), conj_if(v.conj, load_const((const T *)v.val + p))};
}

/* What the columns of one block share. Slot k is the k-th of them in solve order. */
template <typename T> struct one_block {
  int32_t *inside;  /* updates of a row from columns of this block, */
  int32_t *arrived; /* and those of them that have been made */
  T *sum;
  int64_t first; /* solve position of slot 0 */

  SPTI_DEVICE int64_t slot_of(const spti_view &v, int32_t i) const { return (v.backward ? v.n - 1 - i : i) - first; }
  SPTI_DEVICE void clear() const {
    if (thread_in_block() >= warps_per_block()) return;
    shared_store(inside + thread_in_block(), 0);
    shared_store(arrived + thread_in_block(), 0);
    shared_store(sum + thread_in_block(), from_reals<T>::make(0, 0));
  }
};

/* One lane of column j's warp: waits, and sets *x. False: the dependency is lost. */
template <typename T, bool Two>
SPTI_DEVICE bool one_solve(const spti_syncfree_csc_one_args &a, const one_block<T> &b, int32_t j, const divisor<T> &diagonal, T *x) {
  const int32_t inside = Two ? shared_load_relaxed(b.inside + warp_in_block()) : 0;
  if (!poll_until(a.sync, a.counters + j, inside, j)) return false;
  T sum = load_relaxed((const T *)a.work + j * a.ld);
  if (Two && inside > 0) {
    if (!poll_shared_until(a.sync, b.arrived + warp_in_block(), inside, j)) return false;
    sum = sum + shared_load_relaxed(b.sum + warp_in_block());
  }
  *x = a.view.unit ? sum : diagonal.divide(sum);
  return true;
}

/* Whole warp: the updates that column j makes, nearest rows first. Each lane releases the row that it alone updated: no barrier. */
template <typename T, bool Two>
SPTI_DEVICE void one_push(const spti_syncfree_csc_one_args &a, const one_block<T> &b, const one_column &column, one_entry<T> e, T x) {
  if (Two) {
    const int64_t slot = b.slot_of(a.view, e.row);
    if (e.row >= 0 && slot < warps_per_block()) {
      shared_red_add(b.sum + slot, -(e.t * x));
      release_one_shared(b.arrived + slot);
      e.row = -1;
    }
  }
  for (int64_t base = 0; base < column.length; base += 32) {
    const one_entry<T> next = one_entry_of<T>(a.view, column, base + 32 + lane());
    if (e.row >= 0) {
      red_add((T *)a.work + e.row * a.ld, -(e.t * x));
      release_one(a.counters + e.row);
    }
    e = next;
  }
}

template <typename T, bool Two> SPTI_KERNEL(32 * ONE_MOST) syncfree_csc_one_kernel(spti_syncfree_csc_one_args a) {
  const spti_view &v = a.view;
  SPTI_SHARED(int32_t, inside, ONE_MOST);
  SPTI_SHARED(int32_t, arrived, ONE_MOST);
  SPTI_SHARED(T, sum, ONE_MOST);
  one_block<T> block = {inside, arrived, sum, 0};
  if (Two) block.clear();
  block.first = block_ticket(a.sync) * warps_per_block(); /* a barrier: the slots are clear */
  const int64_t s = block.first + warp_in_block();
  const bool mine = s < v.n;
  const int32_t j = int32_t(!mine ? 0 : v.backward ? v.n - 1 - s : s);

  /* Everything that does not depend on other columns, before the wait. */
  one_column column = one_column_of(v, j);
  if (!mine) column.length = 0;
  const one_entry<T> first = one_entry_of<T>(v, column, lane());
  divisor<T> diagonal;
  const int64_t at = v.head ? load_const(v.ptr + j) : load_const(v.ptr + j + 1) - 1;
  diagonal.set(v.unit ? one<T>() : conj_if(v.conj, load_const((const T *)v.val + at)));
  if (Two) {
    if (first.row >= 0 && block.slot_of(v, first.row) < warps_per_block()) shared_red_add(inside + block.slot_of(v, first.row), 1);
    syncthreads();
  }
  if (!mine) return;

  T x = from_reals<T>::make(0, 0);
  if (!all(lane() != 0 || one_solve<T, Two>(a, block, j, diagonal, &x))) return;
  x = shfl(x, 0);
  one_push<T, Two>(a, block, column, first, x);
  if (lane() == 0) store((T *)a.work + j * a.ld, x);
}

template <typename T> static int one_launch(const spti_syncfree_csc_one_args *a, void *stream) {
  const int64_t blocks = (int64_t(a->view.n) + a->block_warps - 1) / a->block_warps;
  const int threads = 32 * a->block_warps;
  if (a->two_level) return SPTI_LAUNCH((syncfree_csc_one_kernel<T, true>), blocks, threads, 0, stream, *a);
  return SPTI_LAUNCH((syncfree_csc_one_kernel<T, false>), blocks, threads, 0, stream, *a);
}

} // namespace spti

extern "C" int spti_syncfree_csc_one_launch(const spti_syncfree_csc_one_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->view.dtype, [&](auto tag) { return one_launch<typename decltype(tag)::type>(a, stream); });
}
