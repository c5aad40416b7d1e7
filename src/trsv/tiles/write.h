/* write.h -- tiles and items of one tile row into the arrays of a triangle. */
#ifndef SPTI_TRSV_TILES_WRITE_H
#define SPTI_TRSV_TILES_WRITE_H

#include "trsv/tiles/sizes.h"
#include "trsv/tiles/sort.h"

/* The arrays of one tile row, and its items by tile row. items NULL: values only matter, positions are as they were. */
void spti_tile_write_row(const spti_tiles *, const spti_tile_sizes *, spti_tile_sorter *, int32_t *items, int32_t tile_row);

#endif
