/* plan_case.h -- a plan around a view, for core functions that take plans, on the emulated GPU. */
#ifndef TESTS_SIMT_CASES_PLAN_CASE_H
#define TESTS_SIMT_CASES_PLAN_CASE_H

#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif
sptrsm_plan *plan_case_open(const spti_view *);                                        /* NULL: no memory */
void plan_case_close(sptrsm_plan *);                                                   /* drops its levels */
void plan_case_set_stencil(sptrsm_plan *, const char *stencil, const int64_t grid[3]); /* what the options say */
void plan_case_set_hint(sptrsm_plan *, int64_t nrhs);                                  /* right-hand sides; else unknown */
void plan_case_set_shared_bytes(sptrsm_plan *, size_t bytes);                          /* of a thread block; else as an H200 has */
void plan_case_set_size(sptrsm_plan *, int32_t n, int64_t nrhs_hint); /* what is planned by, not what the view's arrays hold */
void plan_case_set_spin_limit(sptrsm_plan *, int32_t polls);          /* after which a wait gives up; else as in earnest */
void plan_case_set_values(sptrsm_plan *, const void *val);
sptrsm_context *plan_case_context(sptrsm_plan *);
/* What is kept with the plan, or NULL; and its count of levels. */
const struct spti_gpu_levels *plan_case_levels(const sptrsm_plan *);
const struct spti_row_panels *plan_case_row_panels(const sptrsm_plan *);
int32_t plan_case_level_count(const sptrsm_plan *);
#ifdef __cplusplus
}
#endif
#endif
