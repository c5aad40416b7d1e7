/* kernels.h -- arguments and launchers of the kernels of tile-syncfree on a GPU. Pointers are device pointers. */
#ifndef SPTI_TRSV_TILES_SYNCFREE_KERNELS_H
#define SPTI_TRSV_TILES_SYNCFREE_KERNELS_H

#include "core/device/syncfree.h"
#include "core/device/transfer.h"
#include "trsv/tiles/arrays.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_TILE_SYNCFREE_WARPS = 4 /* of a thread block */ };

typedef struct {
  spti_tile_arrays tiles;   /* by columns: item i is tile column i */
  const int32_t *in_degree; /* [tile_rows]: tiles of each tile row, without the diagonal one */
  spti_transfer transfer;
  void *sums;       /* [width][16 tile_rows]: the sum of each row over the tile columns solved so far */
  int32_t *missing; /* [width][tile_rows]: tiles of each tile row whose products are still missing */
  spti_syncfree sync;
} spti_tile_syncfree_args;

typedef struct {
  const int32_t *word; /* [tiles] */
  int32_t tiles, tile_rows;
  int32_t *in_degree; /* [tile_rows]: tiles whose word has the tile row */
} spti_tile_degrees_args;

int spti_tile_syncfree_degrees_launch(const spti_tile_degrees_args *, void *stream);
int spti_tile_syncfree_reset_launch(const spti_tile_syncfree_args *, sptrsm_dtype, void *stream);
int spti_tile_syncfree_solve_launch(const spti_tile_syncfree_args *, sptrsm_dtype, void *stream);

#ifdef __cplusplus
}
#endif
#endif
