/* stencil_gpu.c -- see stencil_gpu.h. One row is looked at to guess a stencil, one pass over the pattern checks it. */
#include "core/stencil_gpu.h"

#include <string.h>

#include "core/alloc.h"
#include "core/gpu.h"
#include "core/stencil_kernels.h"

static sptrsm_status to_host(const sptrsm_plan *plan, void *to, const void *from, int64_t count, size_t bytes) {
  const size_t all = (size_t)count * bytes;
  return spti_gpu_copy(plan->context, to, all, from, all, all, 1, SPTI_TO_HOST);
}

/* Positions from row i's neighbours to it, ascending as those of the last row; *count above SPTI_STENCIL_ENTRIES: there are too many. */
static sptrsm_status distances_of(int32_t distance[SPTI_STENCIL_ENTRIES], int64_t *count, const sptrsm_plan *plan, int32_t i) {
  const spti_view *v = &plan->view;
  int64_t ends[2];
  int32_t column[SPTI_STENCIL_ENTRIES];
  SPTI_TRY(to_host(plan, ends, v->ptr + i, 2, sizeof *ends));
  *count = ends[1] - ends[0] - v->head - v->tail;
  if (*count > SPTI_STENCIL_ENTRIES) return SPTRSM_OK;
  SPTI_TRY(to_host(plan, column, v->idx + ends[0] + v->head, *count, sizeof *column));
  for (int64_t e = 0; e < *count; e++) distance[e] = v->backward ? column[e] - i : i - column[*count - 1 - e];
  return SPTRSM_OK;
}

sptrsm_status spti_plan_stencil_shown(spti_stencil *out, const sptrsm_plan *plan) {
  const sptrsm_options *o = &plan->options;
  const int32_t n = plan->view.n, last = plan->view.backward ? 0 : n - 1;
  int32_t distance[SPTI_STENCIL_ENTRIES];
  int64_t count;
  *out = (spti_stencil){0};
  if (*o->stencil) return spti_stencil_named(out, o->stencil, o->grid, n);
  if (n == 0) return SPTRSM_OK;
  SPTI_TRY(distances_of(distance, &count, plan, last));
  if (count <= SPTI_STENCIL_ENTRIES) spti_stencil_guess(out, n, distance, (int)count);
  return SPTRSM_OK;
}

static sptrsm_status launch_check(const sptrsm_plan *plan, const spti_stencil *s, int32_t *strange, int32_t *present) {
  spti_stencil_check_args args = {.view = plan->view, .strange = strange, .present = present};
  memcpy(args.grid, s->grid, sizeof args.grid);
  args.count = spti_stencil_offsets(args.offset, s);
  SPTI_CUDA(spti_stencil_check_launch(&args, plan->context->stream));
  return SPTRSM_OK;
}

/* 0, or n - i of the first row that is not the stencil's. */
static sptrsm_status find_strange(int32_t *out, const sptrsm_plan *plan, const spti_stencil *s) {
  static const int32_t none = 0;
  int32_t *strange, *pinned = plan->context->pinned;
  SPTI_TRY(spti_alloc(plan->context, &strange, 1, sizeof *strange, "stencil check"));
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_gpu_copy(plan->context, strange, sizeof none, &none, sizeof none, sizeof none, 1, SPTI_TO_DEVICE));
  SPTI_TRY_GOTO(launch_check(plan, s, strange, NULL));
  SPTI_TRY_GOTO(to_host(plan, pinned, strange, 1, sizeof *strange));
  *out = *pinned;
fail:
  spti_free(plan->context, strange);
  return status;
}

sptrsm_status spti_plan_stencil(spti_stencil *out, const sptrsm_plan *plan) {
  const int32_t n = plan->view.n;
  int32_t strange;
  spti_stencil s;
  SPTI_TRY(spti_plan_stencil_shown(&s, plan));
  if (n == 0) {
    *out = s;
    return SPTRSM_OK;
  }
  if (!s.name)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                     "row %d and its neighbours are not the corner of a stencil's grid; say grid and stencil, or use another method",
                     plan->view.backward ? 0 : n - 1);
  SPTI_TRY(find_strange(&strange, plan, &s));
  if (strange)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                     "row %d has an entry that is not in stencil %s on a grid of %d x %d x %d; mend grid and stencil, "
                     "or use another method",
                     n - strange, s.name, s.grid[0], s.grid[1], s.grid[2]);
  *out = s;
  return SPTRSM_OK;
}

sptrsm_status spti_stencil_presence(int32_t *present, const sptrsm_plan *plan, const spti_stencil *s) {
  return launch_check(plan, s, NULL, present);
}
