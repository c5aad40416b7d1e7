/* gpu_feed.h -- pieces of page-locked host memory, brought to the device one after another through a ring of buffers. Each buffer has a
 * stream, on which copies to it and work on it take turns; so a piece is copied while there is work on the pieces in other buffers.
 *
 *   buffer 0   | copy of 0 | work on 0 .......| copy of 2 | work on 2 ...
 *   buffer 1               | copy of 1 |  work on 1 ..........| copy of 3 ...
 */
#ifndef SPTI_CORE_CONTEXT_GPU_FEED_H
#define SPTI_CORE_CONTEXT_GPU_FEED_H

#include "core/context/context.h"

typedef struct spti_gpu_feed spti_gpu_feed;

enum { SPTI_GPU_FEED_BUFFERS = 8 /* at most */ };

/* memory: the buffers, of `bytes` each, on the device. It is the caller's. */
sptrsm_status spti_gpu_feed_create(spti_gpu_feed **out, const sptrsm_context *, void *memory, size_t bytes, int buffers);
void spti_gpu_feed_free(spti_gpu_feed *); /* waits; NULL: nothing happens */

/* Work that is queued on the feed's streams from now on waits for what is queued on the context's stream. */
sptrsm_status spti_gpu_feed_begin(spti_gpu_feed *, const sptrsm_context *);
/* Work that is queued on the context's stream from now on waits for what is queued on the feed's streams. */
sptrsm_status spti_gpu_feed_end(spti_gpu_feed *, const sptrsm_context *);

/* Queues the copy of piece k = 0, 1, ..., behind the work on the piece that was in its buffer. `from` is page-locked and stays as it is
 * until the copy is done. */
sptrsm_status spti_gpu_feed_send(spti_gpu_feed *, int64_t k, const void *from, size_t bytes);
/* The address of piece k, and the stream on which work that reads it has to be queued. */
void *spti_gpu_feed_take(void **stream, const spti_gpu_feed *, int64_t k);
/* Work on piece k that is queued from now on waits for all that is queued on the stream of piece k - 1. */
sptrsm_status spti_gpu_feed_in_turn(spti_gpu_feed *, int64_t k);

#endif
