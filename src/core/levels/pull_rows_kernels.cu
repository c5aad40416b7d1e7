/* pull_rows_kernels.cu -- copies the rows of a pull view in the order of their places and replaces columns by their places; entries of
 * short rows can be sorted by place. Deterministic. */
#include "core/levels/kernels.h"

#include "core/device/block_sum.cuh"
#include "core/device/walk_lines.cuh"

namespace spti {

enum { COUNT_THREADS = 512 };

/* A thread block for each chunk of places. */
SPTI_KERNEL(COUNT_THREADS) pull_rows_count_kernel(spti_pull_rows_args a) {
  const int64_t first = int64_t(block_in_grid()) * SPTI_PULL_ROWS_CHUNK;
  int64_t entries = 0, all;
#pragma unroll
  for (int32_t r = thread_in_block(); r < SPTI_PULL_ROWS_CHUNK; r += COUNT_THREADS) {
    const int64_t t = first + r;
    if (t >= a.view.n) break;
    const int32_t i = load_const(a.order + t);
    store(a.place + i, int32_t(t));
    if (!a.row) continue;
    const int32_t length = int32_t(load_const(a.view.ptr + i + 1) - load_const(a.view.ptr + i)) - a.view.head - a.view.tail;
    store(a.row + t, i);
    store(a.count + t, length);
    entries += length;
  }
  if (!a.row) return;
  block_sum_before(entries, &all);
  if (thread_in_block() == 0) store(a.sums + block_in_grid(), int32_t(all));
}

/* A thread block for each chunk; it sums all chunks before its own itself. */
SPTI_KERNEL(COUNT_THREADS) pull_rows_start_kernel(spti_pull_rows_args a) {
  const int64_t first = int64_t(block_in_grid()) * SPTI_PULL_ROWS_CHUNK;
  int64_t mine = 0, before, all;
  for (int32_t c = thread_in_block(); c < block_in_grid(); c += COUNT_THREADS) mine += load_const(a.sums + c);
  block_sum_before(mine, &before);
  for (int32_t r = 0; r < SPTI_PULL_ROWS_CHUNK && first + r < a.view.n; r += COUNT_THREADS, before += all) {
    const int64_t t = first + r + thread_in_block();
    const int32_t count = t < a.view.n ? load_const(a.count + t) : 0;
    const int64_t start = before + block_sum_before(count, &all);
    if (t < a.view.n) store(a.start + t, int32_t(start));
    if (t == a.view.n - 1) store(a.start + t + 1, int32_t(start + count));
  }
}

template <typename T> SPTI_DEVICE T pulled_value(const spti_view &v, int64_t p) {
  return conj_if(v.conj, load_const(static_cast<const T *>(v.val) + p));
}

struct pulled_row {
  int64_t source; /* its first entry in solve order */
  int32_t t, length, target;
};

/* The rank of entry e among the row's entries by place. Each lane reads the whole row, which for short rows costs less than a sort. */
SPTI_DEVICE int32_t rank_by_place(const spti_pull_rows_args &a, const pulled_row &r, int32_t e, int32_t step) {
  const int32_t own = load_const(a.place + load_const(a.view.idx + r.source + int64_t(e) * step));
  int32_t rank = 0;
  for (int32_t other = 0; other < r.length; other++)
    rank += load_const(a.place + load_const(a.view.idx + r.source + int64_t(other) * step)) < own;
  return rank;
}

template <typename T> SPTI_DEVICE void fill_diagonal(const spti_pull_rows_args &a, int64_t t) {
  const int32_t i = load_const(a.order + t);
  const int64_t p = a.view.head ? load_const(a.view.ptr + i) : load_const(a.view.ptr + i + 1) - 1;
  store(static_cast<T *>(a.diag) + t, a.view.unit ? one<T>() : pulled_value<T>(a.view, p));
}

/* The grid has at least as many threads as places. */
template <typename T> SPTI_KERNEL(WALK_THREADS) pull_rows_fill_kernel(spti_pull_rows_args a) {
  const spti_view &v = a.view;
  const int32_t step = v.backward ? -1 : 1;
  const int64_t thread = int64_t(block_in_grid()) * WALK_THREADS + thread_in_block();
  if (thread < v.n) fill_diagonal<T>(a, thread);
  const auto row_at = [&](int32_t t) {
    const int32_t target = load_const(a.start + t), length = load_const(a.start + t + 1) - target;
    const int64_t begin = load_const(v.ptr + load_const(a.order + t)) + v.head;
    return pulled_row{v.backward ? begin + length - 1 : begin, t, length, target};
  };
  const auto put = [&](const pulled_row &r, int32_t e) {
    const int64_t p = r.source + int64_t(e) * step;
    const int32_t to = r.target + (r.length <= a.sort_up_to ? rank_by_place(a, r, e, step) : e);
    if (a.from) store(a.from + to, load_const(a.place + load_const(v.idx + p)));
    store(static_cast<T *>(a.val) + to, pulled_value<T>(v, p));
  };
  walk_lines(v.n, a.lanes, row_at, put);
}

} // namespace spti

extern "C" int spti_pull_rows_count_launch(const spti_pull_rows_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(pull_rows_count_kernel, spti_pull_rows_chunks(a->view.n), COUNT_THREADS, 0, stream, *a);
}

extern "C" int spti_pull_rows_start_launch(const spti_pull_rows_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(pull_rows_start_kernel, spti_pull_rows_chunks(a->view.n), COUNT_THREADS, 0, stream, *a);
}

extern "C" int spti_pull_rows_fill_launch(const spti_pull_rows_args *a, void *stream) {
  return spti::dispatch(a->view.dtype, [&](auto tag) {
    using namespace spti;
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(pull_rows_fill_kernel<T>, walk_blocks(a->view.n, a->lanes), WALK_THREADS, 0, stream, *a);
  });
}
