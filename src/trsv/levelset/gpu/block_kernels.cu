/* block_kernels.cu -- one level of rows for a block of right-hand sides, straight from B to X:
 *   x(i,:) = (b(i,:) - sum over j of t(i,j) x(j,:)) / t(i,i),
 * where an earlier launch has stored the final x(j,:).
 *
 * The kernel is limited by memory traffic. So each lane has two right-hand sides, which one access moves if the blocks are aligned for
 * it, and a lane issues all loads of a row before it uses any: its first entries, its right-hand side and its diagonal.
 *
 * Bits: a lane adds up the entries of a row one after another. A row of more than SPTI_LEVELSET_GPU_LONG entries is cut by the pattern
 * alone into parts, a thread block each, and a part into SLOTS runs of entries. Sums of runs are added in order, then sums of parts. So
 * bits depend neither on the width of the panel nor on the number of lanes. Deterministic. */
#include "core/device/columns.cuh"
#include "core/device/transfer.cuh"
#include "trsv/levelset/gpu/block_kernels.h"
#include "trsv/levelset/gpu/kernels.h"

namespace spti {

enum { LEVEL_THREADS = 256, LEVEL_WARPS = LEVEL_THREADS / 32, FIRST_ROWS = 4 /* of a lane */, AT_HAND = 4 /* entries */, SLOTS = 32 };

typedef spti_levelset_gpu_block_args level_args;

/* ---- lanes ---- */

/* A warp solves 32 / lanes rows side by side, with `lanes` lanes for each row and P right-hand sides for each lane. All warps of a block
 * work on one tile of right-hand sides; the tiles of the same rows are neighbouring blocks. */
template <int P> struct level_lanes {
  int log_lanes;
  int32_t tiles;

  SPTI_ANYWHERE explicit level_lanes(int32_t width) : log_lanes(0) {
    const int32_t wanted = (width + P - 1) / P;
    while (log_lanes < 5 && (1 << log_lanes) < wanted) log_lanes++;
    tiles = int32_t((int64_t(wanted) + 31) / 32);
  }
  SPTI_ANYWHERE int rows() const { return 32 >> log_lanes; }
  SPTI_DEVICE int row() const { return lane() >> log_lanes; }
  SPTI_DEVICE int64_t right_hand_side(int32_t tile) const { return (int64_t(tile) * 32 + (lane() & ((1 << log_lanes) - 1))) * P; }
};

template <typename T> SPTI_DEVICE const T *solution_of(const level_args &a, int32_t row, int64_t k) {
  return element_at<T>(a.solved, row_at(a.solved, row), k);
}

/* x(row,:) = rest / pivot, stored in X and, where needed, in the work block. */
template <typename T, int P>
SPTI_DEVICE void finish_row(const level_args &a, int32_t row, int64_t k, const some_columns<T, P> &rest, const divisor<T> &pivot) {
  some_columns<T, P> x;
#pragma unroll
  for (int c = 0; c < P; c++) x.v[c] = pivot.divide(rest.v[c]);
  if (a.keep && a.copies) store_columns(element_at<T>(a.solved, row, k), x);
  const int64_t to_row = row_at(a.transfer.to, row);
#pragma unroll
  for (int c = 0; c < P; c++) x.v[c] = scale_row(a.transfer.to, to_row, x.v[c]);
  T *const to = element_at<T>(a.transfer.to, to_row, k);
  if (a.keep && !a.copies) store_columns(to, x);
  else store_columns_once(to, x);
}

/* Elements of B, loaded early and scaled when they are used. */
template <typename T, int P> struct right_hand_sides {
  some_columns<T, P> b;
  int64_t from_row;

  SPTI_DEVICE void ask(const level_args &a, int32_t row, int64_t k) {
    from_row = row_at(a.transfer.from, row);
    b = load_columns<P>(element_at<T>(a.transfer.from, from_row, k));
  }
  SPTI_DEVICE some_columns<T, P> scaled(const level_args &a) const {
    some_columns<T, P> s;
#pragma unroll
    for (int c = 0; c < P; c++) s.v[c] = scale_rhs(a.transfer, from_row, b.v[c]);
    return s;
  }
};

/* ---- rows without entries ---- */

template <typename T, int P> SPTI_KERNEL_RESIDENT(LEVEL_THREADS, 4) levelset_gpu_first_kernel(level_args a) {
  const int64_t thread = int64_t(block_in_grid()) * LEVEL_THREADS + thread_in_block();
  if (thread < a.counter_count) store(a.counters + thread, 0);
  const level_lanes<P> lanes(a.transfer.width);
  const int32_t group = block_in_grid() / lanes.tiles;
  const int64_t k = lanes.right_hand_side(block_in_grid() - group * lanes.tiles);
  if (k >= a.transfer.width) return;
  const int64_t place = a.first + (int64_t(group) * LEVEL_WARPS + warp_in_block()) * FIRST_ROWS * lanes.rows() + lanes.row();
  int32_t row[FIRST_ROWS];
  T diag[FIRST_ROWS];
  right_hand_sides<T, P> b[FIRST_ROWS];
#pragma unroll
  for (int r = 0; r < FIRST_ROWS; r++) {
    const int64_t t = place + r * lanes.rows();
    row[r] = t < a.last ? load_const(a.row + t) : -1;
    diag[r] = t < a.last ? load_const(static_cast<const T *>(a.diag) + t) : one<T>();
  }
#pragma unroll
  for (int r = 0; r < FIRST_ROWS; r++)
    if (row[r] >= 0) b[r].ask(a, row[r], k);
#pragma unroll
  for (int r = 0; r < FIRST_ROWS; r++) {
    if (row[r] < 0) continue;
    divisor<T> pivot;
    pivot.set(diag[r]);
    finish_row<T, P>(a, row[r], k, b[r].scaled(a), pivot);
  }
}

/* ---- rows with entries ---- */

/* AT_HAND entries from p on; zeros, which change no sum, behind the end of the row. */
template <typename T, int P> struct entries_at_hand {
  int32_t column[AT_HAND];
  T t[AT_HAND];

  SPTI_DEVICE void ask(const level_args &a, int32_t p, int32_t end) {
#pragma unroll
    for (int e = 0; e < AT_HAND; e++) {
      column[e] = p + e < end ? load_const(a.column + p + e) : -1;
      t[e] = p + e < end ? load_const(static_cast<const T *>(a.val) + p + e) : T();
    }
  }
  SPTI_DEVICE void take(const level_args &a, int64_t k, some_columns<T, P> *x) const {
#pragma unroll
    for (int e = 0; e < AT_HAND; e++) {
      x[e] = {};
      if (column[e] >= 0) x[e] = load_columns<P>(solution_of<T>(a, column[e], k));
    }
  }
  SPTI_DEVICE void add(some_columns<T, P> &sum, const some_columns<T, P> *x) const {
#pragma unroll
    for (int e = 0; e < AT_HAND; e++)
#pragma unroll
      for (int c = 0; c < P; c++) sum.v[c] = sum.v[c] + t[e] * x[e].v[c];
  }
};

/* The sum over entries [p, end), of which `now` holds the first. Indices and values are loaded one step ahead of the solutions. */
template <typename T, int P>
SPTI_DEVICE some_columns<T, P> sum_entries(const level_args &a, entries_at_hand<T, P> now, int32_t p, int32_t end, int64_t k) {
  some_columns<T, P> sum = {};
  while (p < end) {
    some_columns<T, P> x[AT_HAND];
    entries_at_hand<T, P> next;
    now.take(a, k, x);
    p += AT_HAND;
    next.ask(a, p, end);
    now.add(sum, x);
    now = next;
  }
  return sum;
}

template <typename T, int P> SPTI_DEVICE void solve_row(const level_args &a, int64_t place, int64_t k) {
  const int32_t begin = load_const(a.start + place), end = load_const(a.start + place + 1), row = load_const(a.row + place);
  const T diag = load_const(static_cast<const T *>(a.diag) + place);
  if (end - begin > SPTI_LEVELSET_GPU_LONG) return;
  entries_at_hand<T, P> first;
  right_hand_sides<T, P> b;
  first.ask(a, begin, end);
  b.ask(a, row, k);
  divisor<T> pivot;
  pivot.set(diag);
  const some_columns<T, P> sum = sum_entries<T, P>(a, first, begin, end, k);
  some_columns<T, P> rest = b.scaled(a);
#pragma unroll
  for (int c = 0; c < P; c++) rest.v[c] = rest.v[c] - sum.v[c];
  finish_row<T, P>(a, row, k, rest, pivot);
}

/* ---- long rows ---- */

/* One thread, after its block has stored the sums of a part: have all other parts been stored, too? */
SPTI_DEVICE bool arrives_last(int32_t *counter, int32_t parts) {
  fence();
  const bool last = fetch_add(counter, 1) == parts - 1;
  fence();
  return last;
}

/* Whole block: sums up one part of a long row. The block whose part arrives last solves the row. */
template <typename T, int P> SPTI_DEVICE void sum_part(const level_args &a, const level_lanes<P> &lanes, int32_t part, int32_t tile) {
  SPTI_SHARED(T, sums, SLOTS * 32 * P);
  SPTI_SHARED(int32_t, is_last, 1);
  const int32_t width = a.transfer.width, columns = P << lanes.log_lanes, index = part / a.parts;
  const int32_t place = load_const(a.long_rows + index), begin = load_const(a.start + place), end = load_const(a.start + place + 1);
  const int32_t run = int32_t((int64_t(end) - begin + SLOTS * a.parts - 1) / (SLOTS * a.parts)); /* entries of a slot */
  const int32_t groups = LEVEL_WARPS * lanes.rows(), mine = (part - index * a.parts) * SLOTS;
  const int64_t k = lanes.right_hand_side(tile);
  for (int32_t s = warp_in_block() * lanes.rows() + lanes.row(); s < SLOTS && k < width; s += groups) {
    const int64_t from = begin + int64_t(mine + s) * run, to = from + run < end ? from + run : end;
    some_columns<T, P> sum = {};
    if (from < to) {
      entries_at_hand<T, P> first;
      first.ask(a, int32_t(from), int32_t(to));
      sum = sum_entries<T, P>(a, first, int32_t(from), int32_t(to), k);
    }
#pragma unroll
    for (int c = 0; c < P; c++) sums[s * columns + int32_t(k) - tile * 32 * P + c] = sum.v[c];
  }
  syncthreads();
  const int32_t column = tile * 32 * P + thread_in_block();
  const bool used = thread_in_block() < columns && column < width;
  T *const partial = static_cast<T *>(a.partial) + column;
  T sum = T();
  for (int s = 0; s < SLOTS && used; s++) sum = sum + sums[s * columns + thread_in_block()];
  if (a.parts > 1) {
    if (used) store(partial + int64_t(part) * width, sum);
    syncthreads();
    int32_t *const counter = a.counters + int64_t(index) * lanes.tiles + tile;
    if (thread_in_block() == 0) is_last[0] = arrives_last(counter, a.parts);
    syncthreads();
    if (!is_last[0]) return;
    if (thread_in_block() == 0) store(counter, 0);
    sum = T();
#pragma unroll 8
    for (int32_t p = 0; p < a.parts; p++)
      if (used) sum = sum + load_relaxed(partial + (int64_t(index) * a.parts + p) * width);
  }
  if (!used) return;
  const int32_t row = load_const(a.row + place);
  right_hand_sides<T, 1> b;
  b.ask(a, row, column);
  divisor<T> pivot;
  pivot.set(load_const(static_cast<const T *>(a.diag) + place));
  finish_row<T, 1>(a, row, column, {b.scaled(a).v[0] - sum}, pivot);
}

/* The first blocks take the long rows, which take longest. */
template <typename T, int P> SPTI_KERNEL_RESIDENT(LEVEL_THREADS, sizeof(T) > 8 ? 3 : 4) levelset_gpu_level_kernel(level_args a) {
  const level_lanes<P> lanes(a.transfer.width);
  const int32_t group = block_in_grid() / lanes.tiles, tile = block_in_grid() - group * lanes.tiles, parts = a.long_count * a.parts;
  if (group < parts) {
    sum_part<T, P>(a, lanes, group, tile);
    return;
  }
  const int64_t k = lanes.right_hand_side(tile);
  const int64_t place = a.first + (int64_t(group - parts) * LEVEL_WARPS + warp_in_block()) * lanes.rows() + lanes.row();
  if (k < a.transfer.width && place < a.last) solve_row<T, P>(a, place, k);
}

/* ---- analysis ---- */

SPTI_KERNEL(LEVEL_THREADS) levelset_gpu_column_kernel(spti_levelset_gpu_column_args a) {
  const int64_t p = int64_t(block_in_grid()) * LEVEL_THREADS + thread_in_block();
  if (p < a.entries) store(a.column + p, load_const(a.row + load_const(a.from + p)));
}

/* ---- launchers ---- */

template <typename T, int P> static int launch_level(const level_args *a, bool first, void *stream) {
  const level_lanes<P> lanes(a->transfer.width);
  const int64_t rows = int64_t(LEVEL_WARPS) * lanes.rows() * (first ? FIRST_ROWS : 1), count = int64_t(a->last) - a->first;
  int64_t blocks = ((count + rows - 1) / rows + (first ? 0 : int64_t(a->long_count) * a->parts)) * lanes.tiles;
  if (!first) return SPTI_LAUNCH((levelset_gpu_level_kernel<T, P>), blocks, LEVEL_THREADS, 0, stream, *a);
  const int64_t clearing = (int64_t(a->counter_count) + LEVEL_THREADS - 1) / LEVEL_THREADS;
  return SPTI_LAUNCH((levelset_gpu_first_kernel<T, P>), blocks > clearing ? blocks : clearing, LEVEL_THREADS, 0, stream, *a);
}

template <typename T> static int launch_level_type(const level_args *a, bool first, void *stream) {
  if constexpr (sizeof(real_of<T>) == sizeof(T))
    if (spti_transfer_in_twos(&a->transfer, sizeof(T))) return launch_level<T, 2>(a, first, stream);
  return launch_level<T, 1>(a, first, stream);
}

} // namespace spti

extern "C" int spti_levelset_gpu_first_launch(const spti_levelset_gpu_block_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->dtype, [&](auto tag) { return launch_level_type<typename decltype(tag)::type>(a, true, stream); });
}

extern "C" int spti_levelset_gpu_level_launch(const spti_levelset_gpu_block_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->dtype, [&](auto tag) { return launch_level_type<typename decltype(tag)::type>(a, false, stream); });
}

extern "C" int spti_levelset_gpu_column_launch(const spti_levelset_gpu_column_args *a, void *stream) {
  using namespace spti;
  const int64_t blocks = (int64_t(a->entries) + LEVEL_THREADS - 1) / LEVEL_THREADS;
  return SPTI_LAUNCH(levelset_gpu_column_kernel, blocks, LEVEL_THREADS, 0, stream, *a);
}
