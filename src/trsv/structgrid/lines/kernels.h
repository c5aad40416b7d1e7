/* kernels.h -- launchers of structgrid-lines: a warp solves a grid line, as published. Pointers are device pointers. A
 * launcher queues on the stream and returns a cudaError_t as int; it allocates nothing. Order of a solve: start, solve. */
#ifndef SPTI_TRSV_STRUCTGRID_LINES_KERNELS_H
#define SPTI_TRSV_STRUCTGRID_LINES_KERNELS_H

#include "core/device/syncfree.h"
#include "core/device/transfer.h"
#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  spti_view view; /* pull, with a stored diagonal; a line has at most INT32_MAX - 64 entries */
  int32_t grid[3];
  int32_t map_stream, state_by_line, acquire_polls, warps; /* for each plane */
  spti_transfer transfer;                                  /* of one right-hand side */
  void *x;                                                 /* [n], by solve position */
  int32_t *state;                                          /* [states]: rows finished of each line, or 1 for each solved row */
  int64_t states;
  int32_t *queue; /* [Z]: next line of each plane */
  double *cycles; /* [2], added to: of all warps together, in waits for other rows and in all; or NULL: not counted */
  spti_syncfree sync;
} spti_structgrid_lines_args;

int spti_structgrid_lines_start_launch(const spti_structgrid_lines_args *, void *stream); /* nothing solved, queues and control zero */
int spti_structgrid_lines_solve_launch(const spti_structgrid_lines_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
