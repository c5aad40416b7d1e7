/* pull_rows_kernels -- rows of a pull view copied in the order of their places, columns replaced by places. Deterministic. */
#include "core/level_kernels.h"

#include "core/device.cuh"

namespace spti {

enum { PULL_ROWS_THREADS = 256 };

SPTI_KERNEL(PULL_ROWS_THREADS) pull_rows_count_kernel(spti_pull_rows_args a) {
  const int64_t t = int64_t(block_in_grid()) * PULL_ROWS_THREADS + thread_in_block();
  if (t >= a.view.n) return;
  const int32_t i = load_const(a.order + t);
  store(a.place + i, int32_t(t));
  store(a.count + t, int32_t(load_const(a.view.ptr + i + 1) - load_const(a.view.ptr + i)) - a.view.head - a.view.tail);
}

template <typename T> SPTI_DEVICE T pulled_value(const spti_view &v, int64_t p) {
  return conj_if(v.conj, load_const(static_cast<const T *>(v.val) + p));
}

template <typename T> SPTI_KERNEL(PULL_ROWS_THREADS) pull_rows_fill_kernel(spti_pull_rows_args a) {
  const int64_t thread = int64_t(block_in_grid()) * PULL_ROWS_THREADS + thread_in_block(), t = thread / a.lanes;
  const int32_t first = int32_t(thread % a.lanes);
  if (t >= a.view.n) return;
  const spti_view &v = a.view;
  const int32_t i = load_const(a.order + t), length = load_const(a.start + t + 1) - load_const(a.start + t), step = v.backward ? -1 : 1;
  const int64_t begin = load_const(v.ptr + i) + v.head, source = v.backward ? begin + length - 1 : begin, target = load_const(a.start + t);
  for (int32_t e = first; e < length; e += a.lanes) {
    const int64_t p = source + int64_t(e) * step;
    if (a.from) store(a.from + target + e, load_const(a.place + load_const(v.idx + p)));
    store(static_cast<T *>(a.val) + target + e, pulled_value<T>(v, p));
  }
  if (first != 0) return;
  store(static_cast<T *>(a.diag) + t, v.unit ? one<T>() : pulled_value<T>(v, v.head ? begin - 1 : begin + length));
}

static int64_t pull_rows_blocks(int64_t count) { return (count + PULL_ROWS_THREADS - 1) / PULL_ROWS_THREADS; }

} // namespace spti

extern "C" int spti_pull_rows_count_launch(const spti_pull_rows_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(pull_rows_count_kernel, pull_rows_blocks(a->view.n), PULL_ROWS_THREADS, 0, stream, *a);
}

extern "C" int spti_pull_rows_fill_launch(const spti_pull_rows_args *a, void *stream) {
  return spti::dispatch(a->view.dtype, [&](auto tag) {
    using namespace spti;
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(pull_rows_fill_kernel<T>, pull_rows_blocks(int64_t(a->view.n) * a->lanes), PULL_ROWS_THREADS, 0, stream, *a);
  });
}
