/* check_kernels.cu -- see check_kernels.h. A warp checks 32 lines, one after another, its lanes side by side along a line. A line whose
 * pointers are wrong is not read. */
#include "core/matrix/check_kernels.h"

#include "core/device/usable.cuh"

namespace spti {

enum { CHECK_THREADS = 256 };

/* Whole warp: are the entries [begin, end) of line i in range, in the triangle and ascending? *diagonal: whether the diagonal is there. */
SPTI_DEVICE bool line_is_good(const spti_check_args &a, int64_t i, int64_t begin, int64_t end, bool *diagonal) {
  const int64_t least = a.diagonal_first ? i : 0, most = a.diagonal_first ? a.n - 1 : i;
  bool good = true, found = false;
  for (int64_t p = begin + lane(); p < end; p += 32) {
    const int32_t j = load_const(a.idx + p);
    good = good && j >= least && j <= most && (p == begin || load_const(a.idx + p - 1) < j);
    found = found || j == i;
  }
  *diagonal = ballot(found) != 0;
  return all(good);
}

template <typename T> SPTI_KERNEL(CHECK_THREADS) check_kernel(spti_check_args a) {
  const int64_t first = (int64_t(block_in_grid()) * CHECK_THREADS + thread_in_block()) / 32 * 32, own = first + lane();
  const bool mine = own < a.n;
  const int64_t begin = mine ? load_const(a.ptr + own) : 0, end = mine ? load_const(a.ptr + own + 1) : 0;
  bool good = begin >= 0 && begin <= end && end <= a.nnz && end - begin <= a.n && (own > 0 || begin == 0), stored = false;
  for (int l = 0; l < 32 && a.idx; l++) {
    bool diagonal = false;
    const int64_t from = shfl(begin, l), to = shfl(end, l);
    const bool read = ballot(good && lane() == l) != 0, line_good = read && line_is_good(a, first + l, from, to, &diagonal);
    if (lane() != l) continue;
    good = good && (line_good || !mine);
    stored = diagonal;
  }
  if (mine && good && !a.unit) {
    good = stored || !a.idx;
    if (good) good = is_usable(load_const((const T *)a.val + (a.diagonal_first ? begin : end - 1)));
  }
  const uint32_t lines = ballot(stored);
  if (lane() == 0 && a.idx && lines) red_add(a.diagonals, popcount(lines));
  if (!good) store_relaxed(a.bad, 1);
}

} // namespace spti

extern "C" int spti_check_launch(const spti_check_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t blocks = (int64_t(a->n) + CHECK_THREADS - 1) / CHECK_THREADS;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(check_kernel<T>, blocks, CHECK_THREADS, 0, stream, *a);
  });
}
