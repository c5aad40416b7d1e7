/* gpu.c -- device, stream, memory and copies through the CUDA runtime. */
#include "core/gpu.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

sptrsm_status spti_gpu_check(int cuda_error, const char *what) {
  if (cuda_error == cudaSuccess) return SPTRSM_OK;
  sptrsm_status status = cuda_error == cudaErrorMemoryAllocation ? SPTRSM_ERR_MEMORY : SPTRSM_ERR_DEVICE;
  (void)cudaGetLastError(); /* clears an error that is not sticky */
  return spti_fail(status, "CUDA: %s in %s", cudaGetErrorString((cudaError_t)cuda_error), what);
}

int spti_gpu_count(void) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return count;
}

static sptrsm_status check_device(sptrsm_context *context) {
  int count = spti_gpu_count();
  if (count == 0)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "no CUDA device is visible; use a host context, or check the driver and CUDA_VISIBLE_DEVICES");
  if (context->device < 0 || context->device >= count)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "CUDA device %d: there are %d, numbered from 0", context->device, count);
  struct cudaDeviceProp properties;
  SPTI_CUDA(cudaGetDeviceProperties(&properties, context->device));
  if (properties.major < 7)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                     "CUDA device %d (%s) has compute capability %d.%d; 7.0 or newer is needed (independent thread scheduling)",
                     context->device, properties.name, properties.major, properties.minor);
  snprintf(context->description, sizeof context->description, "%.95s", properties.name);
  return SPTRSM_OK;
}

/* Freed blocks stay in the device's pool, so that analysis and workspaces after the first cost no driver call. */
static sptrsm_status keep_pool(int device) {
  cudaMemPool_t pool;
  uint64_t threshold = UINT64_MAX;
  SPTI_CUDA(cudaDeviceGetDefaultMemPool(&pool, device));
  SPTI_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  return SPTRSM_OK;
}

static sptrsm_status open_parts(sptrsm_context *context) {
  SPTI_CUDA(cudaSetDevice(context->device));
  SPTI_TRY(keep_pool(context->device));
  SPTI_CUDA(
      cudaHostAlloc((void **)&context->lost, sizeof *context->lost + SPTI_PINNED_WORDS * sizeof *context->pinned, cudaHostAllocMapped));
  context->pinned = (int32_t *)(context->lost + 1);
  *context->lost = 0;
  SPTI_CUDA(cudaHostGetDevicePointer((void **)&context->lost_device, context->lost, 0));
  if (context->stream) return SPTRSM_OK;
  SPTI_CUDA(cudaStreamCreateWithFlags((cudaStream_t *)&context->stream, cudaStreamNonBlocking));
  context->owns_stream = true;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_open(sptrsm_context *context) {
  SPTI_TRY(check_device(context));
  sptrsm_status status = open_parts(context);
  if (status != SPTRSM_OK) spti_gpu_close(context);
  return status;
}

void spti_gpu_close(sptrsm_context *context) {
  if (context->stream) (void)cudaStreamSynchronize((cudaStream_t)context->stream);
  spti_gpu_close_sparse(context);
  if (context->owns_stream) (void)cudaStreamDestroy((cudaStream_t)context->stream);
  if (context->lost) (void)cudaFreeHost(context->lost);
}

sptrsm_status spti_gpu_sync(sptrsm_context *context) {
  SPTI_CUDA(cudaStreamSynchronize((cudaStream_t)context->stream));
  int64_t row = *(volatile int64_t *)context->lost;
  if (row == 0) return SPTRSM_OK;
  *(volatile int64_t *)context->lost = 0;
  return spti_fail(SPTRSM_ERR_DEVICE, "dependency never arrived (row %lld); the solution is not valid", (long long)(row - 1));
}

sptrsm_status spti_gpu_alloc(const sptrsm_context *context, void **out, size_t bytes, const char *what) {
  SPTI_CUDA(cudaSetDevice(context->device));
  cudaError_t error = cudaMallocAsync(out, bytes, (cudaStream_t)context->stream);
  if (error == cudaSuccess) return SPTRSM_OK;
  (void)cudaGetLastError();
  if (error != cudaErrorMemoryAllocation) return spti_gpu_check((int)error, what);
  return spti_fail(SPTRSM_ERR_MEMORY, "%s: no device memory for %zu bytes", what, bytes);
}

void spti_gpu_free(const sptrsm_context *context, void *memory) {
  if (memory) (void)cudaFreeAsync(memory, (cudaStream_t)context->stream);
}

sptrsm_status spti_gpu_copy(const sptrsm_context *context, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t row_bytes,
                            size_t rows, spti_direction direction) {
  static const enum cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
  if (row_bytes == 0 || rows == 0) return SPTRSM_OK;
  cudaStream_t stream = (cudaStream_t)context->stream;
  if (rows == 1 || (to_pitch == row_bytes && from_pitch == row_bytes)) {
    SPTI_CUDA(cudaMemcpyAsync(to, from, row_bytes * rows, kinds[direction], stream));
  } else {
    SPTI_CUDA(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row_bytes, rows, kinds[direction], stream));
  }
  if (direction != SPTI_ON_DEVICE) SPTI_CUDA(cudaStreamSynchronize(stream));
  return SPTRSM_OK;
}
