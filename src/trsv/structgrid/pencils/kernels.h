/* kernels.h -- structgrid's pencils: their numbering and the launchers. Pointers are device pointers. A launcher queues on the stream and
 * returns a cudaError_t as int; it allocates nothing. Order of a solve: start, solve.
 *
 * A pencil is a grid line (y, z) with a tile of 32 right-hand sides. Pencils are numbered by wavefronts; the tiles of one line follow
 * each other:
 *
 *     wavefront v = y + rise z (rise: cube ? 2 : 1), slot q of it: z = max(0, ceil((v - Y + 1) / rise)) + q
 *
 * The lines that a line needs, (y-1, z) and (y+1, z-1) or (y, z-1), are on earlier wavefronts. Some slots have no line. */
#ifndef SPTI_TRSV_STRUCTGRID_PENCILS_KERNELS_H
#define SPTI_TRSV_STRUCTGRID_PENCILS_KERNELS_H

#include "core/device/host_device.h"
#include "core/device/syncfree.h"
#include "core/device/transfer.h"
#include "core/stencil/stencil.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_PENCIL_TILE = 32, SPTI_PENCIL_WARPS = 4 }; /* right-hand sides of a pencil; pencils of a thread block */

typedef struct {
  spti_view view;         /* pull */
  spti_stencil stencil;   /* its grid is the view's */
  const int32_t *present; /* [n] by solve position: which entries a row has (core/stencil/kernels.h); NULL: all that the grid allows */
  spti_transfer transfer; /* `to`: contiguous rows, no map, no scale, since lines read solutions there; and not the memory of `from` */
  int32_t tiles;          /* of right-hand sides */
  spti_syncfree sync;
} spti_structgrid_pencils_args;

static SPTI_ANYWHERE inline int32_t spti_pencil_rise(const spti_stencil *s) { return s->cube ? 2 : 1; }
/* Slots of a wavefront. */
static SPTI_ANYWHERE inline int64_t spti_pencil_slots(const spti_stencil *s) {
  const int64_t rise = spti_pencil_rise(s), of_y = (s->grid[1] + rise - 1) / rise;
  return of_y < s->grid[2] ? of_y : s->grid[2];
}
/* Thread blocks of a solve. */
static inline int64_t spti_pencil_blocks(const spti_stencil *s, int32_t tiles) {
  const int64_t fronts = s->grid[1] + (int64_t)spti_pencil_rise(s) * (s->grid[2] - 1);
  return (fronts * spti_pencil_slots(s) * tiles + SPTI_PENCIL_WARPS - 1) / SPTI_PENCIL_WARPS;
}
/* The most tiles of right-hand sides of one launch. At least one, since there are little more than twice as many slots as lines. */
static inline int32_t spti_pencil_tiles_most(const spti_stencil *s) {
  const int64_t fronts = s->grid[1] + (int64_t)spti_pencil_rise(s) * (s->grid[2] - 1);
  const int64_t most = (int64_t)INT32_MAX * SPTI_PENCIL_WARPS / (fronts * spti_pencil_slots(s));
  return most < INT32_MAX ? (int32_t)most : INT32_MAX;
}

int spti_structgrid_pencils_start_launch(const spti_structgrid_pencils_args *, void *stream); /* fills `to` with sentinels; control zero */
int spti_structgrid_pencils_solve_launch(const spti_structgrid_pencils_args *, void *stream); /* no more than INT32_MAX blocks */

/* The solve for one type each; spti_structgrid_pencils_solve_launch calls the one that fits. */
int spti_structgrid_pencils_f32_launch(const spti_structgrid_pencils_args *, void *stream);
int spti_structgrid_pencils_f64_launch(const spti_structgrid_pencils_args *, void *stream);
int spti_structgrid_pencils_c64_launch(const spti_structgrid_pencils_args *, void *stream);
int spti_structgrid_pencils_c128_launch(const spti_structgrid_pencils_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
