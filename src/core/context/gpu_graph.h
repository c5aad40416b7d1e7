/* gpu_graph.h -- launches recorded once and started as one, as a CUDA graph: for methods of many short kernels, which cost the host more
 * than the device. */
#ifndef SPTI_CORE_CONTEXT_GPU_GRAPH_H
#define SPTI_CORE_CONTEXT_GPU_GRAPH_H

#include "core/context/gpu.h"

typedef struct spti_gpu_graph spti_gpu_graph;

/* Records what record(what, stream) launches on the stream it is given; it may launch kernels and nothing else. `what` must outlive the
 * graph. */
sptrsm_status spti_gpu_graph_create(spti_gpu_graph **out, const sptrsm_context *, sptrsm_status (*record)(const void *what, void *stream),
                                    const void *what);
void spti_gpu_graph_free(spti_gpu_graph *);

/* Queues all of it on the context's stream; while that is being captured itself, by its launches one by one. */
sptrsm_status spti_gpu_graph_start(const spti_gpu_graph *, const sptrsm_context *);

#endif
