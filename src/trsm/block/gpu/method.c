/* method.c -- block on a GPU: deterministic substitution by panels of rows on tensor cores, for factors of direct solvers.
 * Panel p of up to 64 rows: X_p = inv(D_p) (B_p - sum of A_p,j X_j). Each column j before the panel is read once for all its rows, in the
 * order in which the columns become ready. For the columns that are ready last the analysis makes inv(D_p) A_p,j.
 * Source: supernodal solves [davis2006, chapters 4 and 8], in one kernel that waits for dependencies. Differs: panels are not supernodes of
 * columns but runs of rows that end where the next row has no entry in them, so other patterns have them too; zeros are added inside tiles
 * of 16 by 8 only; a diagonal block is multiplied by its inverse where |inverse| |block| is small, refined once where it is bounded, and
 * substituted else.
 * Wins: factors with supernodes, bands, dense triangles: panels wait for each other, not rows. Loses: wide patterns of few entries a row,
 * whose tiles are mostly zeros.
 * Deterministic: yes, for every panel width, tile and stream. README.md has more. */
#include "trsm/block/gpu/block.h"

#include <stdio.h>

#include "core/context/alloc.h"
#include "core/levels/row_panels_gpu.h"
#include "core/plan/analysis.h"
#include "core/two_blocks/two_blocks.h"
#include "core/base/variant.h"
#include "trsm/block/gpu/analysis.h"

typedef struct {
  spti_block_state shared; /* first */
  spti_block_analysis analysis;
} state;

enum { SHARED_BYTES = 96 << 10 }; /* of a thread block: more than any kernel of block needs */

spti_block_settings spti_block_defaults(void) {
  return (spti_block_settings){.rows = SPTI_FACTOR_PANEL_ROWS,
                               .least = SPTI_FACTOR_PANEL_LEAST,
                               .window = SPTI_BLOCK_WINDOW,
                               .bound = 2,
                               .spare = 32,
                               .refine = 1000000,
                               .products = 64};
}

sptrsm_status spti_block_parse(const char *method, spti_block_settings *s, int32_t *tile, const spti_setting *more, int more_count,
                               const char *text) {
  spti_setting known[] = {{"rows", &s->rows, 16, SPTI_BLOCK_ROWS, NULL},
                          {"least", &s->least, 1, SPTI_BLOCK_ROWS, NULL},
                          {"window", &s->window, 64, SPTI_BLOCK_WINDOW, NULL},
                          {"bound", &s->bound, 0, INT32_MAX, NULL},
                          {"spare", &s->spare, 0, INT32_MAX, NULL},
                          {"refine", &s->refine, 0, INT32_MAX, NULL},
                          {"tile", tile, 8, 32, NULL},
                          {"products", &s->products, 32, 64, NULL},
                          {0},
                          {0},
                          {0}};
  const int own = (int)(sizeof known / sizeof *known) - SPTI_BLOCK_SETTINGS_MORE;
  for (int k = 0; k < more_count; k++) known[own + k] = more[k];
  SPTI_TRY(spti_variant_parse(method, text, known, own + more_count));
  if (s->least > s->rows) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: least=%d is above rows=%d", method, s->least, s->rows);
  if (s->window % 64) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: window=%d is not a multiple of 64", method, s->window);
  if (s->products & (s->products - 1)) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: products=%d is not 32 or 64", method, s->products);
  if (*tile & (*tile - 1)) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: tile=%d is not 8, 16 or 32", method, *tile);
  return SPTRSM_OK;
}

sptrsm_status spti_block_check_device(const sptrsm_context *context) {
  if (context->shared_bytes >= SHARED_BYTES) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                   "block: thread blocks of this device have up to %zu KiB of shared memory, %d are needed; use gather",
                   context->shared_bytes >> 10, SHARED_BYTES >> 10);
}

bool spti_block_is_single(const spti_block_settings *set, const sptrsm_plan *plan) {
  return set->products == 32 && (plan->view.dtype == SPTRSM_F32 || plan->view.dtype == SPTRSM_C64);
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  spti_block_settings set = spti_block_defaults();
  int32_t tile = 0;
  state *s;
  SPTI_TRY(spti_block_parse("block", &set, &tile, NULL, 0, plan->variant));
  SPTI_TRY(spti_block_check_device(plan->context));
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "block state"));
  *s = (state){0};
  plan->state = s;
  SPTI_TRY(spti_block_analysis_make(&s->analysis, plan, &set));
  spti_plan_drop_levels(plan); /* which auto looked at */
  s->shared = (spti_block_state){.panels = s->analysis.panels,
                                 .tiles = s->analysis.totals[SPTI_BLOCK_TILES],
                                 .levels = s->analysis.levels,
                                 .tile = tile,
                                 .single = spti_block_is_single(&set, plan),
                                 .steps = s->analysis.totals[SPTI_BLOCK_STEPS],
                                 .panel_of = s->analysis.found.panel};
  return SPTRSM_OK;
}

static sptrsm_status update_values(sptrsm_plan *plan) {
  const state *s = plan->state;
  return spti_block_analysis_update(&s->analysis, plan);
}

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  spti_block_analysis_free(&s->analysis, plan);
  spti_host_free(s);
}

/* stored/nnz: of the tiles of the matrix; inverses and near columns are stored besides. */
static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const int64_t tiles = s->analysis.totals[SPTI_BLOCK_TILES] + s->analysis.totals[SPTI_BLOCK_DIAGONAL_TILES];
  const double stored = (double)(tiles * SPTI_BLOCK_TILE) / (double)(plan->view.nnz > 0 ? plan->view.nnz : 1);
  int32_t flagged[3];
  if (spti_block_flagged(flagged, &s->analysis, plan) != SPTRSM_OK) flagged[0] = flagged[1] = flagged[2] = -1;
  snprintf(info->parameters, sizeof info->parameters, "%spanels=%d levels=%d stored/nnz=%.2f refined=%d substituted=%d apart=%d",
           s->shared.single ? "products=32 " : "", s->shared.panels.count, s->shared.levels, stored, flagged[1], flagged[0], flagged[2]);
  info->plan_bytes = sizeof *s + s->analysis.bytes;
}

const spti_method spti_method_block = {
    .name = "block",
    .summary = "deterministic pull by panels of rows: dense tiles on tensor cores, inverted diagonal blocks",
    .cite = "davis2006",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_CAPTURABLE | SPTI_VARIANTS | SPTI_INVERTS,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .panel = spti_two_blocks_panel,
    .work_bytes = spti_block_work_bytes,
    .work_create = spti_block_work_create,
    .work_free = spti_two_blocks_free,
    .shared_work = &spti_block_shared_work,
    .solve_between = spti_block_solve_between,
    .grouping = &spti_block_grouping,
};
