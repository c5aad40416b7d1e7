/* natural.cuh -- rows as they are stored in the view, for the loop of solve.cuh. */
#ifndef SPTI_TRSV_SYNCFREE_CSR_NATURAL_CUH
#define SPTI_TRSV_SYNCFREE_CSR_NATURAL_CUH

#include "trsv/syncfree_csr/solve.cuh"

namespace spti {

template <typename T> struct natural_rows {
  using task = row_task<int64_t>;
  const spti_syncfree_csr_args &a;

  SPTI_DEVICE int32_t source(const task &t, uint32_t e) const { return load_const(a.view.idx + t.first + int64_t(e) * t.step); }
  SPTI_DEVICE T value(const task &t, uint32_t e) const {
    return conj_if(a.view.conj, load_const(static_cast<const T *>(a.view.val) + t.first + int64_t(e) * t.step));
  }
  SPTI_DEVICE T diagonal(const task &t) const {
    if (a.view.unit) return one<T>();
    const int64_t p = a.view.head ? load_const(a.view.ptr + t.row) : load_const(a.view.ptr + t.row + 1) - 1;
    return conj_if(a.view.conj, load_const(static_cast<const T *>(a.view.val) + p));
  }
  SPTI_DEVICE int32_t position_of(int32_t row) const { return a.view.backward ? a.n - 1 - row : row; } /* where order is NULL */
  /* The entries of a task are in solve order, which is descending for a backward solve. */
  SPTI_DEVICE task row_at_position(int64_t t) const {
    if (t >= a.n) return {0, 0, 1, 0, 0, false, false};
    const int32_t row = a.order ? load_const(a.order + t) : int32_t(a.view.backward ? a.n - 1 - t : t);
    const int64_t begin = load_const(a.view.ptr + row) + a.view.head, end = load_const(a.view.ptr + row + 1) - a.view.tail;
    return {a.view.backward ? end - 1 : begin, int32_t(end - begin), a.view.backward ? -1 : 1, row, row, true, true};
  }
};

} // namespace spti
#endif
