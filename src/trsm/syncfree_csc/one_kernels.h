/* one_kernels.h -- the solve step of syncfree-csc for one right-hand side as a C function. Pointers are device pointers; the launcher
 * queues on the stream and returns a cudaError_t as int. */
#ifndef SPTI_TRSM_SYNCFREE_CSC_ONE_KERNELS_H
#define SPTI_TRSM_SYNCFREE_CSC_ONE_KERNELS_H

#include "trsm/syncfree_csc/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_SYNCFREE_CSC_ONE_MAX_WARPS = 32 };

/* How columns of the same thread block update each other. */
typedef enum {
  SPTI_CSC_ONE_GLOBAL, /* through global memory, as between blocks */
  SPTI_CSC_ONE_SUMS,   /* sums and in-degrees in shared memory */
  SPTI_CSC_ONE_VALUES, /* solutions in shared memory, each its own flag */
} spti_syncfree_csc_inside;

/* Of the solve's arguments the kernel uses all but tiles, selection, chunks and items; width is 1, block_warps at most
 * SPTI_SYNCFREE_CSC_ONE_MAX_WARPS. Counters and accumulators are as the start leaves them. */
typedef struct {
  spti_syncfree_csc_args solve;
  spti_syncfree_csc_inside inside;
} spti_syncfree_csc_one_args;

int spti_syncfree_csc_one_launch(const spti_syncfree_csc_one_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
