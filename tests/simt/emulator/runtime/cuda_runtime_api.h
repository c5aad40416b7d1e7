/* cuda_runtime_api.h -- the part of the CUDA runtime's streams and events that core/context/gpu_feed.c uses, on the emulator (streams.cpp):
 * so the order of copies and kernels that it queues is tested, too. Values of enumerations are of no meaning. */
#ifndef TESTS_SIMT_EMULATOR_RUNTIME_CUDA_RUNTIME_API_H
#define TESTS_SIMT_EMULATOR_RUNTIME_CUDA_RUNTIME_API_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int cudaError_t;
typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;
enum { cudaSuccess = 0, cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaMemcpyHostToDevice = 1 };

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t);

#ifdef __cplusplus
}
#endif
#endif
