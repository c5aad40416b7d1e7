/* gather_solve -- the kernel of gather: x(i,:) = (b(i,:) - sum of t(i,j) x(j,:)) / t(i,i), every row by the warp that owns it.
 *
 * A warp owns an item, that is, a row and a tile of 8 to 64 right-hand sides; where the tile is narrower than the warp, lanes share the
 * row's entries. Solutions travel through a work block that is filled with sentinels: its words are their own flags, one load
 * both asks and answers (core/syncfree.cuh).
 *
 * Tickets hand out the items in the order of the levels, so the oldest unfinished item never waits for one that nobody works on.
 *
 * Bits. Entry e of a row goes to accumulator e mod 4, the four are added in one fixed tree, and the last entry -- the one that most often
 * is waited for -- is subtracted last; a long row is cut by its length alone. So a solution has the same bits for every panel
 * width, tile and schedule.
 *
 * Refill. There are two work blocks: a solve that goes through one fills the other with sentinels, row by row. Which is which is the
 * sign of the ticket word: the warp that draws the last ticket turns it over and sets the count back to zero, so that the next
 * launch, also of a captured graph, finds everything in place. A dirty width per block says how far it was written.
 * Lost dependency: rows are left unsolved and unfilled. The abort flag then stays up, every later solve reports the loss again, until
 * start makes the workspace whole. */
#ifndef SPTI_GATHER_SOLVE_CUH
#define SPTI_GATHER_SOLVE_CUH

#include "core/syncfree.cuh"
#include "core/transfer.cuh"
#include "trsm/gather_kernels.h"

namespace spti {

enum { GATHER_SUMS = 4, GATHER_CHUNK = 32 }; /* accumulators of a row; entries that the lanes of a warp load at once */

SPTI_DEVICE float multiply_add(float t, float x, float sum) { return fused(t, x, sum); }
SPTI_DEVICE double multiply_add(double t, double x, double sum) { return fused(t, x, sum); }
template <typename R> SPTI_DEVICE complex_t<R> multiply_add(complex_t<R> t, complex_t<R> x, complex_t<R> sum) {
  return {fused(-t.im, x.im, fused(t.re, x.re, sum.re)), fused(t.im, x.re, fused(t.re, x.im, sum.im))};
}

/* ---- tickets ---- */

/* One thread of a block: the ticket word, which counts blocks; its sign says which of the work blocks is this solve's. The first one
 * marks it as dirty, and says again what an earlier solve lost; the last one turns the word over. */
SPTI_DEVICE int32_t draw_ticket(const spti_gather_args &a) {
  int32_t *control = a.sync.control;
  const int32_t word = fetch_add(control + SPTI_SYNCFREE_TICKET, 1), number = word & INT32_MAX;
  if (number == blocks_per_grid() - 1) store_relaxed(control + SPTI_SYNCFREE_TICKET, word < 0 ? 0 : INT32_MIN);
  if (number == 0) {
    store_relaxed(control + SPTI_GATHER_DIRTY + (word < 0), a.between.width);
    if (load_relaxed(control + SPTI_SYNCFREE_ABORT) && load_relaxed(a.sync.lost) == 0) store_system(a.sync.lost, 1);
  }
  return word;
}

template <typename T> struct gather_blocks {
  T *now, *other;
  int32_t dirty; /* columns of the other one that have to be filled */

  SPTI_DEVICE gather_blocks(const spti_gather_args &a, int32_t word) {
    const int64_t size = int64_t(a.item_count) * a.ld;
    now = (T *)a.work + (word < 0 ? size : 0);
    other = (T *)a.work + (word < 0 ? 0 : size);
    dirty = load_relaxed(a.sync.control + SPTI_GATHER_DIRTY + !(word < 0));
  }
};

/* ---- items ---- */

/* A row, or a segment of a long one, as the analysis made it. Its terms are the sums of `parts` segments, then entries of the matrix.
 * Cut: there are long rows; else item i is place i and these things are known when the kernel is compiled. */
template <bool Cut> struct gather_item {
  int32_t index, row, work_row, begin, end, parts;

  SPTI_DEVICE bool is_part() const { return Cut && parts < 0; }
  SPTI_DEVICE int32_t sums() const { return Cut && parts > 0 ? parts : 0; }
  SPTI_DEVICE int32_t terms() const { return end - begin + sums(); }
  SPTI_DEVICE bool is_read() const { return row >= 0; }
  SPTI_DEVICE int32_t matrix_row() const { return row < 0 ? ~row : row; }
  /* Of the items up to a row, index - place are parts, and its own are the last of them. */
  SPTI_DEVICE int32_t first_part(int32_t n) const { return n + (index - work_row) - parts; }

  SPTI_DEVICE gather_item(const spti_gather_items &items, int32_t i) : index(i) {
    row = load_const(items.row + i);
    work_row = Cut ? load_const(items.work_row + i) : i;
    begin = load_const(items.begin + i);
    end = load_const(items.end + i);
    parts = Cut ? load_const(items.parts + i) : 0;
  }
};

/* A term of an item's sum: t times the solution in work row `from`. */
template <typename T> struct gather_term {
  int32_t from;
  T t;
};

template <typename T, bool Cut> SPTI_DEVICE gather_term<T> load_term(const spti_gather_args &a, const gather_item<Cut> &g, int32_t e) {
  if (e < 0 || e >= g.terms()) return {0, from_reals<T>::make(0, 0)}; /* never used */
  if (e < g.sums()) return {g.first_part(a.n) + e, one<T>()};
  const int64_t p = int64_t(g.begin) + e - g.sums();
  return {load_const(a.from + p), load_const((const T *)a.val + p)};
}

/* ---- lanes ---- */

/* Lane = slot * Lanes + column: column of the tile, and which entries it takes. Resident: thread blocks on a multiprocessor. */
template <int Lanes, int Columns, int Loads, int Resident, bool Cut> struct gather_shape {
  using item = gather_item<Cut>;
  static constexpr int LANES = Lanes, COLUMNS = Columns, LOADS = Loads, RESIDENT = Resident, TILE = Lanes * Columns;
  static constexpr int SLOTS = 32 / Lanes, SUMS = GATHER_SUMS / SLOTS; /* SUMS: accumulators per lane */
  static constexpr int BATCH = LOADS * SLOTS;
  static_assert(SUMS >= 1 && LOADS % SUMS == 0 && GATHER_CHUNK % BATCH == 0 && (Columns == 1 || Lanes == 32), "lanes do not divide");
};

/* What an item needs that nobody waits for. */
template <typename T, typename Shape> struct gather_start {
  typename Shape::item item;
  int32_t k;                  /* the lane's first right-hand side */
  gather_term<T> terms, last; /* the lane's of the first chunk; the last of all */
  T b[Shape::COLUMNS], diag;

  SPTI_DEVICE gather_start(const spti_gather_args &a, int32_t i, int32_t tile)
      : item(a.items, i), k(tile * Shape::TILE + lane() % Shape::LANES), terms(load_term<T>(a, item, lane())),
        last(load_term<T>(a, item, item.terms() - 1)), diag(one<T>()) {
    if (a.diag && !item.is_part()) diag = load_const((const T *)a.diag + item.work_row);
#pragma unroll
    for (int c = 0; c < Shape::COLUMNS; c++) {
      b[c] = from_reals<T>::make(0, 0);
      if (k + 32 * c < a.between.width && lane() < Shape::LANES && !item.is_part())
        b[c] = read_rhs<T>(a.between, item.matrix_row(), k + 32 * c);
    }
  }
};

/* ---- sums ---- */

/* One lane: asks for all missing values at once until they are there, and for the last ones along with them where they are
 * wanted too. False: they never come. */
template <typename T, int Loads, int Columns>
SPTI_DEVICE bool wait_for_values(const spti_gather_args &a, T (&x)[Loads][Columns], const int32_t (&from)[Loads], T (&last)[Columns],
                                 int32_t last_from, const T *column, int32_t row, bool patient) {
  spin_guard guard;
  guard.start();
  if (patient) {
    int32_t first = -1;
#pragma unroll
    for (int u = Loads - 1; u >= 0; u--)
      if (is_sentinel(x[u][0])) first = from[u];
    if (first >= 0)
      while (is_sentinel(peek(column + first * a.ld)))
        if (!guard.go_on(a.sync, row)) return false;
  }
  for (;;) {
    bool missing = false;
#pragma unroll
    for (int u = 0; u < Loads; u++)
#pragma unroll
      for (int c = 0; c < Columns; c++) missing = missing || is_sentinel(x[u][c]);
    if (!missing) return true;
    if (!guard.go_on(a.sync, row)) return false;
#pragma unroll
    for (int u = 0; u < Loads; u++)
#pragma unroll
      for (int c = 0; c < Columns; c++)
        if (is_sentinel(x[u][c])) x[u][c] = peek(column + from[u] * a.ld + 32 * c);
    if (last_from >= 0)
#pragma unroll
      for (int c = 0; c < Columns; c++)
        if (is_sentinel(last[c])) last[c] = peek(column + last_from * a.ld + 32 * c);
  }
}

/* Whole warp: the lane's accumulators over all terms but the last, whose value is asked for with the last batch. False in lanes that
 * waited in vain. */
template <typename T, typename Shape>
SPTI_DEVICE bool sum_terms(const spti_gather_args &a, const gather_start<T, Shape> &s, const T *column,
                           T (&sum)[Shape::SUMS][Shape::COLUMNS], T (&last)[Shape::COLUMNS]) {
  const int slot = lane() / Shape::LANES;
  const int32_t count = s.item.terms() - 1;
  gather_term<T> terms = s.terms;
  bool arrived = true;
  for (int32_t chunk = 0; chunk < count; chunk += GATHER_CHUNK) {
    gather_term<T> next = {0, from_reals<T>::make(0, 0)};
    if (chunk + GATHER_CHUNK < count) next = load_term<T>(a, s.item, chunk + GATHER_CHUNK + lane());
    for (int first = 0; first < GATHER_CHUNK && chunk + first < count; first += Shape::BATCH) {
      T x[Shape::LOADS][Shape::COLUMNS], t[Shape::LOADS];
      int32_t from[Shape::LOADS];
#pragma unroll
      for (int u = 0; u < Shape::LOADS; u++) {
        const int e = first + u * Shape::SLOTS + slot;
        from[u] = shfl(terms.from, e);
        t[u] = shfl(terms.t, e);
#pragma unroll
        for (int c = 0; c < Shape::COLUMNS; c++) {
          x[u][c] = from_reals<T>::make(0, 0);
          if (chunk + e < count && s.k + 32 * c < a.between.width && arrived) x[u][c] = peek(column + from[u] * a.ld + 32 * c);
        }
      }
      const bool is_last = chunk + first + Shape::BATCH >= count;
      if (arrived)
        arrived = wait_for_values(a, x, from, last, is_last ? s.last.from : -1, column, s.item.matrix_row(), count > Shape::BATCH);
#pragma unroll
      for (int u = 0; u < Shape::LOADS; u++)
        if (chunk + first + u * Shape::SLOTS + slot < count)
#pragma unroll
          for (int c = 0; c < Shape::COLUMNS; c++) sum[u % Shape::SUMS][c] = multiply_add(t[u], x[u][c], sum[u % Shape::SUMS][c]);
    }
    terms = next;
  }
  return arrived;
}

/* Whole warp: the accumulators of a right-hand side, in one order however they are spread: 2 apart, then neighbours. */
template <typename T, typename Shape> SPTI_DEVICE T add_up(T (&sum)[Shape::SUMS][Shape::COLUMNS], int c) {
#pragma unroll
  for (int half = Shape::SUMS / 2; half > 0; half /= 2)
    for (int s = 0; s < half; s++) sum[s][c] = sum[s][c] + sum[s + half][c];
#pragma unroll
  for (int apart = 16; apart >= Shape::LANES; apart /= 2) sum[0][c] = sum[0][c] + shfl(sum[0][c], lane() ^ apart);
  return sum[0][c];
}

/* ---- the solve ---- */

/* Whole warp: false if a dependency was lost. */
template <typename T, typename Shape> SPTI_DEVICE bool solve_item(const spti_gather_args &a, const gather_start<T, Shape> &s, T *now) {
  constexpr int COLUMNS = Shape::COLUMNS;
  const typename Shape::item &g = s.item;
  const T *column = now + s.k;
  divisor<T> diagonal;
  diagonal.set(s.diag);
  T last[1][COLUMNS], sum[Shape::SUMS][COLUMNS];
  const int32_t last_from[1] = {s.last.from};
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    last[0][c] = from_reals<T>::make(0, 0);
    if (g.terms() > 0 && s.k + 32 * c < a.between.width) last[0][c] = peek(column + s.last.from * a.ld + 32 * c);
#pragma unroll
    for (int i = 0; i < Shape::SUMS; i++) sum[i][c] = from_reals<T>::make(0, 0);
  }
  bool arrived = sum_terms<T, Shape>(a, s, column, sum, last[0]);
  T x[COLUMNS];
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) x[c] = s.b[c] - add_up<T, Shape>(sum, c);
  if (arrived) arrived = wait_for_values(a, last, last_from, last[0], -1, column, g.matrix_row(), false);
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    if (g.terms() > 0) x[c] = multiply_add(-s.last.t, last[0][c], x[c]);
    if (g.is_part()) x[c] = -x[c];
    else if (a.diag) x[c] = diagonal.divide(x[c]);
    if (arrived && g.is_read() && lane() < Shape::LANES && s.k + 32 * c < a.between.width)
      publish(now + g.work_row * a.ld + s.k + 32 * c, x[c]);
  }
  if (!all(arrived)) return false;
  if (g.is_part() || lane() >= Shape::LANES) return true;
  const int64_t to_row = row_at(a.between.to, g.matrix_row());
#pragma unroll
  for (int c = 0; c < COLUMNS; c++)
    if (s.k + 32 * c < a.between.width)
      store_once(element_at<T>(a.between.to, to_row, s.k + 32 * c), scale_row(a.between.to, to_row, x[c]));
  return true;
}

/* Whole warp: fills the tile's columns of the other work block; the last tile also those that are wider than this solve. */
template <typename T, typename Shape>
SPTI_DEVICE void refill(const spti_gather_args &a, const typename Shape::item &g, int32_t first, T *other, int32_t dirty) {
  if (!g.is_read()) return;
  const int32_t end = first + Shape::TILE < a.between.width && first + Shape::TILE < dirty ? first + Shape::TILE : dirty;
  for (int32_t k = first + lane(); k < end; k += 32) store_once(other + g.work_row * a.ld + k, sentinel<T>());
}

template <typename Shape> SPTI_ANYWHERE int32_t gather_tiles(const spti_gather_args &a) {
  return int32_t((uint32_t(a.between.width) + Shape::TILE - 1) / Shape::TILE);
}

template <typename T, typename Shape>
SPTI_KERNEL_RESIDENT(32 * SPTI_GATHER_WARPS, Shape::RESIDENT)
gather_solve_kernel(spti_gather_args a) {
  SPTI_SHARED(int32_t, shared_word, 1);
  if (thread_in_block() == 0) shared_word[0] = draw_ticket(a);
  syncthreads();
  const int32_t word = shared_word[0], tiles = gather_tiles<Shape>(a);
  const uint32_t at = uint32_t(word & INT32_MAX) * SPTI_GATHER_WARPS + uint32_t(warp_in_block());
  const int32_t i = int32_t(tiles == 1 ? at : at / uint32_t(tiles)), tile = int32_t(at - uint32_t(i) * uint32_t(tiles));
  if (i >= a.item_count) return;
  const gather_blocks<T> blocks(a, word);
  const gather_start<T, Shape> s(a, i, tile);
  if (solve_item<T, Shape>(a, s, blocks.now)) refill<T, Shape>(a, s.item, tile * Shape::TILE, blocks.other, blocks.dirty);
}

template <typename T, typename Shape> int launch_gather(const spti_gather_args *a, void *stream) {
  const int64_t total = int64_t(a->item_count) * gather_tiles<Shape>(*a);
  const int64_t blocks = (total + SPTI_GATHER_WARPS - 1) / SPTI_GATHER_WARPS;
  return SPTI_LAUNCH((gather_solve_kernel<T, Shape>), blocks, 32 * SPTI_GATHER_WARPS, 0, stream, *a);
}

/* Values of 16 bytes leave no registers for more than one column and four loads. */
template <typename T, bool Cut> int launch_gather_tile(const spti_gather_args *a, void *stream) {
  constexpr bool LARGE = sizeof(T) > 8;
  switch (a->tile) {
  case 8: return launch_gather<T, gather_shape<8, 1, 4, LARGE ? 4 : 6, Cut>>(a, stream);
  case 16: return launch_gather<T, gather_shape<16, 1, 4, LARGE ? 4 : 6, Cut>>(a, stream);
  case 64: return launch_gather<T, gather_shape<32, LARGE ? 1 : 2, 4, LARGE ? 4 : 5, Cut>>(a, stream);
  default: break;
  }
  if constexpr (!LARGE)
    if (a->loads == 8) return launch_gather<T, gather_shape<32, 1, 8, 4, Cut>>(a, stream);
  return launch_gather<T, gather_shape<32, 1, 4, LARGE ? 4 : 6, Cut>>(a, stream);
}

template <typename T> int launch_gather_type(const spti_gather_args *a, void *stream) {
  return a->items.parts ? launch_gather_tile<T, true>(a, stream) : launch_gather_tile<T, false>(a, stream);
}

} // namespace spti
#endif
