/* method_case.h -- runs a whole CUDA method, host code and kernels, on the emulated GPU (plan_case.h, emulated_gpu.h). */
#ifndef TESTS_SIMT_CASES_METHOD_CASE_H
#define TESTS_SIMT_CASES_METHOD_CASE_H

#include "core/device/transfer.h"
#include "simt/cases/plan_case.h"

#ifdef __cplusplus
extern "C" {
#endif
struct spti_method;

/* Analyses the plan's view by a method and variant. method_case_close must be called also after a failure. */
sptrsm_status method_case_analyse(sptrsm_plan *, const struct spti_method *, const char *variant);
sptrsm_status method_case_new_values(sptrsm_plan *, const void *val);
/* Solves `times` times with one workspace for `panel` right-hand sides. */
sptrsm_status method_case_solve(sptrsm_plan *, int32_t panel, const spti_transfer *, int times);
/* Solves `count` transfers with one workspace. */
sptrsm_status method_case_solve_each(sptrsm_plan *, int32_t panel, const spti_transfer *transfers, int count);
/* Solves once with each of two workspaces for `panel` right-hand sides, which contain what a solve that lost a dependency may leave. */
sptrsm_status method_case_solve_after_loss(sptrsm_plan *, int32_t panel, const spti_transfer transfers[2]);
bool method_case_writes_to(const sptrsm_plan *, const spti_end *, int32_t width); /* false: the core gives it a panel instead */
int32_t method_case_panel(const sptrsm_plan *);                                   /* the method's own width of panels; 0: it has no rule */
bool method_case_is_deterministic(const sptrsm_plan *);                           /* as sptrsm_plan_info says */
const char *method_case_parameters(const sptrsm_plan *);                          /* as describe says; valid until the next call */
void method_case_close(sptrsm_plan *);
#ifdef __cplusplus
}
#endif
#endif
