/* syncfree_csc_kernels -- synchronisation-free substitution by columns, adaptive over right-hand sides.
 *
 * Column j: wait until counter[j] is 0; x(j,:) = w(j,:) / t(j,j); for each other entry (i,j): w(i,:) -= t(i,j) x(j,:), counter[i]--.
 * In place: w holds alpha B, then right-hand side minus the sum so far, then X. One warp per (column, tile of right-hand
 * sides); each tile has its own counters, so tiles do not wait for each other.
 *
 * Source: [liu2017syncfree] Algorithm 4 and its rule for which way the lanes of a warp lie. Differs: no separate left_sum;
 * a counter drops once per entry, not once per right-hand side; release and acquire instead of volatile, because lanes
 * of a warp no longer run in step; entries in the order in which their rows become ready, the first ones released alone;
 * narrow panels put several entries side by side. Deterministic: no (the order of atomic sums changes). */
#include "core/syncfree.cuh"
#include "trsm/syncfree_csc_kernels.h"

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

SPTI_KERNEL(PLAIN_THREADS) syncfree_csc_start_kernel(spti_syncfree_csc_args a) {
  const int64_t at = int64_t(block_in_grid()) * PLAIN_THREADS + thread_in_block();
  const int64_t count = int64_t(a.view.n) * spti_syncfree_csc_tiles(a.width, a.row_words);
  if (at < count) store(a.counters + at, load_const(a.in_degree + at % a.view.n));
  if (at < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + at, 0);
}

/* The off-diagonal entries of a column in the order in which their rows become ready: the e-th is at start + e * step. */
struct column_span {
  int64_t start;
  int32_t step, length;
};

template <typename T> struct entry {
  int32_t row;
  T t;
};

template <typename T> SPTI_DEVICE entry<T> load_entry(const spti_view &v, const column_span &s, int64_t e) {
  if (e >= s.length) return {0, from_reals<T>::make(0, 0)};
  const int64_t p = s.start + e * s.step;
  return {load_const(v.idx + p), conj_if(v.conj, load_const((const T *)v.val + p))};
}

/* Where a warp's tile lies: lane l holds columns k(r) = first + r * 32 + l % side for r < R; 32 / side entries go side by side. */
struct tile_lanes {
  int64_t first;
  int32_t columns, side;

  SPTI_DEVICE int group() const { return lane() / side; }
  SPTI_DEVICE int column(int r) const { return r * 32 + lane() % side; }
  SPTI_DEVICE bool active(int r) const { return column(r) < columns; }
};

template <int R> SPTI_DEVICE tile_lanes lanes_of_tile(const spti_syncfree_csc_args &a, int32_t tile) {
  tile_lanes t;
  t.first = int64_t(tile) * (32 * R);
  t.columns = int32_t(a.width - t.first < 32 * R ? a.width - t.first : 32 * R);
  t.side = 1;
  while (t.side < t.columns && t.side < 32) t.side *= 2;
  return t;
}

SPTI_DEVICE bool lanes_over_rhs(const spti_syncfree_csc_args &a, int32_t length) {
  if (a.select != SPTRSM_SELECT_ADAPTIVE) return a.select == SPTRSM_SELECT_RHS;
  return (length <= a.width || a.width > a.p) && length < a.q;
}

/* Lanes over right-hand sides, entries one by one (or 32 / side at once). Entries go in chunks: updates by all lanes, barrier,
 * one release per entry. */
template <typename T, int R>
SPTI_DEVICE void push_by_rhs(const spti_syncfree_csc_args &a, const column_span &span, const tile_lanes &tile, int32_t *counters, entry<T> e,
                             const T *x) {
  T *w = (T *)a.work + tile.first;
  const int groups = 32 / tile.side;
  int end = a.first_chunk;
  for (int64_t base = 0; base < span.length; base += 32) {
    const entry<T> next = load_entry<T>(a.view, span, base + 32 + lane());
    const int count = int(span.length - base < 32 ? span.length - base : 32);
    for (int begin = 0; begin < count;) {
      if (end > count) end = count;
#pragma unroll 4
      for (int s = begin; s < end; s += groups) {
        const int mine = s + tile.group();
        const int64_t row = shfl(e.row, mine & 31);
        const T t = shfl(e.t, mine & 31);
        if (mine < end)
          for (int r = 0; r < R; r++)
            if (tile.active(r)) red_add(w + row * a.ld + tile.column(r), -(t * x[r]));
      }
      gather_updates();
      if (lane() >= begin && lane() < end) release_one(counters + e.row);
      begin = end;
      end = base == 0 && begin == a.first_chunk ? begin + a.second_chunk : 32;
    }
    end = 32;
    e = next;
  }
}

/* Lanes over entries, right-hand sides one by one. Each lane releases the row that it alone updated: no barrier. */
template <typename T, int R>
SPTI_DEVICE void push_by_entry(const spti_syncfree_csc_args &a, const column_span &span, const tile_lanes &tile, int32_t *counters, entry<T> e,
                               const T *x) {
  T *w = (T *)a.work + tile.first;
  for (int64_t base = 0; base < span.length; base += 32) {
    const bool mine = base + lane() < span.length;
    T *row = w + e.row * a.ld;
#pragma unroll
    for (int r = 0; r < R; r++) {
      const int columns = tile.columns - r * 32 < 32 ? tile.columns - r * 32 : 32;
      for (int k = 0; k < columns; k++) {
        const T xk = shfl(x[r], k);
        if (mine) red_add(row + r * 32 + k, -(e.t * xk));
      }
    }
    if (mine) release_one(counters + e.row);
    e = load_entry<T>(a.view, span, base + 32 + lane());
  }
}

template <typename T, int R> SPTI_KERNEL(32 * SPTI_SYNCFREE_CSC_MAX_WARPS) syncfree_csc_solve_kernel(spti_syncfree_csc_args a) {
  const spti_view &v = a.view;
  const int32_t tiles = spti_syncfree_csc_tiles(a.width, R);
  const int64_t item = block_ticket(a.sync) * warps_per_block() + warp_in_block();
  if (item >= int64_t(v.n) * tiles) return;
  const int32_t step = int32_t(a.order == SPTI_TILE_FASTEST ? item / tiles : item % v.n);
  const int32_t tile_index = int32_t(a.order == SPTI_TILE_FASTEST ? item % tiles : item / v.n);
  const int32_t j = v.backward ? v.n - 1 - step : step;
  int32_t *counters = a.counters + int64_t(tile_index) * v.n;

  /* Everything that does not depend on other columns, before the wait. */
  const int64_t begin = load_const(v.ptr + j), end = load_const(v.ptr + j + 1);
  column_span span;
  span.length = int32_t(end - begin - v.head - v.tail);
  span.step = v.backward ? -1 : 1;
  span.start = v.backward ? end - v.tail - 1 : begin + v.head;
  const entry<T> first = load_entry<T>(v, span, lane());
  divisor<T> diagonal;
  diagonal.set(v.unit ? one<T>() : conj_if(v.conj, load_const((const T *)v.val + (v.head ? begin : end - 1))));
  const tile_lanes tile = lanes_of_tile<R>(a, tile_index);

  if (!wait_until_zero(a.sync, counters + j, j)) return;

  T x[R];
  T *w = (T *)a.work + j * a.ld + tile.first;
#pragma unroll
  for (int r = 0; r < R; r++) {
    x[r] = from_reals<T>::make(0, 0);
    if (tile.group() > 0 || !tile.active(r)) continue;
    x[r] = load_relaxed(w + tile.column(r));
    if (!v.unit) x[r] = diagonal.divide(x[r]);
    store(w + tile.column(r), x[r]);
  }
  /* Only group 0 reads: another lane might come after the store. */
  if (tile.side < 32) x[0] = shfl(x[0], lane() % tile.side);

  if (lanes_over_rhs(a, span.length))
    push_by_rhs<T, R>(a, span, tile, counters, first, x);
  else
    push_by_entry<T, R>(a, span, tile, counters, first, x);
}

static int64_t blocks_for(int64_t count, int64_t size) { return (count + size - 1) / size; }

template <typename T> static int launch_solve(const spti_syncfree_csc_args *a, void *stream) {
  const int64_t items = int64_t(a->view.n) * spti_syncfree_csc_tiles(a->width, a->row_words);
  const int64_t blocks = blocks_for(items, a->block_warps);
  const int threads = 32 * a->block_warps;
  switch (a->row_words) {
  case 1: return SPTI_LAUNCH((syncfree_csc_solve_kernel<T, 1>), blocks, threads, 0, stream, *a);
  case 2: return SPTI_LAUNCH((syncfree_csc_solve_kernel<T, 2>), blocks, threads, 0, stream, *a);
  default: return SPTI_LAUNCH((syncfree_csc_solve_kernel<T, 4>), blocks, threads, 0, stream, *a);
  }
}

}  // namespace spti

extern "C" int spti_syncfree_csc_count_launch(const spti_syncfree_csc_count_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(syncfree_csc_clear_kernel, blocks_for(a->view.n, PLAIN_THREADS), PLAIN_THREADS, 0, stream, *a);
  if (error) return error;
  return SPTI_LAUNCH(syncfree_csc_count_kernel, blocks_for(a->view.nnz, PLAIN_THREADS), PLAIN_THREADS, 0, stream, *a);
}

extern "C" int spti_syncfree_csc_start_launch(const spti_syncfree_csc_args *a, void *stream) {
  using namespace spti;
  const int64_t count = int64_t(a->view.n) * spti_syncfree_csc_tiles(a->width, a->row_words);
  const int64_t threads = count + SPTI_SYNCFREE_CONTROL_WORDS;
  return SPTI_LAUNCH(syncfree_csc_start_kernel, blocks_for(threads, PLAIN_THREADS), PLAIN_THREADS, 0, stream, *a);
}

extern "C" int spti_syncfree_csc_solve_launch(const spti_syncfree_csc_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->view.dtype, [&](auto tag) { return launch_solve<typename decltype(tag)::type>(a, stream); });
}
