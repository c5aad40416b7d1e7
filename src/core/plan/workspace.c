/* workspace.c -- see workspace.h. */
#include "core/plan/workspace.h"

#include "core/context/alloc.h"
#include "core/plan/method.h"

sptrsm_status spti_work_create(void **out, const sptrsm_plan *plan, int32_t panel) {
  *out = NULL;
  return plan->method->work_create ? plan->method->work_create(out, plan, panel) : SPTRSM_OK;
}

void spti_work_free(void *work, const sptrsm_plan *plan) {
  if (work && plan->method->work_free) plan->method->work_free(work, plan);
}

sptrsm_status spti_work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  *out = 0;
  return plan->method->work_bytes ? plan->method->work_bytes(out, plan, panel) : SPTRSM_OK;
}

sptrsm_status spti_workspace_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  size_t panels, work;
  SPTI_TRY(spti_panels_bytes(&panels, plan->context, plan->view.n, plan->view.dtype, panel, &plan->options));
  SPTI_TRY(spti_work_bytes(&work, plan, panel));
  *out = panels + work;
  return SPTRSM_OK;
}

/* The plan chose its panel to keep the limit; with more threads since, or a wider panel, a workspace may exceed it. */
static sptrsm_status check_limit(const sptrsm_plan *plan, int32_t panel) {
  size_t bytes, limit = plan->options.memory_limit;
  if (limit == 0) return SPTRSM_OK;
  SPTI_TRY(spti_workspace_bytes(&bytes, plan, panel));
  if (bytes <= limit) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_MEMORY,
                   "a workspace for %d right-hand sides takes %zu bytes, the limit is %zu; use a smaller panel or fewer threads", panel,
                   bytes, limit);
}

sptrsm_status spti_workspace_make(sptrsm_workspace **out, const sptrsm_plan *plan, int32_t panel) {
  sptrsm_workspace *w;
  SPTI_TRY(check_limit(plan, panel));
  SPTI_TRY(spti_host_alloc(&w, 1, sizeof *w, "workspace"));
  *w = (sptrsm_workspace){.plan = plan};
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_panels_create(&w->panels, plan->context, plan->view.n, plan->view.dtype, panel, &plan->options));
  SPTI_TRY_GOTO(spti_work_create(&w->work, plan, panel));
  *out = w;
  return SPTRSM_OK;
fail:
  spti_workspace_free(w, plan);
  return status;
}

void spti_workspace_free(sptrsm_workspace *w, const sptrsm_plan *plan) {
  if (!w) return;
  spti_work_free(w->work, plan);
  spti_panels_free(&w->panels, plan->context);
  spti_host_free(w);
}
