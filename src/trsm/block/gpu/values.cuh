/* values.cuh -- the part of block's kernel that knows which panel, strip and steps are whose, and how the solutions of a chunk of
 * columns come to the warps (solve.cuh has the whole). */
#ifndef SPTI_TRSM_BLOCK_GPU_VALUES_CUH
#define SPTI_TRSM_BLOCK_GPU_VALUES_CUH

#include "core/device/opaque.cuh"
#include "core/device/syncfree.cuh"
#include "core/device/transfer.cuh"
#include "trsm/block/gpu/tile.cuh"

namespace spti {

enum { BLOCK_WARPS = 4, BLOCK_THREADS = 32 * BLOCK_WARPS, BLOCK_INVERSE_TILES = SPTI_BLOCK_STRIPS * (SPTI_BLOCK_STRIPS + 1) };

/* Words are real: a complex value has two. */
template <typename T, int Tiles> struct block_shape {
  using real = real_of<T>;
  static constexpr int PLANES = planes_of<T>::COUNT, TILES = Tiles, COLUMNS = 8 * Tiles, WORDS = PLANES * COLUMNS;
  static constexpr int STEPS = PLANES * Tiles == 1 ? 8 : 4, CHUNK = STEPS * SPTI_BLOCK_STEP;
  static constexpr int ROW = WORDS + 4; /* of a row in shared memory, so that the lanes of a B operand meet different banks */
  static constexpr int PAIRS = CHUNK * WORDS / BLOCK_THREADS / 2; /* words of a chunk that a thread asks for, two next to each other */
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
  int32_t diagonal;                   /* first tile of the diagonal block */
  int32_t warp;                       /* the warp's number, counted from another one in each block: the last strip has the most to do, and
                                       * the first warps of all blocks share a part of the multiprocessor, as the second ones do */
  int32_t strip, part, parts;

  static constexpr uint32_t SCATTER = 2654435769u; /* 2^32 over the golden ratio: the upper bits of its multiples look drawn */

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
    part = warp / strips; /* of three strips the fourth warp is to spare: its part is 1 of 1 */
  }
  /* What is reported when it waits in vain. */
  SPTI_DEVICE int64_t row(const spti_block_solve_args &a) const { return a.backward ? a.panels.n - 1 - first : first; }
  SPTI_DEVICE bool works() const { return part < parts; }
};

/* ---- chunks of columns ----
 *
 * Counted from the last step back, so that what is ready last is in one chunk; the first one may lack its first steps. */

/* All of the panel's, or only those of its near steps. */
template <typename Shape> SPTI_DEVICE int32_t chunks_of(int32_t steps) { return (steps + Shape::STEPS - 1) / Shape::STEPS; }
template <typename Shape> SPTI_DEVICE int32_t chunks_of(const block_item &g) { return chunks_of<Shape>(g.end - g.begin); }

/* A word in shared memory, negated by its sign bit: cheaper than arithmetic, and the same but for what is not a number. */
SPTI_DEVICE double minus(float v) { return -double(v); }
SPTI_DEVICE double minus(double v) { return bits_to_double(double_bits(v) ^ 0x8000000000000000ull); }

/* Half a look at a word: what has not come looks like this, and so may a NaN that has. */
SPTI_DEVICE bool may_be_sentinel(float v) { return float_bits(v) == 0xffffffffu; }
SPTI_DEVICE bool may_be_sentinel(double v) { return opaque(int32_t(double_bits(v) >> 32)) == -1; }

/* A thread's words of a chunk: those of one or two right-hand sides (or of one complex one), of several columns. Each word is its own
 * flag, though two are loaded at once. Addresses are bases and offsets of 32 bits, and what only a wait needs is looked up there: else the
 * loop's integer instructions take longer than its products. */
template <typename T, typename Shape> struct block_values {
  using real = typename Shape::real;
  static constexpr int LANES = Shape::WORDS / 2, ROWS = BLOCK_THREADS / LANES; /* threads of a row, rows at once */
  uint64_t column;                                                             /* address of the thread's words of place 0 */
  uint64_t col;                                                                /* of its first place in the chunk to come */
  uint32_t stride;                                                             /* bytes from place to place */
  int32_t words;                                                               /* that the thread is to ask for: none, 1 or 2 */
  two<real> x[Shape::PAIRS];
  int32_t place[Shape::PAIRS], next[Shape::PAIRS]; /* of x; of the next chunk. -1: no column */
  int32_t herald;

  static SPTI_DEVICE uint32_t thread() { return uint32_t(thread_in_block()) % BLOCK_THREADS; } /* whose bits the compiler counts */
  static SPTI_DEVICE uint32_t word() { return thread() % LANES * 2; }
  static SPTI_DEVICE uint32_t row(int v) { return v * ROWS + thread() / LANES; }

  SPTI_DEVICE block_values(const spti_block_solve_args &a, const block_item &g, const T *now) {
    const int64_t step = g.end - chunks_of<Shape>(g) * Shape::STEPS;
    column = opaque(reinterpret_cast<uintptr_t>((const real *)(now + g.k) + word()));
    col = opaque(reinterpret_cast<uintptr_t>(a.panels.col + step * SPTI_BLOCK_STEP + row(0)));
    stride = uint32_t(a.ld * int64_t(sizeof(T)));
    words = opaque(g.left * Shape::PLANES - int32_t(word()));
  }

  /* The first chunk, from `step` on, which may lack its first steps. */
  SPTI_DEVICE void find_first(const block_item &g, int32_t step) {
#pragma unroll
    for (int v = 0; v < Shape::PAIRS; v++)
      next[v] = load_const_if(step + int32_t(row(v) / SPTI_BLOCK_STEP) >= g.begin, reinterpret_cast<const int32_t *>(col) + v * ROWS, -1);
    col += Shape::CHUNK * sizeof(int32_t);
  }
  /* The one behind it. */
  SPTI_DEVICE void find_next() {
#pragma unroll
    for (int v = 0; v < Shape::PAIRS; v++) next[v] = load_const(reinterpret_cast<const int32_t *>(col) + v * ROWS);
    col += Shape::CHUNK * sizeof(int32_t);
  }
  SPTI_DEVICE const real *at(int v) const { return reinterpret_cast<const real *>(column + uint64_t(uint32_t(place[v])) * stride); }
  /* last: the chunk's last step. */
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
  /* Until all have come; as long as their herald has not, that one word is all it asks for, since the many blocks that wait would keep
   * those waiting that work. False: they never come. */
  SPTI_DEVICE bool wait(const spti_block_solve_args &a, const block_item &g, const T *now) {
    if (!may_miss() || !missing()) return true;
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
  SPTI_DEVICE void hand_over(double *buffer) {
    double *first = buffer + row(0) * Shape::ROW + word();
#pragma unroll
    for (int v = 0; v < Shape::PAIRS; v++)
      *reinterpret_cast<two<double> *>(first + v * ROWS * Shape::ROW) = {minus(x[v].first), minus(x[v].second)};
  }
  /* Whole block: this chunk, from step `step` on, to the buffer; the next one is asked for, and the one behind it looked up. False: it was
   * lost. */
  SPTI_DEVICE bool next_chunk(const spti_block_solve_args &a, const block_item &g, const T *now, int32_t step, int32_t chunk,
                              int32_t chunks, double *buffer, block_shared *shared) {
    if (!wait(a, g, now)) shared->lost_at = chunk;
    hand_over(buffer);
    if (chunk + 1 < chunks) ask(a, step + 2 * Shape::STEPS - 1);
    if (chunk + 2 < chunks) find_next();
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

} // namespace spti
#endif
