/* block_columns.cuh -- the part of block's kernel that takes the products with all columns before a panel: which panel, strip and steps
 * are whose, and how the solutions of a chunk of columns come to the warps (block_solve.cuh has the whole). */
#ifndef SPTI_BLOCK_COLUMNS_CUH
#define SPTI_BLOCK_COLUMNS_CUH

#include "core/syncfree.cuh"
#include "core/transfer.cuh"
#include "trsm/block_tile.cuh"

namespace spti {

enum { CHUNKS_OF_NEWS = 64 }; /* between two reports of progress: a panel may have millions of columns */
enum { BLOCK_WARPS = 4, BLOCK_THREADS = 32 * BLOCK_WARPS, BLOCK_INVERSE_TILES = SPTI_BLOCK_STRIPS * (SPTI_BLOCK_STRIPS + 1) };

/* Words are real: a complex value has two. */
template <typename T, int Tiles> struct block_shape {
  using real = real_of<T>;
  static constexpr int PLANES = planes_of<T>::COUNT, TILES = Tiles, COLUMNS = 8 * Tiles, WORDS = PLANES * COLUMNS;
  static constexpr int STEPS = PLANES * Tiles == 1 ? 8 : 4, CHUNK = STEPS * SPTI_BLOCK_STEP;
  static constexpr int ROW = WORDS + 4; /* of a row in shared memory, so that the lanes of a B operand meet different banks */
  static constexpr int VALUES = CHUNK * WORDS / BLOCK_THREADS; /* words of a chunk that a thread asks for */
  /* Thread blocks on a multiprocessor: spills cost more than residents bring. */
  static constexpr int RESIDENT = PLANES == 2 ? 2 : sizeof(T) == 8 && Tiles == 2 ? 4 : 3;
  /* Rows of shared memory: two chunks, or the sums of a panel, which take their place. */
  static constexpr int ROOM = 2 * CHUNK;
  static_assert(BLOCK_THREADS % WORDS == 0 && ROOM >= SPTI_BLOCK_ROWS, "a thread has the same word of every row; sums fit");
};

/* What all threads of a block have to know of each other. */
struct block_shared {
  int32_t word;              /* ticket */
  int32_t lost_at;           /* the first chunk that has a value that never came */
  int32_t some_bad, bad[32]; /* right-hand sides whose sums are not finite, or nearly so */
};

/* The block's share of the work, and the warp's: every parts-th pair of steps of one strip. */
struct block_item {
  int32_t panel, first, rows, strips; /* first: place */
  int32_t k, left;                    /* first right-hand side; how many there are from it on, which may be more than a tile of them */
  int32_t begin, end;                 /* steps */
  int32_t strip, part, parts;

  SPTI_DEVICE block_item(const spti_block_panels &p, int32_t ticket, int32_t tiles, int32_t columns, int32_t width) {
    panel = load_const(p.order + ticket / tiles);
    k = ticket % tiles * columns;
    left = width - k;
    first = load_const(p.first + panel);
    rows = load_const(p.first + panel + 1) - first;
    strips = (rows + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP;
    begin = load_const(p.step_start + panel);
    end = load_const(p.step_start + panel + 1);
    parts = strips == 1 ? 4 : strips == 2 ? 2 : 1;
    strip = warp_in_block() % strips;
    part = warp_in_block() / strips; /* of three strips the fourth warp is to spare: its part is 1 of 1 */
  }
  /* What is reported when it waits in vain. */
  SPTI_DEVICE int64_t row(const spti_block_solve_args &a) const { return a.backward ? a.panels.n - 1 - first : first; }
  SPTI_DEVICE bool works() const { return part < parts; }
};

/* ---- chunks of columns ----
 *
 * Counted from the last step back, so that what is ready last is in one chunk; the first one may lack its first steps. */

/* A thread's words of a chunk: one right-hand side's (or a part of it), of several columns. */
template <typename T, typename Shape> struct block_values {
  using real = typename Shape::real;
  const real *at[Shape::VALUES];
  real x[Shape::VALUES];
  int32_t next[Shape::VALUES]; /* places, of the next chunk; -1: nothing to ask for */
  int32_t herald = -1, next_herald = -1;

  static SPTI_DEVICE int32_t word() { return int32_t(uint32_t(thread_in_block()) % Shape::WORDS); }
  static SPTI_DEVICE int32_t row(int v) { return int32_t(uint32_t(v * BLOCK_THREADS + thread_in_block()) / Shape::WORDS); }

  SPTI_DEVICE void find_next(const spti_block_solve_args &a, const block_item &g, int32_t step) {
    const bool wanted = g.k + word() / Shape::PLANES < a.between.width;
#pragma unroll
    for (int v = 0; v < Shape::VALUES; v++) {
      next[v] = -1;
      if (wanted && step + row(v) / SPTI_BLOCK_STEP >= g.begin)
        next[v] = load_const(a.panels.col + int64_t(step) * SPTI_BLOCK_STEP + row(v));
    }
    next_herald = a.panels.herald ? load_const(a.panels.herald + step + Shape::STEPS - 1) : -1;
  }
  SPTI_DEVICE void ask(const spti_block_solve_args &a, const block_item &g, const T *now) {
    const real *column = (const real *)(now + g.k) + word();
    const int32_t ld = int32_t(a.ld) * Shape::PLANES;
    herald = next_herald;
#pragma unroll
    for (int v = 0; v < Shape::VALUES; v++) {
      at[v] = column + int64_t(next[v]) * ld;
      x[v] = 0;
      if (next[v] >= 0) x[v] = peek(at[v]);
    }
  }
  SPTI_DEVICE bool missing() const {
    bool some = false;
#pragma unroll
    for (int v = 0; v < Shape::VALUES; v++) some = some || is_sentinel(x[v]);
    return some;
  }
  SPTI_DEVICE void ask_again() {
#pragma unroll
    for (int v = 0; v < Shape::VALUES; v++) x[v] = peek_again(at[v], x[v]);
  }
  /* Until all have come; as long as their herald has not, that one word is all it asks for, since the many blocks that wait would keep
   * those waiting that work. False: they never come. */
  SPTI_DEVICE bool wait(const spti_block_solve_args &a, const block_item &g, const T *now) {
    if (!missing()) return true;
    spin_guard guard;
    guard.start();
    if (herald >= 0) {
      const real *word = (const real *)(now + herald * a.ld + g.k);
      real seen = peek(word);
      ask_again();
      for (; is_sentinel(seen); seen = peek(word))
        if (!guard.go_on(a.sync, g.row(a))) return false;
    }
    while (missing()) {
      if (!guard.go_on(a.sync, g.row(a))) return false;
      ask_again();
    }
    return true;
  }
  /* Their negatives, as B operands. */
  SPTI_DEVICE void hand_over(double *buffer) const {
    double *first = buffer + row(0) * Shape::ROW + word();
#pragma unroll
    for (int v = 0; v < Shape::VALUES; v++) first[v * (BLOCK_THREADS / Shape::WORDS) * Shape::ROW] = -double(x[v]);
  }
  /* Whole block: this chunk, from step `step` on, to the buffer; the next one is asked for, and the one behind it looked up. False: it was
   * lost. */
  SPTI_DEVICE bool next_chunk(const spti_block_solve_args &a, const block_item &g, const T *now, int32_t step, int32_t chunk,
                              int32_t chunks, double *buffer, block_shared *shared) {
    if (!wait(a, g, now)) shared->lost_at = chunk;
    hand_over(buffer);
    if (chunk + 1 < chunks) ask(a, g, now);
    if (chunk + 2 < chunks) find_next(a, g, step + 2 * Shape::STEPS);
    syncthreads(); /* a thread that is ahead may mark the next chunk, but not this one */
    return shared->lost_at > chunk;
  }
  /* The same for the last one. Whether it was lost is for the caller to ask, after the product. */
  SPTI_DEVICE void last_chunk(const spti_block_solve_args &a, const block_item &g, const T *now, int32_t chunk, double *buffer,
                              block_shared *shared) {
    if (!wait(a, g, now)) shared->lost_at = chunk;
    hand_over(buffer);
    syncthreads();
  }
};

/* All of the panel's, or only those of its near steps. */
template <typename Shape> SPTI_DEVICE int32_t chunks_of(int32_t steps) { return (steps + Shape::STEPS - 1) / Shape::STEPS; }
template <typename Shape> SPTI_DEVICE int32_t chunks_of(const block_item &g) { return chunks_of<Shape>(g.end - g.begin); }

/* Where a strip's tile of a step is; NULL: it has none. */
template <typename T> SPTI_DEVICE const T *tile_of(const spti_block_panels &p, int32_t step, int32_t strip) {
  const int64_t record = load_const(p.step + step);
  const int32_t strips = spti_block_step_strips(record);
  if (!(strips >> strip & 1)) return nullptr;
  return (const T *)p.tile + (spti_block_step_tile(record) + popcount(uint32_t(strips & ((1 << strip) - 1)))) * SPTI_BLOCK_TILE;
}

/* A warp's tiles of a chunk. Its steps are looked up a chunk ahead, so that no load waits for another but in the first chunk. */
template <typename T, typename Shape> struct block_tiles {
  static constexpr int32_t ALL = (1 << Shape::STEPS) - 1;
  block_fragment<T> tile[Shape::STEPS];
  int32_t there = 0; /* bit per step */
  int64_t record;    /* lane i: step i of the chunk to come; 0: none of its tiles is the warp's */

  SPTI_DEVICE void find_next(const spti_block_solve_args &a, const block_item &g, int32_t step) {
    const int32_t own = step + lane();
    const bool mine = lane() < Shape::STEPS && own >= g.begin && ((g.end - 1 - own) / 2 & (g.parts - 1)) == g.part;
    record = mine ? load_const(a.panels.step + own) : 0;
  }
  /* Bit per step of the chunk to come. */
  SPTI_DEVICE int32_t coming(const block_item &g) const { return int32_t(ballot(record >> g.strip & 1)); }

  /* Whole warp: tiles first to last - 1 of those to come. */
  template <int First, int Last> SPTI_DEVICE void fetch(const spti_block_solve_args &a, const block_item &g, int32_t wanted) {
    const int32_t below = popcount(uint32_t(spti_block_step_strips(record)) & ((1u << g.strip) - 1));
    const int64_t mine = spti_block_step_tile(record) + below;
#pragma unroll
    for (int i = First; i < Last; i++) {
      const int64_t at = shfl(mine, i);
      if (wanted >> i & 1) load_fragment(from_global(), (const T *)a.panels.tile + at * SPTI_BLOCK_TILE, tile[i]);
    }
  }
  SPTI_DEVICE void fetch_all(const spti_block_solve_args &a, const block_item &g) {
    there = coming(g);
    fetch<0, Shape::STEPS>(a, g, there);
  }
  SPTI_DEVICE void multiply_pair(block_sums<T, Shape::TILES> &sums, const double *buffer, int i) const {
    const double *first = buffer + i * SPTI_BLOCK_STEP * Shape::ROW, *second = first + SPTI_BLOCK_STEP * Shape::ROW;
    const int32_t pair = there >> i & 3;
    if (pair == 3) multiply_tiles<2>(sums, tile + i, first, Shape::ROW);
    if (pair == 1) multiply_tiles<1>(sums, tile + i, first, Shape::ROW);
    if (pair == 2) multiply_tiles<1>(sums, tile + i + 1, second, Shape::ROW);
  }
  /* Whole warp: the product with this chunk, the tiles of the next one taking their places as they become free. */
  SPTI_DEVICE void multiply_and_fetch(const spti_block_solve_args &a, const block_item &g, block_sums<T, Shape::TILES> &sums,
                                      const double *buffer) {
    const int32_t next = coming(g);
    if ((there & next) == ALL) { /* as it is where factors are dense: no branches between the products */
      each_pair([&](auto i) {
        multiply_tiles<2>(sums, tile + i.value, buffer + i.value * SPTI_BLOCK_STEP * Shape::ROW, Shape::ROW);
        fetch<i.value, i.value + 2>(a, g, ALL);
      });
    } else {
      each_pair([&](auto i) {
        multiply_pair(sums, buffer, i.value);
        fetch<i.value, i.value + 2>(a, g, next);
      });
    }
    there = next;
  }
  SPTI_DEVICE void multiply(block_sums<T, Shape::TILES> &sums, const double *buffer) const {
    each_pair([&](auto i) { multiply_pair(sums, buffer, i.value); });
  }

private:
  template <int I> struct number { static constexpr int value = I; };
  template <typename F> static SPTI_DEVICE void each_pair(F f) {
    f(number<0>());
    f(number<2>());
    if constexpr (Shape::STEPS > 4) {
      f(number<4>());
      f(number<6>());
    }
  }
};

/* ---- sums, in the layout of mma's C operand ---- */

/* The lane's places in the layout: element 2 h + i of tile n is row row_of_lane(h) of the panel and, of the block's tile, right-hand side
 * 8 n + column_of_lane() + i. */
SPTI_DEVICE int32_t row_of_lane(const block_item &g, int h) { return g.strip * SPTI_BLOCK_STRIP + 8 * h + lane() / 4; }
SPTI_DEVICE int32_t column_of_lane() { return lane() % 4 * 2; }

SPTI_DEVICE void set_parts(double (&c)[1][4], int e, double v) { c[0][e] = v; }
template <typename R> SPTI_DEVICE void set_parts(double (&c)[2][4], int e, complex_t<R> v) {
  c[0][e] = v.re;
  c[1][e] = v.im;
}
template <typename T> SPTI_DEVICE T get_parts(const double (&c)[1][4], int e) { return T(c[0][e]); }
template <typename T> SPTI_DEVICE T get_parts(const double (&c)[2][4], int e) { return from_reals<T>::make(c[0][e], c[1][e]); }

SPTI_DEVICE int64_t row_of_place(const spti_block_solve_args &a, int64_t place) { return a.backward ? a.panels.n - 1 - place : place; }

/* May two right-hand sides next to each other be moved at once, all over? Of complex values one is two words already. */
template <typename T> SPTI_DEVICE bool in_pairs(const spti_end &end, int32_t width) {
  const uint64_t odd = uint64_t(end.row_stride) | uint64_t(width) | uint64_t(reinterpret_cast<uintptr_t>(end.data) / sizeof(T));
  return planes_of<T>::COUNT == 1 && end.col_stride == 1 && (odd & 1) == 0;
}

/* The lane's right-hand sides of one row, from its first on; `left`: how many there are. */
template <typename R, int Tiles> SPTI_DEVICE void load_pairs(const R *at, int32_t left, int h, block_sums<R, Tiles> &sums) {
#pragma unroll
  for (int n = 0; n < Tiles; n++) {
    const two<R> v = 8 * n < left ? load(reinterpret_cast<const two<R> *>(at + 8 * n)) : two<R>{0, 0};
    sums.part[n][0][2 * h] = v.first;
    sums.part[n][0][2 * h + 1] = v.second;
  }
}
template <typename R, int Tiles> SPTI_DEVICE void load_pairs(const complex_t<R> *, int32_t, int, block_sums<complex_t<R>, Tiles> &) {}

/* The first part of a strip starts from the right-hand sides, the others from 0. All are loaded before the first is needed. */
template <typename T, typename Shape>
SPTI_DEVICE void start_sums(const spti_block_solve_args &a, const block_item &g, block_sums<T, Shape::TILES> &sums) {
  const spti_end &from = a.between.from;
  const bool pairs = in_pairs<T>(from, a.between.width);
  int64_t block_row[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int32_t r = row_of_lane(g, h), k = g.k + column_of_lane();
    const bool wanted = g.part == 0 && r < g.rows;
    const int32_t left = wanted ? a.between.width - k : 0;
    block_row[h] = wanted ? row_at(from, row_of_place(a, g.first + r)) : 0;
    const T *at = element_at<T>(from, block_row[h], k);
    if (pairs) {
      load_pairs(at, left, h, sums);
      continue;
    }
#pragma unroll
    for (int n = 0; n < Shape::TILES; n++)
#pragma unroll
      for (int i = 0; i < 2; i++)
        set_parts(sums.part[n], 2 * h + i, 8 * n + i < left ? load(at + (8 * n + i) * from.col_stride) : from_reals<T>::make(0, 0));
  }
  if (a.between.alpha[0] == 1 && a.between.alpha[1] == 0 && !from.scale) return;
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int n = 0; n < Shape::TILES; n++)
#pragma unroll
      for (int e = 2 * h; e < 2 * h + 2; e++)
        set_parts(sums.part[n], e, scale_row(from, block_row[h], times_alpha(a.between.alpha, get_parts<T>(sums.part[n], e))));
}

/* Whole block: the panel's inverse to shared memory. */
template <typename T> SPTI_DEVICE void fetch_inverse(const spti_block_solve_args &a, const block_item &g, T *inverse) {
  const int64_t first = load_const(a.panels.diag_start + g.panel);
  const int32_t pairs = spti_block_diagonal_tiles(g.strips) * SPTI_BLOCK_TILE * planes_of<T>::COUNT / 2;
  const auto *from = (const two<real_of<T>> *)((const T *)a.panels.inverse + first * SPTI_BLOCK_TILE);
#pragma unroll 5
  for (int32_t i = thread_in_block(); i < pairs; i += BLOCK_THREADS) ((two<real_of<T>> *)inverse)[i] = load_const(from + i);
}

/* Whole block: the right-hand sides less the products with the columns of the first `far` chunks; and the inverse, if wanted, to shared
 * memory. The values of the next chunk, if there is one, have been asked for. False: a dependency was lost. */
template <typename T, typename Shape>
SPTI_DEVICE bool take_columns(const spti_block_solve_args &a, const block_item &g, const T *now, int32_t far, double *buffers, T *inverse,
                              block_shared *shared, block_values<T, Shape> &values, block_sums<T, Shape::TILES> &sums) {
  const int32_t chunks = chunks_of<Shape>(g);
  int32_t step = g.end - chunks * Shape::STEPS;
  block_tiles<T, Shape> tiles;
  if (chunks > 0) {
    values.find_next(a, g, step);
    if (far > 0) tiles.find_next(a, g, step);
    values.ask(a, g, now);
    if (far > 0) tiles.fetch_all(a, g);
    if (chunks > 1) values.find_next(a, g, step + Shape::STEPS);
    if (far > 1) tiles.find_next(a, g, step + Shape::STEPS);
  }
  start_sums<T, Shape>(a, g, sums); /* once the first columns are on their way */
  if (inverse) fetch_inverse(a, g, inverse);
  for (int32_t chunk = 0; chunk < far; chunk++, step += Shape::STEPS) {
    double *buffer = buffers + (chunk & 1) * Shape::CHUNK * Shape::ROW;
    if (!values.next_chunk(a, g, now, step, chunk, chunks, buffer, shared)) return false;
    if (chunk + 1 < far) tiles.multiply_and_fetch(a, g, sums, buffer);
    else tiles.multiply(sums, buffer);
    if (chunk + 2 < far) tiles.find_next(a, g, step + 2 * Shape::STEPS);
    if (chunk % CHUNKS_OF_NEWS == CHUNKS_OF_NEWS - 1 && thread_in_block() == 0) report_progress(a.sync);
  }
  return true;
}

} // namespace spti
#endif
