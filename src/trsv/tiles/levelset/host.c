/* host.c -- tile-levelset on the host: substitution over tiles of 16 x 16 by rows; a tile row gathers, then solves its diagonal tile.
 * x(I) = T(I,I)^-1 (b(I) - sum over tiles of T(I,J) x(J)), rows reordered by level, seven formats of tiles (trsv/tiles/tile.h).
 * Source: [lu2023tile]. Differs: levels of at least `align` rows (16) begin with a tile row of their own; COO tiles of an
 * item are stored side by side.
 * Wins: less memory than compressed rows where entries cluster. Loses: speed, with one thread and a list of entries for each tile: its
 * purpose is to be read, and to judge the kernels of the GPU method of the same name. Deterministic: yes. */
#include <stdio.h>

#include "trsv/tiles/solve.h"

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const spti_tiles *t = plan->state;
  info->plan_bytes = sizeof *t + spti_tiles_bytes(t);
  snprintf(info->parameters, sizeof info->parameters, "tiles=%d tile_rows=%d levels=%d", t->tiles, t->tile_rows, t->levels);
}

const spti_method spti_method_tile_levelset = {
    .name = "tile-levelset",
    .summary = "tiles of 16 x 16 in seven formats, by rows, on the host",
    .cite = "lu2023tile",
    .place = SPTRSM_HOST,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_REFERENCE,
    .analyse = spti_tiles_analyse,
    .update_values = spti_tiles_update_values,
    .free = spti_tiles_release,
    .describe = describe,
    .solve = spti_tiles_solve_panel,
};
