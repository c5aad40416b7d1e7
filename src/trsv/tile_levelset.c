/* tile_levelset -- substitution over tiles of 16 x 16 on the host, by rows: each line of tiles gathers, then solves its diagonal tile.
 * x(I) = T(I,I)^-1 (b(I) - sum over tiles of T(I,J) x(J)), rows reordered by level, seven formats of tiles (core/tiles.h).
 * Source: [lu2023tile]. Differs: wide levels begin with a line of their own; COO tiles of an item are stored side by side.
 * Wins: less memory than compressed rows where entries cluster. Loses: speed, one thread and a list of entries per tile: it is there to be
 * read, and to judge the kernels of the GPU method of the same name. Deterministic: yes. */
#include <stdio.h>

#include "core/alloc.h"
#include "core/levels.h"
#include "core/method.h"
#include "core/tile_solve.h"

static sptrsm_status analyse(sptrsm_plan *plan) {
  spti_tiles *t;
  spti_levels levels;
  const spti_tiles_settings set = spti_tiles_defaults();
  SPTI_TRY(spti_host_alloc(&t, 1, sizeof *t, "tile-levelset plan"));
  *t = (spti_tiles){0};
  plan->state = t;
  SPTI_TRY(spti_levels_build(&levels, &plan->view));
  plan->levels = levels.count;
  const sptrsm_status status = spti_tiles_build(t, &plan->view, levels.order, levels.ptr, levels.count, &set);
  spti_levels_free(&levels);
  return status;
}

static sptrsm_status update_values(sptrsm_plan *plan) { return spti_tiles_update(plan->state, &plan->view); }

static void release(sptrsm_plan *plan) {
  if (plan->state) spti_tiles_free(plan->state);
  spti_host_free(plan->state);
  plan->state = NULL;
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const spti_tiles *t = plan->state;
  info->plan_bytes = sizeof *t + spti_tiles_bytes(t);
  snprintf(info->parameters, sizeof info->parameters, "tiles=%d lines=%d levels=%d", t->tiles, t->lines, t->levels);
}

static sptrsm_status solve(const sptrsm_plan *plan, void *work, const spti_panel *W) {
  (void)work;
  spti_tiles_solve(plan->state, W->data, W->ld, W->width);
  return SPTRSM_OK;
}

const spti_method spti_method_tile_levelset = {
    .name = "tile-levelset",
    .summary = "tiles of 16 x 16 in seven formats, by rows, on the host",
    .cite = "lu2023tile",
    .place = SPTRSM_HOST,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .solve = solve,
};
