/* recblock_device -- what recblock asks the CUDA runtime, apart from its kernels: the size of a device, and graphs of many launches. */
#include <cuda_runtime_api.h>

#include "trsv/recblock_kernels.h"

int spti_recblock_count_lanes(int64_t *out, int device) {
  int multiprocessors = 0, major = 0, minor = 0;
  cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  *out = (int64_t)multiprocessors * (major == 7 || (major == 8 && minor == 0) ? 64 : 128);
  return (int)error;
}

int spti_recblock_is_capturing(int *out, void *stream) {
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaError_t error = cudaStreamIsCapturing((cudaStream_t)stream, &status);
  *out = status != cudaStreamCaptureStatusNone;
  return (int)error;
}

/* Captured on a stream of its own: the caller's may be the legacy one, which can't be. */
int spti_recblock_graph_record(void **graph, spti_recblock_recorder record, const void *data) {
  cudaStream_t stream = NULL;
  cudaGraph_t captured = NULL;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), ended;
  if (error != cudaSuccess) return (int)error;
  error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error == cudaSuccess) {
    error = (cudaError_t)record(data, stream);
    ended = cudaStreamEndCapture(stream, &captured);
    if (error == cudaSuccess) error = ended;
  }
  if (error == cudaSuccess) error = cudaGraphInstantiate((cudaGraphExec_t *)graph, captured, 0);
  if (captured) (void)cudaGraphDestroy(captured);
  (void)cudaStreamDestroy(stream);
  return (int)error;
}

int spti_recblock_graph_launch(void *graph, void *stream) { return (int)cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)stream); }

void spti_recblock_graph_destroy(void *graph) {
  if (graph) (void)cudaGraphExecDestroy((cudaGraphExec_t)graph);
}
