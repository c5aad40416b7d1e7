/* host.c -- tile-syncfree on the host: substitution over tiles of 16 x 16 by columns; a tile column is solved, then updates the rows below.
 * x(J) = T(J,J)^-1 b(J), b(I) -= T(I,J) x(J), rows reordered by level, seven formats of tiles (trsv/tiles/tile.h).
 * Source: [lu2023tile]. Differs, wins, loses: as trsv/tiles/levelset/host.c; it judges the kernels of the GPU method of the same name.
 * Deterministic: yes, on the host. */
#include <stdio.h>

#include "trsv/tiles/solve.h"

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const spti_tiles *t = plan->state;
  info->plan_bytes = sizeof *t + spti_tiles_bytes(t);
  snprintf(info->parameters, sizeof info->parameters, "tiles=%d tile_rows=%d", t->tiles, t->tile_rows);
}

const spti_method spti_method_tile_syncfree = {
    .name = "tile-syncfree",
    .summary = "tiles of 16 x 16 in seven formats, by columns, on the host",
    .cite = "lu2023tile",
    .place = SPTRSM_HOST,
    .wants = SPTI_PUSH,
    .flags = SPTI_DETERMINISTIC | SPTI_REFERENCE,
    .analyse = spti_tiles_analyse,
    .update_values = spti_tiles_update_values,
    .free = spti_tiles_release,
    .describe = describe,
    .solve = spti_tiles_solve_panel,
};
