/* diagonal.cuh -- block's solve kernel, third part: from the sums over the far columns to the solutions of the panel. The sums r are
 * multiplied with the inverse of the diagonal block, and the result is refined once with its triangle where the analysis says so. Then the
 * products with the near columns, those that are ready last, are subtracted: x = inverse r - N x(near). N = inverse A(near) was made by the
 * analysis (near_kernels.cu), so that one product is all that is left to do when x(near) arrives. solve.cuh has the kernel. */
#ifndef SPTI_TRSM_BLOCK_GPU_DIAGONAL_CUH
#define SPTI_TRSM_BLOCK_GPU_DIAGONAL_CUH

#include "trsm/block/gpu/sums.cuh"

namespace spti {

/* ---- the tiles of a strip ---- */

/* Those of the inverse, in shared memory: two tiles are loaded into registers while two are multiplied. */
template <typename T, typename Shape> struct block_inverse {
  block_fragment<T> tile[4];
  const T *from;
  int32_t count;

  SPTI_DEVICE block_inverse(const block_task<T, Shape> &t, const T *block)
      : from(block + spti_block_diagonal_tile(t.strip, 0, 0) * SPTI_BLOCK_TILE), count(2 * (t.strip + 1)) {}
  SPTI_DEVICE void fetch_pair(int32_t first) {
#pragma unroll
    for (int i = 0; i < 2; i++) load_fragment(from_shared(), from + (first + i) * SPTI_BLOCK_TILE, tile[first % 4 + i]);
  }
  /* x += inverse r, after fetch_pair(0). */
  SPTI_DEVICE void multiply(typename Shape::sums &x, const typename Shape::word *r) {
#pragma unroll
    for (int i = 0; i < 2 * SPTI_BLOCK_STRIPS; i += 2) {
      if (i + 2 < count) fetch_pair(i + 2);
      if (i < count) multiply_tiles<2>(x, tile + i % 4, r + i * SPTI_BLOCK_STEP * Shape::ROW, Shape::ROW);
    }
  }
};

/* Those of the triangle, in global memory: as many at a time as registers have room for. */
template <typename T, typename Shape> struct block_diagonal {
  block_fragment<T> tile[Shape::STEPS];
  const T *from;
  int32_t count;

  SPTI_DEVICE block_diagonal(const spti_block_solve_args &a, const block_task<T, Shape> &t)
      : from((const T *)a.panels.triangle + int64_t(t.diagonal) * SPTI_BLOCK_TILE +
             spti_block_diagonal_tile(t.strip, 0, 0) * SPTI_BLOCK_TILE),
        count(2 * (t.strip + 1)) {}
  SPTI_DEVICE void fetch(int32_t first) {
#pragma unroll
    for (int i = 0; i < Shape::STEPS; i++)
      if (first + i < count) load_fragment(from_global(), from + (first + i) * SPTI_BLOCK_TILE, tile[i]);
  }
  /* x += triangle r, after fetch(0). */
  SPTI_DEVICE void multiply(typename Shape::sums &x, const typename Shape::word *r) {
#pragma unroll
    for (int first = 0; first < 2 * SPTI_BLOCK_STRIPS; first += Shape::STEPS) {
      if (first > 0 && first < count) fetch(first);
#pragma unroll
      for (int i = 0; i < Shape::STEPS; i += 2)
        if (first + i < count) multiply_tiles<2>(x, tile + i, r + (first + i) * SPTI_BLOCK_STEP * Shape::ROW, Shape::ROW);
    }
  }
};

/* Those of N, a chunk of near steps at a time. Chunks are counted by how many are left, this one included. */
template <typename T, typename Shape> struct block_near {
  block_fragment<T> tile[Shape::STEPS];
  const T *from; /* the strip's first tile */
  int32_t steps;

  /* chunks: of near steps; 0: no columns are multiplied in advance. */
  SPTI_DEVICE block_near(const spti_block_solve_args &a, const block_task<T, Shape> &t, int32_t chunks) {
    steps = chunks > 0 ? spti_block_near(t.end - t.begin) : 0;
    const int64_t first = chunks > 0 ? int64_t(load_const(a.panels.near_start + t.panel)) + t.strip * steps : 0;
    from = (const T *)a.panels.near + first * SPTI_BLOCK_TILE;
  }
  /* The chunk's first near step when `chunks_left` chunks remain. Negative: its first steps do not exist. */
  SPTI_DEVICE int32_t begin(int32_t chunks_left) const { return steps - chunks_left * Shape::STEPS; }

  SPTI_DEVICE void fetch(int32_t chunks_left) {
    const int32_t first = begin(chunks_left);
#pragma unroll
    for (int i = 0; i < Shape::STEPS; i++) {
      tile[i] = {};
      if (chunks_left > 0 && first + i >= 0) load_fragment(from_global(), from + (first + i) * SPTI_BLOCK_TILE, tile[i]);
    }
  }
  /* Prefetches the tiles of the chunk after this one. */
  SPTI_DEVICE void announce(int32_t chunks_left) const {
    const char *next = (const char *)(from + begin(chunks_left - 1) * SPTI_BLOCK_TILE);
    constexpr int BYTES = Shape::STEPS * SPTI_BLOCK_TILE * int(sizeof(T)), LINE = 128;
    for (int32_t at = lane() * LINE; chunks_left > 1 && at < BYTES; at += 32 * LINE) prefetch(next + at);
  }
  SPTI_DEVICE void multiply(typename Shape::sums &sums, const typename Shape::word *buffer, int32_t chunks_left) const {
    const int32_t first = begin(chunks_left);
    if (first >= -1) { /* no branches between the products */
#pragma unroll
      for (int i = 0; i < Shape::STEPS; i += 2) multiply_pair(sums, buffer, i);
      return;
    }
#pragma unroll
    for (int i = 2; i < Shape::STEPS; i += 2)
      if (first + i + 1 >= 0) multiply_pair(sums, buffer, i);
  }
  /* The same; the tiles of the next chunk, which lacks none, are loaded into the registers that become free. */
  SPTI_DEVICE void multiply_and_fetch(typename Shape::sums &sums, const typename Shape::word *buffer, int32_t chunks_left) {
    const int32_t first = begin(chunks_left), next = begin(chunks_left - 1);
#pragma unroll
    for (int i = 0; i < Shape::STEPS; i += 2) {
      if (first + i + 1 >= 0) multiply_pair(sums, buffer, i);
#pragma unroll
      for (int j = i; j < i + 2; j++) load_fragment(from_global(), from + (next + j) * SPTI_BLOCK_TILE, tile[j]);
    }
  }

private:
  SPTI_DEVICE void multiply_pair(typename Shape::sums &sums, const typename Shape::word *buffer, int i) const {
    multiply_tiles<2>(sums, tile + i, buffer + i * SPTI_BLOCK_STEP * Shape::ROW, Shape::ROW);
  }
};

/* ---- x = inverse r ---- */

/* Whole block: starts to copy the panel's inverse to shared memory; gather_sums waits for it. */
template <typename T, typename Shape>
SPTI_DEVICE void fetch_inverse(const spti_block_solve_args &a, const block_task<T, Shape> &t, T *inverse) {
  constexpr int32_t WORD = 16 / int32_t(sizeof(real_of<T>)); /* real numbers of a copy */
  const int32_t copies = spti_block_diagonal_tiles(t.strips) * SPTI_BLOCK_TILE * planes_of<T>::COUNT / WORD;
  const auto *from = (const real_of<T> *)((const T *)a.panels.inverse + int64_t(t.diagonal) * SPTI_BLOCK_TILE);
  for (int32_t i = thread_in_block(); i < copies; i += BLOCK_THREADS) copy_async_16((real_of<T> *)inverse + i * WORD, from + i * WORD);
  end_copies();
}

/* Whole warp: x = inverse r. */
template <typename T, typename Shape>
SPTI_DEVICE void multiply_once(const block_task<T, Shape> &t, const T *block, const typename Shape::word *r, typename Shape::sums &x) {
  block_inverse<T, Shape> inverse(t, block);
  inverse.fetch_pair(0);
  x = {};
  inverse.multiply(x, r);
}

/* Whole block: e = r - triangle x, x += inverse e, in the warps that refine. q: room for x; r becomes e. As in refine_in_place the sums
 * are those of -x: a solution that is 0 has the same sign whatever the width of the tile. */
template <typename T, typename Shape>
SPTI_DEVICE void refine_beside(const block_task<T, Shape> &t, block_inverse<T, Shape> &inverse, block_diagonal<T, Shape> &triangle,
                               typename Shape::word *r, typename Shape::word *q, typename Shape::sums &x, bool refines) {
  typename Shape::sums e = {};
  if (refines) {
    for_rows(t, x, q, [&](auto *word, auto &sum, int k) {
      mark_if_bad(t, k, sum);
      sum = -sum;
      *word = word_of(sum);
    });
    for_rows(t, e, r, [](auto *word, auto &sum, int) { sum = value_of(*word); });
  }
  syncthreads();
  if (refines) {
    triangle.multiply(e, q);
    inverse.fetch_pair(0);
    for_rows(t, e, r, [](auto *word, auto &sum, int) { *word = word_of(-sum); });
  }
  syncthreads();
  if (!refines) return;
  inverse.multiply(x, r);
  for_rows(t, x, r, [](auto *, auto &sum, int) { sum = -sum; });
}

/* The same without room for x beside r: a warp has either x or e in registers, and the other one stands in the place of r. */
template <typename T, typename Shape>
SPTI_DEVICE void refine_in_place(const block_task<T, Shape> &t, block_inverse<T, Shape> &inverse, block_diagonal<T, Shape> &triangle,
                                 typename Shape::word *r, typename Shape::sums &x, bool refines) {
  const auto swap = [&](auto *word, auto &sum, int k) {
    const auto own = sum;
    mark_if_bad(t, k, own);
    sum = value_of(*word);
    *word = word_of(-own);
  };
  syncthreads();
  if (refines) for_rows(t, x, r, swap); /* now -x in shared memory, r in registers */
  syncthreads();
  if (refines) {
    triangle.multiply(x, r);
    inverse.fetch_pair(0);
  }
  syncthreads();
  if (refines) for_rows(t, x, r, swap); /* now -e in shared memory, -x in registers */
  syncthreads();
  if (!refines) return;
  inverse.multiply(x, r);
  for_rows(t, x, r, [](auto *, auto &sum, int) { sum = -sum; });
}

/* Whole block: x = inverse r, then one step of refinement in the warps that refine, those of the first strips. The first tiles of the
 * triangle are loaded long before they are needed. q: shared memory beside r, if there is room for x. */
template <typename T, typename Shape>
SPTI_DEVICE void multiply_and_refine(const spti_block_solve_args &a, const block_task<T, Shape> &t, const T *block, typename Shape::word *r,
                                     typename Shape::word *q, typename Shape::sums &x, bool multiplies, bool refines) {
  block_inverse<T, Shape> inverse(t, block);
  block_diagonal<T, Shape> triangle(a, t);
  if (refines) triangle.fetch(0);
  gather_sums(t, r, x);
  if (multiplies) {
    inverse.fetch_pair(0);
    x = {};
    inverse.multiply(x, r);
  }
  if constexpr (Shape::CHUNK >= SPTI_BLOCK_ROWS) refine_beside(t, inverse, triangle, r, q, x, refines);
  else refine_in_place(t, inverse, triangle, r, x, refines);
}

/* ---- x -= N x(near) ---- */

/* Whole block. far: chunks before the near ones; values has loaded the next chunk. parity: of the first buffer, which the
 * panel's sums do not occupy; computed by the caller, as code that computes it here needs more registers. False: a dependency is lost. */
template <typename T, typename Shape>
SPTI_DEVICE bool take_near_columns(const spti_block_solve_args &a, const block_task<T, Shape> &t, int32_t far, int32_t parity,
                                   typename Shape::word *buffers, block_values<T, Shape> &values, block_near<T, Shape> &near,
                                   bool multiplies, typename Shape::sums &sums) {
  const int32_t chunks = t.chunks();
  int32_t chunk = far, step = t.end - (chunks - far) * Shape::STEPS;
  typename Shape::word *buffer = buffers + (parity & 1) * Shape::CHUNK * Shape::ROW;
  if constexpr (Shape::STEPS < SPTI_BLOCK_NEAR)
    for (; chunk + 1 < chunks; chunk++, step += Shape::STEPS) {
      if (!values.next_chunk(a, t, step, chunk, chunks, buffer)) return false;
      if (multiplies) near.multiply_and_fetch(sums, buffer, chunks - chunk);
      parity++;
      buffer = buffers + (parity & 1) * Shape::CHUNK * Shape::ROW;
    }
  values.last_chunk(a, t, chunk, buffer);
  if (multiplies) near.multiply(sums, buffer, 1);
  return t.shared->lost_at > chunk;
}

} // namespace spti
#endif
