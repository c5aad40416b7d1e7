/* gpu_copies.c -- see gpu_copies.h. Three events a slot order the three streams. */
#include "core/context/gpu_copies.h"

#include <cuda_runtime_api.h>

#include "core/context/alloc.h"

typedef struct {
  cudaEvent_t filled, done, emptied;
} slot_events;

struct spti_gpu_copies {
  cudaStream_t in, out;
  slot_events slots[SPTI_COPY_SLOTS];
};

static sptrsm_status make(spti_gpu_copies *c) {
  SPTI_CUDA(cudaStreamCreateWithFlags(&c->in, cudaStreamNonBlocking));
  SPTI_CUDA(cudaStreamCreateWithFlags(&c->out, cudaStreamNonBlocking));
  for (int s = 0; s < SPTI_COPY_SLOTS; s++) {
    SPTI_CUDA(cudaEventCreateWithFlags(&c->slots[s].filled, cudaEventDisableTiming));
    SPTI_CUDA(cudaEventCreateWithFlags(&c->slots[s].done, cudaEventDisableTiming));
    SPTI_CUDA(cudaEventCreateWithFlags(&c->slots[s].emptied, cudaEventDisableTiming));
  }
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_copies_create(spti_gpu_copies **out, const sptrsm_context *context) {
  spti_gpu_copies *c;
  SPTI_TRY(spti_gpu_refuse_capture(context, "copies between host and device"));
  SPTI_TRY(spti_host_alloc(&c, 1, sizeof *c, "streams for copies"));
  *c = (spti_gpu_copies){0};
  const sptrsm_status status = make(c);
  if (status == SPTRSM_OK) *out = c;
  else spti_gpu_copies_free(c);
  return status;
}

static void drop(cudaEvent_t event) {
  if (event) (void)cudaEventDestroy(event);
}

void spti_gpu_copies_free(spti_gpu_copies *c) {
  if (!c) return;
  for (int s = 0; s < SPTI_COPY_SLOTS; s++) {
    drop(c->slots[s].filled);
    drop(c->slots[s].done);
    drop(c->slots[s].emptied);
  }
  if (c->in) (void)cudaStreamDestroy(c->in);
  if (c->out) (void)cudaStreamDestroy(c->out);
  spti_host_free(c);
}

static sptrsm_status let_wait(cudaStream_t waiting, cudaStream_t for_stream, cudaEvent_t event) {
  SPTI_CUDA(cudaEventRecord(event, for_stream));
  SPTI_CUDA(cudaStreamWaitEvent(waiting, event, 0));
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_copies_begin(const spti_gpu_copies *c, const sptrsm_context *context) {
  SPTI_TRY(spti_gpu_refuse_capture(context, "copies between host and device"));
  return let_wait(c->in, (cudaStream_t)context->stream, c->slots[0].done);
}

sptrsm_status spti_gpu_copy_in(spti_gpu_copies *c, const sptrsm_context *context, int slot, const spti_gpu_pitched *copy) {
  const slot_events *s = &c->slots[slot];
  SPTI_CUDA(cudaStreamWaitEvent(c->in, s->emptied, 0)); /* one that was never recorded holds nothing up */
  SPTI_TRY(spti_gpu_queue_copy(c->in, copy, SPTI_TO_DEVICE));
  return let_wait((cudaStream_t)context->stream, c->in, s->filled);
}

sptrsm_status spti_gpu_copies_done(const spti_gpu_copies *c, const sptrsm_context *context, int slot) {
  SPTI_CUDA(cudaEventRecord(c->slots[slot].done, (cudaStream_t)context->stream));
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_copy_out(spti_gpu_copies *c, int slot, const spti_gpu_pitched *copy) {
  SPTI_CUDA(cudaStreamWaitEvent(c->out, c->slots[slot].done, 0));
  SPTI_TRY(spti_gpu_queue_copy(c->out, copy, SPTI_TO_HOST));
  SPTI_CUDA(cudaEventRecord(c->slots[slot].emptied, c->out));
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_copies_end(spti_gpu_copies *c) {
  const cudaError_t in = cudaStreamSynchronize(c->in), out = cudaStreamSynchronize(c->out);
  SPTI_CUDA(in);
  SPTI_CUDA(out);
  return SPTRSM_OK;
}
