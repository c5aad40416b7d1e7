/* analysis.h -- what several analyses need to know of a plan's triangle in device memory, found at the first request
 * and kept with the plan: its level sets, and its row panels while the plan is being made. The plan frees both. */
#ifndef SPTI_CORE_PLAN_ANALYSIS_H
#define SPTI_CORE_PLAN_ANALYSIS_H

#include "core/select/survey_gpu.h"

/* The level sets of plan->view, in either orientation, with ptr and widest. Sets plan->levels. A method that needs
 * them no longer than its analysis calls spti_plan_drop_levels at its end. Deterministic. Waits for the device. */
sptrsm_status spti_plan_levels(sptrsm_plan *, const spti_gpu_levels **out);
/* The same without ptr and widest, unless somebody has asked for them before: one wait less. */
sptrsm_status spti_plan_level_order(sptrsm_plan *, const spti_gpu_levels **out);
void spti_plan_drop_levels(sptrsm_plan *);

/* spti_survey_make of plan->view, a pull view. The plan keeps what was found, so out->all_levels and out->panels are
 * not the caller's. */
sptrsm_status spti_plan_survey(spti_survey *out, sptrsm_plan *, const spti_choose_limits *limits);

/* The row panels of plan->view with their levels, for the caller to free: those of the survey if they were cut by the
 * same `rows` and `least`, else new ones (spti_row_panels_create). */
sptrsm_status spti_plan_take_row_panels(spti_row_panels *out, sptrsm_plan *, int32_t rows, int32_t least);
void spti_plan_drop_row_panels(sptrsm_plan *);

#endif
