/* tile_rows.h -- which places make up a tile row, and the level sets of tile rows. Host only. */
#ifndef SPTI_TRSV_TILES_TILE_ROWS_H
#define SPTI_TRSV_TILES_TILE_ROWS_H

#include "trsv/tiles/sizes.h"

/* Tile rows of 16 places each, cut also where a level begins that has `align` rows or more (align 0 or level_ptr NULL: nowhere):
 * first[tile_rows + 1], the first place of each, unless NULL. Returns the number of tile rows. */
int32_t spti_tile_first_places(int32_t *first, int32_t n, const int32_t *level_ptr, int32_t levels, int32_t align);
sptrsm_status spti_tile_check_rows(int32_t tile_rows, int32_t n); /* UNSUPPORTED where places are beyond 32 bits */
/* Sets tile_rows, used and row. */
sptrsm_status spti_tile_cut(spti_tiles *, const int32_t *order, const int32_t *level_ptr, int32_t levels, int32_t align);
/* Sets levels, level_item, level_tile_row, and item: the items of all tile rows, sorted by level. */
sptrsm_status spti_tile_levels(spti_tiles *, const spti_tile_sizes *, int32_t *items_by_line);

#endif
