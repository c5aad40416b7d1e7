/* columns.cuh -- the part of block's kernel that takes the products with all columns before a panel: its tiles, its sums and the loop
 * over chunks of columns (solve.cuh has the whole). */
#ifndef SPTI_TRSM_BLOCK_GPU_COLUMNS_CUH
#define SPTI_TRSM_BLOCK_GPU_COLUMNS_CUH

#include "core/device/copy.cuh"
#include "trsm/block/gpu/values.cuh"

namespace spti {

enum { CHUNKS_OF_NEWS = 64 }; /* between two reports of progress: a panel may have millions of columns */

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
    const int32_t mine = int32_t(spti_block_step_tile(record)) + below; /* 2^31 tiles would be a TiB */
#pragma unroll
    for (int i = First; i < Last; i++) {
      const uint32_t at = uint32_t(shfl(mine, i));
      if (wanted >> i & 1) load_fragment(from_global(), (const T *)a.panels.tile + uint64_t(at) * SPTI_BLOCK_TILE, tile[i]);
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

/* Whole block: the panel's inverse, on its way to shared memory; await_copies and a barrier are left to the caller. */
template <typename T> SPTI_DEVICE void fetch_inverse(const spti_block_solve_args &a, const block_item &g, T *inverse) {
  constexpr int32_t WORD = 16 / int32_t(sizeof(real_of<T>)); /* a copy's reals */
  const int32_t copies = spti_block_diagonal_tiles(g.strips) * SPTI_BLOCK_TILE * planes_of<T>::COUNT / WORD;
  const auto *from = (const real_of<T> *)((const T *)a.panels.inverse + int64_t(g.diagonal) * SPTI_BLOCK_TILE);
  for (int32_t i = thread_in_block(); i < copies; i += BLOCK_THREADS) copy_async_16((real_of<T> *)inverse + i * WORD, from + i * WORD);
  end_copies();
}

/* The panel's tiles, which follow each other in memory, on their way to the L2 cache some chunks before they are asked for: the blocks of
 * all its right-hand sides go through them side by side and would all wait for the memory. The first one does it, a line a thread and
 * chunk. Steps from `behind` on are multiplied in advance: nobody reads their tiles. */
struct block_ahead {
  enum { CHUNKS = 4, LINE = 128 };
  uint64_t at, end;

  template <typename T> static SPTI_DEVICE block_ahead of(const spti_block_solve_args &a, const block_item &g, int32_t behind) {
    block_ahead ahead = {0, 0};
    if (g.k > 0 || g.begin >= behind) return ahead;
    const int64_t last = load_const(a.panels.step + behind - 1);
    const T *tile = (const T *)a.panels.tile;
    ahead.at = reinterpret_cast<uintptr_t>(tile + spti_block_step_tile(load_const(a.panels.step + g.begin)) * SPTI_BLOCK_TILE);
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

/* Whole block: asks for the values and tiles of the first chunks. far: chunks to be multiplied here. */
template <typename T, typename Shape>
SPTI_DEVICE void ask_for_columns(const spti_block_solve_args &a, const block_item &g, int32_t far, block_values<T, Shape> &values,
                                 block_tiles<T, Shape> &tiles) {
  const int32_t chunks = chunks_of<Shape>(g), step = g.end - chunks * Shape::STEPS;
  if (chunks == 0) return;
  values.find_first(g, step);
  if (far > 0) tiles.find_next(a, g, step);
  values.ask(a, step + Shape::STEPS - 1);
  if (far > 0) tiles.fetch_all(a, g);
  if (chunks > 1) values.find_next();
  if (far > 1) tiles.find_next(a, g, step + Shape::STEPS);
}

/* Whole block: takes the products with the columns of the first `far` chunks, which have been asked for, off the sums. The values of the
 * next chunk, if there is one, have been asked for then. False: a dependency was lost. */
template <typename T, typename Shape>
SPTI_DEVICE bool take_columns(const spti_block_solve_args &a, const block_item &g, const T *now, int32_t far, double *buffers,
                              block_shared *shared, block_values<T, Shape> &values, block_tiles<T, Shape> &tiles,
                              block_sums<T, Shape::TILES> &sums) {
  const int32_t chunks = chunks_of<Shape>(g);
  int32_t step = g.end - chunks * Shape::STEPS;
  block_ahead ahead = block_ahead::of<T>(a, g, step + far * Shape::STEPS);
  for (int32_t chunk = 0; chunk < far; chunk++, step += Shape::STEPS) {
    double *buffer = buffers + (chunk & 1) * Shape::CHUNK * Shape::ROW;
    if (!values.next_chunk(a, g, now, step, chunk, chunks, buffer, shared)) return false;
    ahead.go_on();
    if (chunk + 1 < far) tiles.multiply_and_fetch(a, g, sums, buffer);
    else tiles.multiply(sums, buffer);
    if (chunk + 2 < far) tiles.find_next(a, g, step + 2 * Shape::STEPS);
    if (chunk % CHUNKS_OF_NEWS == CHUNKS_OF_NEWS - 1 && thread_in_block() == 0) report_progress(a.sync);
  }
  return true;
}

} // namespace spti
#endif
