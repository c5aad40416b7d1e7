/* gpu_graph.h -- kernel launches that are recorded once and started together, as a CUDA graph: for methods of many
 * short kernels, whose launches take the host longer than the kernels take the device. */
#ifndef SPTI_CORE_CONTEXT_GPU_GRAPH_H
#define SPTI_CORE_CONTEXT_GPU_GRAPH_H

#include "core/context/gpu.h"

typedef struct spti_gpu_graph spti_gpu_graph;

/* Records what record(what, stream) launches on that stream; it may launch kernels and nothing else. `what` must stay
 * valid as long as the graph. */
sptrsm_status spti_gpu_graph_create(spti_gpu_graph **out, const sptrsm_context *, sptrsm_status (*record)(const void *what, void *stream),
                                    const void *what);
void spti_gpu_graph_free(spti_gpu_graph *);

/* Queues the graph on the context's stream; while that stream is being captured itself, the launches one by one. */
sptrsm_status spti_gpu_graph_start(const spti_gpu_graph *, const sptrsm_context *);

#endif
