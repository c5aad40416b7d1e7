/* lines.c -- see lines.h; kernels.cu says how lines are solved. */
#include "trsv/structgrid/lines/lines.h"

#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/method.h"
#include "trsv/structgrid/lines/kernels.h"

enum { ENTRIES_MOST = INT32_MAX - 64 }; /* a line may have all of them, and two batches are looked at beyond its end */

static sptrsm_status make_cycles(const sptrsm_plan *plan, spti_structgrid_lines *l) {
  static const double none[2];
  SPTI_TRY(spti_alloc(plan->context, &l->cycles, 2, sizeof *l->cycles, "structgrid cycles"));
  return spti_gpu_copy(plan->context, l->cycles, sizeof none, none, sizeof none, sizeof none, 1, SPTI_TO_DEVICE);
}

double spti_structgrid_lines_waited(const sptrsm_plan *plan, const spti_structgrid_lines *l) {
  double cycles[2] = {0, 0};
  if (!l->cycles || spti_gpu_copy(plan->context, cycles, sizeof cycles, l->cycles, sizeof cycles, sizeof cycles, 1, SPTI_TO_HOST))
    return -1;
  return cycles[1] > 0 ? 100 * cycles[0] / cycles[1] : -1;
}

sptrsm_status spti_structgrid_lines_prepare(const sptrsm_plan *plan, spti_structgrid_lines *l) {
  const spti_view *v = &plan->view;
  if (v->nnz > ENTRIES_MOST)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "structgrid:tasks=lines: %lld entries, more than %d; use tasks=tiles", (long long)v->nnz,
                     ENTRIES_MOST);
  if ((v->head || v->tail) && !l->clock) return SPTRSM_OK;
  if (v->head || v->tail) return make_cycles(plan, l);
  return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                   "structgrid:tasks=lines finds the ends of rows by their diagonals, and %d rows store none; use tasks=tiles", v->n);
}

static int64_t states_of(const sptrsm_plan *plan, const spti_stencil *s, const spti_structgrid_lines *l) {
  return l->by_line ? (int64_t)s->grid[1] * s->grid[2] : plan->view.n;
}

static spti_structgrid_lines_args carve(spti_carver *c, const sptrsm_plan *plan, const spti_stencil *s, const spti_structgrid_lines *l) {
  spti_structgrid_lines_args args = {.view = plan->view,
                                     .grid = {s->grid[0], s->grid[1], s->grid[2]},
                                     .map_stream = l->stream,
                                     .state_by_line = l->by_line,
                                     .acquire_polls = l->acquire,
                                     .warps = l->warps < s->grid[1] ? l->warps : s->grid[1],
                                     .states = states_of(plan, s, l),
                                     .cycles = l->cycles};
  args.x = spti_carve(c, plan->view.n, sptrsm_dtype_bytes(plan->view.dtype));
  args.state = spti_carve(c, args.states, sizeof *args.state);
  args.queue = spti_carve(c, s->grid[2], sizeof *args.queue);
  args.sync = (spti_syncfree){.control = spti_carve(c, SPTI_SYNCFREE_CONTROL_WORDS, sizeof *args.sync.control),
                              .lost = plan->context->lost_device,
                              .spin_limit = plan->context->spin_limit};
  return args;
}

sptrsm_status spti_structgrid_lines_bytes(size_t *out, const sptrsm_plan *plan, const spti_stencil *s, const spti_structgrid_lines *l) {
  spti_carver c = {0};
  SPTI_TRY(spti_bytes(out, plan->view.n, sptrsm_dtype_bytes(plan->view.dtype), "structgrid work"));
  carve(&c, plan, s, l);
  *out = c.used;
  return SPTRSM_OK;
}

sptrsm_status spti_structgrid_lines_solve(const sptrsm_plan *plan, const spti_stencil *s, const spti_structgrid_lines *l, void *memory,
                                          const spti_transfer *all) {
  spti_carver c = {.base = memory};
  spti_structgrid_lines_args args = carve(&c, plan, s, l);
  const size_t bytes = sptrsm_dtype_bytes(plan->view.dtype);
  for (int32_t k = 0; k < all->width; k++) {
    args.transfer = *all;
    args.transfer.width = 1;
    args.transfer.from = spti_end_from(all->from, k, bytes);
    args.transfer.to = spti_end_from(all->to, k, bytes);
    SPTI_CUDA(spti_structgrid_lines_start_launch(&args, plan->context->stream));
    SPTI_CUDA(spti_structgrid_lines_solve_launch(&args, plan->context->stream));
  }
  return SPTRSM_OK;
}
