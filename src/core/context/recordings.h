/* recordings.h -- the launches of a solve, queued one by one or started as one recorded graph (gpu_graph.h).
 *
 * A method with many short kernels records its launches when a workspace is made, once for one right-hand side and once for the full
 * width of a panel. A solve of either width writes its transfer (where B and X are, and alpha) to device memory, where the recorded
 * kernels read it, and starts the graph. A solve of any other width queues its launches one by one. */
#ifndef SPTI_CORE_CONTEXT_RECORDINGS_H
#define SPTI_CORE_CONTEXT_RECORDINGS_H

#include "core/context/gpu_graph.h"
#include "core/device/transfer.h"

/* Queues all kernels of one solve with the workspace `work` on the stream, and does nothing else. bound: where the kernels find the
 * transfer in device memory, and only its width is valid in *transfer; or NULL, and they are given *transfer by value. */
typedef sptrsm_status spti_queue_solve(const void *work, const spti_transfer *transfer, const int64_t *bound, void *stream);

typedef struct spti_recordings spti_recordings;

typedef struct {
  const spti_recordings *all;
  spti_transfer transfer; /* its width alone */
  spti_gpu_graph *graph;  /* NULL: not recorded */
} spti_recording;

enum { SPTI_RECORDINGS_MOST = 2 }; /* of one right-hand side, and of a full panel */

/* A member of a workspace, which sets the first three members. It must stay where it is, because the graphs point to it. */
struct spti_recordings {
  const sptrsm_context *context;
  spti_queue_solve *queue;
  const void *work;
  int64_t *bound; /* device, [SPTI_TRANSFER_WORDS], or NULL: nothing is recorded */
  spti_recording recorded[SPTI_RECORDINGS_MOST];
};

/* Records one right-hand side and `panel` right-hand sides. Without this call every solve is queued one by one. After a failure
 * spti_recordings_free is still due. */
sptrsm_status spti_recordings_make(spti_recordings *, int32_t panel);
void spti_recordings_free(spti_recordings *);

/* Queues a solve on the context's stream. */
sptrsm_status spti_recordings_solve(const spti_recordings *, const spti_transfer *);

#endif
