/* packed_kernels.cu -- order=packed: syncfree-csr on rows sorted by (level, length class).
 *
 * x(t) = (b(t) - sum over p of val[p] x(from[p])) / diag[t], by places t. A warp takes a record: rows of one level and one length class,
 * so that all its lanes have equal work. Solutions are stored by place, so that the solutions of a level are adjacent, and entries are
 * stored in the order in which warps read them. The segments of a split row publish their sums behind the solutions, and one more warp
 * adds these up and solves the row. Deterministic. */
#include "trsv/syncfree_csr/solve.cuh"

namespace spti {

template <typename T> struct packed_rows {
  using task = row_task<int32_t>;
  const spti_syncfree_csr_args &a;

  SPTI_DEVICE int32_t source(const task &t, uint32_t e) const {
    return t.step == 0 ? a.n + t.first + int32_t(e) : load_const(a.from + t.first + e);
  }
  SPTI_DEVICE T value(const task &t, uint32_t e) const {
    return t.step == 0 ? one<T>() : load_const(static_cast<const T *>(a.val) + t.first + e);
  }
  SPTI_DEVICE T diagonal(const task &t) const { return load_const(static_cast<const T *>(a.diag) + t.place); }

  SPTI_DEVICE task whole_row(int32_t place, bool mine) const {
    if (!mine) return {0, 0, 1, 0, 0, false, false};
    const int32_t begin = load_const(a.start + place), end = load_const(a.start + place + 1);
    return {begin, end - begin, 1, load_const(a.row + place), place, true, true};
  }
  SPTI_DEVICE task segment_of_row(int32_t s, bool is_sum) const {
    const int32_t place = load_const(&a.segment[s].place), part = load_const(&a.segment[s].part);
    task t = whole_row(place, true);
    if (is_sum) {
      t.first = s - part;
      t.length = part + 1;
      t.step = 0;
      return t;
    }
    const int32_t skipped = part * a.split, rest = t.length - skipped;
    t.first += skipped;
    t.length = int32_t(rest < a.split ? rest : a.split);
    t.place = a.n + s;
    t.whole = false;
    return t;
  }
};

/* OneBatch: no row has more than one batch. That saves registers, so more warps are resident and load ahead. */
template <typename T, bool OneBatch>
SPTI_KERNEL_RESIDENT(32 * SPTI_CSR_MAX_WARPS, sizeof(T) == 16 ? 2
                                              : OneBatch      ? 4
                                                              : 3)
syncfree_csr_packed_kernel(spti_syncfree_csr_args a) {
  const drawn_block<T> drawn(a);
  const int64_t item = drawn.number * warps_per_block() + warp_in_block();
  const int32_t width = a.transfer.width;
  if (item >= int64_t(a.records) * width) return;
  const int64_t r = width == 1 ? item : item / width;
  const int32_t first = load_const(&a.record[r].first), shape = load_const(&a.record[r].shape);
  const lane_groups lanes = {shape >> 2 & 7};
  const packed_rows<T> rows = {a};
  const bool whole = (shape & 3) == SPTI_CSR_ROWS, is_sum = (shape & 3) == SPTI_CSR_SUM;
  const row_task<int32_t> task =
      whole ? rows.whole_row(first + lanes.group(), lanes.group() < shape >> 5) : rows.segment_of_row(first, is_sum);
  const int32_t gate = load_const(&a.record[r].gate), k = int32_t(item - r * width);
  if (OneBatch || all(task.length <= SPTI_CSR_BATCH * lanes.size()))
    solve_rows<SPTI_CSR_BATCH, true, T>(a, rows, task, lanes, gate, drawn.work, k);
  else solve_rows<SPTI_CSR_BATCH, false, T>(a, rows, task, lanes, gate, drawn.work, k);
}

template <typename T> static int launch_packed(const spti_syncfree_csr_args *a, void *stream) {
  const int64_t items = int64_t(a->records) * a->transfer.width;
  const int64_t blocks = (items + a->block_warps - 1) / a->block_warps;
  if (a->one_batch) return SPTI_LAUNCH((syncfree_csr_packed_kernel<T, true>), blocks, 32 * a->block_warps, 0, stream, *a);
  return SPTI_LAUNCH((syncfree_csr_packed_kernel<T, false>), blocks, 32 * a->block_warps, 0, stream, *a);
}

} // namespace spti

extern "C" int spti_syncfree_csr_packed_launch(const spti_syncfree_csr_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->dtype, [&](auto tag) { return launch_packed<typename decltype(tag)::type>(a, stream); });
}
