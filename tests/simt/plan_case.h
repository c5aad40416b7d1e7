/* plan_case.h -- a plan around a view, for core functions that take plans, on the emulated GPU. */
#ifndef SIMT_PLAN_CASE_H
#define SIMT_PLAN_CASE_H

#include "core/view.h"

#ifdef __cplusplus
extern "C" {
#endif
sptrsm_plan *plan_case_open(const spti_view *);                                        /* NULL: no memory */
void plan_case_close(sptrsm_plan *);                                                   /* drops its levels */
void plan_case_set_stencil(sptrsm_plan *, const char *stencil, const int64_t grid[3]); /* what the options say */
void plan_case_set_shared_bytes(sptrsm_plan *, size_t bytes);                          /* of a thread block; else as an H200 has */
void plan_case_set_values(sptrsm_plan *, const void *val);
#ifdef __cplusplus
}
#endif
#endif
