/* sizes.h -- how much of each array a tile row takes, the running sums of that over the tile rows, and the limits of 32 bits. */
#ifndef SPTI_TRSV_TILES_SIZES_H
#define SPTI_TRSV_TILES_SIZES_H

#include "trsv/tiles/tiles.h"

/* The arrays whose sizes are counted for each tile row. */
enum {
  SPTI_TILE_TILES,
  SPTI_TILE_OTHERS,
  SPTI_TILE_COOS,
  SPTI_TILE_POSITIONS,
  SPTI_TILE_VALUES,
  SPTI_TILE_INNERS,
  SPTI_TILE_INNER_BYTES,
  SPTI_TILE_ITEMS,
  SPTI_TILE_PARTS,
  SPTI_TILE_SIZES
};

typedef struct {
  int32_t *running[SPTI_TILE_SIZES]; /* [tile_rows+1] each: running sums of sizes */
} spti_tile_sizes;

/* Allocates the arrays; all begin with 0. To be closed after a failure too, zero before. */
sptrsm_status spti_tile_sizes_open(spti_tile_sizes *, int32_t tile_rows);
void spti_tile_sizes_close(spti_tile_sizes *);
/* Sizes of tile row l at running[.][l + 1] become running sums. UNSUPPORTED beyond 32 bits. */
sptrsm_status spti_tile_sizes_add_up(const spti_tile_sizes *, int32_t tile_rows);

sptrsm_status spti_tile_check_size(const char *what, int64_t count); /* UNSUPPORTED beyond 32 bits */
/* Two bytes for each tile of another format than COO, and some beyond, where the last round of a warp looks. */
static inline int64_t spti_tile_shape_bytes(int64_t others) { return 2 * (others + 32); }
sptrsm_status spti_tile_check_blocks(int32_t tile_rows, int64_t parts); /* UNSUPPORTED beyond SPTI_TILE_OUT_BITS */

#endif
