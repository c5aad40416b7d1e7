/* transfer.cuh -- how kernels read right-hand sides and write solutions in the caller's own blocks: layout, permutation, scaling and alpha
 * are applied in the one read and the one write of each element. Host's view: transfer.h. */
#ifndef SPTI_CORE_DEVICE_TRANSFER_CUH
#define SPTI_CORE_DEVICE_TRANSFER_CUH

#include <string.h>

#include "core/device/device.cuh"
#include "core/device/transfer.h"

namespace spti {

/* The transfer that a kernel uses: the bound one in device memory (spti_bind_launch), or its own argument if `bound` is NULL. */
SPTI_DEVICE spti_transfer transfer_of(const spti_transfer &own, const int64_t *bound) {
  if (!bound) return own;
  int64_t words[SPTI_TRANSFER_WORDS];
  for (int w = 0; w < SPTI_TRANSFER_WORDS; w++) words[w] = load_const(bound + w);
  spti_transfer t;
  memcpy(&t, words, sizeof t);
  return t;
}

SPTI_DEVICE int64_t row_at(const spti_end &end, int64_t i) { return end.map ? int64_t(load_const(end.map + i)) : i; }

template <typename T> SPTI_DEVICE T *element_at(const spti_end &end, int64_t r, int64_t k) {
  return static_cast<T *>(end.data) + r * end.row_stride + k * end.col_stride;
}

template <typename T> SPTI_DEVICE T scale_row(const spti_end &end, int64_t r, T v) {
  return end.scale ? scale_by(v, load_const(end.scale + r), end.divide != 0) : v;
}

/* alpha s(r) v for v = B(r,k), for kernels that load B long before they need the value. */
template <typename T> SPTI_DEVICE T scale_rhs(const spti_transfer &t, int64_t r, T v) {
  return scale_row(t.from, r, times_alpha(t.alpha, v));
}

/* alpha s(r) B(r,k) with r = map(i). It is not load_const, since B may be X. */
template <typename T> SPTI_DEVICE T read_rhs(const spti_transfer &t, int64_t i, int64_t k) {
  const int64_t r = row_at(t.from, i);
  return scale_rhs(t, r, load(element_at<T>(t.from, r, k)));
}

/* X(r,k) = s(r) v with r = map(i). */
template <typename T> SPTI_DEVICE void write_solution(const spti_transfer &t, int64_t i, int64_t k, T v) {
  const int64_t r = row_at(t.to, i);
  store(element_at<T>(t.to, r, k), scale_row(t.to, r, v));
}

} // namespace spti
#endif
