/* partition.h -- the panels of `block` found on the host, for a view that stays there: the cut, the levels and the ready order are those
 * that core/levels/row_panels_gpu.h and count_kernels.cu find on a device. */
#ifndef SPTI_TRSM_BLOCK_GPU_STREAMED_PARTITION_H
#define SPTI_TRSM_BLOCK_GPU_STREAMED_PARTITION_H

#include "core/matrix/view.h"

typedef struct {
  int32_t count, levels; /* panels, and levels of panels */
  int32_t *first;        /* [count+1]: first place of each panel */
  int32_t *level;        /* [count], counted from 1 */
  int32_t *ready_at;     /* [n]: position of each place when panels stand by level, panels of one level by number */
  int32_t *place_at;     /* [n]: place at each position */
} spti_block_partition;

/* Of a pull view in host memory; panels have at most `rows` rows, and at least `least` before they may end early. After a failure, too,
 * call spti_block_partition_free. */
sptrsm_status spti_block_partition_make(spti_block_partition *out, const spti_view *, int32_t rows, int32_t least);
void spti_block_partition_free(spti_block_partition *);

#endif
