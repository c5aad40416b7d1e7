/* gpu_dense.h -- products of dense blocks in device memory, by cuBLAS. gpu_dense.c calls cuBLAS, which it loads when it is first needed, so
 * that programs without products need none; the emulator of the tests has loops instead. */
#ifndef SPTI_CORE_CONTEXT_GPU_DENSE_H
#define SPTI_CORE_CONTEXT_GPU_DENSE_H

#include "core/context/context.h"

/* sum(i,j) += right(0,i) left(0,j) + ... + right(terms-1,i) left(terms-1,j), where `left` is conjugated in the form HERMITIAN. Element
 * (k,i) of right is right[k * right_ld + i], and so for left; sum(i,j) is sum[i + j * sum_ld]. In the forms SYMMETRIC and HERMITIAN the
 * whole sum is symmetric or Hermitian, rows is columns, and elements with i < j are left as they are. */
typedef enum { SPTI_PRODUCT_GENERAL, SPTI_PRODUCT_SYMMETRIC, SPTI_PRODUCT_HERMITIAN } spti_product_form;
typedef struct {
  spti_product_form form;
  sptrsm_dtype dtype;
  int32_t rows, columns, terms;
  const void *right, *left; /* the same pointer in the last two forms: half of the work */
  int32_t right_ld, left_ld, sum_ld;
  void *sum;
} spti_gpu_product;

/* Makes products possible: loads cuBLAS and makes the context's handle, unless that is done. UNSUPPORTED where cuBLAS is not found. */
sptrsm_status spti_gpu_open_dense(sptrsm_context *);
/* Queues a product, after spti_gpu_open_dense. */
sptrsm_status spti_gpu_multiply(const sptrsm_context *, const spti_gpu_product *);
void spti_gpu_close_dense(sptrsm_context *);

#endif
