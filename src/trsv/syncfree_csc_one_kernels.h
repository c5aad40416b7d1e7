/* syncfree_csc_one_kernels.h -- the solve step of syncfree-csc for one right-hand side as a C function. Pointers are device
 * pointers; the launcher queues on the stream and returns a cudaError_t as int. */
#ifndef SPTI_SYNCFREE_CSC_ONE_KERNELS_H
#define SPTI_SYNCFREE_CSC_ONE_KERNELS_H

#include "core/launch.h"
#include "core/view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_SYNCFREE_CSC_ONE_MAX_WARPS = 32 };

typedef struct {
  spti_view view; /* push */
  void *work;     /* element i at i * ld: alpha b on entry, x on exit */
  int64_t ld;
  int32_t two_level;   /* sums and in-degrees of the columns of one block in shared memory */
  int32_t block_warps; /* columns per thread block, 1 to SPTI_SYNCFREE_CSC_ONE_MAX_WARPS */
  int32_t *counters;   /* [n], in-degrees on entry, state of this solve */
  spti_syncfree sync;
} spti_syncfree_csc_one_args;

int spti_syncfree_csc_one_launch(const spti_syncfree_csc_one_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
