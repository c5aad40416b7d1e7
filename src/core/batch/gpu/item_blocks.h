/* item_blocks.h -- which items of a batch a launch solves, and where their blocks are. Plain C; pointers are device pointers. Kernels read
 * both through item_blocks.cuh. */
#ifndef SPTI_CORE_BATCH_GPU_ITEM_BLOCKS_H
#define SPTI_CORE_BATCH_GPU_ITEM_BLOCKS_H

#include <sptrsm_batch.h>

/* Columns [first_column, first_column + nrhs) of the items [first, first + count), less those that are masked out or not OK. */
typedef struct {
  int64_t first, count;
  int64_t first_column, nrhs;
  const int64_t *nrhs_of;           /* by item, or NULL: all have the columns */
  const uint8_t *mask;              /* by item, or NULL: all */
  const sptrsm_item_status *status; /* by item */
} spti_batch_items;

/* The block of item `first` + i. */
typedef struct {
  void *data;           /* that of item first + i at data + i * stride elements, or */
  void *const *data_of; /* [count] */
  int64_t stride;
  int64_t first_column; /* where this launch begins */
  int64_t ld;
  const int64_t *ld_of; /* by item, or NULL */
  int32_t row_major;
} spti_batch_place;

#endif
