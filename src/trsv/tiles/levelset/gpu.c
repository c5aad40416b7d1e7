/* gpu.c -- tile-levelset on a GPU: substitution over tiles of 16 x 16 by level sets of tile rows.
 * x(I) = T(I,I)^-1 (b(I) - sum over tiles of T(I,J) x(J)); seven formats of tiles (trsv/tiles/tile.h); kernels.cu solves for one
 * right-hand side, block_kernels.cu for up to 32 in one pass over the tiles.
 * A level of many tile rows is a launch. A run of narrower levels is one launch whose items wait for values that are their own flags,
 * since a hop from warp to warp takes less time than a launch. Several launches are recorded as a CUDA graph with the workspace.
 * Source: [lu2023tile]. Differs: runs of levels in one launch; one warp for sums and diagonal tile of a short tile row; COO tiles taken
 * together; levels of at least `align` rows begin with a tile row of their own; several right-hand sides.
 * Wins: entries that cluster; memory, a byte or less for each position. Loses: scattered entries, where a tile holds one or two; chains
 * of tile rows, where each hop includes a whole diagonal tile.
 * Deterministic: yes, each sum has one order, the same in both kernels. */
#include <stdio.h>

#include "core/context/alloc.h"
#include "core/context/recordings.h"
#include "core/plan/method.h"
#include "trsv/tiles/arrays.h"
#include "trsv/tiles/levelset/kernels.h"
#include "trsv/tiles/levelset/schedule.h"

typedef struct {
  spti_tile_levelset_settings set;
  spti_gpu_tiles tiles;
  spti_tile_levelset_schedule schedule;
} state;

/* ---- analysis ---- */

static sptrsm_status analyse(sptrsm_plan *plan) {
  state *s;
  spti_tile_levelset_settings set;
  SPTI_TRY(spti_tile_levelset_settings_parse(&set, plan->variant));
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "tile-levelset state"));
  *s = (state){.set = set};
  plan->state = s;
  SPTI_TRY(spti_gpu_tiles_create(&s->tiles, plan, set.order == SPTI_TILE_ORDER_LEVEL, &set.tiles));
  return spti_tile_levelset_schedule_make(&s->schedule, &s->tiles.host, &set);
}

static sptrsm_status update_values(sptrsm_plan *plan) { return spti_gpu_tiles_update(&((state *)plan->state)->tiles, plan); }

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  spti_gpu_tiles_free(&s->tiles, plan);
  spti_tile_levelset_schedule_free(&s->schedule);
  spti_host_free(s);
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const spti_tiles *t = &s->tiles.host;
  snprintf(info->parameters, sizeof info->parameters, "tiles=%d tile_rows=%d levels=%d parts=%d steps=%d wide=%d", t->tiles, t->tile_rows,
           t->levels, t->parts, s->schedule.count, s->schedule.wide);
  info->plan_bytes = sizeof *s + spti_tiles_bytes(t) + (size_t)s->schedule.count * sizeof *s->schedule.steps;
}

/* ---- solve ---- */

/* From this many launches on they are recorded as a graph. */
enum { GRAPH_ABOVE = 4 };

typedef struct {
  const sptrsm_plan *plan;
  void *x; /* device, [16 blocks * panel] */
  int32_t *control;
  spti_recordings recordings;
} workspace;

static int64_t blocks_of(const spti_tiles *t) { return (int64_t)t->tile_rows + t->parts; }

static spti_tile_levelset_args args_of(const sptrsm_plan *plan, const workspace *w) {
  const state *s = plan->state;
  return (spti_tile_levelset_args){.tiles = s->tiles.arrays,
                                   .x = w->x,
                                   .blocks = blocks_of(&s->tiles.host),
                                   .steps = s->schedule.count,
                                   .sync = spti_gpu_syncfree(plan->context, w->control)};
}

static int launch_items(const spti_tile_levelset_args *args, sptrsm_dtype dtype, void *stream) {
  return args->transfer.width == 1 ? spti_tile_levelset_items_launch(args, dtype, stream)
                                   : spti_tile_levelset_block_launch(args, dtype, stream);
}

static int launch_step(const spti_tile_levelset_step *step, spti_tile_levelset_args args, sptrsm_dtype dtype, void *stream) {
  args.first = step->first;
  args.last = step->last;
  args.single_level = step->wide;
  args.sums_only = step->threads;
  int error = 0;
  if (!step->threads || step->sums) error = launch_items(&args, dtype, stream);
  args.sums_only = step->sums;
  return error || !step->threads ? error : spti_tile_levelset_diagonal_launch(&args, dtype, stream);
}

/* Each step has control words of its own. */
static sptrsm_status queue_all(const void *work, const spti_transfer *transfer, const int64_t *bound, void *stream) {
  const workspace *w = work;
  const sptrsm_plan *plan = w->plan;
  spti_tile_levelset_args args = args_of(plan, w);
  args.transfer = *transfer;
  args.bound = bound;
  const spti_tile_levelset_schedule *schedule = &((const state *)plan->state)->schedule;
  if (schedule->waits) SPTI_CUDA(spti_tile_levelset_reset_launch(&args, plan->view.dtype, stream));
  for (int32_t i = 0; i < schedule->count; i++) {
    SPTI_CUDA(launch_step(&schedule->steps[i], args, plan->view.dtype, stream));
    args.sync.control += SPTI_SYNCFREE_CONTROL_WORDS;
  }
  return SPTRSM_OK;
}

/* One for each step. */
static int64_t control_words(const state *s) { return (int64_t)s->schedule.count * SPTI_SYNCFREE_CONTROL_WORDS; }

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  const state *s = plan->state;
  SPTI_TRY(spti_bytes(out, blocks_of(&s->tiles.host) * SPTI_TILE * panel, sptrsm_dtype_bytes(plan->view.dtype), "tile-levelset solutions"));
  *out += (size_t)control_words(s) * sizeof(int32_t) + SPTI_TRANSFER_WORDS * sizeof(int64_t);
  return SPTRSM_OK;
}

static void work_free(void *work, const sptrsm_plan *plan) {
  workspace *w = work;
  spti_recordings_free(&w->recordings);
  spti_free(plan->context, w->control);
  spti_free(plan->context, w->x);
  spti_host_free(w);
}

static sptrsm_status work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  const state *s = plan->state;
  workspace *w;
  sptrsm_status status;
  SPTI_TRY(spti_host_alloc(&w, 1, sizeof *w, "tile-levelset workspace"));
  *w = (workspace){.plan = plan, .recordings = {.context = plan->context, .queue = queue_all, .work = w}};
  SPTI_TRY_GOTO(spti_alloc(plan->context, &w->x, blocks_of(&s->tiles.host) * SPTI_TILE * panel, sptrsm_dtype_bytes(plan->view.dtype),
                           "tile-levelset solutions"));
  SPTI_TRY_GOTO(spti_alloc(plan->context, &w->control, control_words(s), sizeof *w->control, "tile-levelset tickets"));
  if (s->schedule.count >= GRAPH_ABOVE) SPTI_TRY_GOTO(spti_recordings_make(&w->recordings, panel));
  *work = w;
  return SPTRSM_OK;
fail:
  work_free(w, plan);
  return status;
}

static sptrsm_status solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *transfer) {
  (void)plan;
  return spti_recordings_solve(&((const workspace *)work)->recordings, transfer);
}

const spti_method spti_method_tile_levelset_gpu = {
    .name = "tile-levelset",
    .summary = "tiles of 16 x 16 in seven formats, level sets of tile rows, runs of narrow levels in one launch",
    .cite = "lu2023tile",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_CAPTURABLE | SPTI_VARIANTS | SPTI_REFERENCE,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = work_free,
    .solve_between = solve_between,
};
