/* block.h -- levelset on a GPU for blocks of right-hand sides and few levels: a launch for each level, which solves its rows for all
 * right-hand sides, straight from B to X. Solutions of earlier levels are read from X. Where X is scaled, they are stored a second time,
 * unscaled, in a row-major work block; every workspace has that block, because a plan does not know whether a solve will scale X.
 * The order of the terms of a sum depends on the pattern alone, so bits are the same for every number of right-hand sides. */
#ifndef SPTI_TRSV_LEVELSET_GPU_BLOCK_H
#define SPTI_TRSV_LEVELSET_GPU_BLOCK_H

#include "core/levels/gpu.h"
#include "trsv/levelset/gpu/schedule.h"

typedef struct {
  int32_t count;                 /* levels; 0: the plan does not solve this way */
  spti_levelset_gpu_step *steps; /* host, [count] */
  int32_t *column;               /* device, [entries]: the row whose solution the entry multiplies */
  int32_t longest;               /* entries of the longest row */
  int32_t most_parts, most_long; /* over all levels, the largest number of parts of long rows, and of long rows */
  int32_t entries;               /* of all rows, diagonals excluded */
} spti_levelset_gpu_block;

/* Arrays of the plan that a solve reads. */
typedef struct {
  const spti_pull_rows *rows;
  const int32_t *long_rows;
} spti_levelset_gpu_packed;

/* longest: entries of the longest row. The rows must be in their final order already. */
sptrsm_status spti_levelset_gpu_block_create(spti_levelset_gpu_block *out, const sptrsm_plan *, const spti_levelset_gpu_survey *,
                                             const spti_pull_rows *, int32_t longest);
void spti_levelset_gpu_block_free(spti_levelset_gpu_block *, const sptrsm_plan *);

/* Bytes of a workspace: the sums of parts of long rows, then the counters of parts that have arrived. */
size_t spti_levelset_gpu_block_bytes(const spti_levelset_gpu_block *, const sptrsm_plan *, int32_t panel);

/* x: [n * width], for unscaled solutions where X is scaled; sums: spti_levelset_gpu_block_bytes, of any content. */
sptrsm_status spti_levelset_gpu_block_solve(const spti_levelset_gpu_block *, const sptrsm_plan *, spti_levelset_gpu_packed, void *x,
                                            void *sums, const spti_transfer *);

#endif
