/* solve.c -- sptrsm_solve, and the workspaces that callers make for it. */
#include "core/context/gpu.h"
#include "core/plan/workspace.h"

sptrsm_status sptrsm_workspace_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  if (!out || !plan || panel < 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_workspace_bytes: out or plan is NULL, or panel is negative");
  return spti_workspace_bytes(out, plan, panel ? panel : plan->panel);
}

sptrsm_status sptrsm_workspace_create(sptrsm_workspace **out, const sptrsm_plan *plan, int32_t panel) {
  if (!out || !plan || panel < 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_workspace_create: out or plan is NULL, or panel is negative");
  SPTI_VISIT(plan->context);
  sptrsm_workspace *w;
  SPTI_TRY(spti_context_wait(plan->context)); /* what earlier solves lose, this workspace has not lost */
  (void)spti_gpu_note_losses(plan->context);
  SPTI_TRY(spti_workspace_make(&w, plan, panel ? panel : plan->panel));
  const sptrsm_status status = spti_context_wait(plan->context); /* a graph may be replayed on another stream at once */
  if (status != SPTRSM_OK) {
    spti_workspace_free(w, plan);
    return status;
  }
  spti_plan_retain(plan);
  w->told = spti_gpu_note_losses(plan->context);
  *out = w;
  return SPTRSM_OK;
}

void sptrsm_workspace_destroy(sptrsm_workspace *w) {
  if (!w) return;
  const sptrsm_plan *plan = w->plan;
  SPTI_VISIT(plan->context);
  spti_workspace_free(w, plan);
  sptrsm_plan_destroy((sptrsm_plan *)plan);
}

sptrsm_status sptrsm_workspace_sync(sptrsm_workspace *w) {
  if (!w) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_workspace_sync: workspace is NULL");
  SPTI_VISIT(w->plan->context);
  return w->plan->context->place == SPTRSM_CUDA ? spti_gpu_tell(w->plan->context, &w->told) : SPTRSM_OK;
}

sptrsm_status sptrsm_solve(const sptrsm_plan *plan, sptrsm_workspace *w, const void *alpha, const sptrsm_block *B, sptrsm_block *X) {
  if (!plan || !B || !X) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_solve: plan, B or X is NULL");
  if (w && w->plan != plan) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_solve: the workspace belongs to another plan");
  SPTI_VISIT(plan->context);
  if (!w) {
    sptrsm_plan *p = (sptrsm_plan *)plan; /* the plan's own workspace is a cache */
    if (!p->own) SPTI_TRY(spti_workspace_make(&p->own, plan, plan->panel));
    w = p->own;
  }
  spti_pipeline pipe = {.context = plan->context,
                        .dtype = plan->view.dtype,
                        .n = plan->view.n,
                        .stage_count = 1,
                        .stages = {{.plan = plan, .work = w->work, .op = plan->op}}};
  return spti_pipeline_run(&pipe, &w->panels, alpha, B, X);
}
