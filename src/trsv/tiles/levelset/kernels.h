/* kernels.h -- arguments and launchers of the kernels of tile-levelset on a GPU. Pointers are device pointers. */
#ifndef SPTI_TRSV_TILES_LEVELSET_KERNELS_H
#define SPTI_TRSV_TILES_LEVELSET_KERNELS_H

#include "core/device/syncfree.h"
#include "core/device/transfer.h"
#include "trsv/tiles/arrays.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_TILE_LEVELSET_WARPS = 4 /* of a thread block */ };

typedef struct {
  spti_tile_arrays tiles;
  spti_transfer transfer;
  const int64_t *bound; /* device: the transfer that counts (spti_bind_launch), or NULL; its width is that of `transfer` */
  void *x;              /* 16 words for each tile row, then for each part, times width: place q, right-hand side k at q * width + k */
  int64_t blocks;       /* of 16 words: tile rows + parts */
  int32_t first, last;  /* items; or tile rows, for the diagonal kernel, which finds them as those items' results */
  int32_t sums_only;    /* a wide level: leave the sums of a tile row in x, the diagonal kernel does the rest */
  int32_t single_level; /* no item waits for another of the same launch */
  int32_t steps;        /* of the whole solve, each with control words of its own: reset clears them all */
  spti_syncfree sync;
} spti_tile_levelset_args;

/* Before a solve: all values of x become sentinels, control words zero. */
int spti_tile_levelset_reset_launch(const spti_tile_levelset_args *, sptrsm_dtype, void *stream);
/* Items: for one right-hand side, a warp each, lanes over entries; for several, a thread block each, lanes over right-hand sides. */
int spti_tile_levelset_items_launch(const spti_tile_levelset_args *, sptrsm_dtype, void *stream);
int spti_tile_levelset_block_launch(const spti_tile_levelset_args *, sptrsm_dtype, void *stream);
/* Diagonal tiles of the items' tile rows after their sums, a thread each. */
int spti_tile_levelset_diagonal_launch(const spti_tile_levelset_args *, sptrsm_dtype, void *stream);

#ifdef __cplusplus
}
#endif
#endif
