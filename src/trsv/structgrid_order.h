/* structgrid_order.h -- the order in which the tiles of structgrid (structgrid_kernels.h) are taken. */
#ifndef SPTI_STRUCTGRID_ORDER_H
#define SPTI_STRUCTGRID_ORDER_H

#include "trsv/structgrid_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tiles that have lines, by the step of the whole in which their first row is solved: what a tile needs has an earlier one. Returns their
 * number, and puts group and band of each into `order`, [tiles][2], unless it is NULL. In a time like their number. */
int64_t spti_structgrid_list_tiles(const spti_stencil *, const spti_structgrid_tiling *, int32_t *order);

#ifdef __cplusplus
}
#endif
#endif
