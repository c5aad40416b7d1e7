/* solve.c -- the solve side of block: its workspace, the choice of the tile of right-hand sides, and the launch. */
#include "core/context/gpu.h"
#include "core/two_blocks/two_blocks.h"
#include "trsm/block/gpu/block.h"

/* Two work blocks with a row for each place. */
sptrsm_status spti_block_work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  return spti_two_blocks_bytes(out, plan, plan->view.n, panel);
}

sptrsm_status spti_block_work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  return spti_two_blocks_create(work, plan, plan->view.n, panel);
}

static sptrsm_status shared_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  return spti_two_blocks_shared_bytes(out, plan, plan->view.n, panel);
}

static sptrsm_status shared_create(void **work, const sptrsm_plan *plan, int32_t panel, void *memory) {
  return spti_two_blocks_create_in(work, memory, plan->view.n, panel);
}

const spti_shared_work spti_block_shared_work = {.bytes = shared_bytes, .create = shared_create};

/* Microseconds of a solve by tiles of `tile` right-hand sides: narrow tiles publish sooner, wide ones read the matrix less often and need
 * fewer thread blocks. The costs were fitted on an H200 in f64 (README.md). */
static double expected_time(const spti_block_state *s, int32_t width, int32_t tile) {
  static const struct {
    double level, block, tile; /* cost of a level of panels, of a thread block, and of a tile of the matrix each time it is read */
  } costs[] = {{1.22, 0.0112, 1.51e-4}, {2.66, 0.0148, 1.21e-4}, {3.66, 0.0233, 2.01e-4}};
  const int kind = tile == 8 ? 0 : tile == 16 ? 1 : 2;
  const double passes = (width + tile - 1) / tile;
  return s->levels * costs[kind].level + passes * (s->panels.count * costs[kind].block + (double)s->tiles * costs[kind].tile);
}

static int32_t tile_for(const spti_block_state *s, sptrsm_dtype dtype, int32_t width) {
  const int32_t most = dtype >= SPTRSM_C64 ? 16 : 32;
  if (s->tile) return s->tile < most ? s->tile : most;
  int32_t best = 8;
  for (int32_t tile = 16; tile <= most && tile / 2 < width; tile *= 2)
    if (expected_time(s, width, tile) < expected_time(s, width, best)) best = tile;
  return best;
}

sptrsm_status spti_block_solve_panels(const spti_block_state *s, const sptrsm_plan *plan, spti_block_work *work,
                                      const spti_transfer *between) {
  spti_block_solve_args args = {.panels = s->panels,
                                .backward = work->backward,
                                .between = *between,
                                .work = work->memory,
                                .ld = work->ld,
                                .together = work->together,
                                .first_ticket = work->tickets,
                                .sync = work->sync,
                                .tile = tile_for(s, plan->view.dtype, between->width)};
  const int32_t tiles = (between->width + args.tile - 1) / args.tile;
  if (args.panels.count >= (INT32_MAX - work->tickets) / tiles)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block: %d panels times %d right-hand sides are beyond 32 bits; use smaller panels",
                     args.panels.count, between->width);
  SPTI_CUDA(spti_block_solve_launch(&args, plan->view.dtype, work->stream));
  if (work->together) work->tickets += args.panels.count * tiles;
  return SPTRSM_OK;
}

sptrsm_status spti_block_solve_in(const spti_block_state *s, bool backward, const sptrsm_plan *plan, spti_two_blocks *w,
                                  const spti_transfer *between) {
  spti_block_work work = {.memory = w->memory, .backward = backward, .stream = plan->context->stream};
  SPTI_TRY(spti_two_blocks_ready(&work.sync, w, plan, between->width));
  work.ld = w->ld;
  return spti_block_solve_panels(s, plan, &work, between);
}

sptrsm_status spti_block_solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *between) {
  return spti_block_solve_in(plan->state, plan->view.backward, plan, work, between);
}
