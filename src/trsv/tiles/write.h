/* write.h -- writes the tiles and items of one tile row to the arrays of a triangle. */
#ifndef SPTI_TRSV_TILES_WRITE_H
#define SPTI_TRSV_TILES_WRITE_H

#include "trsv/tiles/sizes.h"
#include "trsv/tiles/sort.h"

/* Writes the arrays of one tile row, and its items to `items`, sorted by tile row. Positions of an update are written again unchanged. */
void spti_tile_write_row(const spti_tiles *, const spti_tile_sizes *, spti_tile_sorter *, int32_t *items, int32_t tile_row);

#endif
