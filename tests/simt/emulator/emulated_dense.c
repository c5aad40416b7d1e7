/* emulated_dense.c -- core/context/gpu_dense.h by plain loops, in place of cuBLAS. Elements that a form leaves alone are left alone, and
 * like cuBLAS the form HERMITIAN makes the diagonal real. */
#include <complex.h>

#include "core/base/diagonal_block.h"
#include "core/context/gpu_dense.h"

sptrsm_status spti_gpu_open_dense(sptrsm_context *context) {
  (void)context;
  return SPTRSM_OK;
}

void spti_gpu_close_dense(sptrsm_context *context) { (void)context; }

static void put(void *values, int64_t at, sptrsm_dtype dtype, double complex v) {
  switch (dtype) {
  case SPTRSM_F32: ((float *)values)[at] = (float)creal(v); break;
  case SPTRSM_F64: ((double *)values)[at] = creal(v); break;
  case SPTRSM_C64: ((float complex *)values)[at] = (float complex)v; break;
  default: ((double complex *)values)[at] = v;
  }
}

static double complex product(double complex a, double complex b) {
  return CMPLX(creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b));
}

sptrsm_status spti_gpu_multiply(const sptrsm_context *context, const spti_gpu_product *p) {
  (void)context;
  for (int64_t j = 0; j < p->columns; j++)
    for (int64_t i = p->form == SPTI_PRODUCT_GENERAL ? 0 : j; i < p->rows; i++) {
      double complex sum = spti_value_at(p->sum, i + j * p->sum_ld, p->dtype);
      for (int64_t k = 0; k < p->terms; k++) {
        const double complex right = spti_value_at(p->right, k * p->right_ld + i, p->dtype);
        const double complex left = spti_value_at(p->left, k * p->left_ld + j, p->dtype);
        sum += product(right, p->form == SPTI_PRODUCT_HERMITIAN ? conj(left) : left);
      }
      put(p->sum, i + j * p->sum_ld, p->dtype, p->form == SPTI_PRODUCT_HERMITIAN && i == j ? creal(sum) : sum);
    }
  return SPTRSM_OK;
}
