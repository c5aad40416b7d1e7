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

static int32_t tiles_of(int32_t width, int32_t tile) { return (width + tile - 1) / tile; }

/* Microseconds of a solve by tiles of `tile` right-hand sides: narrow tiles publish sooner, wide ones read the matrix less often and need
 * fewer thread blocks. The costs were fitted on an H200 in f64 (README.md). */
static double expected_time(const spti_block_state *s, int32_t width, int32_t tile) {
  static const struct {
    double level, block, tile; /* cost of a level of panels, of a thread block, and of a tile of the matrix each time it is read */
  } costs[] = {{1.22, 0.0112, 1.51e-4}, {2.66, 0.0148, 1.21e-4}, {3.66, 0.0233, 2.01e-4}};
  const int kind = tile == 8 ? 0 : tile == 16 ? 1 : 2;
  const double passes = tiles_of(width, tile);
  return s->levels * costs[kind].level + passes * (s->panels.count * costs[kind].block + (double)s->tiles * costs[kind].tile);
}

/* The widest tiles of which a piece of the panels has enough to fill the device. Most columns that a piece needs are there when its kernel
 * begins, and few thread blocks, each with many columns, would take longer than the next piece needs to arrive. */
static int32_t tile_of_piece(const spti_block_state *s, const sptrsm_context *context, int32_t width, int32_t most) {
  enum { BLOCK_THREADS = 128, THREADS_OF_LANE = 3 };
  int32_t tile = most;
  while (tile > 8 &&
         (tile / 2 >= width || (int64_t)s->panels.count * tiles_of(width, tile) * BLOCK_THREADS < THREADS_OF_LANE * context->fp32_lanes))
    tile /= 2;
  return tile;
}

static int32_t tile_for(const spti_block_state *s, const sptrsm_plan *plan, int32_t width, bool piece) {
  const int32_t most = plan->view.dtype >= SPTRSM_C64 ? 16 : 32;
  if (s->tile) return s->tile < most ? s->tile : most;
  if (piece) return tile_of_piece(s, plan->context, width, most);
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
                                .single = s->single,
                                .tile = tile_for(s, plan, between->width, work->together)};
  const int32_t tiles = tiles_of(between->width, args.tile);
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
