/* method.c -- structgrid-lines: a triangle that is a stencil on a structured grid, solved as published, a warp to each grid line.
 * A grid line (y, z) is the X rows s = x + y X + z X Y of a grid with that y and z; lines (planes z) are tasks of warps (queues).
 * Parameters select parts of the published algorithm; kernels.cu explains map, state and poll and solves the lines.
 *   map=stream|row, state=line|row, poll=acquire|relaxed    defaults first: the algorithm as published
 *   warps=64    warps of each plane, 1 to 65536
 *   clock=1     count the cycles that warps wait; sptrsm_info then says the percentage, "waited="
 * Source: [chen2023structured] Algorithm 2, figures 6 and 7. Kept as a reference: structgrid solves the same triangles faster.
 * Requires a stored diagonal, which marks the ends of rows, and at most INT32_MAX - 64 entries.
 * Deterministic: yes. Right-hand sides are solved one after another. */
#include <stdio.h>

#include "core/base/carve.h"
#include "core/base/variant.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/method.h"
#include "trsv/structgrid/grid.h"
#include "trsv/structgrid/lines/kernels.h"

static const char *const map_names[] = {"row", "stream", NULL}, *const state_names[] = {"row", "line", NULL};
static const char *const poll_names[] = {"relaxed", "acquire", NULL};
enum { PUBLISHED_WARPS = 64, WARPS_MOST = 1 << 16 }; /* of a plane */
enum { ENTRIES_MOST = INT32_MAX - 64 };              /* one line may have all entries; the kernel looks two batches beyond its end */

typedef struct {
  spti_stencil stencil;                           /* no name: n is 0 */
  int32_t stream, by_line, acquire, warps, clock; /* map, state and poll as places in their lists of names; clock: count cycles */
  double *cycles; /* [2] in device memory, of all warps in all solves: in waits, and in all; NULL: not counted */
} state;

/* ---- analysis ---- */

static sptrsm_status make_cycles(const sptrsm_plan *plan, state *s) {
  static const double none[2];
  SPTI_TRY(spti_alloc(plan->context, &s->cycles, 2, sizeof *s->cycles, "structgrid-lines cycles"));
  return spti_gpu_copy(plan->context, s->cycles, sizeof none, none, sizeof none, sizeof none, 1, SPTI_TO_DEVICE);
}

static sptrsm_status check_entries(const spti_view *v) {
  if (v->nnz > ENTRIES_MOST)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "structgrid-lines: %lld entries, more than %d; use structgrid", (long long)v->nnz,
                     ENTRIES_MOST);
  if (v->head || v->tail) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                   "structgrid-lines finds the ends of rows by their diagonals, and %d rows store none; use structgrid", v->n);
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  state *s;
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "structgrid-lines state"));
  *s = (state){.stream = 1, .by_line = 1, .acquire = 1, .warps = PUBLISHED_WARPS};
  plan->state = s;
  const spti_setting known[] = {{"map", &s->stream, 0, 0, map_names},
                                {"state", &s->by_line, 0, 0, state_names},
                                {"poll", &s->acquire, 0, 0, poll_names},
                                {"warps", &s->warps, 1, WARPS_MOST, NULL},
                                {"clock", &s->clock, 0, 1, NULL}};
  SPTI_TRY(spti_variant_parse("structgrid-lines", plan->variant, known, (int)(sizeof known / sizeof *known)));
  SPTI_TRY(spti_structgrid_find(&s->stencil, plan, "structgrid-lines"));
  if (plan->view.n == 0) return SPTRSM_OK;
  SPTI_TRY(check_entries(&plan->view));
  return s->clock ? make_cycles(plan, s) : SPTRSM_OK;
}

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  spti_free(plan->context, s->cycles);
  spti_host_free(s);
}

/* ---- per-solve state: one allocation in device memory ---- */

static spti_structgrid_lines_args carve(spti_carver *c, const sptrsm_plan *plan) {
  const state *s = plan->state;
  const int32_t *grid = s->stencil.grid;
  spti_structgrid_lines_args args = {.view = plan->view,
                                     .grid = {grid[0], grid[1], grid[2]},
                                     .map_stream = s->stream,
                                     .state_by_line = s->by_line,
                                     .acquire_polls = s->acquire,
                                     .warps = s->warps < grid[1] ? s->warps : grid[1],
                                     .states = s->by_line ? (int64_t)grid[1] * grid[2] : plan->view.n,
                                     .cycles = s->cycles};
  args.x = spti_carve(c, plan->view.n, sptrsm_dtype_bytes(plan->view.dtype));
  args.state = spti_carve(c, args.states, sizeof *args.state);
  args.queue = spti_carve(c, grid[2], sizeof *args.queue);
  args.sync = spti_gpu_syncfree(plan->context, spti_carve(c, SPTI_SYNCFREE_CONTROL_WORDS, sizeof *args.sync.control));
  return args;
}

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  (void)panel;
  spti_carver c = {0};
  size_t solution;
  SPTI_TRY(spti_bytes(&solution, plan->view.n, sptrsm_dtype_bytes(plan->view.dtype), "structgrid-lines work"));
  carve(&c, plan);
  *out = c.used;
  return SPTRSM_OK;
}

static sptrsm_status work_create(void **out, const sptrsm_plan *plan, int32_t panel) {
  size_t bytes;
  SPTI_TRY(work_bytes(&bytes, plan, panel));
  return spti_alloc(plan->context, out, (int64_t)bytes, 1, "structgrid-lines work");
}

static void work_free(void *work, const sptrsm_plan *plan) { spti_free(plan->context, work); }

/* ---- solve ---- */

static sptrsm_status solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *all) {
  if (plan->view.n == 0) return SPTRSM_OK;
  spti_carver c = {.base = work};
  spti_structgrid_lines_args args = carve(&c, plan);
  const size_t bytes = sptrsm_dtype_bytes(plan->view.dtype);
  for (int32_t k = 0; k < all->width; k++) {
    args.transfer = *all;
    args.transfer.from = spti_end_from(all->from, k, bytes);
    args.transfer.to = spti_end_from(all->to, k, bytes);
    SPTI_CUDA(spti_structgrid_lines_start_launch(&args, plan->context->stream));
    SPTI_CUDA(spti_structgrid_lines_solve_launch(&args, plan->context->stream));
  }
  return SPTRSM_OK;
}

/* Of the warps' time in all solves until now, the percentage in waits; -1: not known. Waits for the device. */
static double waited(const sptrsm_plan *plan) {
  const state *s = plan->state;
  double cycles[2] = {0, 0};
  if (!s->cycles || spti_gpu_copy(plan->context, cycles, sizeof cycles, s->cycles, sizeof cycles, sizeof cycles, 1, SPTI_TO_HOST))
    return -1;
  return cycles[1] > 0 ? 100 * cycles[0] / cycles[1] : -1;
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const size_t at = spti_structgrid_describe(info->parameters, sizeof info->parameters, &s->stencil), room = sizeof info->parameters - at;
  const double percent = waited(plan);
  const int used = snprintf(info->parameters + at, room, " map=%s state=%s poll=%s warps=%d", map_names[s->stream], state_names[s->by_line],
                            poll_names[s->acquire], s->warps);
  if (percent >= 0 && used > 0 && (size_t)used < room)
    snprintf(info->parameters + at + used, room - (size_t)used, " waited=%.1f%%", percent);
  info->plan_bytes = sizeof *s + (s->cycles ? 2 * sizeof *s->cycles : 0);
}

const spti_method spti_method_structgrid_lines = {
    .name = "structgrid-lines",
    .summary = "stencils on grids as published, to compare structgrid with: a warp solves a grid line row by row",
    .cite = "chen2023structured",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_CAPTURABLE | SPTI_VARIANTS | SPTI_REFERENCE,
    .analyse = analyse,
    .free = release,
    .describe = describe,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = work_free,
    .solve_between = solve_between,
};
