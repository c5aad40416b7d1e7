/* solve.h -- substitution over tiles on the host: the host methods tile-levelset and tile-syncfree, which also judge the kernels. */
#ifndef SPTI_TRSV_TILES_SOLVE_H
#define SPTI_TRSV_TILES_SOLVE_H

#include "core/plan/method.h"
#include "trsv/tiles/tiles.h"

/* In place on a row-major panel in the matrix's order of rows. By rows each tile row gathers; by columns each feeds the tile rows
 * behind it. */
void spti_tiles_solve(const spti_tiles *, void *panel, int64_t ld, int32_t width);

/* As spti_method has them, for methods whose state is their tiles: tile rows by level sets, tiles by rows or by columns as the view. */
sptrsm_status spti_tiles_analyse(sptrsm_plan *);
sptrsm_status spti_tiles_update_values(sptrsm_plan *);
void spti_tiles_release(sptrsm_plan *);
sptrsm_status spti_tiles_solve_panel(const sptrsm_plan *, void *work, const spti_panel *);

#endif
