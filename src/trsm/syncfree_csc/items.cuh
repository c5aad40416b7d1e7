/* items.cuh -- the work items of syncfree-csc: columns, and segments of long ones. */
#ifndef SPTI_TRSM_SYNCFREE_CSC_ITEMS_CUH
#define SPTI_TRSM_SYNCFREE_CSC_ITEMS_CUH

#include "core/device/device.cuh"
#include "trsm/syncfree_csc/kernels.h"

namespace spti {

/* Off-diagonal entries in the order in which their rows become ready: the e-th is at start + e * step. */
struct column_span {
  int64_t start;
  int32_t step, length;
};

SPTI_DEVICE column_span column_of(const spti_view &v, int32_t j) {
  const int64_t begin = load_const(v.ptr + j) + v.head, end = load_const(v.ptr + j + 1) - v.tail;
  return {v.backward ? end - 1 : begin, v.backward ? -1 : 1, int32_t(end - begin)};
}

SPTI_DEVICE int32_t segments_of(const spti_syncfree_csc_limits &l, int32_t length) {
  return length > l.split_above ? (length + l.segment - 1) / l.segment : 1;
}

SPTI_DEVICE column_span segment_of(const spti_syncfree_csc_limits &l, column_span s, int32_t segment, int32_t segments) {
  if (segments == 1) return s;
  const int32_t first = segment * l.segment;
  const int32_t length = s.length - first < l.segment ? s.length - first : l.segment;
  return {s.start + int64_t(first) * s.step, s.step, length};
}

/* Accumulators of a row that `updates` columns update; 0: none beside the row itself. */
SPTI_DEVICE int32_t parts_of(const spti_syncfree_csc_limits &l, int32_t updates) {
  return updates > l.gather_above ? (updates + l.share - 1) / l.share : 0;
}

} // namespace spti
#endif
