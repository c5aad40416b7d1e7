/* plan_case.c -- see plan_case.h. */
#include "simt/cases/plan_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/plan/analysis.h"
#include "core/plan/method.h"
#include "simt/emulator/emulated_gpu.h"

typedef struct {
  sptrsm_plan plan;
  sptrsm_context context;
  int64_t lost;
  int32_t pinned[SPTI_PINNED_WORDS];
} parts;

sptrsm_plan *plan_case_open(const spti_view *view) {
  static const spti_method method = {.name = "case"};
  parts *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->context.place = SPTRSM_CUDA;
  p->context.lost = p->context.lost_device = &p->lost;
  p->context.spin_limit = SPTI_SPIN_LIMIT;
  p->context.shared_bytes = emulated_gpu_shared_bytes;
  p->context.fp32_lanes = EMULATED_GPU_FP32_LANES;
  p->context.pinned = p->context.pinned_device = p->pinned;
  p->plan.context = &p->context;
  p->plan.method = &method;
  p->plan.view = *view;
  p->plan.levels = -1;
  return &p->plan;
}

void plan_case_close(sptrsm_plan *plan) {
  if (plan) spti_plan_drop_levels(plan);
  free(plan); /* the first member of its parts */
}

double spti_seconds(void) { return 0; } /* there is no clock, since emulated time has no meaning */

void plan_case_set_stencil(sptrsm_plan *plan, const char *stencil, const int64_t grid[3]) {
  snprintf(plan->options.stencil, sizeof plan->options.stencil, "%s", stencil);
  memcpy(plan->options.grid, grid, sizeof plan->options.grid);
}

void plan_case_set_hint(sptrsm_plan *plan, int64_t nrhs) { plan->options.nrhs_hint = nrhs; }

void plan_case_set_spin_limit(sptrsm_plan *plan, int32_t polls) { plan->context->spin_limit = polls; }

void plan_case_set_size(sptrsm_plan *plan, int32_t n, int64_t nrhs_hint) {
  plan->view.n = n;
  plan->options.nrhs_hint = nrhs_hint;
}

void plan_case_set_values(sptrsm_plan *plan, const void *val) { plan->view.val = val; }

sptrsm_context *plan_case_context(sptrsm_plan *plan) { return plan->context; }

const struct spti_gpu_levels *plan_case_levels(const sptrsm_plan *plan) { return plan->gpu_levels; }

const struct spti_row_panels *plan_case_row_panels(const sptrsm_plan *plan) { return plan->row_panels; }

int32_t plan_case_level_count(const sptrsm_plan *plan) { return plan->levels; }
