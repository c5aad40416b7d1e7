/* block_solve -- the solve side of block: workspaces of two work blocks, and the launch (block_solve.cuh has the kernel). */
#include "core/alloc.h"
#include "core/gpu.h"
#include "trsm/block.h"

typedef struct {
  void *memory; /* two blocks of n x ld, then the control words */
  int64_t ld;
  int64_t losses; /* of the context, when the memory was last made whole */
} workspace;

static const int64_t PANEL_BYTES = (int64_t)1 << 31; /* of one work block */
enum { PANEL_MOST = 512, PANEL_LEAST = 32 };

/* As many right-hand sides as two work blocks have room for: dependencies are waited for once per panel. */
int32_t spti_block_panel(const sptrsm_plan *plan) {
  const int64_t column = (int64_t)(plan->view.n > 0 ? plan->view.n : 1) * (int64_t)sptrsm_dtype_bytes(plan->view.dtype);
  const int64_t hint = plan->options.nrhs_hint;
  if (hint > 0 && hint < PANEL_LEAST) return (int32_t)hint;
  const int64_t fits = PANEL_BYTES / column / PANEL_LEAST * PANEL_LEAST;
  int64_t want = hint > 0 ? (hint + PANEL_LEAST - 1) / PANEL_LEAST * PANEL_LEAST : PANEL_MOST;
  if (want > PANEL_MOST) want = PANEL_MOST;
  if (want > fits) want = fits;
  return want < PANEL_LEAST ? PANEL_LEAST : (int32_t)want;
}

/* Rows of the work blocks begin at sectors of memory; one or two right-hand sides share them. */
static int64_t ld_of(int32_t panel) { return panel <= 2 ? panel : ((int64_t)panel + 3) / 4 * 4; }

static sptrsm_status block_bytes(size_t *out, const sptrsm_plan *plan, int64_t ld) {
  return spti_bytes(out, plan->view.n * ld, 2 * sptrsm_dtype_bytes(plan->view.dtype), "block work blocks");
}

sptrsm_status spti_block_work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  SPTI_TRY(block_bytes(out, plan, ld_of(panel)));
  *out += SPTI_TWO_BLOCKS_CONTROL_WORDS * sizeof(int32_t);
  return SPTRSM_OK;
}

static int32_t *control_of(const sptrsm_plan *plan, const workspace *w) {
  return (int32_t *)((char *)w->memory + 2 * (size_t)plan->view.n * (size_t)w->ld * sptrsm_dtype_bytes(plan->view.dtype));
}

/* Fills the work blocks: when they are new, and after a solve that did not come to its end. */
static sptrsm_status make_whole(const sptrsm_plan *plan, workspace *w) {
  int32_t *control = control_of(plan, w);
  const spti_two_blocks_args args = {control, w->memory, ((char *)control - (char *)w->memory) / (int64_t)sizeof(int64_t)};
  SPTI_CUDA(spti_two_blocks_start_launch(&args, plan->context->stream));
  w->losses = plan->context->losses;
  return SPTRSM_OK;
}

void spti_block_work_free(void *work, const sptrsm_plan *plan) {
  spti_free(plan->context, ((workspace *)work)->memory);
  spti_host_free(work);
}

sptrsm_status spti_block_work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  size_t bytes;
  workspace *w;
  SPTI_TRY(spti_block_work_bytes(&bytes, plan, panel));
  SPTI_TRY(spti_host_alloc(&w, 1, sizeof *w, "block workspace"));
  *w = (workspace){.ld = ld_of(panel)};
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_alloc(plan->context, &w->memory, (int64_t)bytes, 1, "block work blocks"));
  SPTI_TRY_GOTO(make_whole(plan, w));
  *work = w;
  return SPTRSM_OK;
fail:
  spti_block_work_free(w, plan);
  return status;
}

/* Microseconds that a solve by tiles of so many right-hand sides takes, fitted to nine triangles and factors in f64 on an H200, 32 to 512
 * right-hand sides: narrow tiles publish sooner, wide ones read the matrix less often and need fewer thread blocks. Of 45 cases 44 get the
 * tile that was measured to be the fastest, one loses 3 %. */
static double expected_time(const spti_block_state *s, int32_t width, int32_t tile) {
  static const struct {
    double level, block, tile; /* of a level of panels, of a thread block, and of a tile of the matrix each time that it is read */
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

sptrsm_status spti_block_solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *between) {
  const spti_block_state *s = plan->state;
  workspace *w = work;
  if (w->losses != plan->context->losses) SPTI_TRY(make_whole(plan, w));
  const spti_block_solve_args args = {
      .panels = s->panels,
      .backward = plan->view.backward,
      .between = *between,
      .work = w->memory,
      .ld = w->ld,
      .tile = tile_for(s, plan->view.dtype, between->width),
      .sync = {.control = control_of(plan, w), .lost = plan->context->lost_device, .spin_limit = plan->context->spin_limit}};
  if (args.panels.count >= INT32_MAX / ((between->width + args.tile - 1) / args.tile))
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block: %d panels times %d right-hand sides are beyond 32 bits; use smaller panels",
                     args.panels.count, between->width);
  SPTI_CUDA(spti_block_solve_launch(&args, plan->view.dtype, plan->context->stream));
  return SPTRSM_OK;
}
