/* levels_none.c -- without CUDA no context is on a device, so no plan has levels there. */
#include "core/levels_gpu.h"

sptrsm_status spti_plan_levels(sptrsm_plan *plan, const spti_gpu_levels **out) {
  (void)plan;
  (void)out;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "level sets on a device: the library was built without CUDA");
}

void spti_plan_drop_levels(sptrsm_plan *plan) { (void)plan; }
