/* solve.c -- see solve.h. Source: [lu2023tile]. Items, their tiles and the entries of a tile are taken one after another, as they are
 * stored: the readable twin of the kernels. Deterministic. */
#include "trsv/tiles/solve.h"

#include <string.h>

#include "core/context/alloc.h"
#include "core/context/context.h"
#include "core/levels/levels.h"

enum { COLUMNS = 8, PLACES = SPTI_TILE * SPTI_TILE }; /* right-hand sides at once; entries of a tile */

static int32_t item_tile_row(const int32_t *item) { return item[SPTI_TILE_ITEM_OUT] & ((1 << SPTI_TILE_OUT_BITS) - 1); }

static int32_t out_rows(const int32_t *item) { return (int32_t)((uint32_t)item[SPTI_TILE_ITEM_OUT] >> SPTI_TILE_OUT_BITS) + 1; }

static uint32_t word_at(const spti_tiles *t, int32_t tile) {
  uint32_t word;
  memcpy(&word, &t->word[tile], sizeof word);
  return word;
}

#define SPTI_TEMPLATE "trsv/tiles/solve.tmpl.h"
#include "core/base/for_each_dtype.h"

void spti_tiles_solve(const spti_tiles *t, void *panel, int64_t ld, int32_t width) {
  if (t->by_columns) SPTI_SWITCH(t->dtype, push_items)(t, panel, ld, width);
  else SPTI_SWITCH(t->dtype, pull_items)(t, panel, ld, width);
}

/* ---- as methods ---- */

sptrsm_status spti_tiles_analyse(sptrsm_plan *plan) {
  spti_tiles *t;
  spti_levels levels;
  spti_tiles_settings set = spti_tiles_defaults();
  set.team = plan->context->team;
  SPTI_TRY(spti_host_alloc(&t, 1, sizeof *t, "plan of tiles"));
  *t = (spti_tiles){0};
  plan->state = t;
  SPTI_TRY(spti_levels_build(&levels, &plan->view));
  plan->levels = levels.count;
  const sptrsm_status status = spti_tiles_build(t, &plan->view, levels.order, levels.ptr, levels.count, &set);
  spti_levels_free(&levels);
  return status;
}

sptrsm_status spti_tiles_update_values(sptrsm_plan *plan) { return spti_tiles_update(plan->state, &plan->view); }

void spti_tiles_release(sptrsm_plan *plan) {
  if (plan->state) spti_tiles_free(plan->state);
  spti_host_free(plan->state);
  plan->state = NULL;
}

sptrsm_status spti_tiles_solve_panel(const sptrsm_plan *plan, void *work, const spti_panel *W) {
  (void)work;
  spti_tiles_solve(plan->state, W->data, W->ld, W->width);
  return SPTRSM_OK;
}
