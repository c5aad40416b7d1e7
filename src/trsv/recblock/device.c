/* device.c -- the number of FP32 lanes of a device, from the CUDA runtime. */
#include <cuda_runtime_api.h>

#include "trsv/recblock/kernels.h"

int spti_recblock_count_lanes(int64_t *out, int device) {
  int multiprocessors = 0, major = 0, minor = 0;
  cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  *out = (int64_t)multiprocessors * (major == 7 || (major == 8 && minor == 0) ? 64 : 128);
  return (int)error;
}
