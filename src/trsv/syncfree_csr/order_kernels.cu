/* order_kernels.cu -- the analysis of syncfree-csr: rows sorted by (level, length class), and a record for each warp.
 *
 * Rows in level order get a key. A stable sort by the key (core/device/scan_sort.h) makes the rows of one level and one class a group of
 * adjacent places. Each 32 >> class rows of a group make one record; a split row makes one record for each segment and one for their sum.
 * A running sum over the number of records that begin at each place says where they are stored. Source: size classes by [dufrechou2018].
 * Deterministic. */
#include "core/device/device.cuh"
#include "trsv/syncfree_csr/kernels.h"

namespace spti {

enum { ORDER_THREADS = 256 };

SPTI_DEVICE int64_t thread_in_grid() { return int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block(); }
static int64_t blocks_for(int64_t threads) { return (threads + ORDER_THREADS - 1) / ORDER_THREADS; }

SPTI_DEVICE int64_t length_at(const spti_syncfree_csr_order_args &a, int64_t place) {
  const int32_t row = load_const(a.order + place);
  return load_const(a.view.ptr + row + 1) - load_const(a.view.ptr + row) - a.view.head - a.view.tail;
}

SPTI_DEVICE int32_t class_of(const spti_csr_classes &c, int64_t length) {
  if (length > c.split) return SPTI_CSR_LONG;
  int32_t log = 0;
  while (log < 5 && (c.fixed > 0 ? 1 << log < c.fixed : int64_t(c.entries) << log < length)) log++;
  return log;
}

SPTI_DEVICE int32_t segments_of(const spti_csr_classes &c, int64_t length) { return int32_t((length + c.split - 1) / c.split); }

SPTI_KERNEL(ORDER_THREADS) syncfree_csr_key_kernel(spti_syncfree_csr_order_args a) {
  const int64_t t = thread_in_grid();
  if (t >= a.view.n) return;
  store(a.key + t, load_const(a.level + load_const(a.order + t)) * SPTI_CSR_CLASSES + class_of(a.classes, length_at(a, t)));
}

SPTI_KERNEL(ORDER_THREADS) syncfree_csr_group_kernel(spti_syncfree_csr_order_args a) {
  const int64_t t = thread_in_grid();
  if (t >= a.view.n) return;
  const int32_t key = load_const(a.key + t);
  if (t == 0 || load_const(a.key + t - 1) != key) store(a.group + key, int32_t(t));
}

SPTI_KERNEL(ORDER_THREADS) syncfree_csr_count_kernel(spti_syncfree_csr_order_args a) {
  const int64_t t = thread_in_grid();
  if (t >= a.view.n) return;
  const int32_t key = load_const(a.key + t), log = key % SPTI_CSR_CLASSES;
  const bool split = log == SPTI_CSR_LONG;
  const int32_t segments = split ? segments_of(a.classes, length_at(a, t)) : 0;
  if (a.segments) store(a.segments + t, segments);
  store(a.records + t, split ? segments + 1 : (t - load_const(a.group + key)) % (32 >> log) == 0);
}

/* A warp whose rows are far from being solvable would poll in vain and slow down others. So it first waits at its gate: the row of a lower
 * level whose relative position there is that of the warp's first row in its own level. -1: no gate. */
SPTI_DEVICE int32_t gate_of(const spti_syncfree_csr_order_args &a, int32_t place, int32_t level) {
  const int32_t below = level - a.gate;
  if (a.gate == 0 || below < 0) return -1;
  const int32_t begin = load_const(a.level_ptr + level), rows = load_const(a.level_ptr + level + 1) - begin;
  const int32_t first = load_const(a.level_ptr + below), count = load_const(a.level_ptr + below + 1) - first;
  return first + int32_t(int64_t(place - begin) * count / rows);
}

SPTI_DEVICE void store_record(spti_csr_record *to, int32_t first, int32_t kind, int32_t log, int32_t rows, int32_t gate) {
  store(&to->first, first);
  store(&to->shape, kind + 4 * log + 32 * rows);
  store(&to->gate, gate);
}

SPTI_KERNEL(ORDER_THREADS) syncfree_csr_record_kernel(spti_syncfree_csr_order_args a) {
  const int64_t t = thread_in_grid();
  if (t >= a.view.n) return;
  const int32_t at = load_const(a.record_at + t), count = load_const(a.record_at + t + 1) - at;
  const int32_t key = load_const(a.key + t), log = key % SPTI_CSR_CLASSES;
  if (count == 0) return;
  const int32_t gate = gate_of(a, int32_t(t), key / SPTI_CSR_CLASSES);
  if (log != SPTI_CSR_LONG) {
    int32_t rows = 1;
    while (rows < 32 >> log && t + rows < a.view.n && load_const(a.key + t + rows) == key) rows++;
    store_record(a.record + at, int32_t(t), SPTI_CSR_ROWS, log, rows, gate);
    return;
  }
  const int32_t first = load_const(a.segment_at + t);
  for (int32_t part = 0; part < count - 1; part++) {
    store(&a.segment[first + part].place, int32_t(t));
    store(&a.segment[first + part].part, part);
    store_record(a.record + at + part, first + part, SPTI_CSR_SEGMENT, 5, 1, gate);
  }
  store_record(a.record + at + count - 1, first + count - 2, SPTI_CSR_SUM, 5, 1, gate);
}

} // namespace spti

extern "C" int spti_syncfree_csr_key_launch(const spti_syncfree_csr_order_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(syncfree_csr_key_kernel, blocks_for(a->view.n), ORDER_THREADS, 0, stream, *a);
}

extern "C" int spti_syncfree_csr_count_launch(const spti_syncfree_csr_order_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(syncfree_csr_group_kernel, blocks_for(a->view.n), ORDER_THREADS, 0, stream, *a);
  if (error) return error;
  return SPTI_LAUNCH(syncfree_csr_count_kernel, blocks_for(a->view.n), ORDER_THREADS, 0, stream, *a);
}

extern "C" int spti_syncfree_csr_record_launch(const spti_syncfree_csr_order_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(syncfree_csr_record_kernel, blocks_for(a->view.n), ORDER_THREADS, 0, stream, *a);
}
