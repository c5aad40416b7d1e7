/* method_case.c -- see method_case.h. */
#include "simt/cases/method_case.h"

#include <stdio.h>
#include <string.h>

#include "core/context/gpu.h"
#include "core/plan/method.h"
#include "simt/emulator/emulated_gpu.h"

sptrsm_status method_case_analyse(sptrsm_plan *plan, const spti_method *method, const char *variant) {
  plan->method = method;
  snprintf(plan->variant, sizeof plan->variant, "%s", variant);
  return method->analyse(plan);
}

sptrsm_status method_case_new_values(sptrsm_plan *plan, const void *val) {
  plan->view.val = val;
  return plan->method->update_values ? plan->method->update_values(plan) : SPTRSM_OK;
}

/* The transfers of consecutive solves are `step` elements apart. */
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

static sptrsm_status open_two(sptrsm_plan *plan, int32_t panel, void *works[2]) {
  for (int w = 0; w < 2; w++) {
    SPTI_TRY(plan->method->work_create(&works[w], plan, panel));
    memset(emulated_gpu_latest, 0x3c, emulated_gpu_latest_bytes);
  }
  return SPTRSM_OK;
}

sptrsm_status method_case_solve_after_loss(sptrsm_plan *plan, int32_t panel, const spti_transfer transfers[2]) {
  void *works[2] = {NULL, NULL};
  sptrsm_status status = open_two(plan, panel, works);
  plan->context->losses++; /* as spti_gpu_note_losses does when kernels report one */
  for (int w = 0; w < 2; w++) {
    if (status == SPTRSM_OK) status = plan->method->solve_between(plan, works[w], &transfers[w]);
    if (status == SPTRSM_OK) status = spti_gpu_sync(plan->context);
  }
  for (int w = 0; w < 2; w++)
    if (works[w]) plan->method->work_free(works[w], plan);
  return status;
}

bool method_case_writes_to(const sptrsm_plan *plan, const spti_end *to, int32_t width) {
  return !plan->method->writes_to || plan->method->writes_to(plan, to, width);
}

int32_t method_case_panel(const sptrsm_plan *plan) { return plan->method->panel ? plan->method->panel(plan) : 0; }

bool method_case_is_deterministic(const sptrsm_plan *plan) {
  sptrsm_info info = {.deterministic = (plan->method->flags & SPTI_DETERMINISTIC) != 0};
  plan->method->describe(plan, &info);
  return info.deterministic != 0;
}

const char *method_case_parameters(const sptrsm_plan *plan) {
  static sptrsm_info info;
  plan->method->describe(plan, &info);
  return info.parameters;
}

void method_case_close(sptrsm_plan *plan) {
  if (plan && plan->state) plan->method->free(plan);
  plan_case_close(plan);
}
