/* method_case.c -- see method_case.h. */
#include "simt/method_case.h"

#include <stdio.h>

#include "core/gpu.h"
#include "core/method.h"

sptrsm_status method_case_analyse(sptrsm_plan *plan, const spti_method *method, const char *variant) {
  plan->method = method;
  snprintf(plan->variant, sizeof plan->variant, "%s", variant);
  return method->analyse(plan);
}

sptrsm_status method_case_new_values(sptrsm_plan *plan, const void *val) {
  plan->view.val = val;
  return plan->method->update_values(plan);
}

/* Transfers `step` apart. */
static sptrsm_status solve_with_one_work(sptrsm_plan *plan, int32_t panel, const spti_transfer *transfer, int step, int times) {
  void *work = NULL;
  sptrsm_status status = plan->method->work_create(&work, plan, panel);
  for (; status == SPTRSM_OK && times > 0; times--, transfer += step) {
    status = plan->method->solve_between(plan, work, transfer);
    if (status == SPTRSM_OK) status = spti_gpu_sync(plan->context);
  }
  if (work) plan->method->work_free(work, plan);
  return status;
}

sptrsm_status method_case_solve(sptrsm_plan *plan, int32_t panel, const spti_transfer *transfer, int times) {
  return solve_with_one_work(plan, panel, transfer, 0, times);
}

sptrsm_status method_case_solve_each(sptrsm_plan *plan, int32_t panel, const spti_transfer *transfers, int count) {
  return solve_with_one_work(plan, panel, transfers, 1, count);
}

const char *method_case_parameters(const sptrsm_plan *plan) {
  static sptrsm_info info;
  plan->method->describe(plan, &info);
  return info.parameters;
}

void method_case_close(sptrsm_plan *plan) {
  if (plan) plan->method->free(plan);
  plan_case_close(plan);
}
