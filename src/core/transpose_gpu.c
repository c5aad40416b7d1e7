/* transpose_gpu.c -- compressed lines turned on the device by cuSPARSE (csr2csc, the sorting variant: same bits on every run). */
#define DISABLE_CUSPARSE_DEPRECATED
#include <cuda_runtime_api.h>
#include <cusparse.h>

#include "core/alloc.h"
#include "core/gpu.h"
#include "core/launch.h"

static sptrsm_status check(cusparseStatus_t error, const char *what) {
  if (error == CUSPARSE_STATUS_SUCCESS) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_DEVICE, "cuSPARSE: %s in %s", cusparseGetErrorString(error), what);
}

/* The context's handle, made at its first use: creating one takes as long as many solves. */
static sptrsm_status handle_of(cusparseHandle_t *out, sptrsm_context *context) {
  if (!context->sparse_handle) SPTI_TRY(check(cusparseCreate((cusparseHandle_t *)&context->sparse_handle), "cusparseCreate"));
  SPTI_TRY(check(cusparseSetStream((cusparseHandle_t)context->sparse_handle, (cudaStream_t)context->stream), "cusparseSetStream"));
  *out = (cusparseHandle_t)context->sparse_handle;
  return SPTRSM_OK;
}

void spti_gpu_close_sparse(sptrsm_context *context) {
  if (context->sparse_handle) (void)cusparseDestroy((cusparseHandle_t)context->sparse_handle);
}

/* 32-bit offsets of both sides and cuSPARSE's buffer. */
typedef struct {
  int32_t *from_ptr, *to_ptr;
  void *buffer;
} scratch;

static sptrsm_status transpose(scratch *s, sptrsm_context *context, int32_t n, int64_t nnz, sptrsm_dtype dtype, const spti_lines *from,
                               const spti_lines *to) {
  static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
  const cusparseIndexBase_t zero = CUSPARSE_INDEX_BASE_ZERO;
  const cusparseCsr2CscAlg_t algorithm = CUSPARSE_CSR2CSC_ALG1;
  cusparseHandle_t handle;
  size_t bytes;
  SPTI_TRY(handle_of(&handle, context));
  SPTI_TRY(spti_alloc(context, &s->from_ptr, (int64_t)n + 1, sizeof *s->from_ptr, "offsets for transposition"));
  SPTI_TRY(spti_alloc(context, &s->to_ptr, (int64_t)n + 1, sizeof *s->to_ptr, "offsets for transposition"));
  SPTI_CUDA(spti_narrow_launch(s->from_ptr, from->ptr, (int64_t)n + 1, context->stream));
  SPTI_TRY(check(cusparseCsr2cscEx2_bufferSize(handle, n, n, (int)nnz, from->val, s->from_ptr, from->idx, to->val, s->to_ptr, to->idx,
                                               types[dtype], CUSPARSE_ACTION_NUMERIC, zero, algorithm, &bytes),
                 "csr2csc buffer size"));
  SPTI_TRY(spti_alloc(context, &s->buffer, (int64_t)bytes, 1, "transposition buffer"));
  SPTI_TRY(check(cusparseCsr2cscEx2(handle, n, n, (int)nnz, from->val, s->from_ptr, from->idx, to->val, s->to_ptr, to->idx, types[dtype],
                                    CUSPARSE_ACTION_NUMERIC, zero, algorithm, s->buffer),
                 "csr2csc"));
  SPTI_CUDA(spti_widen_launch(to->ptr, s->to_ptr, (int64_t)n + 1, context->stream));
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_transpose(sptrsm_context *context, int32_t n, int64_t nnz, sptrsm_dtype dtype, const spti_lines *from,
                                 const spti_lines *to) {
  scratch s = {0};
  sptrsm_status status = transpose(&s, context, n, nnz, dtype, from, to);
  spti_free(context, s.from_ptr);
  spti_free(context, s.to_ptr);
  spti_free(context, s.buffer);
  return status;
}
