/* gpu_sparse.c -- see gpu_sparse.h. */
#include "core/context/gpu_sparse.h"

sptrsm_status spti_cusparse_check(cusparseStatus_t error, const char *what) {
  if (error == CUSPARSE_STATUS_SUCCESS) return SPTRSM_OK;
  sptrsm_status status = error == CUSPARSE_STATUS_ALLOC_FAILED || error == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES ? SPTRSM_ERR_MEMORY
                         : error == CUSPARSE_STATUS_NOT_SUPPORTED                                                 ? SPTRSM_ERR_UNSUPPORTED
                                                                                                                  : SPTRSM_ERR_DEVICE;
  return spti_fail(status, "cuSPARSE: %s in %s", cusparseGetErrorString(error), what);
}

sptrsm_status spti_cusparse_handle(cusparseHandle_t *out, sptrsm_context *context) {
  if (!context->sparse_handle) SPTI_CUSPARSE(cusparseCreate((cusparseHandle_t *)&context->sparse_handle));
  *out = (cusparseHandle_t)context->sparse_handle;
  return spti_gpu_stream_sparse(context);
}

sptrsm_status spti_gpu_stream_sparse(sptrsm_context *context) {
  if (context->sparse_handle) SPTI_CUSPARSE(cusparseSetStream((cusparseHandle_t)context->sparse_handle, (cudaStream_t)context->stream));
  return SPTRSM_OK;
}

void spti_gpu_close_sparse(sptrsm_context *context) {
  if (context->sparse_handle) (void)cusparseDestroy((cusparseHandle_t)context->sparse_handle);
}

cudaDataType spti_cusparse_type(sptrsm_dtype dtype) {
  static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
  return types[dtype];
}
