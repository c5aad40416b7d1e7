/* gpu_feed.c -- see gpu_feed.h. */
#include "core/context/gpu_feed.h"

#include <cuda_runtime_api.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"

typedef struct {
  void *memory;
  cudaStream_t stream;
  cudaEvent_t event; /* a place in the stream that another one waits for */
} buffer;

struct spti_gpu_feed {
  int count;
  cudaEvent_t begun;
  buffer buffers[SPTI_GPU_FEED_BUFFERS];
};

static sptrsm_status make(spti_gpu_feed *feed, const sptrsm_context *context, void *memory, size_t bytes) {
  SPTI_CUDA(cudaEventCreateWithFlags(&feed->begun, cudaEventDisableTiming));
  for (int b = 0; b < feed->count; b++) {
    feed->buffers[b].memory = (char *)memory + (size_t)b * bytes;
    SPTI_CUDA(cudaStreamCreateWithFlags(&feed->buffers[b].stream, cudaStreamNonBlocking));
    SPTI_CUDA(cudaEventCreateWithFlags(&feed->buffers[b].event, cudaEventDisableTiming));
  }
  return spti_gpu_feed_begin(feed, context); /* the memory is there once the context's stream comes to its allocation */
}

sptrsm_status spti_gpu_feed_create(spti_gpu_feed **out, const sptrsm_context *context, void *memory, size_t bytes, int buffers) {
  spti_gpu_feed *feed;
  SPTI_TRY(spti_gpu_refuse_capture(context, "a feed of the factor"));
  SPTI_TRY(spti_host_alloc(&feed, 1, sizeof *feed, "feed"));
  *feed = (spti_gpu_feed){.count = buffers};
  const sptrsm_status status = make(feed, context, memory, bytes);
  if (status != SPTRSM_OK) {
    spti_gpu_feed_free(feed);
    return status;
  }
  *out = feed;
  return SPTRSM_OK;
}

void spti_gpu_feed_free(spti_gpu_feed *feed) {
  if (!feed) return;
  for (int b = 0; b < feed->count; b++) {
    if (feed->buffers[b].stream) {
      (void)cudaStreamSynchronize(feed->buffers[b].stream);
      (void)cudaStreamDestroy(feed->buffers[b].stream);
    }
    if (feed->buffers[b].event) (void)cudaEventDestroy(feed->buffers[b].event);
  }
  if (feed->begun) (void)cudaEventDestroy(feed->begun);
  spti_host_free(feed);
}

sptrsm_status spti_gpu_feed_begin(spti_gpu_feed *feed, const sptrsm_context *context) {
  SPTI_CUDA(cudaEventRecord(feed->begun, (cudaStream_t)context->stream));
  for (int b = 0; b < feed->count; b++) SPTI_CUDA(cudaStreamWaitEvent(feed->buffers[b].stream, feed->begun, 0));
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_feed_end(spti_gpu_feed *feed, const sptrsm_context *context) {
  for (int b = 0; b < feed->count; b++) {
    SPTI_CUDA(cudaEventRecord(feed->buffers[b].event, feed->buffers[b].stream));
    SPTI_CUDA(cudaStreamWaitEvent((cudaStream_t)context->stream, feed->buffers[b].event, 0));
  }
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_feed_send(spti_gpu_feed *feed, int64_t k, const void *from, size_t bytes) {
  const buffer *b = &feed->buffers[k % feed->count];
  SPTI_CUDA(cudaMemcpyAsync(b->memory, from, bytes, cudaMemcpyHostToDevice, b->stream));
  return SPTRSM_OK;
}

void *spti_gpu_feed_take(void **stream, const spti_gpu_feed *feed, int64_t k) {
  *stream = feed->buffers[k % feed->count].stream;
  return feed->buffers[k % feed->count].memory;
}

sptrsm_status spti_gpu_feed_in_turn(spti_gpu_feed *feed, int64_t k) {
  const buffer *before = &feed->buffers[(k + feed->count - 1) % feed->count];
  if (k == 0) return SPTRSM_OK;
  SPTI_CUDA(cudaEventRecord(before->event, before->stream));
  SPTI_CUDA(cudaStreamWaitEvent(feed->buffers[k % feed->count].stream, before->event, 0));
  return SPTRSM_OK;
}
