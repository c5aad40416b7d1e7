/* workspace.c -- workspaces and sptrsm_solve. */
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

sptrsm_status sptrsm_workspace_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  if (!out || !plan || panel < 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_workspace_bytes: out or plan is NULL, or panel is negative");
  if (panel == 0) panel = plan->panel;
  size_t panels, work;
  SPTI_TRY(spti_panels_bytes(&panels, plan->context, plan->view.n, plan->view.dtype, panel, plan->options.nrhs_hint));
  SPTI_TRY(spti_work_bytes(&work, plan, panel));
  *out = panels + work;
  return SPTRSM_OK;
}

/* The plan chose its panel to keep the limit; more threads or a wider panel than it knew of may pass it. */
static sptrsm_status check_limit(const sptrsm_plan *plan, int32_t panel) {
  size_t bytes, limit = plan->options.memory_limit;
  if (limit == 0) return SPTRSM_OK;
  SPTI_TRY(sptrsm_workspace_bytes(&bytes, plan, panel));
  if (bytes <= limit) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_MEMORY,
                   "a workspace for %d right-hand sides takes %zu bytes, the limit is %zu; use a smaller panel or fewer threads", panel,
                   bytes, limit);
}

static sptrsm_status create(sptrsm_workspace **out, const sptrsm_plan *plan, int32_t panel) {
  sptrsm_workspace *w;
  SPTI_TRY(check_limit(plan, panel));
  SPTI_TRY(spti_host_alloc(&w, 1, sizeof *w, "workspace"));
  *w = (sptrsm_workspace){.plan = plan};
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_panels_create(&w->panels, plan->context, plan->view.n, plan->view.dtype, panel, plan->options.nrhs_hint));
  SPTI_TRY_GOTO(spti_work_create(&w->work, plan, panel));
  *out = w;
  return SPTRSM_OK;
fail:
  spti_workspace_end(w, plan);
  return status;
}

sptrsm_status sptrsm_workspace_create(sptrsm_workspace **out, const sptrsm_plan *plan, int32_t panel) {
  if (!out || !plan || panel < 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_workspace_create: out or plan is NULL, or panel is negative");
  SPTI_TRY(create(out, plan, panel ? panel : plan->panel));
  spti_plan_retain(plan);
  return SPTRSM_OK;
}

void spti_workspace_end(sptrsm_workspace *w, const sptrsm_plan *plan) {
  if (!w) return;
  spti_work_free(w->work, plan);
  spti_panels_free(&w->panels, plan->context);
  spti_host_free(w);
}

void sptrsm_workspace_destroy(sptrsm_workspace *w) {
  if (!w) return;
  const sptrsm_plan *plan = w->plan;
  spti_workspace_end(w, plan);
  sptrsm_plan_destroy((sptrsm_plan *)plan);
}

sptrsm_status sptrsm_solve(const sptrsm_plan *plan, sptrsm_workspace *w, const void *alpha, const sptrsm_block *B, sptrsm_block *X) {
  if (!plan || !B || !X) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_solve: plan, B or X is NULL");
  if (w && w->plan != plan) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_solve: the workspace belongs to another plan");
  if (!w) {
    sptrsm_plan *p = (sptrsm_plan *)plan; /* the plan's own workspace is not part of its value */
    if (!p->own) SPTI_TRY(create(&p->own, plan, plan->panel));
    w = p->own;
  }
  spti_pipeline line = {.context = plan->context,
                        .dtype = plan->view.dtype,
                        .n = plan->view.n,
                        .stage_count = 1,
                        .stages = {{.plan = plan, .work = w->work, .op = plan->op}}};
  return spti_pipeline_run(&line, &w->panels, alpha, B, X);
}
