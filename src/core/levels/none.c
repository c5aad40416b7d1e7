/* none.c -- without CUDA no context is on a device, so no plan has levels or row panels there. */
#include "core/levels/gpu.h"
#include "core/levels/row_panels_gpu.h"
#include "core/select/survey_gpu.h"

sptrsm_status spti_plan_levels(sptrsm_plan *plan, const spti_gpu_levels **out) {
  (void)plan;
  (void)out;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "level sets on a device: the library was built without CUDA");
}

void spti_plan_drop_levels(sptrsm_plan *plan) { (void)plan; }

sptrsm_status spti_plan_survey(spti_survey *out, sptrsm_plan *plan, const spti_choose_limits *limits) {
  (void)plan;
  (void)limits;
  (void)out;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "row panels on a device: the library was built without CUDA");
}

void spti_plan_drop_row_panels(sptrsm_plan *plan) { (void)plan; }
