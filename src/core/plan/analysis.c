/* analysis.c -- see analysis.h. */
#include "core/plan/analysis.h"

#include "core/context/alloc.h"
#include "core/plan/plan.h"

sptrsm_status spti_plan_level_order(sptrsm_plan *plan, const spti_gpu_levels **out) {
  if (!plan->gpu_levels) {
    spti_levels_search all = {.panels = NULL};
    SPTI_TRY(spti_gpu_levels_search(&plan->gpu_levels, &all, &plan->view, plan->context));
    plan->levels = plan->gpu_levels->count;
  }
  *out = plan->gpu_levels;
  return SPTRSM_OK;
}

sptrsm_status spti_plan_levels(sptrsm_plan *plan, const spti_gpu_levels **out) {
  SPTI_TRY(spti_plan_level_order(plan, out));
  return spti_gpu_levels_fetch_ptr(plan->gpu_levels, plan->context);
}

void spti_plan_drop_levels(sptrsm_plan *plan) {
  spti_gpu_levels_free(plan->gpu_levels, plan->context);
  plan->gpu_levels = NULL;
}

sptrsm_status spti_plan_survey(spti_survey *out, sptrsm_plan *plan, const spti_choose_limits *limits) {
  spti_row_panels *panels;
  SPTI_TRY(spti_host_alloc(&panels, 1, sizeof *panels, "row panels"));
  const sptrsm_status status = spti_survey_make(out, &plan->view, plan->context, limits);
  if (status != SPTRSM_OK) {
    spti_host_free(panels);
    return status;
  }
  *panels = out->panels;
  plan->row_panels = panels;
  plan->gpu_levels = out->all_levels;
  if (plan->gpu_levels) plan->levels = plan->gpu_levels->count;
  return SPTRSM_OK;
}

sptrsm_status spti_plan_take_row_panels(spti_row_panels *out, sptrsm_plan *plan, int32_t rows, int32_t least) {
  const spti_row_panels *kept = plan->row_panels;
  if (!kept || kept->levels == 0 || kept->rows != rows || kept->least != least)
    return spti_row_panels_create(out, &plan->view, plan->context, rows, least);
  *out = *kept;
  spti_host_free(plan->row_panels);
  plan->row_panels = NULL;
  return SPTRSM_OK;
}

void spti_plan_drop_row_panels(sptrsm_plan *plan) {
  if (!plan->row_panels) return;
  spti_row_panels_free(plan->row_panels, plan->context);
  spti_host_free(plan->row_panels);
  plan->row_panels = NULL;
}
