/* kernels.cu -- the analysis of gather: rows whose solutions no other row reads, and the items of patterns with long rows. Then the choice
 * of the solve by type (solve.cuh). Deterministic. */
#include "core/device/block_sum.cuh"
#include "core/levels/kernels.h"
#include "trsm/gather/kernels.h"

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

SPTI_DEVICE int32_t parts_at(const spti_gather_pattern_args &a, int64_t t) {
  return spti_gather_parts(a.split, load_const(a.start + t + 1) - load_const(a.start + t));
}

/* A thread block for each chunk of places. */
SPTI_KERNEL(GATHER_PLAIN_THREADS) gather_parts_kernel(spti_gather_pattern_args a) {
  int64_t parts = 0, all;
  for (int32_t r = thread_in_block(); r < SPTI_PULL_ROWS_CHUNK; r += GATHER_PLAIN_THREADS) {
    const int64_t t = int64_t(block_in_grid()) * SPTI_PULL_ROWS_CHUNK + r;
    if (t >= a.n) break;
    const int32_t own = parts_at(a, t);
    store(a.parts + t, own);
    parts += own;
  }
  block_sum_before(parts, &all);
  if (thread_in_block() == 0) store(a.sums + block_in_grid(), int32_t(all));
}

SPTI_DEVICE void store_item(const spti_gather_pattern_args &a, int64_t i, int32_t row, int64_t work_row, int32_t begin, int32_t end,
                            int32_t parts) {
  const int32_t words[SPTI_GATHER_ITEM_WORDS] = {row, int32_t(work_row), begin, end, parts};
  for (int w = 0; w < SPTI_GATHER_ITEM_WORDS; w++) store(a.items + w * a.item_count + i, words[w]);
}

SPTI_KERNEL(GATHER_PLAIN_THREADS) gather_items_kernel(spti_gather_pattern_args a) {
  const int64_t t = thread_in_grid();
  if (t >= a.n) return;
  const int64_t before = load_const(a.parts_before + t);
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

extern "C" int spti_gather_parts_launch(const spti_gather_pattern_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(gather_parts_kernel, spti_pull_rows_chunks(a->n), GATHER_PLAIN_THREADS, 0, stream, *a);
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
