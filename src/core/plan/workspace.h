/* workspace.h -- the memory that one solve writes: panels of right-hand sides and the method's own state. */
#ifndef SPTI_CORE_PLAN_WORKSPACE_H
#define SPTI_CORE_PLAN_WORKSPACE_H

#include "core/plan/pipeline.h"

struct sptrsm_workspace {
  const sptrsm_plan *plan; /* retained, except by the plan's own workspace */
  spti_panels panels;
  void *work;   /* the method's (work_create) */
  int64_t told; /* CUDA: how many lost dependencies the owner has been told of */
};

/* The method's part alone, for callers that have panels of their own (core/direct); NULL where the method needs none. */
sptrsm_status spti_work_create(void **out, const sptrsm_plan *, int32_t panel);
void spti_work_free(void *work, const sptrsm_plan *);
sptrsm_status spti_work_bytes(size_t *out, const sptrsm_plan *, int32_t panel);

/* A workspace that does not retain its plan. MEMORY if it would take more than options.memory_limit. */
sptrsm_status spti_workspace_make(sptrsm_workspace **out, const sptrsm_plan *, int32_t panel);
void spti_workspace_free(sptrsm_workspace *, const sptrsm_plan *); /* NULL: nothing happens */
sptrsm_status spti_workspace_bytes(size_t *out, const sptrsm_plan *, int32_t panel);

#endif
