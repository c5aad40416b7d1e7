/* gpu_dense.c -- see gpu_dense.h. */
#include "core/context/gpu_dense.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(x)  #x
#define AS_TEXT(x)  TEXT_OF(x)
#define CUBLAS_FILE "libcublas.so." AS_TEXT(CUBLAS_VER_MAJOR)

/* The functions of cuBLAS that are called here: member and name. */
#define CUBLAS_FUNCTIONS(X)                                                                                                                \
  X(cublasCreate_v2)                                                                                                                       \
  X(cublasDestroy_v2)                                                                                                                      \
  X(cublasSetStream_v2)                                                                                                                    \
  X(cublasGetStatusString)                                                                                                                 \
  X(cublasSgemm_v2)                                                                                                                        \
  X(cublasDgemm_v2)                                                                                                                        \
  X(cublasCgemm_v2)                                                                                                                        \
  X(cublasZgemm_v2)                                                                                                                        \
  X(cublasSsyrk_v2)                                                                                                                        \
  X(cublasDsyrk_v2)                                                                                                                        \
  X(cublasCsyrk_v2)                                                                                                                        \
  X(cublasZsyrk_v2)                                                                                                                        \
  X(cublasCherk_v2)                                                                                                                        \
  X(cublasZherk_v2)                                                                                                                        \
  X(cublasSsyrkx)                                                                                                                          \
  X(cublasDsyrkx)                                                                                                                          \
  X(cublasCsyrkx)                                                                                                                          \
  X(cublasZsyrkx)                                                                                                                          \
  X(cublasCherkx)                                                                                                                          \
  X(cublasZherkx)

typedef struct {
  cublasHandle_t handle;
#define DECLARE(name) __typeof__(name) *name;
  CUBLAS_FUNCTIONS(DECLARE)
#undef DECLARE
} dense;

static sptrsm_status check(const dense *d, cublasStatus_t error, const char *what) {
  if (error == CUBLAS_STATUS_SUCCESS) return SPTRSM_OK;
  return spti_fail(error == CUBLAS_STATUS_ALLOC_FAILED ? SPTRSM_ERR_MEMORY : SPTRSM_ERR_DEVICE, "cuBLAS: %s in %s",
                   d->cublasGetStatusString(error), what);
}

/* The library stays loaded, since other contexts may use it and it takes long to load. */
static sptrsm_status load(dense *d) {
  void *library = dlopen(CUBLAS_FILE, RTLD_NOW | RTLD_LOCAL), *function;
  if (!library)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                     "Schur complements on a device need cuBLAS: %s; install it, or name its folder in LD_LIBRARY_PATH", dlerror());
#define FIND(name)                                                                                                                         \
  if (!(function = dlsym(library, #name))) return spti_fail(SPTRSM_ERR_UNSUPPORTED, "%s has no %s", CUBLAS_FILE, #name);                   \
  memcpy(&d->name, &function, sizeof function);
  CUBLAS_FUNCTIONS(FIND)
#undef FIND
  return check(d, d->cublasCreate_v2(&d->handle), "cublasCreate");
}

sptrsm_status spti_gpu_open_dense(sptrsm_context *context) {
  dense *d = context->dense;
  if (!d) {
    context->dense = d = calloc(1, sizeof *d);
    if (!d) return spti_fail(SPTRSM_ERR_MEMORY, "cuBLAS: no host memory");
    const sptrsm_status status = load(d);
    if (status != SPTRSM_OK) {
      spti_gpu_close_dense(context);
      return status;
    }
  }
  return check(d, d->cublasSetStream_v2(d->handle, (cudaStream_t)context->stream), "cublasSetStream");
}

void spti_gpu_close_dense(sptrsm_context *context) {
  dense *d = context->dense;
  if (d && d->handle) (void)d->cublasDestroy_v2(d->handle);
  free(d);
  context->dense = NULL;
}

/* ---- products ---- */

static cublasStatus_t general(const dense *d, const spti_gpu_product *p) {
  const int m = p->rows, n = p->columns, k = p->terms, lda = p->right_ld, ldb = p->left_ld, ldc = p->sum_ld;
  const cublasOperation_t N = CUBLAS_OP_N, T = CUBLAS_OP_T;
  const float one_f = 1;
  const double one_d = 1;
  const cuComplex one_c = {1, 0};
  const cuDoubleComplex one_z = {1, 0};
  switch (p->dtype) {
  case SPTRSM_F32: return d->cublasSgemm_v2(d->handle, N, T, m, n, k, &one_f, p->right, lda, p->left, ldb, &one_f, p->sum, ldc);
  case SPTRSM_F64: return d->cublasDgemm_v2(d->handle, N, T, m, n, k, &one_d, p->right, lda, p->left, ldb, &one_d, p->sum, ldc);
  case SPTRSM_C64: return d->cublasCgemm_v2(d->handle, N, T, m, n, k, &one_c, p->right, lda, p->left, ldb, &one_c, p->sum, ldc);
  default: return d->cublasZgemm_v2(d->handle, N, T, m, n, k, &one_z, p->right, lda, p->left, ldb, &one_z, p->sum, ldc);
  }
}

/* The lower triangle, where both sides are one block. */
static cublasStatus_t of_one(const dense *d, const spti_gpu_product *p) {
  const int n = p->rows, k = p->terms, lda = p->right_ld, ldc = p->sum_ld;
  const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
  const cublasOperation_t N = CUBLAS_OP_N;
  const bool hermitian = p->form == SPTI_PRODUCT_HERMITIAN;
  const float one_f = 1;
  const double one_d = 1;
  const cuComplex one_c = {1, 0};
  const cuDoubleComplex one_z = {1, 0};
  switch (p->dtype) {
  case SPTRSM_F32: return d->cublasSsyrk_v2(d->handle, lower, N, n, k, &one_f, p->right, lda, &one_f, p->sum, ldc);
  case SPTRSM_F64: return d->cublasDsyrk_v2(d->handle, lower, N, n, k, &one_d, p->right, lda, &one_d, p->sum, ldc);
  case SPTRSM_C64:
    return hermitian ? d->cublasCherk_v2(d->handle, lower, N, n, k, &one_f, p->right, lda, &one_f, p->sum, ldc)
                     : d->cublasCsyrk_v2(d->handle, lower, N, n, k, &one_c, p->right, lda, &one_c, p->sum, ldc);
  default:
    return hermitian ? d->cublasZherk_v2(d->handle, lower, N, n, k, &one_d, p->right, lda, &one_d, p->sum, ldc)
                     : d->cublasZsyrk_v2(d->handle, lower, N, n, k, &one_z, p->right, lda, &one_z, p->sum, ldc);
  }
}

/* The lower triangle of a product of two blocks that is symmetric or Hermitian as a whole. */
static cublasStatus_t of_two(const dense *d, const spti_gpu_product *p) {
  const int n = p->rows, k = p->terms, lda = p->right_ld, ldb = p->left_ld, ldc = p->sum_ld;
  const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
  const cublasOperation_t N = CUBLAS_OP_N;
  const bool hermitian = p->form == SPTI_PRODUCT_HERMITIAN;
  const float one_f = 1;
  const double one_d = 1;
  const cuComplex one_c = {1, 0};
  const cuDoubleComplex one_z = {1, 0};
  switch (p->dtype) {
  case SPTRSM_F32: return d->cublasSsyrkx(d->handle, lower, N, n, k, &one_f, p->right, lda, p->left, ldb, &one_f, p->sum, ldc);
  case SPTRSM_F64: return d->cublasDsyrkx(d->handle, lower, N, n, k, &one_d, p->right, lda, p->left, ldb, &one_d, p->sum, ldc);
  case SPTRSM_C64:
    return hermitian ? d->cublasCherkx(d->handle, lower, N, n, k, &one_c, p->right, lda, p->left, ldb, &one_f, p->sum, ldc)
                     : d->cublasCsyrkx(d->handle, lower, N, n, k, &one_c, p->right, lda, p->left, ldb, &one_c, p->sum, ldc);
  default:
    return hermitian ? d->cublasZherkx(d->handle, lower, N, n, k, &one_z, p->right, lda, p->left, ldb, &one_d, p->sum, ldc)
                     : d->cublasZsyrkx(d->handle, lower, N, n, k, &one_z, p->right, lda, p->left, ldb, &one_z, p->sum, ldc);
  }
}

sptrsm_status spti_gpu_multiply(const sptrsm_context *context, const spti_gpu_product *p) {
  const dense *d = context->dense;
  if (p->rows == 0 || p->columns == 0 || p->terms == 0) return SPTRSM_OK;
  return check(d, p->form == SPTI_PRODUCT_GENERAL ? general(d, p) : p->right == p->left ? of_one(d, p) : of_two(d, p), "a product");
}
