/* block_columns.cuh -- the part of block's kernel that takes the products with all columns before a panel: which panel, strip and steps
 * are whose, and how the solutions of a chunk of columns come to the warps (block_solve.cuh has the whole). */
#ifndef SPTI_BLOCK_COLUMNS_CUH
#define SPTI_BLOCK_COLUMNS_CUH

#include "core/syncfree.cuh"
#include "trsm/block_tile.cuh"

namespace spti {

enum { BLOCK_WARPS = 4, BLOCK_THREADS = 32 * BLOCK_WARPS, BLOCK_INVERSE_TILES = SPTI_BLOCK_STRIPS * (SPTI_BLOCK_STRIPS + 1) };

/* Words are real: a complex value has two. */
template <typename T, int Tiles> struct block_shape {
  using real = real_of<T>;
  static constexpr int PLANES = planes_of<T>::COUNT, TILES = Tiles, COLUMNS = 8 * Tiles, WORDS = PLANES * COLUMNS;
  static constexpr int STEPS = PLANES * Tiles == 1 ? 8 : 4, CHUNK = STEPS * SPTI_BLOCK_STEP;
  static constexpr int ROW = WORDS + 4; /* of a row in shared memory, so that the lanes of a B operand meet different banks */
  static constexpr int VALUES = CHUNK * WORDS / BLOCK_THREADS; /* words of a chunk that a thread asks for */
  static constexpr int RESIDENT = sizeof(T) > 8 ? 2 : WORDS > 16 ? 3 : 4;
  static_assert(BLOCK_THREADS % WORDS == 0 && 2 * CHUNK >= SPTI_BLOCK_ROWS, "sums fit where the chunks were");
};

/* What all threads of a block have to know of each other. */
struct block_shared {
  int32_t word;                       /* ticket */
  int32_t lost_at, careful_from;      /* the first chunk that has a value that never came, or one that is not finite */
  int32_t bad[SPTI_BLOCK_STRIPS * 8]; /* right-hand sides whose sums may overflow */
};

/* The block's share of the work, and the warp's: every parts-th pair of steps of one strip. */
struct block_item {
  int32_t panel, first, rows, strips; /* first: place */
  int32_t k;                          /* first right-hand side */
  int32_t begin, end;                 /* steps */
  int32_t strip, part, parts;

  SPTI_DEVICE block_item(const spti_block_panels &p, int32_t ticket, int32_t tiles, int32_t columns) {
    panel = load_const(p.order + ticket / tiles);
    k = ticket % tiles * columns;
    first = load_const(p.first + panel);
    rows = load_const(p.first + panel + 1) - first;
    strips = (rows + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP;
    begin = load_const(p.step_start + panel);
    end = load_const(p.step_start + panel + 1);
    parts = strips == 1 ? 4 : strips == 2 ? 2 : 1;
    strip = warp_in_block() % strips;
    part = warp_in_block() / strips; /* of three strips the fourth warp is to spare */
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
  int32_t col[Shape::VALUES], next[Shape::VALUES]; /* places, of this chunk and the next; -1: nothing to ask for */
  int32_t herald, next_herald;
  real x[Shape::VALUES];

  static SPTI_DEVICE int32_t word() { return thread_in_block() % Shape::WORDS; }
  static SPTI_DEVICE int32_t row(int v) { return (v * BLOCK_THREADS + thread_in_block()) / Shape::WORDS; }

  SPTI_DEVICE void find_next(const spti_block_solve_args &a, const block_item &g, int32_t step) {
    const bool wanted = g.k + word() / Shape::PLANES < a.between.width && step < g.end;
#pragma unroll
    for (int v = 0; v < Shape::VALUES; v++) {
      next[v] = -1;
      if (wanted && step + row(v) / SPTI_BLOCK_STEP >= g.begin)
        next[v] = load_const(a.panels.col + int64_t(step) * SPTI_BLOCK_STEP + row(v));
    }
    next_herald = wanted && a.panels.herald ? load_const(a.panels.herald + step + Shape::STEPS - 1) : -1;
  }
  SPTI_DEVICE const real *at(const spti_block_solve_args &a, const block_item &g, const T *now, int32_t place) const {
    return (const real *)(now + place * a.ld + g.k) + word();
  }
  SPTI_DEVICE void ask(const spti_block_solve_args &a, const block_item &g, const T *now) {
    herald = next_herald;
#pragma unroll
    for (int v = 0; v < Shape::VALUES; v++) {
      col[v] = next[v];
      x[v] = 0;
      if (col[v] >= 0) x[v] = peek(at(a, g, now, col[v]));
    }
  }
  SPTI_DEVICE bool missing() const {
    bool some = false;
#pragma unroll
    for (int v = 0; v < Shape::VALUES; v++) some = some || is_sentinel(x[v]);
    return some;
  }
  /* Until all have come; as long as their herald has not, that one word is all it asks for, since the many blocks that wait would keep
   * those waiting that work. False: they never come. */
  SPTI_DEVICE bool wait(const spti_block_solve_args &a, const block_item &g, const T *now) {
    spin_guard guard;
    guard.start();
    bool near = true;
    for (bool first = true; missing(); first = false) {
      if (!first && !guard.go_on(a.sync, g.row(a))) return false;
      const bool look = herald >= 0 && (first || !near);
      const real word = look ? peek((const real *)(now + herald * a.ld + g.k)) : real(0);
      if (near)
#pragma unroll
        for (int v = 0; v < Shape::VALUES; v++)
          if (is_sentinel(x[v])) x[v] = peek(at(a, g, now, col[v]));
      near = !is_sentinel(word);
    }
    return true;
  }
  /* Their negatives, as B operands. */
  SPTI_DEVICE bool hand_over(double *buffer) const {
    bool finite = true;
#pragma unroll
    for (int v = 0; v < Shape::VALUES; v++) {
      buffer[row(v) * Shape::ROW + word()] = -double(x[v]);
      finite = finite && x[v] - x[v] == 0;
    }
    return finite;
  }
};

/* Where a warp's tile of a step is; NULL: it has none. */
template <typename T> SPTI_DEVICE const T *tile_of(const spti_block_solve_args &a, const block_item &g, int32_t step) {
  if (step < g.begin || !g.works() || (g.end - 1 - step) / 2 % g.parts != g.part) return nullptr;
  const int64_t record = load_const(a.panels.step + step);
  const int32_t strips = spti_block_step_strips(record);
  if (!(strips >> g.strip & 1)) return nullptr;
  const int64_t at = spti_block_step_tile(record) + popcount(uint32_t(strips & ((1 << g.strip) - 1)));
  return (const T *)a.panels.tile + at * SPTI_BLOCK_TILE;
}

/* A warp's tiles of a chunk. */
template <typename T, typename Shape> struct block_tiles {
  block_fragment<T> tile[Shape::STEPS];
  int32_t there; /* bit per step */

  SPTI_DEVICE void fetch(const spti_block_solve_args &a, const block_item &g, int32_t step) {
    there = 0;
#pragma unroll
    for (int i = 0; i < Shape::STEPS; i++)
      if (const T *at = tile_of<T>(a, g, step + i)) {
        load_fragment(from_global(), at, tile[i]);
        there |= 1 << i;
      }
  }
  SPTI_DEVICE void multiply(block_sums<T, Shape::TILES> &sums, const double *buffer) const {
#pragma unroll
    for (int i = 0; i < Shape::STEPS; i += 2) {
      const double *x = buffer + i * SPTI_BLOCK_STEP * Shape::ROW;
      const int32_t pair = there >> i & 3;
      if (pair == 3) multiply_tiles<2>(sums, tile + i, x, Shape::ROW);
      if (pair == 1) multiply_tiles<1>(sums, tile + i, x, Shape::ROW);
      if (pair == 2) multiply_tiles<1>(sums, tile + i + 1, x + SPTI_BLOCK_STEP * Shape::ROW, Shape::ROW);
    }
  }
};

/* The tiles of two steps, or of one of them, by entries; in the order of block_tiles::multiply. */
template <typename T, int Tiles>
SPTI_DEVICE_RARE void multiply_carefully(block_sums<T, Tiles> &sums, const T *first, const T *second, const double *x, int row) {
  block_fragment<T> f[2];
  if (first) load_fragment(from_global(), first, f[0]);
  if (second) load_fragment(from_global(), second, f[1]);
  if (first && second) multiply_tiles<2>(sums, f, x, row, entries_of<T>(f[0]) | entries_of<T>(f[1]) << 4);
  else if (first) multiply_tiles<1>(sums, f, x, row, entries_of<T>(f[0]));
  else if (second) multiply_tiles<1>(sums, f + 1, x + SPTI_BLOCK_STEP * row, row, entries_of<T>(f[1]));
}

/* Whole block: takes the products with all columns before the panel from the sums. Returns the chunks' number, or -1 if a dependency was
 * lost. */
template <typename T, typename Shape>
SPTI_DEVICE int32_t take_columns(const spti_block_solve_args &a, const block_item &g, const T *now, double *buffers, block_shared *shared,
                                 block_sums<T, Shape::TILES> &sums) {
  const int32_t chunks = (g.end - g.begin + Shape::STEPS - 1) / Shape::STEPS;
  int32_t step = g.end - chunks * Shape::STEPS;
  block_values<T, Shape> values;
  block_tiles<T, Shape> tiles;
  values.find_next(a, g, step);
  values.ask(a, g, now);
  if (chunks > 0) tiles.fetch(a, g, step);
  for (int32_t chunk = 0; chunk < chunks; chunk++, step += Shape::STEPS) {
    double *buffer = buffers + (chunk & 1) * Shape::CHUNK * Shape::ROW;
    values.find_next(a, g, step + Shape::STEPS);
    if (!values.wait(a, g, now)) shared->lost_at = chunk;
    if (!values.hand_over(buffer) && shared->careful_from > chunk) shared->careful_from = chunk;
    values.ask(a, g, now);
    syncthreads(); /* a thread that is ahead may mark the next chunk, but not this one */
    if (shared->lost_at <= chunk) return -1;
    if (shared->careful_from > chunk) tiles.multiply(sums, buffer);
    else {
      block_sums<T, Shape::TILES> copy = sums; /* so that only this one has an address */
#pragma unroll 1
      for (int i = 0; i < Shape::STEPS; i += 2)
        multiply_carefully(copy, tile_of<T>(a, g, step + i), tile_of<T>(a, g, step + i + 1), buffer + i * SPTI_BLOCK_STEP * Shape::ROW,
                           Shape::ROW);
      sums = copy;
    }
    if (chunk + 1 < chunks) tiles.fetch(a, g, step + Shape::STEPS);
  }
  return chunks;
}

} // namespace spti
#endif
