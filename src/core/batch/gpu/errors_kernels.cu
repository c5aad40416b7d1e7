/* errors_kernels.cu -- see errors_kernels.h. One kernel sets the error of each item to zero, or to NaN. In the second one a thread block
 * takes a column of an item, its threads take rows, and each warp adds the maximum of its rows to the item's by an atomic maximum.
 * Deterministic: a maximum does not depend on the order. */
#include "core/batch/gpu/errors_kernels.h"

#include <float.h>

#include "core/base/dtype.h"
#include "core/batch/gpu/item_blocks.cuh"
#include "core/refine/residual.cuh"

#ifndef SPTI_ERROR_BLOCKS /* thread blocks at most: one may take several columns */
#define SPTI_ERROR_BLOCKS (1 << 20)
#endif

namespace spti {

enum { ERROR_THREADS = 128 };

/* Rounding of a type, as in spti_residual_bounds. */
struct errors_job {
  spti_batch_errors_args a;
  double u, least;
  int64_t blocks;
};

SPTI_KERNEL(ERROR_THREADS) errors_begin_kernel(spti_batch_errors_args a) {
  const int64_t item = int64_t(block_in_grid()) * ERROR_THREADS + thread_in_block(), nan = 0x7ff8000000000000;
  if (item >= a.items.count || (a.items.mask && !load_const(a.items.mask + item))) return;
  store((int64_t *)a.berr + item, load_const(&a.items.status[item].status) == SPTRSM_OK ? 0 : nan);
}

/* The largest error of the rows that this thread has of a column. */
template <typename T> SPTI_DEVICE int64_t column_error(const errors_job &job, int64_t item, int64_t column) {
  using R = real_of<T>;
  const spti_batch_errors_args &a = job.a;
  const item_block<T> b = block_of<T>(a.items, a.from, item, column), x = block_of<T>(a.items, a.to, item, column);
  const spti_residual_lines *lines = a.lines + item;
  const int64_t *ptr = (const int64_t *)load_const((const int64_t *)&lines->ptr);
  const int32_t *idx = (const int32_t *)load_const((const int64_t *)&lines->idx);
  const T *val = (const T *)load_const((const int64_t *)&lines->val);
  const double tiny = (double(load_const(&lines->longest)) + 1) * job.least;
  const int32_t n = load_const(&lines->n);
  int64_t most = 0;
  for (int32_t i = thread_in_block(); i < n; i += ERROR_THREADS) {
    residual_row<T> row(times_alpha(a.alpha, load((const T *)b.data + i * b.row_stride)));
    row.subtract(ptr, idx, val, a.conj, i, x.data, x.row_stride);
    most = greater(most, figure(backward_error(magnitude(row.r), row.s, R(tiny), R(tiny / job.u))));
  }
  return most;
}

template <typename T> SPTI_KERNEL(ERROR_THREADS) errors_kernel(errors_job job) {
  const spti_batch_errors_args &a = job.a;
  for (int64_t task = block_in_grid(); task < a.items.count * a.items.nrhs; task += job.blocks) {
    const int64_t item = task / a.items.nrhs, column = task % a.items.nrhs;
    if (item_width(a.items, item, column, 1) == 0) continue;
    const int64_t most = column_maximum(column_error<T>(job, item, column), 1);
    if (lane() == 0) red_max((int64_t *)a.berr + item, most);
  }
}

} // namespace spti

extern "C" int spti_batch_errors_launch(const spti_batch_errors_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const bool single = spti_is_single(dtype);
  const int64_t columns = a->items.count * a->items.nrhs, most = SPTI_ERROR_BLOCKS, blocks = columns < most ? columns : most;
  const errors_job job = {*a, (single ? double(FLT_EPSILON) : DBL_EPSILON) / 2, single ? double(FLT_MIN) : DBL_MIN, blocks};
  if (a->items.count == 0) return 0;
  const int begun = SPTI_LAUNCH(errors_begin_kernel, (a->items.count - 1) / ERROR_THREADS + 1, ERROR_THREADS, 0, stream, *a);
  if (begun || columns == 0) return begun;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(errors_kernel<T>, blocks, ERROR_THREADS, 0, stream, job);
  });
}
