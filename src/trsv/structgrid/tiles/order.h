/* order.h -- the order in which structgrid's thread blocks take tiles, and up to how many right-hand sides tiles are used. */
#ifndef SPTI_TRSV_STRUCTGRID_TILES_ORDER_H
#define SPTI_TRSV_STRUCTGRID_TILES_ORDER_H

#include "trsv/structgrid/tiles/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tiles that have grid lines, by the step of the whole solve in which their first row is solved: the tiles that a tile needs come
 * earlier. Returns their number; writes group and band of each to `order`, [tiles][2], unless it is NULL. Takes time proportional to
 * their number. */
int64_t spti_structgrid_list_tiles(const spti_stencil *, const spti_structgrid_tiling *, int32_t *order);

/* The largest number of right-hand sides that tiles solve by default; pencils solve more. Eight on large grids, where pencils pay for
 * filling X; two on small grids, where the time from one line to the next counts; one for D3N33, since a step of its tiles takes as
 * long as pencils take from one line to the next. Measurements: docs/lab/structgrid.md. */
int32_t spti_structgrid_tiles_most(const spti_stencil *);

#ifdef __cplusplus
}
#endif
#endif
