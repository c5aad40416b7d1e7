/* method_case.h -- a whole CUDA method, its host code and its kernels, on the emulated GPU (plan_case.h, emulated_gpu.h). */
#ifndef TESTS_SIMT_CASES_METHOD_CASE_H
#define TESTS_SIMT_CASES_METHOD_CASE_H

#include "core/device/launch.h"
#include "simt/cases/plan_case.h"

#ifdef __cplusplus
extern "C" {
#endif
struct spti_method;

/* Analysis of the plan's view by a method of that variant. After a failure method_case_close is still due. */
sptrsm_status method_case_analyse(sptrsm_plan *, const struct spti_method *, const char *variant);
sptrsm_status method_case_new_values(sptrsm_plan *, const void *val);
/* With a work for `panel` right-hand sides; one work for all of `times` solves. */
sptrsm_status method_case_solve(sptrsm_plan *, int32_t panel, const spti_transfer *, int times);
/* One work for `count` solves, each of its own. */
sptrsm_status method_case_solve_each(sptrsm_plan *, int32_t panel, const spti_transfer *transfers, int count);
/* With two works for `panel` right-hand sides, each full of what solves that were given up may leave; one solve with each. */
sptrsm_status method_case_solve_after_loss(sptrsm_plan *, int32_t panel, const spti_transfer transfers[2]);
bool method_case_writes_to(const sptrsm_plan *, const spti_end *, int32_t width); /* if not, the core gives it a panel instead */
int32_t method_case_panel(const sptrsm_plan *); /* right-hand sides at once by the method's own rule; 0: it leaves that to the core */
bool method_case_is_deterministic(const sptrsm_plan *);  /* what plan_info would say */
const char *method_case_parameters(const sptrsm_plan *); /* what describe says; valid until the next call */
void method_case_close(sptrsm_plan *);
#ifdef __cplusplus
}
#endif
#endif
