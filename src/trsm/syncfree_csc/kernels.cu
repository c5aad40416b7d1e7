/* kernels.cu -- synchronisation-free substitution by columns, adaptive over right-hand sides.
 *
 * Column j: wait until counter[j] is 0; x(j,:) = w(j,:) / t(j,j); for each other entry (i,j): w(i,:) -= t(i,j) x(j,:), counter[i]--.
 * In place: w holds alpha B, then right-hand side minus the sum so far, then X. One warp per (column, tile of right-hand
 * sides); each tile has its own counters, so tiles do not wait for each other.
 *
 * Source: [liu2017syncfree] Algorithm 4 and its rule for the lanes of a warp: over right-hand sides or over entries. Differs: no separate
 * left_sum; a counter drops once per entry, not once per right-hand side; release and acquire instead of volatile, because lanes of a warp
 * no longer run in step; entries in the order in which their rows become ready, the first rows released alone; several entries side by side
 * in narrow panels; long columns shared by several warps, long rows gathered in several accumulators; columns may be taken in the order in
 * which they become ready. Deterministic: no (the order of atomic sums changes). */
#include "core/device/syncfree.cuh"
#include "trsm/syncfree_csc/items.cuh"

namespace spti {

/* ---- analysis ---- */

enum { PLAIN_THREADS = 256 };

SPTI_KERNEL(PLAIN_THREADS) syncfree_csc_clear_kernel(spti_syncfree_csc_count_args a) {
  const int64_t i = int64_t(block_in_grid()) * PLAIN_THREADS + thread_in_block();
  if (i < a.view.n) store(a.in_degree + i, -(a.view.head + a.view.tail)); /* the stored diagonal is counted too, below */
}

SPTI_KERNEL(PLAIN_THREADS) syncfree_csc_count_kernel(spti_syncfree_csc_count_args a) {
  const int64_t p = int64_t(block_in_grid()) * PLAIN_THREADS + thread_in_block();
  if (p < a.view.nnz) red_add(a.in_degree + load_const(a.view.idx + p), 1);
}

/* ---- solve ---- */

static SPTI_ANYWHERE int64_t partial_words(const spti_syncfree_csc_args &a) { return a.parts * a.width * (a.value_bytes / 4); }

SPTI_KERNEL(PLAIN_THREADS) syncfree_csc_start_kernel(spti_syncfree_csc_args a) {
  const int64_t at = int64_t(block_in_grid()) * PLAIN_THREADS + thread_in_block();
  const int64_t count = int64_t(a.view.n) * spti_syncfree_csc_tiles(a.width);
  if (at < count) store(a.counters + at, load_const(a.in_degree + at % a.view.n));
  if (at < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + at, 0);
  if (at < partial_words(a)) store((int32_t *)a.partial + at, 0);
}

template <typename T> struct entry {
  int32_t row, target; /* target: the row, or ~(accumulator of a long row) */
  T t;
};

template <typename T, bool Gathered> SPTI_DEVICE entry<T> load_entry(const spti_syncfree_csc_args &a, const column_span &s, int64_t e) {
  if (e >= s.length) return {0, 0, from_reals<T>::make(0, 0)}; /* never used */
  const int64_t p = s.start + e * s.step;
  const int32_t row = load_const(a.view.idx + p);
  return {row, Gathered ? load_const(a.target + p) : row, conj_if(a.view.conj, load_const((const T *)a.view.val + p))};
}

/* Address of the first right-hand side of a tile in the row, or accumulator, that an entry updates. */
template <typename T, bool Gathered> SPTI_DEVICE T *target_row(const spti_syncfree_csc_args &a, int64_t first_column, int32_t target) {
  if (Gathered && target < 0) return (T *)a.partial + int64_t(~target) * a.width + first_column;
  return (T *)a.work + target * a.ld + first_column;
}

/* The right-hand sides of a warp: lane l has right-hand side first + l % side; 32 / side entries are pushed side by side. */
struct tile_lanes {
  int64_t first;
  int32_t columns, side;

  SPTI_DEVICE int group() const { return lane() / side; }
  SPTI_DEVICE int column() const { return lane() % side; }
  SPTI_DEVICE bool active() const { return column() < columns; }
};

SPTI_DEVICE tile_lanes lanes_of_tile(const spti_syncfree_csc_args &a, int32_t tile) {
  tile_lanes t;
  t.first = int64_t(tile) * SPTI_SYNCFREE_CSC_TILE;
  const int64_t rest = a.width - t.first, most = SPTI_SYNCFREE_CSC_TILE;
  t.columns = int32_t(rest < most ? rest : most);
  t.side = 1;
  while (t.side < t.columns) t.side *= 2;
  return t;
}

/* The rule of the paper, for the number of entries that one warp pushes: those of a column, or of a segment of a long column. */
SPTI_DEVICE bool lanes_over_rhs(const spti_syncfree_csc_args &a, int32_t length) {
  if (a.select != SPTRSM_SELECT_ADAPTIVE) return a.select == SPTRSM_SELECT_RHS;
  return (length <= a.width || a.width > a.p) && length < a.q;
}

/* Whole warp: updates with entries [begin, end) of the 32 that its lanes hold, `groups` = 32 / side of them at once; the caller divides
 * once for all its chunks. */
template <typename T, bool Gathered>
SPTI_DEVICE void update_rows(const spti_syncfree_csc_args &a, const tile_lanes &tile, int groups, int begin, int end, const entry<T> &e,
                             T x) {
#pragma unroll 4
  for (int s = begin; s < end; s += groups) {
    const int mine = s + tile.group();
    T *w = target_row<T, Gathered>(a, tile.first, shfl(e.target, mine & 31));
    const T t = shfl(e.t, mine & 31);
    if (mine < end && tile.active()) red_add(w + tile.column(), -(t * x));
  }
}

/* Lanes over right-hand sides, entries one by one (or 32 / side at once). Entries go in chunks: updates by all lanes, a barrier, one
 * release per entry. The first chunk is a single entry, since the critical path may wait for its row, unless the column is short. */
template <typename T, bool Gathered>
SPTI_DEVICE void push_by_rhs(const spti_syncfree_csc_args &a, const column_span &span, const tile_lanes &tile, int32_t *counters,
                             entry<T> e, T x) {
  const int groups = 32 / tile.side;
  int end = span.length <= a.whole_column ? 32 : 1, next_chunk = a.second_chunk;
  for (int64_t base = 0; base < span.length; base += 32) {
    const entry<T> next = load_entry<T, Gathered>(a, span, base + 32 + lane());
    const int count = int(span.length - base < 32 ? span.length - base : 32);
    for (int begin = 0; begin < count;) {
      if (end > count) end = count;
      update_rows<T, Gathered>(a, tile, groups, begin, end, e, x);
      gather_updates();
      if (lane() >= begin && lane() < end) release_one(counters + e.row);
      begin = end;
      end += next_chunk;
      next_chunk = 32;
    }
    end = 32;
    e = next;
  }
}

/* Lanes over entries, right-hand sides one by one. Each lane releases the row that it alone updated: no barrier. */
template <typename T, bool Gathered>
SPTI_DEVICE void push_by_entry(const spti_syncfree_csc_args &a, const column_span &span, const tile_lanes &tile, int32_t *counters,
                               entry<T> e, T x) {
  for (int64_t base = 0; base < span.length; base += 32) {
    const bool mine = base + lane() < span.length;
    T *w = target_row<T, Gathered>(a, tile.first, e.target);
    for (int k = 0; k < tile.columns; k++) {
      const T xk = shfl(x, k);
      if (mine) red_add(w + k, -(e.t * xk));
    }
    if (mine) release_one(counters + e.row);
    e = load_entry<T, Gathered>(a, span, base + 32 + lane());
  }
}

/* x(j,:) by the warp that owns column j, from the row itself and its accumulators; stored for the other warps, too. */
template <typename T, bool Gathered>
SPTI_DEVICE T solve_row(const spti_syncfree_csc_args &a, int32_t j, T *w, const tile_lanes &tile, const divisor<T> &diagonal) {
  T x = load_relaxed(w);
  if (Gathered && load_const(a.part_first + j) >= 0) {
    const T *partial = (const T *)a.partial + int64_t(load_const(a.part_first + j)) * a.width + tile.first + tile.column();
    const int32_t parts = parts_of(a.limits, load_const(a.in_degree + j));
    for (int32_t part = 0; part < parts; part++) x = x + load_relaxed(partial + int64_t(part) * a.width);
  }
  if (!a.view.unit) x = diagonal.divide(x);
  store(w, x);
  return x;
}

template <typename T, bool Gathered> SPTI_KERNEL(32 * SPTI_SYNCFREE_CSC_MAX_WARPS) syncfree_csc_solve_kernel(spti_syncfree_csc_args a) {
  const spti_view &v = a.view;
  const int32_t tiles = spti_syncfree_csc_tiles(a.width);
  const int64_t ticket = block_ticket(a.sync) * warps_per_block() + warp_in_block();
  if (ticket >= a.item_count * tiles) return;
  const int64_t step = ticket / tiles;
  const int64_t item = a.items ? load_const(a.items + step) : v.backward ? v.n - 1 - step : step;
  const int32_t j = int32_t(item & 0x7fffffff), segment = int32_t(item >> 32);
  const tile_lanes tile = lanes_of_tile(a, int32_t(ticket % tiles));
  int32_t *counters = a.counters + (ticket % tiles) * v.n;

  /* Everything that does not depend on other columns, before the wait. */
  const column_span column = column_of(v, j);
  const int32_t segments = a.items ? segments_of(a.limits, column.length) : 1;
  const column_span span = segment_of(a.limits, column, segment, segments);
  const entry<T> first = load_entry<T, Gathered>(a, span, lane());
  divisor<T> diagonal;
  const int64_t at = v.head ? load_const(v.ptr + j) : load_const(v.ptr + j + 1) - 1;
  diagonal.set(v.unit ? one<T>() : conj_if(v.conj, load_const((const T *)v.val + at)));

  const bool by_rhs = lanes_over_rhs(a, span.length);

  if (!wait_until(a.sync, counters + j, segment == 0 ? READY : SOLVED, j)) return;

  T x = from_reals<T>::make(0, 0);
  T *w = (T *)a.work + j * a.ld + tile.first + tile.column();
  /* Only group 0 reads w: a lane of another group might read it after the store. */
  if (tile.group() == 0 && tile.active()) x = segment == 0 ? solve_row<T, Gathered>(a, j, w, tile, diagonal) : load_relaxed(w);
  if (segment == 0 && segments > 1) { /* the warps with the other segments read x where it was stored */
    gather_updates();
    if (lane() == 0) release_one(counters + j);
  }
  if (tile.side < 32) x = shfl(x, tile.column());

  if (by_rhs) push_by_rhs<T, Gathered>(a, span, tile, counters, first, x);
  else push_by_entry<T, Gathered>(a, span, tile, counters, first, x);
}

static int64_t blocks_for(int64_t count, int64_t size) { return (count + size - 1) / size; }

template <typename T> static int launch_solve(const spti_syncfree_csc_args *a, void *stream) {
  const int64_t blocks = blocks_for(a->item_count * spti_syncfree_csc_tiles(a->width), a->block_warps);
  const int threads = 32 * a->block_warps;
  if (a->target) return SPTI_LAUNCH((syncfree_csc_solve_kernel<T, true>), blocks, threads, 0, stream, *a);
  return SPTI_LAUNCH((syncfree_csc_solve_kernel<T, false>), blocks, threads, 0, stream, *a);
}

} // namespace spti

extern "C" int spti_syncfree_csc_count_launch(const spti_syncfree_csc_count_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(syncfree_csc_clear_kernel, blocks_for(a->view.n, PLAIN_THREADS), PLAIN_THREADS, 0, stream, *a);
  if (error) return error;
  return SPTI_LAUNCH(syncfree_csc_count_kernel, blocks_for(a->view.nnz, PLAIN_THREADS), PLAIN_THREADS, 0, stream, *a);
}

extern "C" int spti_syncfree_csc_start_launch(const spti_syncfree_csc_args *a, void *stream) {
  using namespace spti;
  const int64_t count = int64_t(a->view.n) * spti_syncfree_csc_tiles(a->width);
  const int64_t words = partial_words(*a), threads = SPTI_SYNCFREE_CONTROL_WORDS + (count > words ? count : words);
  return SPTI_LAUNCH(syncfree_csc_start_kernel, blocks_for(threads, PLAIN_THREADS), PLAIN_THREADS, 0, stream, *a);
}

extern "C" int spti_syncfree_csc_solve_launch(const spti_syncfree_csc_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->view.dtype, [&](auto tag) { return launch_solve<typename decltype(tag)::type>(a, stream); });
}
