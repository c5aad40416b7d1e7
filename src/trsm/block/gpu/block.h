/* block.h -- what the two halves of block share: the analysis, which makes the panels (method.c), and the solve, which reads them
 * (solve.c). */
#ifndef SPTI_TRSM_BLOCK_GPU_BLOCK_H
#define SPTI_TRSM_BLOCK_GPU_BLOCK_H

#include "core/plan/method.h"
#include "trsm/block/gpu/kernels.h"

/* plan->state begins with it. */
typedef struct {
  spti_block_panels panels;
  int64_t tiles;  /* stored, without the diagonal blocks */
  int32_t levels; /* of the panels: how many wait for each other at most */
  int32_t tile;   /* right-hand sides of a thread block: 8, 16, 32; 0: by the width of the solve */
} spti_block_state;

/* Members of the method, as method.h has them. */
sptrsm_status spti_block_work_bytes(size_t *out, const sptrsm_plan *, int32_t panel);
sptrsm_status spti_block_work_create(void **work, const sptrsm_plan *, int32_t panel);
sptrsm_status spti_block_solve_between(const sptrsm_plan *, void *work, const spti_transfer *);

#endif
