/* partition.h -- the panels of `block` found on the host, for a view that stays there: the cut and the levels are those that
 * core/levels/row_panels_gpu.h finds on a device. Places are numbered anew: panels stand by level, panels of one level by number, as in the
 * ready order of count_kernels.cu. So a run of panels is a run of places, and waits for none of the panels behind it. */
#ifndef SPTI_TRSM_BLOCK_GPU_STREAMED_PARTITION_H
#define SPTI_TRSM_BLOCK_GPU_STREAMED_PARTITION_H

#include "core/matrix/view.h"

typedef struct {
  int32_t count, levels; /* panels, and levels of panels */
  int32_t *first;        /* [count+1]: first place of each panel */
  int32_t *line;         /* [n]: the view's line at each place */
  int32_t *place;        /* [n]: place of each line */
  int64_t *entries;      /* [n+1]: of the lines before each place, diagonals included */
} spti_block_partition;

/* Of a pull view in host memory; panels have at most `rows` rows, and at least `least` before they may end early. After a failure, too,
 * call spti_block_partition_free. */
sptrsm_status spti_block_partition_make(spti_block_partition *out, const spti_view *, int32_t rows, int32_t least);
void spti_block_partition_free(spti_block_partition *);

/* The lines at the places [first, end), one after another, each in the order of substitution, as if the view went forward: the columns, by
 * place, which do not ascend, and the values. out: as many elements as these lines have entries. */
void spti_block_partition_columns(int32_t *out, const spti_block_partition *, const spti_view *, int32_t first, int32_t end);
void spti_block_partition_values(void *out, const spti_block_partition *, const spti_view *, int32_t first, int32_t end);

#endif
