/* gpu_graph.c -- see gpu_graph.h. The launches are captured on a stream of their own, so that no other work on the
 * context's stream gets into the graph. */
#include "core/context/gpu_graph.h"

#include <cuda_runtime.h>

#include "core/context/alloc.h"

struct spti_gpu_graph {
  cudaGraphExec_t exec;
  sptrsm_status (*record)(const void *what, void *stream);
  const void *what;
};

static sptrsm_status record_on(cudaGraph_t *out, const spti_gpu_graph *g, cudaStream_t stream) {
  SPTI_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  const sptrsm_status status = g->record(g->what, stream);
  const cudaError_t error = cudaStreamEndCapture(stream, out);
  return status != SPTRSM_OK ? status : spti_gpu_check((int)error, "the end of a capture");
}

static sptrsm_status make(spti_gpu_graph *g) {
  cudaStream_t stream;
  cudaGraph_t recorded = NULL;
  SPTI_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  sptrsm_status status = record_on(&recorded, g, stream);
  if (status == SPTRSM_OK) status = spti_gpu_check((int)cudaGraphInstantiate(&g->exec, recorded, 0), "cudaGraphInstantiate");
  if (recorded) (void)cudaGraphDestroy(recorded);
  (void)cudaStreamDestroy(stream);
  return status;
}

sptrsm_status spti_gpu_graph_create(spti_gpu_graph **out, const sptrsm_context *context,
                                    sptrsm_status (*record)(const void *what, void *stream), const void *what) {
  spti_gpu_graph *g;
  SPTI_TRY(spti_gpu_refuse_capture(context, "the launches of a solve"));
  SPTI_TRY(spti_host_alloc(&g, 1, sizeof *g, "graph"));
  *g = (spti_gpu_graph){.record = record, .what = what};
  const sptrsm_status status = make(g);
  if (status != SPTRSM_OK) {
    spti_gpu_graph_free(g);
    return status;
  }
  *out = g;
  return SPTRSM_OK;
}

void spti_gpu_graph_free(spti_gpu_graph *g) {
  if (!g) return;
  if (g->exec) (void)cudaGraphExecDestroy(g->exec);
  spti_host_free(g);
}

sptrsm_status spti_gpu_graph_start(const spti_gpu_graph *g, const sptrsm_context *context) {
  enum cudaStreamCaptureStatus capture;
  cudaStream_t stream = (cudaStream_t)context->stream;
  SPTI_CUDA(cudaStreamIsCapturing(stream, &capture));
  if (capture != cudaStreamCaptureStatusNone) return g->record(g->what, stream);
  SPTI_CUDA(cudaGraphLaunch(g->exec, stream));
  return SPTRSM_OK;
}
