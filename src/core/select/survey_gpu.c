/* survey_gpu.c -- row panels first: where they are few, and each reads few others, a row sweep that is told so can end long before it has
 * found all levels of a deep triangle. All of it is queued before the host waits. */
#include "core/select/survey_gpu.h"

#include "core/context/alloc.h"
#include "core/levels/gpu.h"
#include "core/plan/plan.h"
#include "core/levels/row_panels_gpu.h"

static sptrsm_status look(spti_survey *out, sptrsm_plan *plan, spti_row_panels *panels, const spti_choose_limits *limits) {
  SPTI_TRY(spti_row_panels_start(panels, plan, SPTI_FACTOR_PANEL_ROWS, SPTI_FACTOR_PANEL_LEAST, SPTI_PANEL_DENSITY));
  spti_levels_search search = {.panels = panels->facts, .least = limits ? limits->levels : INT32_MAX, .times = limits ? limits->a_hop : 0};
  SPTI_TRY(spti_gpu_levels_search(&plan->gpu_levels, &search, &plan->view, plan->context));
  const spti_levels_facts *facts = &search.facts;
  spti_row_panels_finish(panels, &facts->panels);
  out->hops = spti_row_panels_hops(facts->panels.levels, facts->panels.most);
  out->levels = plan->gpu_levels ? facts->count : facts->enough; /* not how many had been found when the search ended */
  if (plan->gpu_levels) plan->levels = facts->count;
  return SPTRSM_OK;
}

sptrsm_status spti_plan_survey(spti_survey *out, sptrsm_plan *plan, const spti_choose_limits *limits) {
  spti_row_panels *panels;
  *out = (spti_survey){0};
  SPTI_TRY(spti_host_alloc(&panels, 1, sizeof *panels, "row panels"));
  *panels = (spti_row_panels){0};
  plan->row_panels = panels;
  return look(out, plan, panels, limits);
}
