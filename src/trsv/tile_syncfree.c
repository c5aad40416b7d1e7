/* tile_syncfree -- substitution over tiles of 16 x 16 on the host, by columns: each line of tiles is solved, then feeds the lines behind
 * it. x(J) = T(J,J)^-1 b(J), b(I) -= T(I,J) x(J), rows reordered by level, seven formats of tiles (core/tiles.h). Source: [lu2023tile].
 * Differs: as tile_levelset.c. Wins, loses: as there; it judges the kernels of the GPU method of the same name. Deterministic: yes, on the
 * host. */
#include <stdio.h>

#include "core/alloc.h"
#include "core/levels.h"
#include "core/method.h"
#include "core/tile_solve.h"

static sptrsm_status analyse(sptrsm_plan *plan) {
  spti_tiles *t;
  spti_levels levels;
  const spti_tiles_settings set = spti_tiles_defaults();
  SPTI_TRY(spti_host_alloc(&t, 1, sizeof *t, "tile-syncfree plan"));
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
  snprintf(info->parameters, sizeof info->parameters, "tiles=%d lines=%d", t->tiles, t->lines);
}

static sptrsm_status solve(const sptrsm_plan *plan, void *work, const spti_panel *W) {
  (void)work;
  spti_tiles_solve(plan->state, W->data, W->ld, W->width);
  return SPTRSM_OK;
}

const spti_method spti_method_tile_syncfree = {
    .name = "tile-syncfree",
    .summary = "tiles of 16 x 16 in seven formats, by columns, on the host",
    .cite = "lu2023tile",
    .place = SPTRSM_HOST,
    .wants = SPTI_PUSH,
    .flags = SPTI_DETERMINISTIC,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .solve = solve,
};
