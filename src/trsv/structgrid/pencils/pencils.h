/* pencils.h -- structgrid's way for blocks of right-hand sides, a warp for each grid line (solve.cuh): per-solve
 * state and solve. */
#ifndef SPTI_TRSV_STRUCTGRID_PENCILS_PENCILS_H
#define SPTI_TRSV_STRUCTGRID_PENCILS_PENCILS_H

#include "core/device/transfer.h"
#include "core/plan/plan.h"
#include "core/stencil/stencil.h"

/* Right-hand sides of a solve at once: their lines wait for each other once. */
int32_t spti_structgrid_pencils_panel(const sptrsm_plan *);
/* Whether a tile of right-hand sides, [n][SPTI_PENCIL_TILE], is within what that panel is bounded by, 4 GiB. */
bool spti_structgrid_pencils_tile_fits(const sptrsm_plan *);
/* Bytes of per-solve state for up to `panel` right-hand sides: for solves in place, as many of them as take `kept` MiB, but a tile at
 * least. */
size_t spti_structgrid_pencils_bytes(const sptrsm_plan *, int32_t panel, int32_t kept);
/* Lines read what others solved row by row: where columns are next to each other, and rows neither moved nor scaled. */
bool spti_structgrid_pencils_can_read(const spti_end *to, int32_t width);
/* Queues the solve of all right-hand sides, no more than `panel`, whose solutions can be read. `memory` has that many bytes. `present`:
 * [n], which entries rows have, or NULL: all that the grid allows. */
sptrsm_status spti_structgrid_pencils_solve(const sptrsm_plan *, const spti_stencil *, const int32_t *present, void *memory, int32_t panel,
                                            int32_t kept, const spti_transfer *);

#endif
