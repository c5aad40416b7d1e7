/* block.h -- the state of a plan of `block` that its analysis makes (method.c) and its solve reads (solve.c). */
#ifndef SPTI_TRSM_BLOCK_GPU_BLOCK_H
#define SPTI_TRSM_BLOCK_GPU_BLOCK_H

#include "core/plan/method.h"
#include "core/two_blocks/two_blocks.h"
#include "trsm/block/gpu/kernels.h"

/* plan->state begins with this. */
typedef struct {
  spti_block_panels panels;
  int64_t tiles;  /* of the matrix, without those of diagonal blocks */
  int32_t levels; /* of panels: length of the longest chain of panels that wait for each other */
  int32_t tile;   /* right-hand sides of a thread block: 8, 16, 32; 0: by the width of the solve, and for a piece by its panels */
  int32_t single; /* products of f32 and c64 are in f32 */
  int64_t steps;
  const int32_t *panel_of; /* device, [n]: panel of each place */
} spti_block_state;

/* Members of the method (core/plan/method.h). */
sptrsm_status spti_block_work_bytes(size_t *out, const sptrsm_plan *, int32_t panel);
sptrsm_status spti_block_work_create(void **work, const sptrsm_plan *, int32_t panel);
extern const spti_shared_work spti_block_shared_work;
sptrsm_status spti_block_solve_between(const sptrsm_plan *, void *work, const spti_transfer *);
extern const spti_grouping spti_block_grouping; /* grouped.c */

/* Queues a solve with panels that may be those of a plan's state or others made of them (grouped.c, streamed/). */
typedef struct {
  void *memory; /* as in spti_block_solve_args, as are the others */
  int64_t ld;
  bool backward, together;
  int32_t tickets; /* of launches so far, if they solve together; each adds its own */
  spti_syncfree sync;
  void *stream;
} spti_block_work;
sptrsm_status spti_block_solve_panels(const spti_block_state *, const sptrsm_plan *, spti_block_work *, const spti_transfer *);
/* The same in two work blocks that refill each other. */
sptrsm_status spti_block_solve_in(const spti_block_state *, bool backward, const sptrsm_plan *, spti_two_blocks *, const spti_transfer *);

#endif
