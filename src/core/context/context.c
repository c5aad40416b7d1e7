/* context.c -- contexts for host threads or for a CUDA device, whose part is in gpu.c. */
#include "core/context/context.h"

#include <stdio.h>

#include "core/context/alloc.h"
#include "core/context/cpus.h"
#include "core/context/gpu.h"

int sptrsm_host_threads(void) { return spti_cpus_usable(); }

int spti_visit_begin(const sptrsm_context *context) { return context && context->place == SPTRSM_CUDA ? spti_gpu_visit(context) : -1; }

void spti_visit_end(const int *callers_device) { spti_gpu_leave(*callers_device); }

void spti_context_retain(sptrsm_context *context) { atomic_fetch_add(&context->references, 1); }

int sptrsm_device_count(void) { return spti_gpu_count(); }

sptrsm_status sptrsm_context_create(sptrsm_context **out, sptrsm_place place, int device, void *cuda_stream) {
  if (!out) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_context_create: out is NULL");
  if (place != SPTRSM_HOST && place != SPTRSM_CUDA)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_context_create: unknown place %d", (int)place);
  sptrsm_context *context;
  SPTI_TRY(spti_host_alloc(&context, 1, sizeof *context, "context"));
  *context = (sptrsm_context){.place = place, .device = device, .stream = cuda_stream, .noting = PTHREAD_MUTEX_INITIALIZER};
  atomic_init(&context->references, 1);
  SPTI_VISIT(context);
  sptrsm_status status = spti_team_create(&context->team);
  if (status == SPTRSM_OK && place == SPTRSM_CUDA) status = spti_gpu_open(context);
  if (status != SPTRSM_OK) {
    spti_team_destroy(context->team);
    spti_host_free(context);
    return status;
  }
  *out = context;
  return SPTRSM_OK;
}

void sptrsm_context_destroy(sptrsm_context *context) {
  if (!context || atomic_fetch_sub(&context->references, 1) > 1) return;
  SPTI_VISIT(context);
  if (context->place == SPTRSM_CUDA) spti_gpu_close(context);
  spti_team_destroy(context->team);
  spti_host_free(context);
}

sptrsm_status sptrsm_context_set_threads(sptrsm_context *context, int threads) {
  if (!context) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_context_set_threads: context is NULL");
  if (threads < 0 || threads > SPTI_THREADS_MAX)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_context_set_threads: %d is not in 0..%d", threads, SPTI_THREADS_MAX);
  spti_team_set_threads(context->team, threads);
  return SPTRSM_OK;
}

sptrsm_status sptrsm_context_set_trace(sptrsm_context *context, sptrsm_trace *trace, void *user) {
  if (!context) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_context_set_trace: context is NULL");
  if (context->place == SPTRSM_CUDA)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "sptrsm_context_set_trace: a CUDA context queues its steps; use a profiler of the GPU");
  context->trace = trace;
  context->trace_user = user;
  return SPTRSM_OK;
}

sptrsm_status sptrsm_context_set_stream(sptrsm_context *context, void *cuda_stream) {
  if (!context) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_context_set_stream: context is NULL");
  SPTI_VISIT(context);
  return context->place == SPTRSM_CUDA ? spti_gpu_set_stream(context, cuda_stream) : SPTRSM_OK;
}

sptrsm_status sptrsm_context_sync(sptrsm_context *context) {
  if (!context) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_context_sync: context is NULL");
  SPTI_VISIT(context);
  return context->place == SPTRSM_CUDA ? spti_gpu_tell(context, &context->told) : SPTRSM_OK;
}

sptrsm_status sptrsm_context_trim(sptrsm_context *context) {
  if (!context) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_context_trim: context is NULL");
  SPTI_VISIT(context);
  return context->place == SPTRSM_CUDA ? spti_gpu_trim(context) : SPTRSM_OK;
}

sptrsm_status sptrsm_context_set_memory_limit(sptrsm_context *context, size_t bytes) {
  if (!context) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_context_set_memory_limit: context is NULL");
  if (context->place == SPTRSM_HOST)
    return spti_fail(SPTRSM_ERR_ARGUMENT,
                     "sptrsm_context_set_memory_limit: the limit is on device memory, and this context is on the host; "
                     "options.memory_limit is one on workspaces");
  SPTI_VISIT(context);
  return spti_gpu_set_limit(context, bytes);
}

sptrsm_status spti_context_wait(const sptrsm_context *context) {
  return context->place == SPTRSM_CUDA ? spti_gpu_wait(context) : SPTRSM_OK;
}

sptrsm_status sptrsm_host_alloc(void **out, sptrsm_context *context, size_t bytes) {
  if (!out || !context) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_host_alloc: out or context is NULL");
  SPTI_VISIT(context);
  if (bytes == 0) bytes = 1;
  if (context->place == SPTRSM_CUDA) return spti_gpu_host_alloc(context, out, bytes);
  return spti_host_alloc(out, 1, bytes, "host memory");
}

void sptrsm_host_free(sptrsm_context *context, void *memory) {
  SPTI_VISIT(context);
  if (!context || context->place == SPTRSM_HOST) spti_host_free(memory);
  else spti_gpu_host_free(memory);
}

const char *sptrsm_context_describe(const sptrsm_context *context) {
  if (!context) return "";
  if (context->place == SPTRSM_HOST) {
    int threads = spti_team_threads(context->team);
    snprintf(((sptrsm_context *)context)->description, sizeof context->description, "host, %d thread%s", threads, threads == 1 ? "" : "s");
  }
  return context->description;
}
