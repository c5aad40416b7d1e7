/* none.c -- without CUDA no context is on a device, so no plan has a view there. */
#include "core/stencil/gpu.h"

sptrsm_status spti_plan_stencil(spti_stencil *out, const sptrsm_plan *plan) {
  (void)out, (void)plan;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "stencils on a device: the library was built without CUDA");
}

sptrsm_status spti_plan_stencil_shown(spti_stencil *out, const sptrsm_plan *plan) {
  (void)plan;
  *out = (spti_stencil){0};
  return SPTRSM_OK;
}
