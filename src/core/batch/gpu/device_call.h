/* device_call.h -- what both engines for a GPU do with a call beside solving: small arrays of the caller go to the device, blocks
 * in host memory to and from a staging buffer, statuses to the caller. */
#ifndef SPTI_CORE_BATCH_GPU_DEVICE_CALL_H
#define SPTI_CORE_BATCH_GPU_DEVICE_CALL_H

#include "core/batch/batch.h"
#include "core/batch/gpu/item_blocks.h"
#include "core/context/gpu.h"

/* A copy of an array with `count` elements in device memory, which is made anew only where it differs from that of the latest call. */
typedef struct {
  void *host, *device;
  bool valid;
} spti_batch_table;
enum { SPTI_TABLE_NRHS, SPTI_TABLE_MASK, SPTI_TABLE_B, SPTI_TABLE_B_LD, SPTI_TABLE_X, SPTI_TABLE_X_LD, SPTI_TABLES };

typedef struct {
  sptrsm_item_status *status; /* device, [count] */
  spti_batch_table tables[SPTI_TABLES];
} spti_batch_device;

void spti_batch_device_free(spti_batch_device *, const sptrsm_context *);

/* All items and columns of a call: out->nrhs is the most of any. */
sptrsm_status spti_batch_device_items(spti_batch_items *out, spti_batch_device *, sptrsm_batch *, const spti_batch_call *);
/* The blocks of all items, in device memory. */
sptrsm_status spti_batch_device_place(spti_batch_place *out, spti_batch_device *, sptrsm_batch *, const sptrsm_batch_block *, bool is_X);
/* run->status. batch->items must be up to date where that lies in host memory. */
sptrsm_status spti_batch_device_tell(spti_batch_device *, sptrsm_batch *, const sptrsm_batch_run *);
/* run->berr, if it is wanted and the blocks are in device memory. */
sptrsm_status spti_batch_device_errors(spti_batch_device *, sptrsm_batch *, const spti_batch_call *);
/* Host memory, [count], for the caller to free: is the item solved by this call? batch->items must be up to date. */
sptrsm_status spti_batch_device_solved(uint8_t **out, sptrsm_batch *, const sptrsm_batch_run *);

/* Do all items read one block? */
static inline bool spti_batch_is_shared(const sptrsm_batch_block *block) { return !block->data_of && block->stride == 0; }

/* Copies columns [column, column + width) of an item's block in host memory to a buffer on the device, or back. The buffer has the layout
 * of the block, without gaps. */
sptrsm_status spti_batch_device_move(const sptrsm_batch *, const sptrsm_batch_block *, int64_t item, int64_t column, int64_t width,
                                     void *buffer, spti_direction);

#endif
