/* plan_case.h -- a plan for a given view on the emulated GPU, for core functions that take plans. */
#ifndef TESTS_SIMT_CASES_PLAN_CASE_H
#define TESTS_SIMT_CASES_PLAN_CASE_H

#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif
sptrsm_plan *plan_case_open(const spti_view *);                                        /* NULL: no memory */
void plan_case_close(sptrsm_plan *);                                                   /* frees its levels, too */
void plan_case_set_stencil(sptrsm_plan *, const char *stencil, const int64_t grid[3]); /* options.stencil and options.grid */
void plan_case_set_hint(sptrsm_plan *, int64_t nrhs);                                  /* options.nrhs_hint; 0 otherwise */
void plan_case_set_size(sptrsm_plan *, int32_t n, int64_t nrhs_hint); /* for functions that read these numbers but no arrays */
void plan_case_set_spin_limit(sptrsm_plan *, int32_t polls);          /* of context->spin_limit; SPTI_SPIN_LIMIT otherwise */
void plan_case_set_values(sptrsm_plan *, const void *val);
sptrsm_context *plan_case_context(sptrsm_plan *);
/* The plan's level sets and row panels, or NULL; its number of levels. */
const struct spti_gpu_levels *plan_case_levels(const sptrsm_plan *);
const struct spti_row_panels *plan_case_row_panels(const sptrsm_plan *);
int32_t plan_case_level_count(const sptrsm_plan *);
#ifdef __cplusplus
}
#endif
#endif
