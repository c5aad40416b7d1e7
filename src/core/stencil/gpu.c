/* gpu.c -- see gpu.h. One row is looked at to guess a stencil, one pass over the pattern checks it. */
#include "core/stencil/gpu.h"

#include <string.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/levels/kernels.h"
#include "core/stencil/kernels.h"

sptrsm_status spti_gpu_stencil_shown(spti_stencil *out, const spti_view *v, const sptrsm_context *context, const sptrsm_options *told) {
  *out = (spti_stencil){0};
  if (*told->stencil) return spti_stencil_named(out, told->stencil, told->grid, v->n);
  if (v->n == 0 || spti_view_entries(v) > (int64_t)SPTI_STENCIL_ENTRIES * v->n) return SPTRSM_OK;
  const spti_stencil_last_args args = {.view = *v, .count = context->pinned_device, .distance = context->pinned_device + 1};
  SPTI_CUDA(spti_stencil_last_launch(&args, context->stream));
  SPTI_TRY(spti_gpu_wait(context));
  const int32_t count = context->pinned[0];
  if (count <= SPTI_STENCIL_ENTRIES) spti_stencil_guess(out, v->n, context->pinned + 1, count);
  return SPTRSM_OK;
}

static sptrsm_status launch_check(const spti_view *v, const sptrsm_context *context, const spti_stencil *s, int32_t *strange,
                                  int32_t *present) {
  spti_stencil_check_args args = {.view = *v, .strange = strange, .present = present};
  memcpy(args.grid, s->grid, sizeof args.grid);
  args.count = spti_stencil_offsets(args.offset, s);
  SPTI_CUDA(spti_stencil_check_launch(&args, context->stream));
  return SPTRSM_OK;
}

/* 0, or n - i of the first row that is not the stencil's. */
static sptrsm_status find_strange(int32_t *out, const spti_view *v, const sptrsm_context *context, const spti_stencil *s) {
  static const int32_t none = 0;
  int32_t *strange, found;
  SPTI_TRY(spti_alloc(context, &strange, 1, sizeof *strange, "stencil check"));
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_gpu_copy(context, strange, sizeof none, &none, sizeof none, sizeof none, 1, SPTI_TO_DEVICE));
  SPTI_TRY_GOTO(launch_check(v, context, s, strange, NULL));
  SPTI_TRY_GOTO(spti_gpu_fetch(context, &found, strange, sizeof *strange));
  *out = found;
fail:
  spti_free(context, strange);
  return status;
}

sptrsm_status spti_gpu_stencil(spti_stencil *out, const spti_view *v, const sptrsm_context *context, const sptrsm_options *told) {
  const int32_t n = v->n;
  int32_t strange;
  spti_stencil s;
  SPTI_TRY(spti_gpu_stencil_shown(&s, v, context, told));
  if (n == 0) {
    *out = s;
    return SPTRSM_OK;
  }
  if (!s.name)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                     "row %d and its neighbours are not the corner of a stencil's grid; say grid and stencil, or use another method",
                     v->backward ? 0 : n - 1);
  SPTI_TRY(find_strange(&strange, v, context, &s));
  if (strange)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                     "row %d has an entry that is not in stencil %s on a grid of %d x %d x %d; mend grid and stencil, "
                     "or use another method",
                     n - strange, s.name, s.grid[0], s.grid[1], s.grid[2]);
  *out = s;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_stencil_presence(int32_t *present, const spti_view *v, const sptrsm_context *context, const spti_stencil *s) {
  return launch_check(v, context, s, NULL, present);
}
