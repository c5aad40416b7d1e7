/* survey_gpu.c -- row panels first: where they are few, and each reads few others, a sweep over the rows that knows
 * this can end long before it has found all levels of a deep triangle. All of it is queued before the host waits. */
#include "core/select/survey_gpu.h"

static sptrsm_status find_levels(spti_survey *s, const spti_view *v, sptrsm_context *context, const spti_choose_limits *limits) {
  spti_levels_search search = {
      .panels = s->panels.facts, .least = limits ? limits->levels : INT32_MAX, .times = limits ? limits->a_hop : 0};
  SPTI_TRY(spti_gpu_levels_search(&s->all_levels, &search, v, context));
  const spti_levels_facts *facts = &search.facts;
  spti_row_panels_finish(&s->panels, &facts->panels);
  s->hops = spti_row_panels_hops(facts->panels.levels, facts->panels.most);
  s->levels = s->all_levels ? facts->count : facts->enough; /* not how many had been found when the search ended */
  return SPTRSM_OK;
}

sptrsm_status spti_survey_make(spti_survey *out, const spti_view *v, sptrsm_context *context, const spti_choose_limits *limits) {
  spti_survey s = {0};
  SPTI_TRY(spti_row_panels_start(&s.panels, v, context, SPTI_FACTOR_PANEL_ROWS, SPTI_FACTOR_PANEL_LEAST, SPTI_PANEL_DENSITY));
  const sptrsm_status status = find_levels(&s, v, context, limits);
  if (status == SPTRSM_OK) *out = s;
  else spti_row_panels_free(&s.panels, context);
  return status;
}
