/* transpose_gpu.c -- transposes compressed lines on the device by cuSPARSE (csr2csc, the variant that sorts: same
 * bits on every run). */
#include "core/context/alloc.h"
#include "core/context/gpu_sparse.h"
#include "core/device/launch.h"

/* Pointers of both sides in 32 bits, as cuSPARSE wants them, and its buffer. */
typedef struct {
  int32_t *from_ptr, *to_ptr;
  void *buffer;
} scratch;

static sptrsm_status transpose(scratch *s, sptrsm_context *context, int32_t n, int64_t nnz, sptrsm_dtype dtype, const spti_lines *from,
                               const spti_lines *to) {
  const cudaDataType type = spti_cusparse_type(dtype);
  const cusparseIndexBase_t zero = CUSPARSE_INDEX_BASE_ZERO;
  const cusparseCsr2CscAlg_t algorithm = CUSPARSE_CSR2CSC_ALG1;
  cusparseHandle_t handle;
  size_t bytes;
  SPTI_TRY(spti_cusparse_handle(&handle, context));
  SPTI_TRY(spti_alloc(context, &s->from_ptr, (int64_t)n + 1, sizeof *s->from_ptr, "offsets for transposition"));
  SPTI_TRY(spti_alloc(context, &s->to_ptr, (int64_t)n + 1, sizeof *s->to_ptr, "offsets for transposition"));
  SPTI_CUDA(spti_narrow_launch(s->from_ptr, from->ptr, (int64_t)n + 1, context->stream));
  SPTI_TRY(spti_cusparse_check(cusparseCsr2cscEx2_bufferSize(handle, n, n, (int)nnz, from->val, s->from_ptr, from->idx, to->val, s->to_ptr,
                                                             to->idx, type, CUSPARSE_ACTION_NUMERIC, zero, algorithm, &bytes),
                               "csr2csc buffer size"));
  SPTI_TRY(spti_alloc(context, &s->buffer, (int64_t)bytes, 1, "transposition buffer"));
  SPTI_TRY(spti_cusparse_check(cusparseCsr2cscEx2(handle, n, n, (int)nnz, from->val, s->from_ptr, from->idx, to->val, s->to_ptr, to->idx,
                                                  type, CUSPARSE_ACTION_NUMERIC, zero, algorithm, s->buffer),
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
