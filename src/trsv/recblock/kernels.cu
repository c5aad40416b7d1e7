/* kernels.cu -- the solve of recblock where no row waits: the first rows, rectangles, and levels of triangles.
 *
 *   start   x(t,:) = b(t,:) / t(t,t) for rows without entries; the sentinel where a later step waits; counters zero
 *   rows    r(t,:) = b(t,:) - sum over the row's entries in one block of t(t,j) x(j,:), by one lane or a group of lanes a row; then
 *           x(t,:) = r(t,:) / t(t,t), or b(t,:) := r(t,:) if the row has more to the right
 * Long rows are cut in chunks: a group of lanes sums a chunk and stores the sum; the group that arrives last adds up all sums of the row.
 * Source: [lu2020recblock]; method.c says what differs. Deterministic: every sum has a fixed order (sums.cuh). */
#include "trsv/recblock/sums.cuh"

namespace spti {

enum { START_THREADS = 256, START_ROWS = 4, ROWS_THREADS = 256, CHUNK_STEPS = 8 };

/* ---- start ---- */

/* Row number `row` of those without entries, followed by those of waiting triangles. */
template <typename T> SPTI_DEVICE void start_row(const spti_recblock_solve_args &a, int64_t row, int64_t k) {
  if (row >= a.first) {
    const int64_t t = row - a.first + a.syncfree_begin;
    if (t < a.syncfree_end) store((T *)a.x + t * a.between.width + k, sentinel<T>());
    return;
  }
  const int32_t i = load_const(a.order + row);
  const T x = quotient(read_rhs<T>(a.between, i, k), load_const((const T *)a.diag + row));
  if (a.first < a.n) store((T *)a.x + row * a.between.width + k, x);
  write_solution(a.between, i, k, x);
}

/* A warp has one tile of as many rows as fit, START_ROWS times. */
template <typename T> SPTI_KERNEL(START_THREADS) recblock_start_kernel(spti_recblock_solve_args a) {
  a.between = transfer_of(a.between, a.bound);
  const int64_t thread = int64_t(block_in_grid()) * START_THREADS + thread_in_block();
  if (thread < a.counter_count) store(a.counters + thread, 0);
  const lane_shape shape = {log_columns(a.between.width), 0};
  const int64_t warp = thread >> 5, tiles = spti_recblock_tiles(a.between.width);
  const int64_t k = warp % tiles * SPTI_RECBLOCK_TILE + shape.column();
  if (k >= a.between.width) return;
#pragma unroll
  for (int r = 0; r < START_ROWS; r++) start_row<T>(a, ((warp / tiles * START_ROWS + r) << shape.log_rows()) + shape.row(), k);
}

/* ---- rows ---- */

template <typename T> SPTI_DEVICE void finish_row(const spti_recblock_step_args &a, const row_segment &r, int64_t k, T value) {
  if (!a.step.finish) {
    store(panel_at<T>(a.all, r.place, k), value);
    return;
  }
  const T x = quotient(value, load_const((const T *)a.all.diag + r.place));
  if (a.keep) store((T *)a.all.x + int64_t(r.place) * a.all.between.width + k, x);
  write_solution(a.all.between, load_const(a.all.order + r.place), k, x);
}

/* Row u of a step; an empty one, and *mine false, if these lanes have nothing to sum. */
SPTI_DEVICE row_segment row_to_sum(const spti_recblock_step_args &a, int64_t u, bool *mine) {
  const bool listed = a.step.listed >= 0;
  if (!*mine || u >= (listed ? a.step.listed : a.step.rows)) {
    *mine = false;
    return {0, 0, 0, false};
  }
  const row_segment r = segment_at(a, listed ? load_const(a.all.lists.row + a.step.list + u) : int32_t(u));
  *mine = r.end - r.begin <= a.step.apart_above && (a.step.finish || r.begin < r.end);
  return r;
}

/* One warp: Rows times as many rows of the step as fit its lanes; the first entries of all of them are loaded together. */
template <typename T, int A, int Rows>
SPTI_DEVICE void sum_rows(const spti_recblock_step_args &a, int64_t unit, int64_t k, const lane_shape &shape) {
  constexpr int at_hand = Rows > 1 ? 2 : A > 4 ? A : 4;
  const int32_t stride = 1 << shape.log_l;
  row_segment row[Rows];
  bool mine[Rows];
  T base[Rows], acc[Rows][A];
  entries_at_hand<T, at_hand> hand[Rows];
#pragma unroll
  for (int r = 0; r < Rows; r++) {
    mine[r] = k < a.all.between.width;
    row[r] = row_to_sum(a, ((unit * Rows + r) << shape.log_rows()) + shape.row(), &mine[r]);
    if (!mine[r]) row[r].end = row[r].begin;
  }
#pragma unroll
  for (int r = 0; r < Rows; r++) {
    hand[r].take(a.all, int64_t(row[r].begin) + shape.slot(), row[r].end, stride, k);
    base[r] = mine[r] && shape.slot() == 0 ? base_of<T>(a.all, row[r], k) : zero<T>();
    for (int s = 0; s < A; s++) acc[r][s] = zero<T>();
  }
#pragma unroll
  for (int r = 0; r < Rows; r++) {
    const int64_t first = int64_t(row[r].begin) + shape.slot();
    hand[r].add(acc[r], first, row[r].end, stride);
    sum_entries<T, A, (A >= 4 ? 1 : 4 / A)>(acc[r], a.all, first + int64_t(at_hand) * stride, row[r].end, k, shape);
    const T sum = add_slots<T, A>(acc[r], shape);
    if (mine[r] && shape.slot() == 0) finish_row(a, row[r], k, base[r] - sum);
  }
}

/* One lane a row and tile: was this the last of the row's chunks to arrive? Chunks' sums are visible to the lanes that a syncwarp
 * orders behind it. */
SPTI_DEVICE bool arrives_last(int32_t *counter, int32_t chunks) {
  fence();
  const bool last = fetch_add(counter, 1) == chunks - 1;
  fence();
  return last;
}

/* A lane's accumulators and the sums of a row's chunks, of which the row has `chunks` from chunk `first` of the step on. */
template <typename T, int A>
SPTI_DEVICE void add_partials(T (&acc)[A], const T *partial, int32_t first, int32_t chunks, int64_t width, const lane_shape &shape) {
#pragma unroll 4
  for (int32_t p = shape.slot(); p < chunks; p += A << shape.log_l)
#pragma unroll
    for (int s = 0; s < A; s++)
      if (p + (s << shape.log_l) < chunks) acc[s] = acc[s] + load_relaxed(partial + int64_t(first + p + (s << shape.log_l)) * width);
}

/* One warp: as many chunks of cut rows as fit its lanes. */
template <typename T, int A>
SPTI_DEVICE void sum_chunks(const spti_recblock_step_args &a, int64_t unit, int64_t tile, const lane_shape &shape) {
  const spti_recblock_solve_args &all = a.all;
  const int64_t c = (unit << shape.log_rows()) + shape.row(), k = tile * SPTI_RECBLOCK_TILE + shape.column(), width = all.between.width;
  const bool mine = c < a.step.chunks;
  row_segment r = {0, 0, 0, false};
  int32_t record = 0, first = 0, number = 0, chunks = 0;
  if (mine) {
    record = a.step.record + load_const(all.lists.piece_record + a.step.piece + c);
    first = load_const(all.lists.apart_piece + record);
    number = int32_t(c) - first;
    r = segment_at(a, load_const(all.lists.apart + record));
    chunks = (r.end - r.begin - 1) / a.step.chunk + 1;
  }
  const bool sums = mine && k < width, leads = shape.slot() == 0;
  const int32_t begin = r.begin + number * a.step.chunk, end = begin < r.end - a.step.chunk ? begin + a.step.chunk : r.end;
  T acc[A], *partial = (T *)all.partial + k;
  for (int s = 0; s < A; s++) acc[s] = zero<T>();
  if (sums) sum_entries<T, A, (A < CHUNK_STEPS ? CHUNK_STEPS / A : 1)>(acc, all, int64_t(begin) + shape.slot(), end, k, shape);
  T sum = add_slots<T, A>(acc, shape);
  if (sums && leads && chunks > 1) store(partial + c * width, sum);
  syncwarp();
  bool last = chunks == 1;
  if (chunks > 1 && leads && shape.column() == 0)
    last = arrives_last(all.counters + int64_t(record) * spti_recblock_tiles(all.between.width) + tile, chunks);
  last = shfl(int32_t(last), shape.row() << (shape.log_w + shape.log_l)) != 0;
  syncwarp();
  if (!any(last)) return;
  for (int s = 0; s < A; s++) acc[s] = zero<T>();
  if (sums && last && chunks > 1) add_partials<T, A>(acc, partial, first, chunks, width, shape);
  const T total = add_slots<T, A>(acc, shape);
  if (sums && last && leads) finish_row(a, r, k, base_of<T>(all, r, k) - (chunks > 1 ? total : sum));
}

/* How often a warp takes rows with one slot, where few of them fit its lanes. */
SPTI_ANYWHERE constexpr int rows_at_once(int a) { return a >= 4 ? a / 2 : 1; }

/* Warps with chunks come first, since they have most to do. */
template <typename T, int A> SPTI_KERNEL(ROWS_THREADS) recblock_rows_kernel(spti_recblock_step_args a) {
  a.all.between = transfer_of(a.all.between, a.all.bound);
  const int64_t warp = (int64_t(block_in_grid()) * ROWS_THREADS + thread_in_block()) >> 5;
  const int64_t tiles = spti_recblock_tiles(a.all.between.width), tile = warp % tiles, unit = warp / tiles;
  const int log_w = log_columns(a.all.between.width);
  const lane_shape group = {log_w, log_slot_lanes(SPTI_RECBLOCK_SLOTS, log_w)}, single = {log_w, 0};
  const int64_t k = tile * SPTI_RECBLOCK_TILE + group.column();
  const int64_t chunk_units = (a.step.chunks + (1 << group.log_rows()) - 1) >> group.log_rows();
  if (unit < chunk_units) sum_chunks<T, A>(a, unit, tile, group);
  else if (a.step.slots == 1) sum_rows<T, 1, rows_at_once(A)>(a, unit - chunk_units, k, single);
  else sum_rows<T, A, 1>(a, unit - chunk_units, k, group);
}

/* ---- launchers ---- */

/* Warps for `count` items, each group of lanes taking `at_once` of them. */
static int64_t warps_for(int64_t count, const lane_shape &shape, int at_once) {
  const int64_t items = int64_t(at_once) << shape.log_rows();
  return (count + items - 1) / items;
}
static int64_t blocks_for(int64_t warps, int threads) { return (warps * 32 + threads - 1) / threads; }

template <typename T> static int launch_rows(const spti_recblock_step_args *a, void *stream) {
  const int log_w = log_columns(a->all.between.width);
  const lane_shape group = {log_w, log_slot_lanes(SPTI_RECBLOCK_SLOTS, log_w)}, single = {log_w, 0};
  const int64_t rows = a->step.listed >= 0 ? a->step.listed : a->step.rows;
  const int at_once = rows_at_once(SPTI_RECBLOCK_SLOTS >> group.log_l);
  const int64_t units =
      warps_for(a->step.chunks, group, 1) + (a->step.slots == 1 ? warps_for(rows, single, at_once) : warps_for(rows, group, 1));
  const int64_t blocks = blocks_for(units * spti_recblock_tiles(a->all.between.width), ROWS_THREADS);
  switch (log_w) {
  case 5: return SPTI_LAUNCH((recblock_rows_kernel<T, 8>), blocks, ROWS_THREADS, 0, stream, *a);
  case 4: return SPTI_LAUNCH((recblock_rows_kernel<T, 4>), blocks, ROWS_THREADS, 0, stream, *a);
  case 3: return SPTI_LAUNCH((recblock_rows_kernel<T, 2>), blocks, ROWS_THREADS, 0, stream, *a);
  default: return SPTI_LAUNCH((recblock_rows_kernel<T, 1>), blocks, ROWS_THREADS, 0, stream, *a);
  }
}

} // namespace spti

extern "C" int spti_recblock_start_launch(const spti_recblock_solve_args *a, void *stream) {
  using namespace spti;
  const lane_shape shape = {log_columns(a->between.width), 0};
  const int64_t rows = int64_t(a->first) + a->syncfree_end - a->syncfree_begin;
  int64_t warps = warps_for(rows, shape, START_ROWS) * spti_recblock_tiles(a->between.width);
  if (warps * 32 < a->counter_count) warps = (a->counter_count + 31) / 32;
  return dispatch(a->dtype, [&](auto tag) {
    return SPTI_LAUNCH(recblock_start_kernel<typename decltype(tag)::type>, blocks_for(warps, START_THREADS), START_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_recblock_rows_launch(const spti_recblock_step_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->all.dtype, [&](auto tag) { return launch_rows<typename decltype(tag)::type>(a, stream); });
}
