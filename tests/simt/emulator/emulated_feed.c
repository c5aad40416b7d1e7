/* emulated_feed.c -- core/context/gpu_feed.h on the emulator. A piece arrives when it is taken, and its buffer is overwritten when the work
 * on it is done: so a piece that is used before or after that, or whose buffer gets another piece too early, is noticed. */
#include "core/context/gpu_feed.h"

#include <string.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"

typedef struct {
  void *memory;
  const void *from;
  size_t bytes;
  int64_t piece; /* that was sent and is not done; -1: none */
} buffer;

struct spti_gpu_feed {
  size_t bytes;
  buffer buffers[2];
};

sptrsm_status spti_gpu_feed_create(spti_gpu_feed **out, const sptrsm_context *context, void *memory, size_t bytes) {
  spti_gpu_feed *feed;
  SPTI_TRY(spti_host_alloc(&feed, 1, sizeof *feed, "feed"));
  (void)context;
  *feed = (spti_gpu_feed){.bytes = bytes, .buffers = {{.memory = memory, .piece = -1}, {.memory = (char *)memory + bytes, .piece = -1}}};
  *out = feed;
  return SPTRSM_OK;
}

void spti_gpu_feed_free(spti_gpu_feed *feed) { spti_host_free(feed); }

sptrsm_status spti_gpu_feed_send(spti_gpu_feed *feed, int64_t k, const void *from, size_t bytes) {
  buffer *b = &feed->buffers[k % 2];
  if (b->piece >= 0) return spti_fail(SPTRSM_ERR_INTERNAL, "feed: piece %lld over piece %lld", (long long)k, (long long)b->piece);
  if (bytes > feed->bytes) return spti_fail(SPTRSM_ERR_INTERNAL, "feed: %zu bytes in a buffer of %zu", bytes, feed->bytes);
  b->from = from, b->bytes = bytes, b->piece = k;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_feed_take(void **out, spti_gpu_feed *feed, const sptrsm_context *context, int64_t k) {
  (void)context;
  buffer *b = &feed->buffers[k % 2];
  if (b->piece != k) return spti_fail(SPTRSM_ERR_INTERNAL, "feed: piece %lld was not sent", (long long)k);
  memcpy(b->memory, b->from, b->bytes);
  *out = b->memory;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_feed_done(spti_gpu_feed *feed, const sptrsm_context *context, int64_t k) {
  (void)context;
  buffer *b = &feed->buffers[k % 2];
  memset(b->memory, 0xa5, feed->bytes);
  b->piece = -1;
  return SPTRSM_OK;
}
