/* structgrid -- structured grids without level sets. Up to eight right-hand sides (on small grids two, of D3N33 one): tiles of grid lines
 * are solved step by step, one row of each line in a step. More: a warp solves a grid line, lanes over right-hand sides.
 * x(s) = (b(s) - sum over the stencil's points r before s of t(s,r) x(r)) / t(s,s), with s = x + y X + z X Y.
 * Source: [chen2023structured]: grid lines instead of rows, the matrix read ahead of the dependencies, no analysis but a look at the
 * pattern. Differs: a block has 32 lines of each of four planes, each a step or two behind the one before, so that all that a row needs
 * was solved one step ago or more and stands in shared memory; other warps of the block fetch and write. What tiles need of each other is
 * its own flag. Values stand by tile, step and stencil entry (layout=soa, a copy made by the analysis), or are read from the matrix
 * (layout=csr); column indices are read by the check alone, since for a known stencil they say nothing. trsv/structgrid/tiles/solve.cuh has the
 * kernel. tasks=lines is the published algorithm with the parts that its figures 6 and 7 measure (trsv/structgrid/lines/kernels.cu).
 * Wins: triangles of ILU(0) and the like on grids: with one right-hand side three times as fast as SpSV, with 32 two to 5.7 times as fast
 * as SpSM, its analysis left out.
 * Loses: to gather for blocks on the smallest grids; on grids that are short in two directions; refuses all that is no stencil.
 * Deterministic: yes, for every panel width and layout. */
#include <stdio.h>

#include "core/context/alloc.h"
#include "core/base/carve.h"
#include "core/context/gpu.h"
#include "core/plan/method.h"
#include "core/stencil/gpu.h"
#include "core/base/variant.h"
#include "trsv/structgrid/tiles/kernels.h"
#include "trsv/structgrid/lines/lines.h"
#include "trsv/structgrid/tiles/order.h"
#include "trsv/structgrid/pencils/pencils.h"

typedef enum { LAYOUT_CSR, LAYOUT_SOA } layout;
typedef enum { TASKS_TILES, TASKS_PENCILS, TASKS_LINES, TASKS_BY_WIDTH } tasks;
static const char *const layout_names[] = {"csr", "soa", NULL}, *const task_names[] = {"tiles", "pencils", "lines", NULL};
static const char *const map_names[] = {"row", "stream", NULL}, *const state_names[] = {"row", "line", NULL};
static const char *const poll_names[] = {"relaxed", "acquire", NULL};
enum { PUBLISHED_WARPS = 64 }; /* for a plane */
enum { KEPT_MOST = 256 };      /* MiB */
enum { NARROW_PANEL = 8 };     /* right-hand sides, where a panel for pencils would be large */
enum { BEYOND = 256 };         /* what kernels count beyond a line's last row is less */

typedef struct {
  spti_stencil stencil; /* no name: n is 0 */
  spti_structgrid_tiling tiling;
  int32_t layout, tasks, tiles;
  int32_t kept;                /* MiB of right-hand sides that pencils keep of a solve in place */
  spti_structgrid_lines lines; /* tasks=lines: the tiles' members below are not used */
  int32_t *order;              /* [tiles][2] */
  int32_t *present;            /* [n], or NULL: rows have all that the grid allows */
  void *soa;                   /* layout=soa */
  size_t soa_bytes;
} state;

/* ---- analysis ---- */

static spti_structgrid_args args_of(const sptrsm_plan *plan, const state *s) {
  return (spti_structgrid_args){.view = plan->view,
                                .stencil = s->stencil,
                                .present = s->present,
                                .missing = s->present != NULL,
                                .soa = s->soa,
                                .order = s->order,
                                .tiles = s->tiles};
}

static sptrsm_status make_order(const sptrsm_plan *plan, state *s) {
  const int64_t tiles = spti_structgrid_list_tiles(&s->stencil, &s->tiling, NULL);
  const size_t bytes = 2 * (size_t)tiles * sizeof *s->order;
  int32_t *order;
  if (tiles > INT32_MAX / 2)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "structgrid: %lld tiles of lines, more than %d; use another method", (long long)tiles,
                     INT32_MAX / 2);
  s->tiles = (int32_t)tiles;
  SPTI_TRY(spti_alloc(plan->context, &s->order, 2 * tiles, sizeof *s->order, "structgrid order"));
  SPTI_TRY(spti_host_alloc(&order, 2 * tiles, sizeof *order, "structgrid order"));
  spti_structgrid_list_tiles(&s->stencil, &s->tiling, order);
  const sptrsm_status status = spti_gpu_copy(plan->context, s->order, bytes, order, bytes, bytes, 1, SPTI_TO_DEVICE);
  spti_host_free(order);
  return status;
}

/* By tiles, or by pencils? */
static bool uses_pencils(const state *s, int32_t width) {
  return s->tasks == TASKS_PENCILS || (s->tasks == TASKS_BY_WIDTH && width > spti_structgrid_tiles_most(&s->stencil));
}
/* Whether some solve may be by tiles. */
static bool uses_tiles(const state *s) { return s->tasks == TASKS_TILES || s->tasks == TASKS_BY_WIDTH; }

/* UNSUPPORTED on devices whose blocks are too small. */
static sptrsm_status check_device(const sptrsm_plan *plan) {
  const size_t bytes = plan->context->shared_bytes;
  if (bytes >= SPTI_STRUCTGRID_SHARED) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                   "structgrid needs %d bytes of shared memory for a block, this device has %zu; use tasks=pencils or another method",
                   SPTI_STRUCTGRID_SHARED, bytes);
}

/* Kernels count rows and lines in 32 bits, and a line may be all of the grid. */
static sptrsm_status check_size(const sptrsm_plan *plan) {
  const int32_t most = INT32_MAX - BEYOND;
  if (plan->view.n <= most) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "structgrid: %d rows, more than %d; use another method", plan->view.n, most);
}

static bool is_whole(const sptrsm_plan *plan, const spti_stencil *s) {
  const spti_view *v = &plan->view;
  return v->nnz - (v->head || v->tail ? v->n : 0) == spti_stencil_entries(s);
}

/* Fills s->soa; `present` tells what the rows have. */
static sptrsm_status fill_soa(const sptrsm_plan *plan, const state *s, const int32_t *present) {
  spti_structgrid_args args = args_of(plan, s);
  args.present = present;
  SPTI_CUDA(spti_structgrid_soa_launch(&args, plan->context->stream));
  return SPTRSM_OK;
}

/* Rows that have all that the grid allows are filled in by their presence as well, found for the occasion. */
static sptrsm_status refresh_soa(const sptrsm_plan *plan, const state *s) {
  int32_t *present;
  if (s->present) return fill_soa(plan, s, s->present);
  SPTI_TRY(spti_alloc(plan->context, &present, plan->view.n, sizeof *present, "structgrid presence"));
  sptrsm_status status = spti_gpu_stencil_presence(present, &plan->view, plan->context, &s->stencil);
  if (status == SPTRSM_OK) status = fill_soa(plan, s, present);
  spti_free(plan->context, present);
  return status;
}

static sptrsm_status make_soa(const sptrsm_plan *plan, state *s) {
  const int64_t slots = (int64_t)s->tiling.groups * s->tiling.bands * s->stencil.grid[0];
  SPTI_TRY(spti_bytes(&s->soa_bytes, slots * s->tiling.slot, sptrsm_dtype_bytes(plan->view.dtype), "structgrid values by entry"));
  SPTI_TRY(spti_alloc(plan->context, &s->soa, (int64_t)s->soa_bytes, 1, "structgrid values by entry"));
  return refresh_soa(plan, s);
}

static sptrsm_status prepare_tiles(const sptrsm_plan *plan, state *s) {
  SPTI_TRY(check_device(plan));
  s->tiling = spti_structgrid_tiling_of(&s->stencil, plan->view.dtype);
  SPTI_TRY(make_order(plan, s));
  if (s->present) s->layout = LAYOUT_SOA;
  return s->layout == LAYOUT_SOA ? make_soa(plan, s) : SPTRSM_OK;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  state *s;
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "structgrid state"));
  *s = (state){.layout = LAYOUT_SOA,
               .kept = KEPT_MOST,
               .tasks = TASKS_BY_WIDTH,
               .lines = {.stream = 1, .by_line = 1, .acquire = 1, .warps = PUBLISHED_WARPS}};
  plan->state = s;
  const spti_setting known[] = {{"layout", &s->layout, 0, 0, layout_names},    {"tasks", &s->tasks, 0, 0, task_names},
                                {"map", &s->lines.stream, 0, 0, map_names},    {"state", &s->lines.by_line, 0, 0, state_names},
                                {"poll", &s->lines.acquire, 0, 0, poll_names}, {"warps", &s->lines.warps, 1, 1 << 16, NULL},
                                {"kept", &s->kept, 0, 1 << 20, NULL},          {"clock", &s->lines.clock, 0, 1, NULL}};
  SPTI_TRY(spti_variant_parse("structgrid", plan->variant, known, (int)(sizeof known / sizeof *known)));
  SPTI_TRY(check_size(plan));
  SPTI_TRY(spti_gpu_stencil(&s->stencil, &plan->view, plan->context, &plan->options));
  if (s->tasks == TASKS_BY_WIDTH && plan->options.nrhs_hint > spti_structgrid_tiles_most(&s->stencil)) s->tasks = TASKS_PENCILS;
  if (plan->view.n == 0) return SPTRSM_OK;
  if (s->tasks == TASKS_LINES) return spti_structgrid_lines_prepare(plan, &s->lines);
  if (!is_whole(plan, &s->stencil)) {
    SPTI_TRY(spti_alloc(plan->context, &s->present, plan->view.n, sizeof *s->present, "structgrid presence"));
    SPTI_TRY(spti_gpu_stencil_presence(s->present, &plan->view, plan->context, &s->stencil));
  }
  return uses_tiles(s) ? prepare_tiles(plan, s) : SPTRSM_OK;
}

static sptrsm_status update_values(sptrsm_plan *plan) {
  const state *s = plan->state;
  return s->soa ? refresh_soa(plan, s) : SPTRSM_OK;
}

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  if (!s) return;
  spti_free(plan->context, s->order);
  spti_free(plan->context, s->present);
  spti_free(plan->context, s->soa);
  spti_free(plan->context, s->lines.cycles);
  spti_host_free(s);
}

/* ---- per-solve state ---- */

/* Pencils take a tile of right-hand sides at least; where a panel of these is large and nobody says that there are many, panels are of
 * eight: by tiles, or by pencils whose lanes are mostly idle where the stencil leaves tiles earlier. */
static int32_t panel_of(const sptrsm_plan *plan) {
  const state *s = plan->state;
  if (s->tasks == TASKS_TILES || s->tasks == TASKS_LINES) return 0;
  const int32_t panel = spti_structgrid_pencils_panel(plan);
  return uses_pencils(s, panel) && uses_tiles(s) && !spti_structgrid_pencils_tile_fits(plan) ? NARROW_PANEL : panel;
}

typedef struct {
  void *edges;
  int32_t *control;
} tile_arrays;

static tile_arrays carve_tiles(spti_carver *c, const sptrsm_plan *plan, int64_t edges) {
  tile_arrays arrays;
  arrays.edges = spti_carve(c, edges, sptrsm_dtype_bytes(plan->view.dtype));
  arrays.control = spti_carve(c, SPTI_SYNCFREE_CONTROL_WORDS, sizeof *arrays.control);
  return arrays;
}

typedef struct {
  char *memory; /* of the one way or the other */
  int32_t panel;
  int64_t edges; /* values of tiles that it has room for */
} solve_work;

/* Right-hand sides that a block solves. */
static int32_t columns_of(const state *s, int32_t width) { return width < s->tiling.columns ? width : s->tiling.columns; }

/* What tiles tell each other of up to `panel` right-hand sides; -1: more than fits. */
static int64_t edges_of(const state *s, int32_t panel) {
  const int32_t most = s->tasks == TASKS_BY_WIDTH ? spti_structgrid_tiles_most(&s->stencil) : SPTI_STRUCTGRID_COLUMNS;
  const int32_t width = panel < most ? panel : most;
  if (width == 0) return 0;
  const int64_t columns = columns_of(s, width), whole = (width + columns - 1) / columns * columns;
  int64_t values;
  if (__builtin_mul_overflow((int64_t)s->tiling.groups * s->tiling.bands, (int64_t)s->tiling.steps, &values)) return -1;
  if (__builtin_mul_overflow(values, whole * s->tiling.edge, &values)) return -1;
  return values;
}

static sptrsm_status tiles_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  spti_carver c = {0};
  const int64_t edges = edges_of(plan->state, panel);
  SPTI_TRY(spti_bytes(out, edges, sptrsm_dtype_bytes(plan->view.dtype), "structgrid work"));
  carve_tiles(&c, plan, edges);
  *out = c.used;
  return SPTRSM_OK;
}

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  const state *s = plan->state;
  size_t tiles = 0, pencils = 0;
  if (s->tasks == TASKS_LINES) return spti_structgrid_lines_bytes(out, plan, &s->stencil, &s->lines);
  if (plan->view.n > 0 && uses_tiles(s)) SPTI_TRY(tiles_bytes(&tiles, plan, panel));
  if (plan->view.n > 0 && uses_pencils(s, panel)) pencils = spti_structgrid_pencils_bytes(plan, panel, s->kept);
  *out = tiles > pencils ? tiles : pencils;
  return SPTRSM_OK;
}

static void work_free(void *work, const sptrsm_plan *plan) {
  solve_work *w = work;
  if (w) spti_free(plan->context, w->memory);
  spti_host_free(w);
}

static sptrsm_status work_create(void **out, const sptrsm_plan *plan, int32_t panel) {
  const state *s = plan->state;
  size_t bytes;
  solve_work *w;
  SPTI_TRY(work_bytes(&bytes, plan, panel));
  SPTI_TRY(spti_host_alloc(&w, 1, sizeof *w, "structgrid work"));
  *w = (solve_work){.panel = panel, .edges = plan->view.n > 0 && uses_tiles(s) ? edges_of(s, panel) : 0};
  const sptrsm_status status = spti_alloc(plan->context, &w->memory, (int64_t)bytes, 1, "structgrid work");
  if (status == SPTRSM_OK) *out = w;
  else spti_host_free(w);
  return status;
}

/* ---- solve ---- */

static sptrsm_status solve_by_tiles(const sptrsm_plan *plan, const solve_work *w, const spti_transfer *all) {
  const state *s = plan->state;
  const size_t bytes = sptrsm_dtype_bytes(plan->view.dtype);
  spti_carver c = {.base = w->memory};
  const tile_arrays arrays = carve_tiles(&c, plan, w->edges);
  spti_structgrid_args args = args_of(plan, s);
  args.edges = arrays.edges;
  args.sync = spti_gpu_syncfree(plan->context, arrays.control);
  for (int32_t k = 0; k < all->width; k += SPTI_STRUCTGRID_COLUMNS) {
    const int32_t left = all->width - k;
    args.transfer = *all;
    args.transfer.from = spti_end_from(all->from, k, bytes);
    args.transfer.to = spti_end_from(all->to, k, bytes);
    args.transfer.width = left < SPTI_STRUCTGRID_COLUMNS ? left : SPTI_STRUCTGRID_COLUMNS;
    args.columns = columns_of(s, args.transfer.width);
    SPTI_CUDA(spti_structgrid_start_launch(&args, plan->context->stream));
    SPTI_CUDA(spti_structgrid_solve_launch(&args, plan->context->stream));
  }
  return SPTRSM_OK;
}

static sptrsm_status solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *all) {
  const state *s = plan->state;
  const solve_work *w = work;
  if (plan->view.n == 0 || all->width == 0) return SPTRSM_OK;
  if (s->tasks == TASKS_LINES) return spti_structgrid_lines_solve(plan, &s->stencil, &s->lines, w->memory, all);
  if (uses_pencils(s, all->width)) return spti_structgrid_pencils_solve(plan, &s->stencil, s->present, w->memory, w->panel, s->kept, all);
  return solve_by_tiles(plan, w, all);
}

/* Pencils read again what other lines have solved. */
static bool writes_to(const sptrsm_plan *plan, const spti_end *to, int32_t width) {
  return !uses_pencils(plan->state, width) || spti_structgrid_pencils_can_read(to, width);
}

static void describe_lines(const sptrsm_plan *plan, char *out, size_t room) {
  const spti_structgrid_lines *l = &((const state *)plan->state)->lines;
  const double waited = spti_structgrid_lines_waited(plan, l);
  const int used = snprintf(out, room, " tasks=lines map=%s state=%s poll=%s warps=%d", map_names[l->stream], state_names[l->by_line],
                            poll_names[l->acquire], l->warps);
  if (waited >= 0 && used > 0 && (size_t)used < room) snprintf(out + used, room - (size_t)used, " waited=%.1f%%", waited);
}

/* Of tiles, pencils, or both. */
static void describe_tasks(const state *s, char *out, size_t room) {
  char kept[24] = "";
  const char *missing = s->present ? " entries=missing" : "";
  if (s->tasks != TASKS_TILES) snprintf(kept, sizeof kept, " kept=%d", s->kept);
  if (!uses_tiles(s)) snprintf(out, room, " tasks=pencils%s%s", kept, missing);
  else snprintf(out, room, " layout=%s%s%s%s", layout_names[s->layout], s->tasks == TASKS_TILES ? " tasks=tiles" : "", kept, missing);
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const int32_t *grid = s->stencil.grid;
  int at = snprintf(info->parameters, sizeof info->parameters, "stencil=%s grid=%d,%d,%d", s->stencil.name ? s->stencil.name : "none",
                    grid[0], grid[1], grid[2]);
  if (at < 0 || (size_t)at >= sizeof info->parameters) at = 0;
  if (s->tasks == TASKS_LINES) describe_lines(plan, info->parameters + at, sizeof info->parameters - (size_t)at);
  else describe_tasks(s, info->parameters + at, sizeof info->parameters - (size_t)at);
  info->plan_bytes =
      sizeof *s + s->soa_bytes + 2 * (size_t)s->tiles * sizeof *s->order + (s->present ? (size_t)plan->view.n * sizeof *s->present : 0);
}

const spti_method spti_method_structgrid = {
    .name = "structgrid",
    .summary = "stencils on grids without level sets: tiles of staggered grid lines, a row of each in a step",
    .cite = "chen2023structured",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_CAPTURABLE | SPTI_VARIANTS,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .panel = panel_of,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = work_free,
    .solve_between = solve_between,
    .writes_to = writes_to,
};
