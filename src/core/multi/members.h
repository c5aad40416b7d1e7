/* members.h -- what a sptrsm_multi consists of: a solver, or a plan, for each context. */
#ifndef SPTI_CORE_MULTI_MEMBERS_H
#define SPTI_CORE_MULTI_MEMBERS_H

#include <sptrsm_multi.h>

#include "core/multi/share.h"

typedef struct {
  sptrsm_context *context; /* that of the solver, which keeps it alive */
  sptrsm_direct *direct;   /* or */
  sptrsm_plan *plan;
} spti_member;

struct sptrsm_multi {
  int count;
  spti_member *members;
  spti_share_worker *workers;
};

/* "context 1 (NVIDIA H200)" in front of the latest message. Returns the status. */
sptrsm_status spti_name_member(sptrsm_status, const sptrsm_multi *, int k);

#endif
