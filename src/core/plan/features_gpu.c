/* features_gpu.c -- see features.h. A stencil is looked for first, since its row needs no level sets; then row panels
 * and level sets are surveyed together; the widths of levels are counted last, and only if a row of the table may go
 * by them. */
#include "core/plan/analysis.h"
#include "core/plan/features.h"
#include "core/plan/plan.h"
#include "core/stencil/gpu.h"

/* Counts thin and wide levels. Where the survey ended early there are no level sets to count, and no row goes by
 * their widths. */
static sptrsm_status count_levels(spti_features *f, sptrsm_plan *plan, bool all) {
  const spti_gpu_levels *levels;
  f->thin_levels = f->wide_levels = 0;
  if (!plan->gpu_levels || (!all && !spti_choose_asks_for_widths(f))) return SPTRSM_OK;
  SPTI_TRY(spti_plan_levels(plan, &levels));
  for (int32_t l = 0; l < levels->count; l++) {
    const int32_t rows = levels->ptr[l + 1] - levels->ptr[l];
    f->thin_levels += rows < SPTI_THIN_LEVEL;
    f->wide_levels += rows >= SPTI_WIDE_LEVEL;
  }
  return SPTRSM_OK;
}

static sptrsm_status add_levels(spti_features *f, sptrsm_plan *plan, bool all) {
  spti_survey survey;
  const spti_choose_limits limits = spti_choose_limits_on(f->device);
  SPTI_TRY(spti_plan_survey(&survey, plan, all ? NULL : &limits));
  f->levels = survey.levels;
  f->panel_hops = survey.hops;
  return count_levels(f, plan, all);
}

/* No stencil is found (f->stencil stays 0) where the options name a grid that is not this triangle's. */
static sptrsm_status add_stencil(spti_features *f, const sptrsm_plan *plan) {
  spti_stencil s;
  const sptrsm_status status = spti_gpu_stencil_shown(&s, &plan->view, plan->context, &plan->options);
  if (status == SPTRSM_ERR_ARGUMENT) return SPTRSM_OK;
  if (status == SPTRSM_OK && s.name) f->stencil = spti_stencil_width(&s);
  return status;
}

sptrsm_status spti_gpu_features_add(spti_features *f, sptrsm_plan *plan, bool all) {
  if (all || spti_choose_asks_for_stencil(f)) SPTI_TRY(add_stencil(f, plan));
  if (!all && spti_choose_by_stencil(f)) return SPTRSM_OK;
  return add_levels(f, plan, all);
}

sptrsm_status spti_gpu_features_add_rest(spti_features *f, sptrsm_plan *plan) {
  const spti_gpu_levels *levels;
  if (spti_choose_by_stencil(f)) {
    f->stencil = 0;
    return add_levels(f, plan, false);
  }
  SPTI_TRY(spti_plan_levels(plan, &levels));
  f->levels = levels->count;
  return count_levels(f, plan, true);
}
