/* trace.h -- tells the function of sptrsm_context_set_trace what a thread did, one step after the other. Where there is none, a step of a
 * panel costs a comparison, and no clock is asked. */
#ifndef SPTI_CORE_CONTEXT_TRACE_H
#define SPTI_CORE_CONTEXT_TRACE_H

#include "core/base/clock.h"
#include "core/context/context.h"

static inline double spti_trace_begin(const sptrsm_context *context) { return context->trace ? spti_seconds() : 0; }

/* A step of columns [first, first + nrhs) that began at `begin` ends now; returns when the next one begins. */
static inline double spti_trace_step(const sptrsm_context *context, const char *step, int64_t first, int64_t nrhs, double begin) {
  if (!context->trace) return 0;
  const sptrsm_span span = {.step = step, .first = first, .nrhs = nrhs, .begin = begin, .end = spti_seconds()};
  context->trace(context->trace_user, &span);
  return spti_seconds();
}

#endif
