/* gpu_sparse.h -- what all callers of cuSPARSE share: status, the context's handle, types of values. Only for files
 * built with CUDA. */
#ifndef SPTI_CORE_CONTEXT_GPU_SPARSE_H
#define SPTI_CORE_CONTEXT_GPU_SPARSE_H

#define DISABLE_CUSPARSE_DEPRECATED
#include <cuda_runtime_api.h>
#include <cusparse.h>

#include "core/context/gpu.h"

sptrsm_status spti_cusparse_check(cusparseStatus_t, const char *what);
/* The context's handle, on its stream. Made when first needed and kept by the context, since that takes as long as
 * many solves. */
sptrsm_status spti_cusparse_handle(cusparseHandle_t *out, sptrsm_context *);
cudaDataType spti_cusparse_type(sptrsm_dtype);

#define SPTI_CUSPARSE(call) SPTI_TRY(spti_cusparse_check((call), #call))

#endif
