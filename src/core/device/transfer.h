/* transfer.h -- the block that a kernel reads right-hand sides from and the block that it writes solutions to, wherever the caller has
 * them. Plain C: host code sets it up, kernels read it through core/device/transfer.cuh. Pointers are device pointers. */
#ifndef SPTI_CORE_DEVICE_TRANSFER_H
#define SPTI_CORE_DEVICE_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One end of a solve: element (i,k) of the panel is element (r,k) of a block with r = map ? map[i] : i, multiplied or divided by
 * scale[r]. */
typedef struct {
  void *data; /* element (r,k) at r * row_stride + k * col_stride, in elements; k counts from the panel's first column */
  int64_t row_stride, col_stride;
  const int32_t *map;  /* [n] or NULL */
  const double *scale; /* [n] or NULL */
  int32_t divide;
} spti_end;

/* Both ends of a solve: right-hand sides are read at `from`, solutions are written at `to`. The two may be the same block. Then their
 * strides are equal, neither has a map, and the thread that solves row i must read all it needs of row i before it writes there. */
typedef struct {
  spti_end from, to;
  double alpha[2]; /* real and imaginary part of the factor of B */
  int32_t width;   /* number of right-hand sides */
} spti_transfer;

/* Can values of `value_bytes` be moved in pairs: do columns 2 j and 2 j + 1 stand side by side at both ends, aligned as a pair? */
static inline int spti_transfer_in_twos(const spti_transfer *t, size_t value_bytes) {
  const spti_end *ends[2] = {&t->from, &t->to};
  for (int e = 0; e < 2; e++)
    if (ends[e]->col_stride != 1 || ends[e]->row_stride % 2 != 0 || (uintptr_t)ends[e]->data % (2 * value_bytes) != 0) return 0;
  return t->width % 2 == 0;
}

/* Queues a copy of the transfer to device memory, where launches that were recorded in a graph beforehand read it. Returns a
 * cudaError_t. */
enum { SPTI_TRANSFER_WORDS = (sizeof(spti_transfer) + 7) / 8 };
int spti_bind_launch(const spti_transfer *, int64_t *to /* [SPTI_TRANSFER_WORDS] */, void *stream);

#ifdef __cplusplus
}
#endif
#endif
