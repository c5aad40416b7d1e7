/* recblock_case.c -- see recblock_case.h. */
#include "simt/trsv/recblock_case.h"

#include <stdio.h>

#include "core/context/gpu.h"
#include "core/plan/method.h"
#include "simt/cases/plan_case.h"
#include "trsv/recblock/kernels.h"

extern const spti_method spti_method_recblock;

static sptrsm_status solve(recblock_case *c, sptrsm_plan *plan) {
  const spti_method *m = &spti_method_recblock;
  void *work;
  sptrsm_info info = {.size = sizeof info};
  m->describe(plan, &info);
  snprintf(c->parameters, sizeof c->parameters, "%s", info.parameters);
  SPTI_TRY(m->work_bytes(&c->work_bytes, plan, c->between->width));
  SPTI_TRY(m->work_create(&work, plan, c->between->width));
  sptrsm_status status = SPTRSM_OK;
  for (int s = 0; s < c->solves && status == SPTRSM_OK; s++) {
    status = m->solve_between(plan, work, c->between);
    if (status == SPTRSM_OK) status = spti_gpu_sync(plan->context);
  }
  m->work_free(work, plan);
  return status;
}

sptrsm_status recblock_case_run(recblock_case *c) {
  const spti_method *m = &spti_method_recblock;
  sptrsm_plan *plan = plan_case_open(c->view);
  if (!plan) return SPTRSM_ERR_MEMORY;
  plan->method = m;
  snprintf(plan->variant, sizeof plan->variant, "%s", c->variant);
  if (c->other_val) plan_case_set_values(plan, c->other_val);
  sptrsm_status status = m->analyse(plan);
  if (status == SPTRSM_OK && c->other_val) {
    plan_case_set_values(plan, c->view->val);
    status = m->update_values(plan);
  }
  if (status == SPTRSM_OK) status = solve(c, plan);
  if (plan->state) m->free(plan);
  plan_case_close(plan);
  return status;
}
