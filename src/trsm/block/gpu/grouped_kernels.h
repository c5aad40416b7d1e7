/* grouped_kernels.h -- the steps of panels that groups of right-hand sides reach (grouped.c). Pointers are device pointers; a launcher
 * queues on the stream and returns a cudaError_t.
 *
 * A copy of a panel for one group has the panel's tiles, inverse and near columns, and those of its steps that have a column in a panel
 * that the group reaches. Other columns of these steps are left out: their solutions are zeros. Near steps stay, since N is not cut. */
#ifndef SPTI_TRSM_BLOCK_GPU_GROUPED_KERNELS_H
#define SPTI_TRSM_BLOCK_GPU_GROUPED_KERNELS_H

#include "trsm/block/gpu/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  spti_block_panels panels; /* of the plan */
  const int32_t *panel_of;  /* [panels.n] */
  int32_t copies;
  const int32_t *source, *group; /* [copies] */
  const int32_t *at;             /* [groups][panels.count]: spti_grouped */
  int32_t *steps;                /* [copies]: count sets it */
  int32_t *step_start;           /* [copies+1]: fill reads it */
  int32_t *col;                  /* fill sets these, as in spti_block_panels */
  int64_t *step;
  int32_t *diag_start, *near_start;
  int32_t *flags; /* [copies]: flags sets it */
} spti_block_grouped_args;

int spti_block_grouped_count_launch(const spti_block_grouped_args *, void *stream);
int spti_block_grouped_fill_launch(const spti_block_grouped_args *, void *stream);
int spti_block_grouped_flags_launch(const spti_block_grouped_args *, void *stream); /* after new values, too */

#ifdef __cplusplus
}
#endif
#endif
