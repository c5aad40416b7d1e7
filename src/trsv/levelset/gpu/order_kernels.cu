/* order_kernels.cu -- the analysis of levelset on a GPU: counts the entries and the long rows of each level, and divides the entries of
 * dense runs by segments. Deterministic but for the order in which long rows are listed, which no result depends on. */
#include "core/device/device.cuh"
#include "trsv/levelset/gpu/kernels.h"

namespace spti {

enum { ORDER_THREADS = 256, ROWS_PER_BLOCK = ORDER_THREADS / 32 };

static int64_t order_blocks(int64_t threads) { return (threads + ORDER_THREADS - 1) / ORDER_THREADS; }

SPTI_KERNEL(ORDER_THREADS) levelset_gpu_entries_kernel(spti_levelset_gpu_survey_args a) {
  const int64_t l = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  if (l <= a.levels) store(a.entries + l, load_const(a.start + load_const(a.level_ptr + l)));
  if (l < a.levels) store(a.long_count + l, 0);
}

SPTI_KERNEL(ORDER_THREADS) levelset_gpu_long_rows_kernel(spti_levelset_gpu_survey_args a) {
  const int64_t t = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  if (t >= a.n || load_const(a.start + t + 1) - load_const(a.start + t) <= SPTI_LEVELSET_GPU_LONG) return;
  const int32_t level = load_const(a.level + load_const(a.row + t));
  const int32_t base = load_const(a.entries + level) / SPTI_LEVELSET_GPU_LONG;
  store(a.long_rows + base + fetch_add(a.long_count + level, 1), int32_t(t));
}

/* A warp for each row: counts the entries of earlier segments, then gives every entry its new position, in a stable order. */
SPTI_KERNEL(ORDER_THREADS) levelset_gpu_split_kernel(spti_levelset_gpu_split_args a) {
  const int32_t place = a.rows.first + block_in_grid() * ROWS_PER_BLOCK + warp_in_block();
  if (place >= a.rows.last) return;
  const int32_t start = load_const(a.rows.start + place), end = load_const(a.rows.start + place + 1);
  const int32_t segment = (place - a.rows.first) / a.segment, inside_from = segment ? a.rows.first + segment * a.segment : 0;
  int32_t earlier = 0;
  for (int32_t p = start; p < end; p += 32)
    earlier += popcount(ballot(p + lane() < end && load_const(a.rows.from + (p + lane() < end ? p + lane() : p)) < inside_from));
  int32_t to_earlier = start, to_inside = start + earlier;
  for (int32_t p = start; p < end; p += 32) {
    const bool used = p + lane() < end, is_earlier = used && load_const(a.rows.from + (used ? p + lane() : p)) < inside_from;
    const uint32_t before = (1u << lane()) - 1, all_earlier = ballot(is_earlier), all_used = ballot(used);
    const int32_t rank_earlier = popcount(all_earlier & before), rank_inside = popcount(all_used & ~all_earlier & before);
    if (used) store(a.order + (is_earlier ? to_earlier + rank_earlier : to_inside + rank_inside), p + lane());
    to_earlier += popcount(all_earlier);
    to_inside += popcount(all_used & ~all_earlier);
  }
  if (lane() == 0) store(a.begin + place, start + earlier);
}

SPTI_KERNEL(ORDER_THREADS) levelset_gpu_reorder_kernel(spti_levelset_gpu_reorder_args a) {
  const int32_t place = a.first + block_in_grid() * ROWS_PER_BLOCK + warp_in_block();
  if (place >= a.last) return;
  const int64_t end = int64_t(load_const(a.start + place + 1)) * a.words;
  for (int64_t w = int64_t(load_const(a.start + place)) * a.words + lane(); w < end; w += 32)
    store(a.to + w, load_const(a.from + int64_t(load_const(a.order + w / a.words)) * a.words + w % a.words));
}

} // namespace spti

extern "C" int spti_levelset_gpu_survey_launch(const spti_levelset_gpu_survey_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(levelset_gpu_entries_kernel, order_blocks(int64_t(a->levels) + 1), ORDER_THREADS, 0, stream, *a);
  if (error || !a->long_rows) return error;
  return SPTI_LAUNCH(levelset_gpu_long_rows_kernel, order_blocks(a->n), ORDER_THREADS, 0, stream, *a);
}

extern "C" int spti_levelset_gpu_split_launch(const spti_levelset_gpu_split_args *a, void *stream) {
  using namespace spti;
  const int64_t blocks = order_blocks(int64_t(a->rows.last - a->rows.first) * 32);
  return SPTI_LAUNCH(levelset_gpu_split_kernel, blocks, ORDER_THREADS, 0, stream, *a);
}

extern "C" int spti_levelset_gpu_reorder_launch(const spti_levelset_gpu_reorder_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(levelset_gpu_reorder_kernel, order_blocks(int64_t(a->last - a->first) * 32), ORDER_THREADS, 0, stream, *a);
}
