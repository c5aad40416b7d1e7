/* pencils.h -- host code of structgrid's pencils, which solve blocks of right-hand sides, a warp for each grid line (solve.cuh): panels,
 * per-solve state and solve. */
#ifndef SPTI_TRSV_STRUCTGRID_PENCILS_PENCILS_H
#define SPTI_TRSV_STRUCTGRID_PENCILS_PENCILS_H

#include "core/device/transfer.h"
#include "core/plan/plan.h"
#include "core/stencil/stencil.h"

/* Right-hand sides of a panel: all of them pass the grid in one launch. */
int32_t spti_structgrid_pencils_panel(const sptrsm_plan *);
/* Whether a tile of right-hand sides, [n][SPTI_PENCIL_TILE], fits the bound of a panel, 4 GiB. */
bool spti_structgrid_pencils_tile_fits(const sptrsm_plan *);
/* Bytes of per-solve state for up to `panel` right-hand sides. Solves in place copy their right-hand sides there: as many as fit `kept`
 * MiB, at least one tile. */
size_t spti_structgrid_pencils_bytes(const sptrsm_plan *, int32_t panel, int32_t kept);
/* Whether lines can read the solutions of other lines in X: its rows are contiguous and neither moved nor scaled. */
bool spti_structgrid_pencils_can_read(const spti_end *to, int32_t width);
/* Queues the solve of all right-hand sides, at most `panel`; X must be readable (see above). `memory`: the per-solve state. `present`:
 * [n], which entries rows have; NULL: all that the grid allows. */
sptrsm_status spti_structgrid_pencils_solve(const sptrsm_plan *, const spti_stencil *, const int32_t *present, void *memory, int32_t panel,
                                            int32_t kept, const spti_transfer *);

#endif
