/* errors_kernels.h -- backward errors of all items of a batch, from their matrices, B and X in device memory. Plain C; pointers are device
 * pointers. The launcher queues two kernels on the stream, returns a cudaError_t and allocates nothing. */
#ifndef SPTI_CORE_BATCH_GPU_ERRORS_KERNELS_H
#define SPTI_CORE_BATCH_GPU_ERRORS_KERNELS_H

#include "core/batch/gpu/item_blocks.h"
#include "core/refine/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  spti_batch_items items; /* all items of the batch */
  spti_batch_place from, to;
  const spti_residual_lines *lines; /* [count] */
  int32_t conj;
  double alpha[2];
  double *berr; /* [count]: NaN for items that are not OK; not written for those masked out */
} spti_batch_errors_args;

int spti_batch_errors_launch(const spti_batch_errors_args *, sptrsm_dtype, void *stream);

#ifdef __cplusplus
}
#endif
#endif
