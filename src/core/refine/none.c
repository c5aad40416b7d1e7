/* none.c -- takes the place of kernels.cu in a build without CUDA, in which no context on a GPU exists. */
#include "core/refine/kernels.h"

enum { NO_DEVICE = 100 /* cudaErrorNoDevice */ };

int spti_residual_launch(const spti_residual_args *a, sptrsm_dtype dtype, void *stream) {
  (void)a, (void)dtype, (void)stream;
  return NO_DEVICE;
}

int spti_move_columns_launch(const spti_move_columns_args *a, void *stream) {
  (void)a, (void)stream;
  return NO_DEVICE;
}
