/* method.c -- structgrid: a triangle that is a stencil on a structured grid, solved without level sets.
 *     x(s) = (b(s) - sum over the stencil's points r before s of t(s,r) x(r)) / t(s,s),  s = x + y X + z X Y
 * Two kernels make the same bits; the number of right-hand sides and the grid decide which one solves (tiles/order.h):
 *   tiles    few right-hand sides: a thread block solves a tile of 32 grid lines of each of four planes, one row of each line in a
 *            step; each line is a step or two behind its neighbour, so that all solutions that a row needs are in shared memory.
 *            Other warps of the block copy data; solutions of other tiles are their own flags. tiles/solve.cuh has the kernel. Devices
 *            whose blocks have too little shared memory for a tile leave all to pencils.
 *   pencils  more right-hand sides: a warp solves a grid line, a lane for each right-hand side. pencils/solve.cuh has the kernel.
 * Tiles read the matrix's values from a copy by tile, step and stencil entry (layout=soa), which the analysis makes, or from the matrix
 * (layout=csr). Only the check of the pattern reads column indices.
 * Source: [chen2023structured], whose algorithm is the method structgrid-lines (lines/method.c). README.md compares them.
 * Wins: triangles of ILU(0) and the like on grids. Loses: to gather for blocks on the smallest grids; on grids that are short in two
 * directions; refuses what is no stencil. Deterministic: yes, for every panel width and layout. */
#include <stdio.h>

#include "core/base/carve.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/method.h"
#include "core/stencil/gpu.h"
#include "core/base/variant.h"
#include "trsv/structgrid/grid.h"
#include "trsv/structgrid/pencils/pencils.h"
#include "trsv/structgrid/tiles/kernels.h"
#include "trsv/structgrid/tiles/order.h"

typedef enum { LAYOUT_CSR, LAYOUT_SOA } layout;
typedef enum { TASKS_TILES, TASKS_PENCILS, TASKS_BY_WIDTH } tasks;
static const char *const layout_names[] = {"csr", "soa", NULL}, *const task_names[] = {"tiles", "pencils", NULL};
enum { KEPT_MOST = 256 };  /* MiB */
enum { NARROW_PANEL = 8 }; /* right-hand sides of a panel where one for pencils would take more than its bound in bytes */
enum { LONE_MOST = 2 };    /* right-hand sides for which pencils may be slower than methods that `auto` takes after this one */

typedef struct {
  spti_stencil stencil; /* no name: n is 0 */
  spti_structgrid_tiling tiling;
  int32_t layout, tasks; /* of the enums above */
  int32_t tiles;         /* number of tiles */
  int32_t kept;          /* MiB of right-hand sides that pencils copy before they solve in place */
  int32_t *order;        /* [tiles][2]: group and band of each tile, in an order in which they can be solved */
  int32_t *present;      /* [n]: the entries of each row, as bits; NULL: rows have all that the grid allows */
  void *soa;             /* layout=soa: the values by tile, step and stencil entry */
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
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "structgrid: %lld tiles of grid lines, more than %d; use another method", (long long)tiles,
                     INT32_MAX / 2);
  s->tiles = (int32_t)tiles;
  SPTI_TRY(spti_alloc(plan->context, &s->order, 2 * tiles, sizeof *s->order, "structgrid order"));
  SPTI_TRY(spti_host_alloc(&order, 2 * tiles, sizeof *order, "structgrid order"));
  spti_structgrid_list_tiles(&s->stencil, &s->tiling, order);
  const sptrsm_status status = spti_gpu_copy(plan->context, s->order, bytes, order, bytes, bytes, 1, SPTI_TO_DEVICE);
  spti_host_free(order);
  return status;
}

/* Whether pencils, not tiles, solve a panel of that width. */
static bool uses_pencils(const state *s, int32_t width) {
  return s->tasks == TASKS_PENCILS || (s->tasks == TASKS_BY_WIDTH && width > spti_structgrid_tiles_most(&s->stencil));
}
/* Whether some solve may be by tiles. */
static bool uses_tiles(const state *s) { return s->tasks == TASKS_TILES || s->tasks == TASKS_BY_WIDTH; }

/* Pencils alone where the hint exceeds what tiles solve, or thread blocks have too little shared memory for a tile. */
static sptrsm_status choose_tasks(const sptrsm_plan *plan, state *s) {
  const size_t bytes = plan->context->shared_bytes;
  const int64_t hint = plan->options.nrhs_hint;
  const bool others_first = plan->automatic && hint > 0 && hint <= LONE_MOST, fits = bytes >= SPTI_STRUCTGRID_SHARED;
  if (s->tasks == TASKS_BY_WIDTH && (hint > spti_structgrid_tiles_most(&s->stencil) || (!fits && !others_first))) s->tasks = TASKS_PENCILS;
  if (fits || !uses_tiles(s)) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                   "structgrid: a tile needs %d bytes of shared memory, a thread block of this device has up to %zu; use tasks=pencils or "
                   "another method",
                   SPTI_STRUCTGRID_SHARED, bytes);
}

/* Whether the rows have all entries that the grid allows. */
static bool is_whole(const sptrsm_plan *plan, const spti_stencil *s) {
  const spti_view *v = &plan->view;
  return v->nnz - (v->head || v->tail ? v->n : 0) == spti_stencil_entries(s);
}

/* Fills s->soa; `present` [n] says which entries the rows have. */
static sptrsm_status fill_soa(const sptrsm_plan *plan, const state *s, const int32_t *present) {
  spti_structgrid_args args = args_of(plan, s);
  args.present = present;
  SPTI_CUDA(spti_structgrid_soa_launch(&args, plan->context->stream));
  return SPTRSM_OK;
}

/* The kernel needs `present` even where rows have all entries; then it is made here and freed again. */
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
  s->tiling = spti_structgrid_tiling_of(&s->stencil, plan->view.dtype);
  SPTI_TRY(make_order(plan, s));
  if (s->present) s->layout = LAYOUT_SOA;
  return s->layout == LAYOUT_SOA ? make_soa(plan, s) : SPTRSM_OK;
}

static sptrsm_status read_parameters(const sptrsm_plan *plan, state *s) {
  const spti_setting known[] = {
      {"layout", &s->layout, 0, 0, layout_names}, {"tasks", &s->tasks, 0, 0, task_names}, {"kept", &s->kept, 0, 1 << 20, NULL}};
  return spti_variant_parse("structgrid", plan->variant, known, (int)(sizeof known / sizeof *known));
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  state *s;
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "structgrid state"));
  *s = (state){.layout = LAYOUT_SOA, .tasks = TASKS_BY_WIDTH, .kept = KEPT_MOST};
  plan->state = s;
  SPTI_TRY(read_parameters(plan, s));
  SPTI_TRY(spti_structgrid_find(&s->stencil, plan, "structgrid"));
  if (plan->view.n == 0) return SPTRSM_OK;
  SPTI_TRY(choose_tasks(plan, s));
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
  spti_free(plan->context, s->order);
  spti_free(plan->context, s->present);
  spti_free(plan->context, s->soa);
  spti_host_free(s);
}

/* ---- per-solve state ---- */

/* Right-hand sides of a panel; 0 leaves them to the core. Pencils take 32 at least, or as many as
 * the hint says. Where even 32 exceed the bound of a panel in bytes
 * and the hint promises no more than tiles solve, panels have eight right-hand sides: solved by tiles, or by pencils with mostly idle
 * lanes where the stencil changes to pencils below eight. */
static int32_t panel_of(const sptrsm_plan *plan) {
  const state *s = plan->state;
  if (s->tasks == TASKS_TILES) return 0;
  const int32_t panel = spti_structgrid_pencils_panel(plan);
  return uses_pencils(s, panel) && uses_tiles(s) && !spti_structgrid_pencils_tile_fits(plan) ? NARROW_PANEL : panel;
}

typedef struct {
  void *edges; /* values that tiles publish for each other */
  int32_t *control;
} tile_arrays;

static tile_arrays carve_tiles(spti_carver *c, const sptrsm_plan *plan, int64_t edges) {
  tile_arrays arrays;
  arrays.edges = spti_carve(c, edges, sptrsm_dtype_bytes(plan->view.dtype));
  arrays.control = spti_carve(c, SPTI_SYNCFREE_CONTROL_WORDS, sizeof *arrays.control);
  return arrays;
}

typedef struct {
  char *memory; /* for tiles or for pencils, device memory */
  int32_t panel;
  int64_t edges; /* length of tile_arrays.edges */
} solve_work;

/* Right-hand sides that a thread block solves in a panel of that width. */
static int32_t columns_of(const state *s, int32_t width) { return width < s->tiling.columns ? width : s->tiling.columns; }

/* Values that tiles publish for each other with up to `panel` right-hand sides; -1: more than 64 bits hold. */
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
  if (uses_pencils(s, all->width)) return spti_structgrid_pencils_solve(plan, &s->stencil, s->present, w->memory, w->panel, s->kept, all);
  return solve_by_tiles(plan, w, all);
}

/* Pencils read the solutions of other lines where they were written, so X must be readable there. */
static bool writes_to(const sptrsm_plan *plan, const spti_end *to, int32_t width) {
  return !uses_pencils(plan->state, width) || spti_structgrid_pencils_can_read(to, width);
}

/* The parameters in force, behind the stencil. */
static void describe_tasks(const state *s, char *out, size_t room) {
  char kept[24] = "";
  const char *missing = s->present ? " entries=missing" : "";
  if (s->tasks != TASKS_TILES) snprintf(kept, sizeof kept, " kept=%d", s->kept);
  if (!uses_tiles(s)) snprintf(out, room, " tasks=pencils%s%s", kept, missing);
  else snprintf(out, room, " layout=%s%s%s%s", layout_names[s->layout], s->tasks == TASKS_TILES ? " tasks=tiles" : "", kept, missing);
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const size_t at = spti_structgrid_describe(info->parameters, sizeof info->parameters, &s->stencil);
  describe_tasks(s, info->parameters + at, sizeof info->parameters - at);
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
