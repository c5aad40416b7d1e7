/* gpu_feed.h -- pieces of page-locked host memory, brought to the device one after another through two buffers: while work on the context's
 * stream uses one piece, the next one is copied on a stream of the feed's own.
 *
 *   copies   | piece 0 | piece 1 | piece 2 .....| piece 3 ...        piece k goes to buffer k mod 2
 *   work               | on 0 ........| on 1 ...     | on 2 ...
 */
#ifndef SPTI_CORE_CONTEXT_GPU_FEED_H
#define SPTI_CORE_CONTEXT_GPU_FEED_H

#include "core/context/context.h"

typedef struct spti_gpu_feed spti_gpu_feed;

/* memory: the two buffers, of `bytes` each, on the device. It is the caller's; while others use it the feed's pieces are done, and before
 * the feed uses it again, each buffer needs a spti_gpu_feed_done behind their work. */
sptrsm_status spti_gpu_feed_create(spti_gpu_feed **out, const sptrsm_context *, void *memory, size_t bytes);
void spti_gpu_feed_free(spti_gpu_feed *); /* NULL: nothing happens */

/* Queues the copy of piece k = 0, 1, ..., behind the work on piece k - 2. `from` is page-locked and stays as it is until the work on the
 * piece is done. */
sptrsm_status spti_gpu_feed_send(spti_gpu_feed *, int64_t k, const void *from, size_t bytes);
/* Later work on the context's stream finds piece k, which was sent, at *out; */
sptrsm_status spti_gpu_feed_take(void **out, spti_gpu_feed *, const sptrsm_context *, int64_t k);
/* and no work that is queued from now on needs it any more. */
sptrsm_status spti_gpu_feed_done(spti_gpu_feed *, const sptrsm_context *, int64_t k);

#endif
