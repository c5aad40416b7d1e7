/* check_kernels.h -- the kernel that checks a triangle in device memory (check_gpu.c). The launcher queues on the stream, returns a
 * cudaError_t and allocates nothing. */
#ifndef SPTI_CORE_MATRIX_CHECK_KERNELS_H
#define SPTI_CORE_MATRIX_CHECK_KERNELS_H

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int32_t n;
  int64_t nnz;
  const int64_t *ptr;
  const int32_t *idx; /* NULL: the pattern is known to be good, only the values of the diagonal are checked */
  const void *val;
  int32_t diagonal_first; /* the diagonal is the first entry of its line, else the last */
  int32_t unit;           /* the diagonal may be missing, and its values are not looked at */
  int32_t *bad;           /* set to 1 if something is wrong */
  int32_t *diagonals;     /* the number of lines that store their diagonal is added here; not without idx */
} spti_check_args;
int spti_check_launch(const spti_check_args *, sptrsm_dtype, void *stream);

#ifdef __cplusplus
}
#endif
#endif
