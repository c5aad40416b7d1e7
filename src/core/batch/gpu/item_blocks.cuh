/* item_blocks.cuh -- see item_blocks.h. */
#ifndef SPTI_CORE_BATCH_GPU_ITEM_BLOCKS_CUH
#define SPTI_CORE_BATCH_GPU_ITEM_BLOCKS_CUH

#include "core/batch/gpu/item_blocks.h"
#include "core/device/device.cuh"

namespace spti {

/* How many of the columns [column, column + most) of a launch this item has; 0 if it is not to be solved. */
SPTI_DEVICE int32_t item_width(const spti_batch_items &a, int64_t item, int64_t column, int32_t most) {
  if (item < a.first || item >= a.first + a.count) return 0;
  if (a.mask && !load_const(a.mask + item)) return 0;
  if (load_const(&a.status[item].status) != SPTRSM_OK) return 0;
  int64_t left = a.nrhs - column;
  if (a.nrhs_of) {
    const int64_t own = load_const(a.nrhs_of + item) - a.first_column - column;
    left = own < left ? own : left;
  }
  return int32_t(left < 0 ? 0 : left < most ? left : most);
}

/* Element (i,k) of an item's block at data[i * row_stride + k * column_stride], with k counted from a column of the launch on. */
template <typename T> struct item_block {
  T *data;
  int64_t row_stride, column_stride;
};
template <typename T> SPTI_DEVICE item_block<T> block_at(T *data, int64_t ld, bool row_major, int64_t column) {
  if (row_major) return {data + column, ld, 1};
  return {data + column * ld, 1, ld};
}
template <typename T>
SPTI_DEVICE item_block<T> block_of(const spti_batch_items &a, const spti_batch_place &p, int64_t item, int64_t column) {
  const int64_t ld = p.ld_of ? load_const(p.ld_of + item) : p.ld, at = item - a.first;
  T *data = p.data_of ? (T *)load_const((const int64_t *)p.data_of + at) : (T *)p.data + at * p.stride;
  return block_at(data, ld, p.row_major != 0, p.first_column + column);
}

} // namespace spti
#endif
