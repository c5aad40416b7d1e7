/* gpu_feed.c -- see gpu_feed.h. */
#include "core/context/gpu_feed.h"

#include <cuda_runtime_api.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"

struct spti_gpu_feed {
  cudaStream_t stream; /* of the copies */
  struct {
    void *memory;
    cudaEvent_t arrived, released; /* the copy to this buffer; the work on it */
  } buffer[2];
};

static sptrsm_status make(spti_gpu_feed *feed, const sptrsm_context *context, void *memory, size_t bytes) {
  SPTI_CUDA(cudaStreamCreateWithFlags(&feed->stream, cudaStreamNonBlocking));
  for (int b = 0; b < 2; b++) {
    SPTI_CUDA(cudaEventCreateWithFlags(&feed->buffer[b].arrived, cudaEventDisableTiming));
    SPTI_CUDA(cudaEventCreateWithFlags(&feed->buffer[b].released, cudaEventDisableTiming));
    feed->buffer[b].memory = (char *)memory + (size_t)b * bytes;
    SPTI_TRY(spti_gpu_feed_done(feed, context, b)); /* the memory is there once the context's stream comes to its allocation */
  }
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_feed_create(spti_gpu_feed **out, const sptrsm_context *context, void *memory, size_t bytes) {
  spti_gpu_feed *feed;
  SPTI_TRY(spti_gpu_refuse_capture(context, "a feed of the factor"));
  SPTI_TRY(spti_host_alloc(&feed, 1, sizeof *feed, "feed"));
  *feed = (spti_gpu_feed){0};
  const sptrsm_status status = make(feed, context, memory, bytes);
  if (status != SPTRSM_OK) {
    spti_gpu_feed_free(feed);
    return status;
  }
  *out = feed;
  return SPTRSM_OK;
}

/* A copy that no work has taken may still be under way. */
void spti_gpu_feed_free(spti_gpu_feed *feed) {
  if (!feed) return;
  if (feed->stream) (void)cudaStreamSynchronize(feed->stream);
  for (int b = 0; b < 2; b++) {
    if (feed->buffer[b].arrived) (void)cudaEventDestroy(feed->buffer[b].arrived);
    if (feed->buffer[b].released) (void)cudaEventDestroy(feed->buffer[b].released);
  }
  if (feed->stream) (void)cudaStreamDestroy(feed->stream);
  spti_host_free(feed);
}

sptrsm_status spti_gpu_feed_send(spti_gpu_feed *feed, int64_t k, const void *from, size_t bytes) {
  SPTI_CUDA(cudaStreamWaitEvent(feed->stream, feed->buffer[k % 2].released, 0));
  SPTI_CUDA(cudaMemcpyAsync(feed->buffer[k % 2].memory, from, bytes, cudaMemcpyHostToDevice, feed->stream));
  SPTI_CUDA(cudaEventRecord(feed->buffer[k % 2].arrived, feed->stream));
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_feed_take(void **out, spti_gpu_feed *feed, const sptrsm_context *context, int64_t k) {
  SPTI_CUDA(cudaStreamWaitEvent((cudaStream_t)context->stream, feed->buffer[k % 2].arrived, 0));
  *out = feed->buffer[k % 2].memory;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_feed_done(spti_gpu_feed *feed, const sptrsm_context *context, int64_t k) {
  SPTI_CUDA(cudaEventRecord(feed->buffer[k % 2].released, (cudaStream_t)context->stream));
  return SPTRSM_OK;
}
