/* pencils.c -- see pencils.h. */
#include "trsv/structgrid/pencils/pencils.h"

#include "core/base/carve.h"
#include "core/context/gpu.h"
#include "core/plan/method.h"
#include "core/plan/pack_kernels.h"
#include "trsv/structgrid/pencils/kernels.h"

static const int64_t PANEL_BYTES = (int64_t)1 << 32; /* bound of a panel of right-hand sides */
enum { PANEL_MOST = 512, TILE = SPTI_PENCIL_TILE };

static int32_t tiles_of(int32_t width) { return (int32_t)(((int64_t)width + TILE - 1) / TILE); }
static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

/* Right-hand sides that fit PANEL_BYTES, in whole tiles. */
static int64_t bound_of(const sptrsm_plan *plan) {
  const int64_t column = (int64_t)(plan->view.n > 0 ? plan->view.n : 1) * (int64_t)sptrsm_dtype_bytes(plan->view.dtype);
  return PANEL_BYTES / column / TILE * TILE;
}

bool spti_structgrid_pencils_tile_fits(const sptrsm_plan *plan) { return bound_of(plan) > 0; }

int32_t spti_structgrid_pencils_panel(const sptrsm_plan *plan) {
  const int64_t hint = plan->options.nrhs_hint, fits = bound_of(plan);
  if (hint > 0 && hint < TILE) return (int32_t)hint;
  int64_t want = hint > 0 ? (hint + TILE - 1) / TILE * TILE : PANEL_MOST / 4;
  if (want > PANEL_MOST) want = PANEL_MOST;
  if (want > fits) want = fits;
  return want < TILE ? TILE : (int32_t)want;
}

typedef struct {
  void *given; /* copy of right-hand sides that are solved in place: [n][width] */
  int32_t *control;
} arrays;

/* Tiles of right-hand sides that a solve in place copies and solves at a time: as many as fit `kept` MiB, at least one. */
static int32_t kept_tiles(const sptrsm_plan *plan, int32_t panel, int32_t kept) {
  const int64_t tile = (int64_t)plan->view.n * TILE * (int64_t)sptrsm_dtype_bytes(plan->view.dtype), fits = ((int64_t)kept << 20) / tile;
  const int32_t all = tiles_of(panel);
  return fits < 1 ? 1 : fits < all ? (int32_t)fits : all;
}

static arrays carve(spti_carver *c, const sptrsm_plan *plan, int32_t panel, int32_t kept) {
  arrays a;
  const int32_t columns = least(panel, kept_tiles(plan, panel, kept) * TILE);
  a.given = spti_carve(c, (int64_t)plan->view.n * columns, sptrsm_dtype_bytes(plan->view.dtype));
  a.control = spti_carve(c, SPTI_SYNCFREE_CONTROL_WORDS, sizeof *a.control);
  return a;
}

size_t spti_structgrid_pencils_bytes(const sptrsm_plan *plan, int32_t panel, int32_t kept) {
  spti_carver c = {0};
  carve(&c, plan, panel, kept);
  return c.used;
}

bool spti_structgrid_pencils_can_read(const spti_end *to, int32_t width) {
  return !to->map && !to->scale && (to->col_stride == 1 || width == 1);
}

/* Copies the right-hand sides of `t` to `work`, and makes `t` read them there. */
static sptrsm_status move_given(const sptrsm_plan *plan, spti_transfer *t, void *work) {
  const spti_pack_args args = {.n = plan->view.n,
                               .width = t->width,
                               .padded = t->width,
                               .block = t->from.data,
                               .row_stride = t->from.row_stride,
                               .col_stride = t->from.col_stride,
                               .work = work,
                               .ld = t->width,
                               .alpha = {1, 0}};
  SPTI_CUDA(spti_pack_launch(&args, plan->view.dtype, plan->context->stream));
  t->from.data = work;
  t->from.row_stride = t->width;
  t->from.col_stride = 1;
  return SPTRSM_OK;
}

sptrsm_status spti_structgrid_pencils_solve(const sptrsm_plan *plan, const spti_stencil *s, const int32_t *present, void *memory,
                                            int32_t panel, int32_t kept, const spti_transfer *all) {
  spti_carver c = {.base = memory};
  const arrays work = carve(&c, plan, panel, kept);
  const bool in_place = all->from.data == all->to.data;
  const int32_t at_once = least(spti_pencil_tiles_most(s), in_place ? kept_tiles(plan, panel, kept) : tiles_of(all->width));
  const size_t bytes = sptrsm_dtype_bytes(plan->view.dtype);
  spti_structgrid_pencils_args args = {
      .view = plan->view, .stencil = *s, .present = present, .sync = spti_gpu_syncfree(plan->context, work.control)};
  for (int32_t tile = 0; tile < tiles_of(all->width); tile += at_once) {
    const int32_t tiles = least(tiles_of(all->width) - tile, at_once), k = tile * TILE, left = all->width - k;
    const int32_t width = left / TILE < tiles ? left : tiles * TILE;
    args.transfer = (spti_transfer){.from = spti_end_from(all->from, k, bytes),
                                    .to = spti_end_from(all->to, k, bytes),
                                    .alpha = {all->alpha[0], all->alpha[1]},
                                    .width = width};
    args.tiles = tiles;
    if (in_place) SPTI_TRY(move_given(plan, &args.transfer, work.given));
    SPTI_CUDA(spti_structgrid_pencils_start_launch(&args, plan->context->stream));
    SPTI_CUDA(spti_structgrid_pencils_solve_launch(&args, plan->context->stream));
  }
  return SPTRSM_OK;
}
