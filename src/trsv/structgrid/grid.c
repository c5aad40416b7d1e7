/* grid.c -- see grid.h. */
#include "trsv/structgrid/grid.h"

#include <stdio.h>

#include "core/stencil/gpu.h"

enum { MARGIN = 256 }; /* kernels count fewer rows than this beyond the end of a grid line */

/* Kernels count rows and grid lines in 32 bits, and one grid line may be the whole grid. */
static sptrsm_status check_size(const sptrsm_plan *plan, const char *method) {
  const int32_t most = INT32_MAX - MARGIN;
  if (plan->view.n <= most) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "%s: %d rows, more than %d; use another method", method, plan->view.n, most);
}

sptrsm_status spti_structgrid_find(spti_stencil *out, const sptrsm_plan *plan, const char *method) {
  SPTI_TRY(check_size(plan, method));
  return spti_gpu_stencil(out, &plan->view, plan->context, &plan->options);
}

size_t spti_structgrid_describe(char *out, size_t room, const spti_stencil *s) {
  const int32_t *grid = s->grid;
  const int used = snprintf(out, room, "stencil=%s grid=%d,%d,%d", s->name ? s->name : "none", grid[0], grid[1], grid[2]);
  return used < 0 || (size_t)used >= room ? 0 : (size_t)used;
}
