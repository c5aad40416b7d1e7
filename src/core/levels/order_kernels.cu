/* order_kernels.cu -- orders rows by level, and within a level in solve order. If levels are few, by counting: the rows of each level in
 * every chunk of positions, then the place at which the rows of each level and chunk begin, then the rank of each row in its chunk; a warp
 * ranks 32 rows at a time by a ballot on each bit of their levels. If levels are many, by a sort of CUB with kernels before and after it.
 * Deterministic. */
#include "core/device/block_sum.cuh"
#include "core/levels/kernels.h"

namespace spti {

enum { ORDER_THREADS = 256, ORDER_WARPS = ORDER_THREADS / 32, STARTS_THREADS = 1024, WARP_PLACES = SPTI_LEVEL_CHUNK / ORDER_WARPS };

SPTI_DEVICE int32_t row_of_position(const spti_level_order_args &a, int64_t s) { return int32_t(a.backward ? a.n - 1 - s : s); }

/* ---- few levels ---- */

/* Rows of each level in each warp's share of the chunk: [level * ORDER_WARPS + warp]. */
struct level_tally {
  int32_t *words; /* shared */
  SPTI_DEVICE int32_t *at(int32_t level, int32_t warp) const { return words + level * ORDER_WARPS + warp; }

  /* Whole block: counts them. */
  SPTI_DEVICE void count(const spti_level_order_args &a) const {
    const int64_t first = int64_t(block_in_grid()) * SPTI_LEVEL_CHUNK + warp_in_block() * WARP_PLACES;
    for (int32_t w = thread_in_block(); w < a.count * ORDER_WARPS; w += ORDER_THREADS) shared_store(words + w, 0);
    syncthreads();
    for (int32_t r = lane(); r < WARP_PLACES && first + r < a.n; r += 32)
      shared_red_add(at(load_const(a.level + row_of_position(a, first + r)), warp_in_block()), 1);
    syncthreads();
  }
};

SPTI_KERNEL(ORDER_THREADS) level_count_kernel(spti_level_order_args a) {
  SPTI_DYNAMIC_SHARED(int32_t, words);
  const level_tally tally = {words};
  tally.count(a);
  for (int32_t l = thread_in_block(); l < a.count; l += ORDER_THREADS) {
    int32_t rows = 0;
    for (int32_t w = 0; w < ORDER_WARPS; w++) rows += shared_load_relaxed(tally.at(l, w));
    store(a.starts + int64_t(l) * spti_level_chunks(a.n) + block_in_grid(), rows);
  }
}

/* One thread block: replaces the counts by the places at which their rows begin. */
SPTI_KERNEL(STARTS_THREADS) level_starts_kernel(spti_level_order_args a) {
  const int32_t chunks = spti_level_chunks(a.n), words = a.count * chunks;
  int64_t before = 0, all;
  for (int32_t first = 0; first < words; first += STARTS_THREADS, before += all) {
    const int32_t w = first + thread_in_block(), rows = w < words ? load(a.starts + w) : 0;
    const int32_t start = int32_t(before + block_sum_before(rows, &all));
    if (w >= words) continue;
    store(a.starts + w, start);
    if (w % chunks == 0) store(a.ptr + w / chunks, start);
  }
  if (thread_in_block() == 0) store(a.ptr + a.count, a.n);
}

/* Whole warp: the lanes that have the same level as this one. Lanes without a row have level -1. */
SPTI_DEVICE uint32_t lanes_alike(int32_t level, int32_t bits) {
  uint32_t alike = ballot(level >= 0);
  for (int32_t b = 0; b < bits; b++) {
    const uint32_t set = ballot(level >> b & 1);
    alike &= level >> b & 1 ? set : ~set;
  }
  return alike;
}

SPTI_KERNEL(ORDER_THREADS) level_rank_kernel(spti_level_order_args a) {
  SPTI_DYNAMIC_SHARED(int32_t, words);
  const level_tally tally = {words};
  tally.count(a);
  for (int32_t l = thread_in_block(); l < a.count; l += ORDER_THREADS) {
    int32_t start = load_const(a.starts + int64_t(l) * spti_level_chunks(a.n) + block_in_grid());
    for (int32_t w = 0; w < ORDER_WARPS; w++) {
      const int32_t rows = shared_load_relaxed(tally.at(l, w));
      shared_store(tally.at(l, w), start);
      start += rows;
    }
  }
  syncthreads();
  const int64_t first = int64_t(block_in_grid()) * SPTI_LEVEL_CHUNK + warp_in_block() * WARP_PLACES;
  for (int32_t r = 0; r < WARP_PLACES && first + r < a.n; r += 32) {
    const int64_t s = first + r + lane();
    const int32_t row = s < a.n ? row_of_position(a, s) : -1, level = row >= 0 ? load_const(a.level + row) : -1;
    const uint32_t alike = lanes_alike(level, a.bits), before = alike & ((1u << lane()) - 1);
    int32_t *const next = tally.at(level < 0 ? 0 : level, warp_in_block());
    const int32_t start = shared_load_relaxed(next);
    syncwarp();
    if (level >= 0 && before == 0) shared_store(next, start + popcount(alike));
    syncwarp();
    if (level >= 0) store(a.order + start + popcount(before), row);
  }
}

/* ---- many levels ---- */

SPTI_DEVICE int64_t position() { return int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block(); }

SPTI_KERNEL(ORDER_THREADS) level_keys_kernel(spti_level_order_args a) {
  const int64_t s = position();
  if (s >= a.n) return;
  const int32_t i = row_of_position(a, s);
  store(a.keys + s, load_const(a.level + i));
  store(a.rows + s, i);
}

SPTI_KERNEL(ORDER_THREADS) level_bounds_kernel(spti_level_order_args a) {
  const int64_t t = position();
  if (t >= a.n) return;
  const int32_t own = load_const(a.sorted + t);
  if (t == 0 || load_const(a.sorted + t - 1) != own) store(a.ptr + own, int32_t(t));
  if (t == a.n - 1) store(a.ptr + a.count, a.n);
}

static int64_t order_blocks(int64_t count) { return (count + ORDER_THREADS - 1) / ORDER_THREADS; }

} // namespace spti

extern "C" int spti_level_count_launch(const spti_level_order_args *a, void *stream) {
  using namespace spti;
  const int32_t chunks = spti_level_chunks(a->n);
  const size_t tally = size_t(a->count) * ORDER_WARPS * sizeof(int32_t);
  int error = SPTI_LAUNCH(level_count_kernel, chunks, ORDER_THREADS, tally, stream, *a);
  if (!error) error = SPTI_LAUNCH(level_starts_kernel, 1, STARTS_THREADS, 0, stream, *a);
  return error ? error : SPTI_LAUNCH(level_rank_kernel, chunks, ORDER_THREADS, tally, stream, *a);
}

extern "C" int spti_level_keys_launch(const spti_level_order_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(level_keys_kernel, order_blocks(a->n), ORDER_THREADS, 0, stream, *a);
}

extern "C" int spti_level_bounds_launch(const spti_level_order_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(level_bounds_kernel, order_blocks(a->n), ORDER_THREADS, 0, stream, *a);
}
