/* columns.cuh -- block's solve kernel, first part: which panel, strip and right-hand sides a thread block and its warps work on, and the
 * products with the columns before the panel, a chunk of them at a time. All threads load the solutions of the chunk's columns and poll
 * those that are missing, and hand them to the warps through shared memory. While a warp multiplies its tiles of one chunk, the solutions
 * and tiles of the next one are loading. solve.cuh has the kernel. */
#ifndef SPTI_TRSM_BLOCK_GPU_COLUMNS_CUH
#define SPTI_TRSM_BLOCK_GPU_COLUMNS_CUH

#include "core/device/opaque.cuh"
#include "core/device/transfer.cuh"
#include "core/two_blocks/two_blocks.cuh"
#include "trsm/block/gpu/tile.cuh"

namespace spti {

enum { BLOCK_WARPS = 4, BLOCK_THREADS = 32 * BLOCK_WARPS, BLOCK_INVERSE_TILES = SPTI_BLOCK_STRIPS * (SPTI_BLOCK_STRIPS + 1) };

/* The sizes of a kernel for values of type T and 8 * Tiles right-hand sides. Words are real: a complex value has two. Number: the type of
 * products and sums. */
template <typename T, int Tiles, typename Number> struct block_shape {
  using real = real_of<T>;
  using number = Number;
  using word = typename word_type<Number>::type; /* in shared memory */
  using sums = block_sums<T, Tiles, Number>;
  static constexpr int PLANES = planes_of<T>::COUNT, TILES = Tiles, COLUMNS = 8 * Tiles, WORDS = PLANES * COLUMNS;
  /* Of a chunk: steps, columns. */
  static constexpr int STEPS = PLANES * Tiles == 1 ? 8 : sizeof(T) == 16 && Tiles == 2 ? 2 : 4, CHUNK = STEPS * SPTI_BLOCK_STEP;
  static constexpr int ROW = WORDS + 4; /* words from row to row in shared memory, so that the lanes of a B operand meet different banks */
  static constexpr int PAIRS = CHUNK * WORDS / BLOCK_THREADS / 2; /* pairs of neighbouring words of a chunk that a thread loads */
  /* Thread blocks on a multiprocessor: spills cost more than further resident blocks bring. */
  static constexpr int RESIDENT = (PLANES == 2 ? 2 : sizeof(T) == 8 && Tiles == 2 ? 4 : 3) + (sizeof(Number) == 4);
  /* Rows of shared memory: two chunks; later the sums of a panel take their place. */
  static constexpr int ROOM = 2 * CHUNK < SPTI_BLOCK_ROWS ? SPTI_BLOCK_ROWS : 2 * CHUNK;
  static_assert(BLOCK_THREADS % WORDS == 0, "a thread has the same word of every row");
};

template <typename Shape> SPTI_ANYWHERE int32_t block_tiles_of(const spti_block_solve_args &a) {
  return (a.between.width + Shape::COLUMNS - 1) / Shape::COLUMNS;
}

SPTI_DEVICE int64_t row_of_place(const spti_block_solve_args &a, int64_t place) {
  if (a.panels.row) return load_const(a.panels.row + place);
  return a.backward ? a.panels.n - 1 - place : place;
}

/* What the threads of a block tell each other. */
struct block_shared {
  int32_t word;              /* ticket */
  int32_t lost_at;           /* the first chunk with a solution that never came */
  int32_t some_bad, bad[32]; /* flags of right-hand sides with sums that are not is_good (sums.cuh) */
};

/* A thread block's share of the solve, and a warp's: one strip of the panel, or, where a panel has only one or two strips, every
 * parts-th pair of the strip's steps. */
struct block_item {
  int32_t panel, first, rows, strips; /* first: the place of the panel's first row */
  int32_t k, left;                    /* first right-hand side; how many there are from it on, which may be more than the tile's */
  int32_t begin, end;                 /* steps */
  int32_t diagonal;                   /* first tile of the diagonal block */
  int32_t warp;                       /* the warp's number, counted from another warp in each block: the last strip has the most to do,
                                       * and the first warps of all blocks run on one partition of the multiprocessor, the second warps
                                       * on the next */
  int32_t strip, part, parts;

  static constexpr uint32_t SCATTER = 2654435769u; /* 2^32 over the golden ratio: the upper bits of its multiples look random */

  SPTI_DEVICE block_item(const spti_block_panels &p, int32_t ticket, int32_t tiles, int32_t columns, int32_t width) {
    panel = load_const(p.order + uint32_t(ticket) / uint32_t(tiles));
    k = int32_t(uint32_t(ticket) % uint32_t(tiles)) * columns;
    left = width - k;
    first = load_const(p.first + panel);
    rows = load_const(p.first + panel + 1) - first;
    strips = (rows + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP;
    begin = load_const(p.step_start + panel);
    end = load_const(p.step_start + panel + 1);
    diagonal = load_const(p.diag_start + panel);
    parts = strips == 1 ? 4 : strips == 2 ? 2 : 1;
    warp = int32_t((uint32_t(warp_in_block()) + (uint32_t(ticket) * SCATTER >> 30)) % BLOCK_WARPS);
    strip = warp % strips;
    part = warp / strips; /* of a panel of three strips the fourth warp has no work: its part is 1 of 1 */
  }
  SPTI_DEVICE bool works() const { return part < parts; }
  /* The row that is reported when the block waits in vain. */
  SPTI_DEVICE int64_t row(const spti_block_solve_args &a) const { return row_of_place(a, first); }
};

/* Chunks are counted from the last step back, so that the columns that are ready last share a chunk; the first chunk of a panel may lack
 * its first steps. */
template <typename Shape> SPTI_DEVICE int32_t chunks_of(int32_t steps) { return (steps + Shape::STEPS - 1) / Shape::STEPS; }

/* The item with what its functions need beside the arguments of the kernel. */
template <typename T, typename Shape> struct block_task : block_item {
  T *now; /* the work block that this solve publishes to */
  block_shared *shared;
  int32_t flags; /* of the panel */

  SPTI_DEVICE block_task(const spti_block_solve_args &a, int32_t word, block_shared *memory, T *work)
      : block_item(a.panels, word & INT32_MAX, block_tiles_of<Shape>(a), Shape::COLUMNS, a.between.width), now(work), shared(memory) {}
  SPTI_DEVICE int32_t chunks() const { return chunks_of<Shape>(end - begin); }
};

/* `buffers`, the dynamic shared memory of a thread block: Shape::ROOM rows for two chunks of columns in turn, or for the sums of the panel;
 * then the inverse. */
template <typename Shape, typename Word> SPTI_DEVICE Word *buffer_of(Word *buffers, int32_t chunk) {
  return buffers + (chunk & 1) * Shape::CHUNK * Shape::ROW;
}
template <typename T, typename Shape, typename Word> SPTI_DEVICE T *inverse_in(Word *buffers) {
  return (T *)(buffers + Shape::ROOM * Shape::ROW);
}

/* ---- the solutions of a chunk of columns ---- */

/* The negated word; by its sign bit, which is cheaper than arithmetic and differs for NaN only. */
template <typename Number> SPTI_DEVICE Number minus(float v) { return -Number(v); }
template <typename Number> SPTI_DEVICE double minus(double v) { return bits_to_double(double_bits(v) ^ 0x8000000000000000ull); }

/* A cheap test of half a word: true for every sentinel, and for some NaN. */
SPTI_DEVICE bool may_be_sentinel(float v) { return float_bits(v) == 0xffffffffu; }
SPTI_DEVICE bool may_be_sentinel(double v) { return opaque(int32_t(double_bits(v) >> 32)) == -1; }

/* The words of a chunk that one thread loads: a pair of neighbouring words (two right-hand sides, or a complex one) of several columns.
 * Each word is its own flag, although two are loaded at once. Addresses are 64-bit bases with 32-bit offsets, and what only a wait needs
 * is computed when it waits: otherwise the integer instructions of the loop take longer than its products. */
template <typename T, typename Shape> struct block_values {
  using real = typename Shape::real;
  using number = typename Shape::number;
  using word_t = typename Shape::word;
  using task = block_task<T, Shape>;
  static constexpr int LANES = Shape::WORDS / 2, ROWS = BLOCK_THREADS / LANES; /* threads to a row of words, rows at once */
  uint64_t column;                                                             /* address of the thread's words of place 0 */
  uint64_t col;    /* address of the thread's first entry in panels.col, for the chunk to be looked up next */
  uint32_t stride; /* bytes from place to place */
  int32_t words;   /* the thread loads 2 words per column if this is above 1, one if it is 1, none below */
  two<real> x[Shape::PAIRS];
  int32_t place[Shape::PAIRS], next[Shape::PAIRS]; /* of the columns in x; of the next chunk. -1: no column */
  int32_t herald;                                  /* of this chunk: spti_block_panels */

  static SPTI_DEVICE uint32_t thread() { return uint32_t(thread_in_block()) % BLOCK_THREADS; } /* so the compiler knows its range */
  static SPTI_DEVICE uint32_t word() { return thread() % LANES * 2; }
  static SPTI_DEVICE uint32_t row(int v) { return v * ROWS + thread() / LANES; }

  SPTI_DEVICE block_values(const spti_block_solve_args &a, const task &t) {
    const int64_t step = t.end - t.chunks() * Shape::STEPS;
    column = opaque(reinterpret_cast<uintptr_t>((const real *)(t.now + t.k) + word()));
    col = opaque(reinterpret_cast<uintptr_t>(a.panels.col + step * SPTI_BLOCK_STEP + row(0)));
    stride = uint32_t(a.ld * int64_t(sizeof(T)));
    words = opaque(t.left * Shape::PLANES - int32_t(word()));
  }

  /* Looks up the columns of the first chunk, whose first steps, from `step` on, may be missing. */
  SPTI_DEVICE void find_first(const task &t, int32_t step) {
#pragma unroll
    for (int v = 0; v < Shape::PAIRS; v++)
      next[v] = load_const_if(step + int32_t(row(v) / SPTI_BLOCK_STEP) >= t.begin, reinterpret_cast<const int32_t *>(col) + v * ROWS, -1);
    col += Shape::CHUNK * sizeof(int32_t);
  }
  /* Looks up the columns of the chunk after it. */
  SPTI_DEVICE void find_next() {
#pragma unroll
    for (int v = 0; v < Shape::PAIRS; v++) next[v] = load_const(reinterpret_cast<const int32_t *>(col) + v * ROWS);
    col += Shape::CHUNK * sizeof(int32_t);
  }
  SPTI_DEVICE const real *at(int v) const { return reinterpret_cast<const real *>(column + uint64_t(uint32_t(place[v])) * stride); }
  /* Loads the solutions of the columns that were looked up. last: the chunk's last step. */
  SPTI_DEVICE void ask(const spti_block_solve_args &a, int32_t last) {
    herald = a.panels.herald ? load_const(a.panels.herald + last) : -1;
#pragma unroll
    for (int v = 0; v < Shape::PAIRS; v++) {
      place[v] = next[v];
      x[v] = {0, 0};
      if (place[v] < 0) continue;
      if (words > 1) x[v] = peek(reinterpret_cast<const two<real> *>(at(v)));
      else if (words == 1) x[v].first = peek(at(v));
    }
  }
  SPTI_DEVICE bool may_miss() const {
    bool some = false;
#pragma unroll
    for (int v = 0; v < Shape::PAIRS; v++) some = some | may_be_sentinel(x[v].first) | may_be_sentinel(x[v].second);
    return some;
  }
  SPTI_DEVICE bool missing() const {
    bool some = false;
#pragma unroll
    for (int v = 0; v < Shape::PAIRS; v++) some = some || is_sentinel(x[v].first) || is_sentinel(x[v].second);
    return some;
  }
  SPTI_DEVICE void ask_again() {
#pragma unroll
    for (int v = 0; v < Shape::PAIRS; v++) {
      x[v].first = peek_again(at(v), x[v].first);
      x[v].second = peek_again(at(v) + 1, x[v].second);
    }
  }
  /* Polls until all words have come. As long as the herald has not come the thread polls that one word only: polls of all words by the
   * many waiting blocks would slow down the blocks that work. False: a dependency is lost. */
  SPTI_DEVICE bool wait(const spti_block_solve_args &a, const task &t) {
    if (!may_miss() || !missing()) return true;
    spin_guard guard;
    guard.start();
    if (herald >= 0) {
      const real *word = (const real *)(t.now + herald * a.ld + t.k);
      real seen = peek(word);
      ask_again();
      for (; is_sentinel(seen); seen = peek(word))
        if (!guard.go_on(a.sync, t.row(a))) return false;
    }
    while (missing()) {
      if (!guard.go_on(a.sync, t.row(a))) return false;
      ask_again();
    }
    return true;
  }
  /* Stores the negated words in shared memory, as B operands of mma. */
  SPTI_DEVICE void hand_over(word_t *buffer) {
    word_t *first = buffer + row(0) * Shape::ROW + word();
#pragma unroll
    for (int v = 0; v < Shape::PAIRS; v++)
      *reinterpret_cast<two<word_t> *>(first + v * ROWS * Shape::ROW) = {word_of(minus<number>(x[v].first)),
                                                                         word_of(minus<number>(x[v].second))};
  }
  /* Whole block: waits for this chunk, whose first step is `step`, and puts it into the buffer; loads the next one and looks up the one
   * after that. False: a dependency is lost. */
  SPTI_DEVICE bool next_chunk(const spti_block_solve_args &a, const task &t, int32_t step, int32_t chunk, int32_t chunks, word_t *buffer) {
    if (!wait(a, t)) t.shared->lost_at = chunk;
    hand_over(buffer);
    if (chunk + 1 < chunks) ask(a, step + 2 * Shape::STEPS - 1);
    if (chunk + 2 < chunks) find_next();
    syncthreads(); /* a thread that is ahead may mark the next chunk as lost, but not this one */
    return t.shared->lost_at > chunk;
  }
  /* The same for the last chunk. The caller looks at lost_at after the product, to save time on the critical path. */
  SPTI_DEVICE void last_chunk(const spti_block_solve_args &a, const task &t, int32_t chunk, word_t *buffer) {
    if (!wait(a, t)) t.shared->lost_at = chunk;
    hand_over(buffer);
    syncthreads();
  }
};

/* ---- the tiles of a chunk of columns ---- */

enum { CHUNKS_OF_NEWS = 64 }; /* chunks between two reports of progress: a panel may have millions of columns */

/* A warp's tiles of a chunk. Its steps are looked up a chunk ahead, so that no load waits for another one but in the first chunk. */
template <typename T, typename Shape> struct block_tiles {
  using task = block_task<T, Shape>;
  static constexpr int32_t ALL = (1 << Shape::STEPS) - 1;
  block_fragment<T> tile[Shape::STEPS];
  int32_t there = 0; /* bit i: step i of the chunk has a tile of this warp */
  int64_t record;    /* lane i: step i of the next chunk; 0: none of its tiles is this warp's */

  SPTI_DEVICE void find_next(const spti_block_solve_args &a, const task &t, int32_t step) {
    const int32_t own = step + lane();
    const bool mine = lane() < Shape::STEPS && own >= t.begin && ((t.end - 1 - own) / 2 & (t.parts - 1)) == t.part;
    record = mine ? load_const(a.panels.step + own) : 0;
  }
  /* The value of `there` for the next chunk. */
  SPTI_DEVICE int32_t coming(const task &t) const { return int32_t(ballot(record >> t.strip & 1)); }

  /* Whole warp: loads tiles First to Last - 1 of the next chunk, as far as their bits in `wanted` are set. */
  template <int First, int Last> SPTI_DEVICE void fetch(const spti_block_solve_args &a, const task &t, int32_t wanted) {
    const int32_t below = popcount(uint32_t(spti_block_step_strips(record)) & ((1u << t.strip) - 1));
    const int32_t mine = int32_t(spti_block_step_tile(record)) + below; /* 2^31 tiles would be a TiB */
#pragma unroll
    for (int i = First; i < Last; i++) {
      const uint32_t at = uint32_t(shfl(mine, i));
      if (wanted >> i & 1) load_fragment(from_global(), (const T *)a.panels.tile + uint64_t(at) * SPTI_BLOCK_TILE, tile[i]);
    }
  }
  SPTI_DEVICE void fetch_all(const spti_block_solve_args &a, const task &t) {
    there = coming(t);
    fetch<0, Shape::STEPS>(a, t, there);
  }
  SPTI_DEVICE void multiply_pair(typename Shape::sums &sums, const typename Shape::word *buffer, int i) const {
    const typename Shape::word *first = buffer + i * SPTI_BLOCK_STEP * Shape::ROW, *second = first + SPTI_BLOCK_STEP * Shape::ROW;
    const int32_t pair = there >> i & 3;
    if (pair == 3) multiply_tiles<2>(sums, tile + i, first, Shape::ROW);
    if (pair == 1) multiply_tiles<1>(sums, tile + i, first, Shape::ROW);
    if (pair == 2) multiply_tiles<1>(sums, tile + i + 1, second, Shape::ROW);
  }
  /* Whole warp: multiplies this chunk's tiles; those of the next chunk are loaded into the registers that become free. */
  SPTI_DEVICE void multiply_and_fetch(const spti_block_solve_args &a, const task &t, typename Shape::sums &sums,
                                      const typename Shape::word *buffer) {
    const int32_t next = coming(t);
    if ((there & next) == ALL) { /* the usual case of dense factors: no branches between the products */
      each_pair([&](auto i) {
        multiply_tiles<2>(sums, tile + i.value, buffer + i.value * SPTI_BLOCK_STEP * Shape::ROW, Shape::ROW);
        fetch<i.value, i.value + 2>(a, t, ALL);
      });
    } else {
      each_pair([&](auto i) {
        multiply_pair(sums, buffer, i.value);
        fetch<i.value, i.value + 2>(a, t, next);
      });
    }
    there = next;
  }
  SPTI_DEVICE void multiply(typename Shape::sums &sums, const typename Shape::word *buffer) const {
    each_pair([&](auto i) { multiply_pair(sums, buffer, i.value); });
  }

private:
  template <int I> struct number { static constexpr int value = I; };
  template <typename F> static SPTI_DEVICE void each_pair(F f) {
    f(number<0>());
    if constexpr (Shape::STEPS > 2) f(number<2>());
    if constexpr (Shape::STEPS > 4) {
      f(number<4>());
      f(number<6>());
    }
  }
};

/* Prefetches the panel's tiles, which follow each other in memory, to the L2 cache some chunks before they are loaded: otherwise the
 * thread blocks of all right-hand sides of a panel, which run side by side, would wait for memory together. The block of the first
 * right-hand sides does it, a cache line for each thread and chunk. Steps from `behind` on are multiplied in advance: their tiles are not
 * read. */
struct block_ahead {
  enum { CHUNKS = 4, LINE = 128 };
  uint64_t at, end;

  template <typename T, typename Shape>
  static SPTI_DEVICE block_ahead of(const spti_block_solve_args &a, const block_task<T, Shape> &t, int32_t behind) {
    block_ahead ahead = {0, 0};
    if (t.k > 0 || t.begin >= behind) return ahead;
    const spti_block_panels &panels = a.panels;
    const int64_t last = load_const(panels.step + behind - 1);
    const T *tile = (const T *)panels.tile;
    ahead.at = reinterpret_cast<uintptr_t>(tile + spti_block_step_tile(load_const(panels.step + t.begin)) * SPTI_BLOCK_TILE);
    ahead.at = opaque(ahead.at + thread_in_block() * LINE);
    ahead.end = reinterpret_cast<uintptr_t>(tile + (spti_block_step_tile(last) + popcount(uint32_t(spti_block_step_strips(last)))) *
                                                       SPTI_BLOCK_TILE);
    for (int i = 0; i < CHUNKS; i++) ahead.go_on();
    return ahead;
  }
  SPTI_DEVICE void go_on() {
    if (at >= end) return;
    prefetch(reinterpret_cast<const void *>(at));
    at += BLOCK_THREADS * LINE;
  }
};

/* ---- the products with the far columns ---- */

/* Whole block: loads the solutions and tiles of the first chunk and looks up the second. far: chunks whose tiles are multiplied. */
template <typename T, typename Shape>
SPTI_DEVICE void ask_for_columns(const spti_block_solve_args &a, const block_task<T, Shape> &t, int32_t far, block_values<T, Shape> &values,
                                 block_tiles<T, Shape> &tiles) {
  const int32_t chunks = t.chunks(), step = t.end - chunks * Shape::STEPS;
  if (chunks == 0) return;
  values.find_first(t, step);
  if (far > 0) tiles.find_next(a, t, step);
  values.ask(a, step + Shape::STEPS - 1);
  if (far > 0) tiles.fetch_all(a, t);
  if (chunks > 1) values.find_next();
  if (far > 1) tiles.find_next(a, t, step + Shape::STEPS);
}

/* Whole block, after ask_for_columns: subtracts the products with the columns of the first `far` chunks from the sums. The solutions of the
 * chunk after them, if there is one, are loading then. False: a dependency is lost. */
template <typename T, typename Shape>
SPTI_DEVICE bool take_columns(const spti_block_solve_args &a, const block_task<T, Shape> &t, int32_t far, typename Shape::word *buffers,
                              block_values<T, Shape> &values, block_tiles<T, Shape> &tiles, typename Shape::sums &sums) {
  const int32_t chunks = t.chunks();
  int32_t step = t.end - chunks * Shape::STEPS;
  block_ahead ahead = block_ahead::of(a, t, step + far * Shape::STEPS);
  for (int32_t chunk = 0; chunk < far; chunk++, step += Shape::STEPS) {
    typename Shape::word *buffer = buffer_of<Shape>(buffers, chunk);
    if (!values.next_chunk(a, t, step, chunk, chunks, buffer)) return false;
    ahead.go_on();
    if (chunk + 1 < far) tiles.multiply_and_fetch(a, t, sums, buffer);
    else tiles.multiply(sums, buffer);
    if (chunk + 2 < far) tiles.find_next(a, t, step + 2 * Shape::STEPS);
    if (chunk % CHUNKS_OF_NEWS == CHUNKS_OF_NEWS - 1 && thread_in_block() == 0) report_progress(a.sync);
  }
  return true;
}

} // namespace spti
#endif
