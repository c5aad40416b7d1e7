/* kernels.h -- the control words of two work blocks that refill each other (core/two_blocks/two_blocks.cuh), and the kernel that fills
 * both before the first solve. Plain C; pointers are device pointers. */
#ifndef SPTI_CORE_TWO_BLOCKS_KERNELS_H
#define SPTI_CORE_TWO_BLOCKS_KERNELS_H

#include "core/device/syncfree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Control words behind those of spti_syncfree: how many columns of each of the two blocks may hold values. */
enum { SPTI_TWO_BLOCKS_DIRTY = SPTI_SYNCFREE_CONTROL_WORDS, SPTI_TWO_BLOCKS_CONTROL_WORDS = SPTI_TWO_BLOCKS_DIRTY + 2 };

typedef struct {
  int32_t *control; /* [SPTI_TWO_BLOCKS_CONTROL_WORDS] */
  int64_t *work;    /* [words]: both blocks, of values of any type */
  int64_t words;
} spti_two_blocks_args;

/* Clears the control words and fills both blocks with sentinels. Queues on the stream; returns a cudaError_t. */
int spti_two_blocks_start_launch(const spti_two_blocks_args *, void *stream);

/* One thread block that ends when `tickets` tickets of a solve are drawn: that number of thread blocks have started then, and keep their
 * places on the multiprocessors until they end. A kernel that waits for solutions of earlier kernels, which may still run, is queued behind
 * such a gate: else its own blocks could take the places that the others need, and draw their tickets. The gate has no time limit and
 * can't hang: the blocks that it waits for start when running blocks end, and every wait of a running block is bounded. */
typedef struct {
  const int32_t *control; /* [SPTI_TWO_BLOCKS_CONTROL_WORDS] */
  int32_t tickets;
} spti_two_blocks_gate_args;
int spti_two_blocks_gate_launch(const spti_two_blocks_gate_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
