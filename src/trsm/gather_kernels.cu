/* gather_kernels -- what gather does around its solve: the analysis of long and unread rows, and the choice of the kernel
 * (gather_solve.cuh). Deterministic: found rows come in any order, the host sorts them. */
#include "core/device.cuh"
#include "trsm/gather_kernels.h"

namespace spti {

enum { GATHER_PLAIN_THREADS = 256 };

static int64_t gather_plain_blocks(int64_t count) { return (count + GATHER_PLAIN_THREADS - 1) / GATHER_PLAIN_THREADS; }

SPTI_DEVICE int64_t thread_in_grid() { return int64_t(block_in_grid()) * GATHER_PLAIN_THREADS + thread_in_block(); }

/* ---- analysis ---- */

SPTI_KERNEL(GATHER_PLAIN_THREADS) gather_unread_kernel(spti_gather_pattern_args a) {
  const int64_t t = thread_in_grid();
  if (t < a.n) store(a.row + t, ~load_const(a.order + t));
}

SPTI_KERNEL(GATHER_PLAIN_THREADS) gather_read_kernel(spti_gather_pattern_args a) {
  const int64_t p = thread_in_grid();
  if (p >= a.entries) return;
  const int32_t t = load_const(a.from + p);
  store(a.row + t, load_const(a.order + t));
}

SPTI_KERNEL(GATHER_PLAIN_THREADS) gather_no_facts_kernel(spti_gather_pattern_args a) {
  if (thread_in_grid() < SPTI_GATHER_FACTS) store(a.facts + thread_in_grid(), 0);
}

SPTI_DEVICE int32_t parts_at(const spti_gather_pattern_args &a, int64_t t) {
  return spti_gather_parts(a.split, load_const(a.start + t + 1) - load_const(a.start + t));
}

SPTI_KERNEL(GATHER_PLAIN_THREADS) gather_find_kernel(spti_gather_pattern_args a) {
  const int64_t t = thread_in_grid();
  const int32_t parts = t < a.n ? parts_at(a, t) : 0;
  if (parts == 0) return;
  red_add(a.facts + SPTI_GATHER_PARTS, parts);
  const int32_t at = fetch_add(a.facts + SPTI_GATHER_FOUND, 1);
  if (at < a.found_room) store(a.found + at, (t << 32) + parts);
}

/* Parts of rows before place t. */
SPTI_DEVICE int64_t parts_before(const spti_gather_pattern_args &a, int64_t t) {
  int32_t low = 0, high = a.found_count; /* long rows below low are before t, those from high on are not */
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (load_const(a.found + middle) >> 32 < t) low = middle + 1;
    else high = middle;
  }
  if (low == 0) return 0;
  const int64_t last = load_const(a.found + low - 1);
  return (last & INT32_MAX) + parts_at(a, last >> 32);
}

SPTI_DEVICE void store_item(const spti_gather_pattern_args &a, int64_t i, int32_t row, int64_t work_row, int32_t begin, int32_t end,
                            int32_t parts) {
  const int32_t words[SPTI_GATHER_ITEM_WORDS] = {row, int32_t(work_row), begin, end, parts};
  for (int w = 0; w < SPTI_GATHER_ITEM_WORDS; w++) store(a.items + w * a.item_count + i, words[w]);
}

SPTI_KERNEL(GATHER_PLAIN_THREADS) gather_items_kernel(spti_gather_pattern_args a) {
  const int64_t t = thread_in_grid();
  if (t >= a.n) return;
  const int64_t before = parts_before(a, t);
  const int32_t row = load_const(a.order + t), parts = parts_at(a, t), begin = load_const(a.start + t), size = a.split.segment;
  for (int32_t s = 0; s < parts; s++) store_item(a, t + before + s, row, a.n + before + s, begin + s * size, begin + (s + 1) * size, -1);
  store_item(a, t + before + parts, load(a.row + t), t, begin + parts * size, load_const(a.start + t + 1), parts);
}

} // namespace spti

extern "C" int spti_gather_rows_launch(const spti_gather_pattern_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(gather_unread_kernel, gather_plain_blocks(a->n), GATHER_PLAIN_THREADS, 0, stream, *a);
  if (error) return error;
  return SPTI_LAUNCH(gather_read_kernel, gather_plain_blocks(a->entries), GATHER_PLAIN_THREADS, 0, stream, *a);
}

extern "C" int spti_gather_find_launch(const spti_gather_pattern_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(gather_no_facts_kernel, 1, GATHER_PLAIN_THREADS, 0, stream, *a);
  if (error) return error;
  return SPTI_LAUNCH(gather_find_kernel, gather_plain_blocks(a->n), GATHER_PLAIN_THREADS, 0, stream, *a);
}

extern "C" int spti_gather_items_launch(const spti_gather_pattern_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(gather_items_kernel, gather_plain_blocks(a->n), GATHER_PLAIN_THREADS, 0, stream, *a);
}

extern "C" int spti_gather_solve_launch(const spti_gather_args *a, sptrsm_dtype dtype, void *stream) {
  switch (dtype) {
  case SPTRSM_F32: return spti_gather_f32_launch(a, stream);
  case SPTRSM_F64: return spti_gather_f64_launch(a, stream);
  case SPTRSM_C64: return spti_gather_c64_launch(a, stream);
  default: return spti_gather_c128_launch(a, stream);
  }
}
