/* wait.cuh -- how items read solutions of earlier items: they wait for those that may be of the same launch, else they just read. */
#ifndef SPTI_TRSV_TILES_LEVELSET_WAIT_CUH
#define SPTI_TRSV_TILES_LEVELSET_WAIT_CUH

#include "core/device/syncfree.cuh"
#include "trsv/tiles/gpu/products.cuh"
#include "core/device/transfer.cuh"
#include "trsv/tiles/levelset/kernels.h"

namespace spti {

enum { TILE_THREADS = 32 * SPTI_TILE_LEVELSET_WARPS };

/* The last parts of a tile row are added up after tiles of other formats; the others, which have the tiles that are the farthest
 * from the tile row, before these. */
enum { LATE_PARTS = 4 };
SPTI_DEVICE int32_t early_parts(int32_t parts) { return parts > 0 ? (parts - 1) / LATE_PARTS * LATE_PARTS : 0; }

/* The matrix's row of a place; parts of a tile row have none. */
SPTI_DEVICE int32_t row_of_place(const spti_tile_levelset_args &a, int64_t q) {
  return q < int64_t(a.tiles.tile_rows) * SPTI_TILE ? load_const(a.tiles.row + q) : 0;
}

/* One lane: waits until no value v[i] of place q[i] is missing; all missing ones are read again at once. False: a dependency was lost. */
template <typename T, int Count>
SPTI_DEVICE bool await_all(const spti_tile_levelset_args &a, const uint32_t (&q)[Count], int64_t k, T (&v)[Count]) {
  const T *x = static_cast<const T *>(a.x) + k;
  spin_guard guard;
  guard.start();
  for (;;) {
    int64_t missing = -1;
#pragma unroll
    for (int i = 0; i < Count; i++)
      if (is_sentinel(v[i])) missing = q[i];
    if (missing < 0) return true;
    if (!guard.go_on(a.sync, row_of_place(a, missing))) return false;
#pragma unroll
    for (int i = 0; i < Count; i++) v[i] = peek_again(x + q[i] * int64_t(a.transfer.width), v[i]);
  }
}

/* The item of a warp: items of a launch in the order of their levels, right-hand sides of one item next to each other. */
SPTI_DEVICE int64_t next_item(const spti_tile_levelset_args &a) {
  const int64_t block = a.single_level ? block_in_grid() : block_ticket(a.sync);
  return block * SPTI_TILE_LEVELSET_WARPS + warp_in_block();
}

} // namespace spti
#endif
