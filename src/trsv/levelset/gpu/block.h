/* block.h -- levelset on a GPU for blocks of right-hand sides and few levels: a launch for each level, in which the rows of
 * all right-hand sides are solved side by side, straight from B to X. Solutions of earlier levels are read in X; only where X is scaled,
 * a row-major work block takes them as well. A workspace has that block always, since plans don't know which ends their solves will have.
 * The order of sums is the pattern's, the same for every number of right-hand sides. */
#ifndef SPTI_TRSV_LEVELSET_GPU_BLOCK_H
#define SPTI_TRSV_LEVELSET_GPU_BLOCK_H

#include "core/levels/gpu.h"
#include "trsv/levelset/gpu/schedule.h"

typedef struct {
  int32_t count;                 /* levels; 0: this way is not taken */
  spti_levelset_gpu_step *steps; /* host, [count] */
  int32_t *column;               /* device, [entries]: row of each entry's column */
  int32_t longest;               /* entries of a row */
  int32_t most_parts, most_long; /* blocks for, and number of, long rows of one level */
  int32_t entries;               /* of all rows, without diagonals */
} spti_levelset_gpu_block;

/* What it needs of the rest of the method. */
typedef struct {
  const spti_pull_rows *rows;
  const int32_t *long_rows;
} spti_levelset_gpu_packed;

/* longest: entries of the longest row. The rows stand as they will be solved. */
sptrsm_status spti_levelset_gpu_block_create(spti_levelset_gpu_block *out, const sptrsm_plan *, const spti_levelset_gpu_survey *,
                                             const spti_pull_rows *, int32_t longest);
void spti_levelset_gpu_block_free(spti_levelset_gpu_block *, const sptrsm_plan *);

/* Of a workspace: the sums of parts of long rows, then counters of parts that arrived. */
size_t spti_levelset_gpu_block_bytes(const spti_levelset_gpu_block *, const sptrsm_plan *, int32_t panel);

/* x: [n * width], for solutions that X has scaled; sums: spti_levelset_gpu_block_bytes, any content. */
sptrsm_status spti_levelset_gpu_block_solve(const spti_levelset_gpu_block *, const sptrsm_plan *, spti_levelset_gpu_packed, void *x,
                                            void *sums, const spti_transfer *);

#endif
