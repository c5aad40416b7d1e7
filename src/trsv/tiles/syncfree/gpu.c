/* gpu.c -- tile-syncfree on a GPU: substitution over tiles of 16 x 16 by columns, in one launch and without level sets of tile rows.
 * x(J) = T(J,J)^-1 (b(J) - sums(J)), sums(I) += T(I,J) x(J); formats: trsv/tiles/tile.h; protocol: kernels.cu.
 * Source: [lu2023tile], Algorithm 7. Differs: rows are reordered by level too, unless the variant says order=natural.
 * Wins: an analysis without a schedule. Loses: to tile-levelset for one right-hand side, by atomic sums and an acquire and a release for
 * each hop; by long tile columns, which one warp solves alone. Deterministic: no. */
#include <stdio.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/method.h"
#include "trsv/tiles/arrays.h"
#include "core/base/variant.h"
#include "trsv/tiles/syncfree/kernels.h"

enum { BY_LEVEL, AS_SOLVED };

typedef struct {
  spti_gpu_tiles tiles;
  int32_t *in_degree; /* device, [tile_rows] */
} state;

static sptrsm_status count_tiles(state *s, const sptrsm_plan *plan) {
  const spti_tiles *t = &s->tiles.host;
  SPTI_TRY(spti_alloc(plan->context, &s->in_degree, t->tile_rows, sizeof *s->in_degree, "tile-syncfree in-degrees"));
  const spti_tile_degrees_args args = {
      .word = s->tiles.arrays.word, .tiles = t->tiles, .tile_rows = t->tile_rows, .in_degree = s->in_degree};
  return spti_gpu_check(spti_tile_syncfree_degrees_launch(&args, plan->context->stream), "tile-syncfree in-degrees");
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  static const char *const orders[] = {"level", "natural", NULL};
  int32_t order = BY_LEVEL;
  spti_tiles_settings set = spti_tiles_defaults();
  const spti_setting known[] = {{"order", &order, 0, 0, orders}, {"align", &set.align, 0, INT32_MAX, NULL}};
  state *s;
  SPTI_TRY(spti_variant_parse("tile-syncfree", plan->variant, known, (int)(sizeof known / sizeof *known)));
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "tile-syncfree state"));
  *s = (state){0};
  plan->state = s;
  SPTI_TRY(spti_gpu_tiles_create(&s->tiles, plan, order == BY_LEVEL, &set));
  return count_tiles(s, plan);
}

static sptrsm_status update_values(sptrsm_plan *plan) { return spti_gpu_tiles_update(&((state *)plan->state)->tiles, plan); }

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  spti_gpu_tiles_free(&s->tiles, plan);
  spti_free(plan->context, s->in_degree);
  spti_host_free(s);
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const spti_tiles *t = &s->tiles.host;
  snprintf(info->parameters, sizeof info->parameters, "tiles=%d tile_rows=%d", t->tiles, t->tile_rows);
  info->plan_bytes = sizeof *s + spti_tiles_bytes(t) + (size_t)t->tile_rows * sizeof *s->in_degree;
}

/* ---- solve ---- */

/* sums, then counters, then control words. */
static sptrsm_status sums_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  const int64_t tile_rows = ((const state *)plan->state)->tiles.host.tile_rows;
  return spti_bytes(out, tile_rows * SPTI_TILE * panel, sptrsm_dtype_bytes(plan->view.dtype), "tile-syncfree sums");
}

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  const size_t tile_rows = (size_t)((const state *)plan->state)->tiles.host.tile_rows;
  SPTI_TRY(sums_bytes(out, plan, panel));
  *out += (tile_rows * (size_t)panel + SPTI_SYNCFREE_CONTROL_WORDS) * sizeof(int32_t);
  return SPTRSM_OK;
}

typedef struct {
  void *memory;
  size_t sums; /* bytes of them */
} workspace;

static void work_free(void *work, const sptrsm_plan *plan) {
  spti_free(plan->context, ((workspace *)work)->memory);
  spti_host_free(work);
}

static sptrsm_status work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  workspace *w;
  size_t bytes;
  sptrsm_status status;
  SPTI_TRY(work_bytes(&bytes, plan, panel));
  SPTI_TRY(spti_host_alloc(&w, 1, sizeof *w, "tile-syncfree workspace"));
  *w = (workspace){0};
  SPTI_TRY_GOTO(sums_bytes(&w->sums, plan, panel));
  SPTI_TRY_GOTO(spti_alloc(plan->context, &w->memory, (int64_t)bytes, 1, "tile-syncfree sums"));
  *work = w;
  return SPTRSM_OK;
fail:
  work_free(w, plan);
  return status;
}

static sptrsm_status solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *transfer) {
  const state *s = plan->state;
  const workspace *w = work;
  int32_t *counters = (int32_t *)((char *)w->memory + w->sums);
  const spti_tile_syncfree_args args = {.tiles = s->tiles.arrays,
                                        .in_degree = s->in_degree,
                                        .transfer = *transfer,
                                        .sums = w->memory,
                                        .missing = counters + SPTI_SYNCFREE_CONTROL_WORDS,
                                        .sync = spti_gpu_syncfree(plan->context, counters)};
  if ((int64_t)s->tiles.host.tile_rows * transfer->width > INT32_MAX - SPTI_TILE)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "tile-syncfree: %d tile rows times %d right-hand sides are beyond 32 bits; use smaller panels",
                     s->tiles.host.tile_rows, transfer->width);
  SPTI_CUDA(spti_tile_syncfree_reset_launch(&args, plan->view.dtype, plan->context->stream));
  SPTI_CUDA(spti_tile_syncfree_solve_launch(&args, plan->view.dtype, plan->context->stream));
  return SPTRSM_OK;
}

const spti_method spti_method_tile_syncfree_gpu = {
    .name = "tile-syncfree",
    .summary = "tiles of 16 x 16 in seven formats, by columns, in-degrees of tile rows",
    .cite = "lu2023tile",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PUSH,
    .flags = SPTI_CAPTURABLE | SPTI_VARIANTS | SPTI_REFERENCE,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = work_free,
    .solve_between = solve_between,
};
