/* structgrid -- structured grids without preprocessing: lines of the grid are solved side by side, one behind the other.
 * x(s) = (b(s) - sum over the stencil's points r before s of t(s,r) x(r)) / t(s,s), with s = x + y X + z X Y.
 * Source: [chen2023structured]: grid lines as tasks, a queue for each plane z with lower y first, warps for a queue, the matrix read ahead
 * of the dependencies, no analysis but a look at the pattern. Differs: a warp has up to 32 lines instead of one, staggered so that what a
 * line needs of the one before was solved a step ago in the neighbouring lane; what it needs of other warps is its own flag, so there is
 * no state of lines to be released and acquired; several right-hand sides side by side; column indices are read by the check alone, since
 * for a known stencil they say nothing; values may be kept by stencil entry (layout=soa). structgrid_solve.cuh has the kernel.
 * Wins: triangles of ILU(0) and the like on grids that are solved a few times: 1.4 times as fast as SpSV, after a check of 0.04 to 0.8 ms.
 * Loses: to syncfree-csr where many solves pay for its level sets, to gather for many right-hand sides; refuses all else.
 * Deterministic: yes, for every panel width and layout. */
#include <stdio.h>

#include "core/alloc.h"
#include "core/carve.h"
#include "core/gpu.h"
#include "core/method.h"
#include "core/stencil_gpu.h"
#include "core/variant.h"
#include "trsv/structgrid_kernels.h"

typedef enum { LAYOUT_CSR, LAYOUT_SOA } layout;
static const char *const layout_names[] = {"csr", "soa", NULL};

typedef struct {
  spti_stencil stencil; /* no name: n is 0 */
  int32_t layout, workers;
  int32_t *present; /* [n], or NULL: rows have all that the grid allows */
  void *soa;        /* layout=soa */
  size_t soa_bytes;
} state;

/* ---- analysis ---- */

static spti_structgrid_args args_of(const sptrsm_plan *plan, const state *s) {
  return (spti_structgrid_args){.view = plan->view, .stencil = s->stencil, .present = s->present, .soa = s->soa};
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
  sptrsm_status status = spti_stencil_presence(present, plan, &s->stencil);
  if (status == SPTRSM_OK) status = fill_soa(plan, s, present);
  spti_free(plan->context, present);
  return status;
}

static sptrsm_status make_soa(const sptrsm_plan *plan, state *s) {
  const int64_t lines = spti_structgrid_groups(&s->stencil) * spti_structgrid_group(&s->stencil) * s->stencil.grid[2];
  const int64_t values = spti_structgrid_entries(&s->stencil) + (plan->view.head || plan->view.tail);
  const size_t bytes = sptrsm_dtype_bytes(plan->view.dtype);
  SPTI_TRY(spti_bytes(&s->soa_bytes, lines * s->stencil.grid[0] * values, bytes, "structgrid values by entry"));
  SPTI_TRY(spti_alloc(plan->context, &s->soa, (int64_t)s->soa_bytes, 1, "structgrid values by entry"));
  return refresh_soa(plan, s);
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  state *s;
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "structgrid state"));
  *s = (state){.layout = LAYOUT_CSR};
  plan->state = s;
  const spti_setting known[] = {{"layout", &s->layout, 0, 0, layout_names}, {"workers", &s->workers, 1, INT32_MAX, NULL}};
  SPTI_TRY(spti_variant_parse("structgrid", plan->variant, known, (int)(sizeof known / sizeof *known)));
  SPTI_TRY(spti_plan_stencil(&s->stencil, plan));
  if (plan->view.n == 0) return SPTRSM_OK;
  if (!is_whole(plan, &s->stencil)) {
    SPTI_TRY(spti_alloc(plan->context, &s->present, plan->view.n, sizeof *s->present, "structgrid presence"));
    SPTI_TRY(spti_stencil_presence(s->present, plan, &s->stencil));
  }
  return s->layout == LAYOUT_SOA ? make_soa(plan, s) : SPTRSM_OK;
}

static sptrsm_status update_values(sptrsm_plan *plan) {
  const state *s = plan->state;
  return s->soa ? refresh_soa(plan, s) : SPTRSM_OK;
}

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  if (!s) return;
  spti_free(plan->context, s->present);
  spti_free(plan->context, s->soa);
  spti_host_free(s);
}

/* ---- per-solve state ---- */

/* Lanes that a line gets: one for each right-hand side, a power of two. */
static int32_t lanes_log(int32_t columns) {
  int32_t log = 0;
  while (1 << log < columns && 1 << log < SPTI_STRUCTGRID_COLUMNS) log++;
  return log;
}

typedef struct {
  void *values;
  int32_t *queue, *control;
} solve_arrays;

static solve_arrays carve(spti_carver *c, const sptrsm_plan *plan, int64_t values) {
  const state *s = plan->state;
  solve_arrays arrays;
  arrays.values = spti_carve(c, values, sptrsm_dtype_bytes(plan->view.dtype));
  arrays.queue = spti_carve(c, s->stencil.grid[2], sizeof *arrays.queue);
  arrays.control = spti_carve(c, SPTI_SYNCFREE_CONTROL_WORDS, sizeof *arrays.control);
  return arrays;
}

typedef struct {
  char *memory;
  int64_t values; /* that it has room for */
} solve_work;

static int64_t values_of(const sptrsm_plan *plan, int32_t panel) { return (int64_t)plan->view.n << lanes_log(panel); }

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  spti_carver c = {0};
  SPTI_TRY(spti_bytes(out, values_of(plan, panel), sptrsm_dtype_bytes(plan->view.dtype), "structgrid work"));
  carve(&c, plan, values_of(plan, panel));
  *out = c.used;
  return SPTRSM_OK;
}

static void work_free(void *work, const sptrsm_plan *plan) {
  solve_work *w = work;
  if (w) spti_free(plan->context, w->memory);
  spti_host_free(w);
}

static sptrsm_status work_create(void **out, const sptrsm_plan *plan, int32_t panel) {
  size_t bytes;
  solve_work *w;
  SPTI_TRY(work_bytes(&bytes, plan, panel));
  SPTI_TRY(spti_host_alloc(&w, 1, sizeof *w, "structgrid work"));
  *w = (solve_work){.values = values_of(plan, panel)};
  const sptrsm_status status = spti_alloc(plan->context, &w->memory, (int64_t)bytes, 1, "structgrid work");
  if (status == SPTRSM_OK) *out = w;
  else spti_host_free(w);
  return status;
}

/* ---- solve ---- */

/* Warps for a plane: as many as have work at the same time. A warp has steps for all rows of its lines, and the next one begins when the
 * last of its lines does; one more, so that the next lines are waited for in time. */
static int32_t workers_of(const state *s, int32_t log) {
  const int64_t lines = 32 >> log, skew = spti_structgrid_skew(&s->stencil), bands = (s->stencil.grid[1] + 2 * lines - 2) / lines;
  const int64_t steps = s->stencil.grid[0] + skew * (lines - 1), overlap = (steps + skew * lines - 1) / (skew * lines) + 1;
  const int64_t wanted = s->workers > 0 ? s->workers : overlap;
  return (int32_t)(wanted < bands ? wanted : bands);
}

static spti_end end_from(spti_end end, int64_t column, size_t bytes) {
  end.data = (char *)end.data + column * end.col_stride * (int64_t)bytes;
  return end;
}

static sptrsm_status solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *all) {
  const state *s = plan->state;
  const solve_work *w = work;
  const size_t bytes = sptrsm_dtype_bytes(plan->view.dtype);
  spti_carver c = {.base = w->memory};
  if (plan->view.n == 0) return SPTRSM_OK;
  const solve_arrays arrays = carve(&c, plan, w->values);
  spti_structgrid_args args = args_of(plan, s);
  args.work = arrays.values;
  args.queue = arrays.queue;
  args.sync = (spti_syncfree){.control = arrays.control, .lost = plan->context->lost_device, .spin_limit = plan->context->spin_limit};
  for (int32_t k = 0; k < all->width; k += SPTI_STRUCTGRID_COLUMNS) {
    const int32_t left = all->width - k;
    args.transfer = *all;
    args.transfer.from = end_from(all->from, k, bytes);
    args.transfer.to = end_from(all->to, k, bytes);
    args.transfer.width = left < SPTI_STRUCTGRID_COLUMNS ? left : SPTI_STRUCTGRID_COLUMNS;
    args.lanes_log = lanes_log(args.transfer.width);
    args.workers = workers_of(s, args.lanes_log);
    SPTI_CUDA(spti_structgrid_start_launch(&args, plan->context->stream));
    SPTI_CUDA(spti_structgrid_solve_launch(&args, plan->context->stream));
  }
  return SPTRSM_OK;
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const int32_t *grid = s->stencil.grid;
  snprintf(info->parameters, sizeof info->parameters, "stencil=%s grid=%d,%d,%d layout=%s%s", s->stencil.name ? s->stencil.name : "none",
           grid[0], grid[1], grid[2], layout_names[s->layout], s->present ? " entries=missing" : "");
  info->plan_bytes = sizeof *s + s->soa_bytes + (s->present ? (size_t)plan->view.n * sizeof *s->present : 0);
}

const spti_method spti_method_structgrid = {
    .name = "structgrid",
    .summary = "stencils on grids without preprocessing: staggered lines of the grid, a warp for up to 32",
    .cite = "chen2023structured",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_CAPTURABLE | SPTI_VARIANTS,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = work_free,
    .solve_between = solve_between,
};
