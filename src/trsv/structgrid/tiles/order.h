/* order.h -- for how many right-hand sides structgrid (kernels.h) takes tiles, and in which order. */
#ifndef SPTI_TRSV_STRUCTGRID_TILES_ORDER_H
#define SPTI_TRSV_STRUCTGRID_TILES_ORDER_H

#include "trsv/structgrid/tiles/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tiles that have lines, by the step of the whole in which their first row is solved: what a tile needs has an earlier one. Returns their
 * number, and puts group and band of each into `order`, [tiles][2], unless it is NULL. In a time like their number. */
int64_t spti_structgrid_list_tiles(const spti_stencil *, const spti_structgrid_tiling *, int32_t *order);

/* Right-hand sides that tiles solve if nobody asks for either; more are for pencils. On large grids, which pencils write once more, eight;
 * on small ones, where hops count, two: with 3 to 8 pencils take 0.75 to 0.99 of the time of tiles up to D3N27 96^3, D3N7 and D3N13 64^3,
 * but 0.94 to 1.24 of it on 96^3 of those (H200, f64, row-major blocks, X apart from B). Of D3N33 one, since a step of its tiles takes as
 * long as a hop of pencils. */
int32_t spti_structgrid_tiles_most(const spti_stencil *);

#ifdef __cplusplus
}
#endif
#endif
