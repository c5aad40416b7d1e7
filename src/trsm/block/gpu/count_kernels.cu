/* count_kernels.cu -- analysis of `block`, first part: the ready order of places, the numbers of steps and tiles of each panel with their
 * running sums, then the columns of each step (column_map.cuh) and its herald: the place that is polled
 * alone before all columns of the step are. */
#include "trsm/block/gpu/column_map.cuh"

namespace spti {

enum { COUNT_THREADS = 1024, PLACES_THREADS = 256 };

/* Whole block: sorts panels by level, panels of one level by number, by counting each panel's rank; a barrier must follow. */
SPTI_DEVICE void put_in_order(const spti_block_columns_args &a) {
  SPTI_SHARED(int32_t, level, SPTI_BLOCK_FEW_PANELS);
  for (int32_t p = thread_in_block(); p < a.count; p += threads_per_block()) level[p] = load_const(a.level + p);
  syncthreads();
  for (int32_t p = thread_in_block(); p < a.count; p += threads_per_block()) {
    const int32_t mine = level[p];
    int32_t rank = 0;
    for (int32_t q = 0; q < a.count; q++) rank += level[q] < mine + (q < p);
    store(a.order + rank, p);
  }
}

/* One block: `ready`, the running sum of the panels' sizes in the order in which they can be solved. */
SPTI_KERNEL(COUNT_THREADS) block_ready_kernel(spti_block_columns_args a) {
  if (a.level) put_in_order(a);
  syncthreads();
  int64_t before = 0;
  for (int32_t start = 0; start < a.count; start += threads_per_block()) {
    const int32_t r = start + thread_in_block(), p = r < a.count ? load(a.order + r) : 0;
    const int32_t rows = r < a.count ? load_const(a.first + p + 1) - load_const(a.first + p) : 0;
    int64_t total;
    const int64_t sum = block_sum_before(rows, &total);
    if (r < a.count) store(a.ready + p, int32_t(before + sum));
    before += total;
  }
}

SPTI_KERNEL(PLACES_THREADS) block_ready_at_kernel(spti_block_columns_args a) {
  const int64_t s = int64_t(block_in_grid()) * PLACES_THREADS + thread_in_block();
  if (s >= a.view.n) return;
  const int32_t p = load_const(a.panel + s);
  const int32_t at = load_const(a.ready + p) + int32_t(s) - load_const(a.first + p);
  store(a.ready_at + s, at);
  store(a.place_at + at, int32_t(s));
}

SPTI_KERNEL(COUNT_THREADS) block_count_kernel(spti_block_columns_args a) {
  const int32_t p = panel_of_block(a);
  const panel_entries e = entries_of(a, p);
  int32_t steps = 0;
  int64_t tiles = 0, all_tiles;
  each_window(a, e, [&](const column_map &map, int32_t columns) {
    const int32_t here = (columns + SPTI_BLOCK_STEP - 1) / SPTI_BLOCK_STEP;
    steps += here;
    for (int32_t w = thread_in_block(); w < (here + 7) / 8; w += threads_per_block()) tiles += popcount(map.strips_of(w));
  });
  block_sum_before(tiles, &all_tiles);
  if (thread_in_block() != 0) return;
  store(a.steps + p, steps);
  store(a.tiles + p, int32_t(all_tiles));
}

/* One block: where each panel's steps and tiles begin. */
SPTI_KERNEL(COUNT_THREADS) block_starts_kernel(spti_block_columns_args a) {
  int64_t steps = 0, tiles = 0, diagonal = 0, near = 0;
  for (int32_t start = 0; start <= a.count; start += threads_per_block()) {
    const int32_t p = start + thread_in_block();
    const int32_t rows = p < a.count ? load_const(a.first + p + 1) - load_const(a.first + p) : 0;
    int64_t step_total, tile_total, diagonal_total, near_total;
    const int32_t own_steps = p < a.count ? load_const(a.steps + p) : 0, strips = (rows + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP;
    const int64_t step = steps + block_sum_before(own_steps, &step_total);
    const int64_t tile = tiles + block_sum_before(p < a.count ? load_const(a.tiles + p) : 0, &tile_total);
    const int64_t block = diagonal + block_sum_before(spti_block_diagonal_tiles(strips), &diagonal_total);
    const int64_t product = near + block_sum_before(strips * spti_block_near(own_steps), &near_total);
    if (p <= a.count) {
      store(a.step_start + p, int32_t(step));
      store(a.tile_start + p, tile);
      store(a.diag_start + p, int32_t(block));
      store(a.near_start + p, int32_t(product));
    }
    steps += step_total;
    tiles += tile_total;
    diagonal += diagonal_total;
    near += near_total;
  }
  if (thread_in_block() != 0) return;
  store(a.totals + SPTI_BLOCK_STEPS, steps);
  store(a.totals + SPTI_BLOCK_TILES, tiles);
  store(a.totals + SPTI_BLOCK_DIAGONAL_TILES, diagonal);
  store(a.totals + SPTI_BLOCK_NEAR_TILES, near);
}

/* ---- the columns of the steps ---- */

/* Writes the steps of one window, from number `first` on, and fills the last one up with -1. */
SPTI_DEVICE void write_steps(const spti_block_values_args &a, const column_map &map, int32_t columns, int64_t first, int64_t *tile) {
  const int32_t steps = (columns + SPTI_BLOCK_STEP - 1) / SPTI_BLOCK_STEP, words = (steps + 7) / 8;
  const int32_t share = (words - 1) / threads_per_block() + 1, from = thread_in_block() * share;
  const int32_t to = from + share < words ? from + share : words;
  int64_t tiles = 0, total;
  for (int32_t w = from; w < to; w++) tiles += popcount(map.strips_of(w));
  int64_t at = *tile + block_sum_before(tiles, &total);
  for (int32_t w = from; w < to; w++)
    for (int32_t s = 8 * w; s < 8 * w + 8 && s < steps; s++) {
      const int64_t strips = map.strips_of(w) >> s % 8 * 4 & 15;
      store(a.step + first + s, at << 4 | strips);
      at += popcount(uint32_t(strips));
    }
  *tile += total;
  if (thread_in_block() < steps * SPTI_BLOCK_STEP - columns) store(a.col + first * SPTI_BLOCK_STEP + columns + thread_in_block(), -1);
}

/* Writes their columns: the marked places of the map. */
SPTI_DEVICE void write_columns(const spti_block_values_args &a, const column_map &map, int64_t first) {
  for (int32_t w = thread_in_block(); w < map.window / 8; w += threads_per_block()) {
    const uint32_t word = map.ranked(w);
    int64_t rank = first * SPTI_BLOCK_STEP + (word >> 8);
    for (uint32_t left = word & 0xff; left; left &= left - 1, rank++) {
      const int32_t ready_at = map.start + 8 * w + first_lane(left);
      store(a.col + rank, load_const(a.columns.place_at + ready_at));
      if (rank % SPTI_BLOCK_STEP == 0) store(a.step_ready + rank / SPTI_BLOCK_STEP, ready_at);
    }
  }
}

SPTI_KERNEL(COUNT_THREADS) block_columns_kernel(spti_block_values_args a) {
  const int32_t p = panel_of_block(a.columns);
  const panel_entries e = entries_of(a.columns, p);
  int64_t step = load_const(a.columns.step_start + p), tile = load_const(a.columns.tile_start + p);
  each_window(a.columns, e, [&](const column_map &map, int32_t columns) {
    write_steps(a, map, columns, step, &tile);
    write_columns(a, map, step);
    step += (columns + SPTI_BLOCK_STEP - 1) / SPTI_BLOCK_STEP;
  });
}

/* ---- the heralds of steps (kernels.h) ---- */

enum { HERALD_THREADS = 256 };

typedef struct {
  spti_block_panels panels;
  int64_t steps;
  int32_t *herald;
} herald_args;

/* The last column of a step, which is ready last; -1: it has none (grouped.c). */
SPTI_DEVICE int32_t last_column(const spti_block_panels &p, int64_t step) {
  int32_t c = -1;
  for (int i = SPTI_BLOCK_STEP - 1; i >= 0 && c < 0; i--) c = load_const(p.col + step * SPTI_BLOCK_STEP + i);
  return c;
}

SPTI_DEVICE int32_t panel_of(const spti_block_panels &p, int32_t place) {
  int32_t low = 0, high = p.count; /* first[low] <= place < first[high] */
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    if (load_const(p.first + middle) <= place) low = middle;
    else high = middle;
  }
  return low;
}

SPTI_KERNEL(HERALD_THREADS) block_herald_kernel(herald_args a) {
  const int64_t step = int64_t(block_in_grid()) * HERALD_THREADS + thread_in_block();
  if (step >= a.steps) return;
  const int32_t column = last_column(a.panels, step);
  if (column < load_const(a.panels.first)) { /* none, or one that is solved before these panels (streamed/) */
    store(a.herald + step, -1);
    return;
  }
  const int32_t panel = panel_of(a.panels, column);
  const int32_t begin = load_const(a.panels.step_start + panel), end = load_const(a.panels.step_start + panel + 1);
  store(a.herald + step, begin < end ? last_column(a.panels, end - 1) : -1);
}

} // namespace spti

extern "C" int spti_block_columns_launch(const spti_block_values_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(block_columns_kernel, a->columns.count, a->columns.threads, column_map_bytes(a->columns.window), stream, *a);
}

extern "C" int spti_block_ready_launch(const spti_block_columns_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(block_ready_kernel, 1, a->scan_threads, 0, stream, *a);
  return error ? error
               : SPTI_LAUNCH(block_ready_at_kernel, (int64_t(a->view.n) + PLACES_THREADS - 1) / PLACES_THREADS, PLACES_THREADS, 0, stream,
                             *a);
}

extern "C" int spti_block_count_launch(const spti_block_columns_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(block_count_kernel, a->count, a->threads, column_map_bytes(a->window), stream, *a);
  return error ? error : SPTI_LAUNCH(block_starts_kernel, 1, a->scan_threads, 0, stream, *a);
}

extern "C" int spti_block_herald_launch(const spti_block_panels *panels, int64_t steps, int32_t *herald, void *stream) {
  using namespace spti;
  const herald_args args = {*panels, steps, herald};
  return SPTI_LAUNCH(block_herald_kernel, (steps + HERALD_THREADS - 1) / HERALD_THREADS, HERALD_THREADS, 0, stream, args);
}
