/* gather_solve -- the kernel of gather: x(i,:) = (b(i,:) - sum of t(i,j) x(j,:)) / t(i,i), every row by the warp that owns it.
 *
 * A warp owns (item, tile): a row and 4 to 32 right-hand sides; what lanes are left over share the row's entries. Solutions travel through
 * a work block that is filled with sentinels: its words are their own flags, one load both asks and answers (core/syncfree.cuh).
 *
 * Bits. Entry e of a row goes to accumulator e mod 8, and the eight are added in one fixed tree, whichever lanes hold them; a long
 * row is cut by its length alone. So a solution has the same bits for every panel width, lane split and schedule.
 *
 * Refill. There are two work blocks: a solve that goes through one fills the other with sentinels, row by row. Which is which is the
 * sign of the ticket word: the block that takes the last ticket turns it over and sets the count back to zero, so that the next
 * launch, also of a captured graph, finds everything in place. A dirty width per block says how far it was written.
 * Lost dependency: rows are left unsolved and unfilled. The abort flag then stays up, every later solve reports the loss again, until
 * start makes the workspace whole. */
#ifndef SPTI_GATHER_SOLVE_CUH
#define SPTI_GATHER_SOLVE_CUH

#include "core/syncfree.cuh"
#include "core/transfer.cuh"
#include "trsm/gather_kernels.h"

namespace spti {

enum { GATHER_SUMS = 8, GATHER_CHUNK = 32 }; /* accumulators of a row; entries that the lanes of a warp load at once */

SPTI_DEVICE float multiply_add(float t, float x, float sum) { return fused(t, x, sum); }
SPTI_DEVICE double multiply_add(double t, double x, double sum) { return fused(t, x, sum); }
template <typename R> SPTI_DEVICE complex_t<R> multiply_add(complex_t<R> t, complex_t<R> x, complex_t<R> sum) {
  return {fused(-t.im, x.im, fused(t.re, x.re, sum.re)), fused(t.im, x.re, fused(t.re, x.im, sum.im))};
}

/* ---- whose turn it is ---- */

struct gather_turn {
  int64_t block; /* number of this thread block, in the order of starting */
  int32_t now;   /* the work block of this solve: 0 or 1 */
};

/* Called by all threads of a block once. */
SPTI_DEVICE gather_turn take_turn(const spti_gather_args &a) {
  SPTI_SHARED(int32_t, word, 1);
  if (thread_in_block() == 0) {
    const int32_t ticket = fetch_add(a.sync.control + SPTI_SYNCFREE_TICKET, 1), count = ticket & INT32_MAX;
    if (count == blocks_per_grid() - 1) store_relaxed(a.sync.control + SPTI_SYNCFREE_TICKET, ticket < 0 ? 0 : INT32_MIN);
    if (count == 0) {
      store_relaxed(a.sync.control + SPTI_GATHER_DIRTY + (ticket < 0), a.between.width);
      if (load_relaxed(a.sync.control + SPTI_SYNCFREE_ABORT)) store_system(a.sync.lost, 1);
    }
    word[0] = ticket;
  }
  syncthreads();
  return {word[0] & INT32_MAX, word[0] < 0};
}

/* ---- items ---- */

/* A row, or a segment of a long one. Its terms are the sums of `parts` segments, then entries of the matrix from `begin` on. */
struct gather_item {
  int32_t row; /* as args.row; of a segment: never used */
  int32_t place;
  int32_t begin, count, parts; /* count includes parts */
  int32_t work_row;            /* where its result goes in the work block; its parts are the rows before parts_end */
  int32_t parts_end;
};

SPTI_DEVICE gather_item load_item(const spti_gather_args &a, int64_t i) {
  const int64_t item = a.item ? load_const(a.item + i) : i;
  gather_item g;
  g.place = int32_t(item & INT32_MAX);
  g.begin = load_const(a.start + g.place);
  g.row = load_const(a.row + g.place);
  const int32_t length = load_const(a.start + g.place + 1) - g.begin, segment = int32_t(item >> 32);
  g.parts = segment ? 0 : spti_gather_parts(a.split, length);
  g.begin += (segment ? segment - 1 : g.parts) * a.split.segment;
  g.count = segment ? a.split.segment : length - g.parts * a.split.segment + g.parts;
  g.parts_end = a.n + int32_t(i - g.place); /* of i items up to here, i - place are parts */
  g.work_row = segment ? g.parts_end : g.place;
  return g;
}

SPTI_DEVICE gather_item shfl(const gather_item &g, int from) {
  return {shfl(g.row, from),   shfl(g.place, from),    shfl(g.begin, from),    shfl(g.count, from),
          shfl(g.parts, from), shfl(g.work_row, from), shfl(g.parts_end, from)};
}
SPTI_DEVICE bool is_part(const gather_item &g) { return g.work_row != g.place; }
SPTI_DEVICE int32_t row_of(const gather_item &g) { return g.row < 0 ? ~g.row : g.row; }
SPTI_DEVICE bool is_read(const gather_item &g) { return g.row >= 0 || is_part(g); }

/* A term of an item's sum: t times the solution in work row `from`. */
template <typename T> struct gather_term {
  int32_t from;
  T t;
};

template <typename T> SPTI_DEVICE gather_term<T> load_term(const spti_gather_args &a, const gather_item &g, int32_t e) {
  if (e >= g.count) return {0, from_reals<T>::make(0, 0)}; /* never used */
  if (e < g.parts) return {g.parts_end - g.parts + e, one<T>()};
  const int64_t p = int64_t(g.begin) + e - g.parts;
  return {load_const(a.from + p), load_const((const T *)a.val + p)};
}

/* ---- lanes ---- */

/* Lane = slot * Lanes + column: column of the tile, and which entries it takes. */
template <int Lanes> struct gather_lanes {
  static constexpr int SLOTS = 32 / Lanes, SUMS = GATHER_SUMS / SLOTS; /* SUMS: accumulators per lane */
  static constexpr int LOADS = SLOTS == GATHER_SUMS ? 4 : 8;           /* in flight per lane */
  static constexpr int BATCH = LOADS * SLOTS;
  int64_t k; /* the lane's right-hand side */
  int slot;
  bool active;

  SPTI_DEVICE gather_lanes(const spti_gather_args &a, int64_t tile) {
    k = tile * Lanes + lane() % Lanes;
    slot = lane() / Lanes;
    active = k < a.between.width;
  }
};

/* What an item needs that nobody waits for: loaded while its warp is still at the item before. */
template <typename T> struct gather_start {
  gather_item item;
  gather_term<T> terms; /* the lane's of the first chunk */
  T b, diag;
};

template <typename T, int Lanes>
SPTI_DEVICE gather_start<T> begin_item(const spti_gather_args &a, const gather_lanes<Lanes> &at, const gather_item &g) {
  gather_start<T> s = {g, load_term<T>(a, g, lane()), from_reals<T>::make(0, 0), one<T>()};
  if (is_part(g)) return s;
  if (a.diag) s.diag = load_const((const T *)a.diag + g.place);
  if (at.slot == 0 && at.active) s.b = read_rhs<T>(a.between, row_of(g), at.k);
  return s;
}

/* ---- sums ---- */

/* One lane: asks for all missing values at once until they are there. False: they never come. */
template <typename T, int Count>
SPTI_DEVICE bool wait_for_values(const spti_syncfree &sync, T (&x)[Count], const T *column, const int32_t (&from)[Count], int64_t ld,
                                 int32_t row) {
  spin_guard guard;
  guard.start();
  for (;;) {
    bool missing = false;
#pragma unroll
    for (int u = 0; u < Count; u++) missing = missing || is_sentinel(x[u]);
    if (!missing) return true;
    if (!guard.go_on(sync, row)) return false;
#pragma unroll
    for (int u = 0; u < Count; u++)
      if (is_sentinel(x[u])) x[u] = peek(column + from[u] * ld);
  }
}

/* Whole warp: the lane's accumulators over the item's terms. False in lanes that waited in vain. */
template <typename T, int Lanes>
SPTI_DEVICE bool sum_terms(const spti_gather_args &a, const gather_lanes<Lanes> &at, const gather_start<T> &s, const T *column,
                           T (&sum)[gather_lanes<Lanes>::SUMS]) {
  using split = gather_lanes<Lanes>;
  gather_term<T> terms = s.terms;
  bool arrived = true;
  for (int32_t chunk = 0; chunk < s.item.count; chunk += GATHER_CHUNK) {
    gather_term<T> next = {0, from_reals<T>::make(0, 0)};
    if (chunk + GATHER_CHUNK < s.item.count) next = load_term<T>(a, s.item, chunk + GATHER_CHUNK + lane());
    for (int first = 0; first < GATHER_CHUNK && chunk + first < s.item.count; first += split::BATCH) {
      T x[split::LOADS], t[split::LOADS];
      int32_t from[split::LOADS];
#pragma unroll
      for (int u = 0; u < split::LOADS; u++) {
        const int e = first + u * split::SLOTS + at.slot;
        from[u] = shfl(terms.from, e);
        t[u] = shfl(terms.t, e);
        const bool mine = chunk + e < s.item.count && at.active && arrived;
        x[u] = from_reals<T>::make(0, 0);
        if (mine) x[u] = peek(column + from[u] * a.ld);
      }
      if (arrived) arrived = wait_for_values(a.sync, x, column, from, a.ld, row_of(s.item));
#pragma unroll
      for (int u = 0; u < split::LOADS; u++)
        if (chunk + first + u * split::SLOTS + at.slot < s.item.count)
          sum[u % split::SUMS] = multiply_add(t[u], x[u], sum[u % split::SUMS]);
    }
    terms = next;
  }
  return arrived;
}

/* Whole warp: the eight accumulators of each right-hand side, in one order however they are spread: 4 apart, 2 apart, neighbours. */
template <typename T, int Lanes> SPTI_DEVICE T add_up(T (&sum)[gather_lanes<Lanes>::SUMS]) {
#pragma unroll
  for (int half = gather_lanes<Lanes>::SUMS / 2; half > 0; half /= 2)
    for (int s = 0; s < half; s++) sum[s] = sum[s] + sum[s + half];
#pragma unroll
  for (int apart = 16; apart >= Lanes; apart /= 2) sum[0] = sum[0] + shfl(sum[0], lane() ^ apart);
  return sum[0];
}

/* ---- the kernel ---- */

template <typename T> struct gather_blocks { /* the tile's first column in both work blocks */
  T *now, *other;
  int64_t refill; /* columns to fill in the other one */
};

/* Whole warp: false if a dependency was lost. */
template <typename T, int Lanes>
SPTI_DEVICE bool solve_item(const spti_gather_args &a, const gather_lanes<Lanes> &at, const gather_start<T> &s,
                            const gather_blocks<T> &blocks) {
  const gather_item &g = s.item;
  divisor<T> diagonal;
  diagonal.set(s.diag);
  T sum[gather_lanes<Lanes>::SUMS];
#pragma unroll
  for (int i = 0; i < gather_lanes<Lanes>::SUMS; i++) sum[i] = from_reals<T>::make(0, 0);
  const int column = lane() % Lanes;
  const bool arrived = sum_terms<T, Lanes>(a, at, s, blocks.now + column, sum);
  if (!all(arrived)) return false;
  T x = add_up<T, Lanes>(sum);
  if (!is_part(g)) {
    x = s.b - x;
    if (a.diag) x = diagonal.divide(x);
  }
  if (at.slot == 0 && at.active) {
    if (is_read(g)) publish(blocks.now + g.work_row * a.ld + column, x);
    if (!is_part(g)) write_solution(a.between, row_of(g), at.k, x);
  }
  if (is_read(g))
    for (int64_t k = lane(); k < blocks.refill; k += 32) store(blocks.other + g.work_row * a.ld + k, sentinel<T>());
  return true;
}

template <typename T, int Lanes> SPTI_KERNEL(32 * SPTI_GATHER_WARPS_MAX) gather_solve_kernel(spti_gather_args a) {
  const gather_turn turn = take_turn(a);
  const int64_t warp = turn.block * warps_per_block() + warp_in_block(), tiles = (a.between.width + Lanes - 1) / Lanes;
  const int64_t first = warp / tiles * a.run, tile = warp % tiles;
  if (first >= a.item_count) return;
  const int count = int(a.item_count - first < a.run ? a.item_count - first : a.run);
  const gather_lanes<Lanes> at(a, tile);
  const int64_t block_size = a.item_count * a.ld;
  gather_blocks<T> blocks;
  blocks.now = (T *)a.work + turn.now * block_size + tile * Lanes;
  blocks.other = (T *)a.work + (1 - turn.now) * block_size + tile * Lanes;
  blocks.refill = load_relaxed(a.sync.control + SPTI_GATHER_DIRTY + 1 - turn.now) - tile * Lanes;
  if (tile < tiles - 1 && blocks.refill > Lanes) blocks.refill = Lanes; /* the last tile fills what is wider than this solve */

  const gather_item mine = load_item(a, first + (lane() < count ? lane() : 0));
  gather_start<T> now = begin_item<T, Lanes>(a, at, shfl(mine, 0));
  for (int i = 0; i < count; i++) {
    gather_start<T> next = now;
    if (i + 1 < count) next = begin_item<T, Lanes>(a, at, shfl(mine, i + 1));
    if (!solve_item<T, Lanes>(a, at, now, blocks)) return;
    now = next;
  }
}

template <typename T, int Lanes> int launch_gather(const spti_gather_args *a, void *stream) {
  const int64_t tiles = (a->between.width + Lanes - 1) / Lanes, runs = (a->item_count + a->run - 1) / a->run;
  const int64_t blocks = (runs * tiles + a->block_warps - 1) / a->block_warps;
  return SPTI_LAUNCH((gather_solve_kernel<T, Lanes>), blocks, 32 * a->block_warps, 0, stream, *a);
}

template <typename T> int launch_gather_lanes(const spti_gather_args *a, void *stream) {
  switch (a->lanes) {
  case 4: return launch_gather<T, 4>(a, stream);
  case 8: return launch_gather<T, 8>(a, stream);
  case 16: return launch_gather<T, 16>(a, stream);
  default: return launch_gather<T, 32>(a, stream);
  }
}

} // namespace spti
#endif
