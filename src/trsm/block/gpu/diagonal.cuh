/* diagonal.cuh -- products of a panel's inverse and triangle with its sums, by the warp of each strip (solve.cuh has the
 * whole). */
#ifndef SPTI_TRSM_BLOCK_GPU_DIAGONAL_CUH
#define SPTI_TRSM_BLOCK_GPU_DIAGONAL_CUH

#include "trsm/block/gpu/columns.cuh"

namespace spti {

/* A strip's tiles of the inverse, in shared memory: two are on their way to registers while two are multiplied. */
template <typename T, typename Shape> struct block_inverse {
  block_fragment<T> tile[4];
  const T *from;
  int32_t count;

  SPTI_DEVICE block_inverse(const block_item &g, const T *block)
      : from(block + spti_block_diagonal_tile(g.strip, 0, 0) * SPTI_BLOCK_TILE), count(2 * (g.strip + 1)) {}
  SPTI_DEVICE void fetch_pair(int32_t first) {
#pragma unroll
    for (int i = 0; i < 2; i++) load_fragment(from_shared(), from + (first + i) * SPTI_BLOCK_TILE, tile[first % 4 + i]);
  }
  /* The first pair has been fetched. */
  SPTI_DEVICE void multiply(block_sums<T, Shape::TILES> &x, const double *r) {
#pragma unroll
    for (int i = 0; i < 2 * SPTI_BLOCK_STRIPS; i += 2) {
      if (i + 2 < count) fetch_pair(i + 2);
      if (i < count) multiply_tiles<2>(x, tile + i % 4, r + i * SPTI_BLOCK_STEP * Shape::ROW, Shape::ROW);
    }
  }
};

/* A strip's tiles of the triangle, in global memory, as many at a time as registers have room for. */
template <typename T, typename Shape> struct block_diagonal {
  block_fragment<T> tile[Shape::STEPS];
  const T *from;
  int32_t count;

  SPTI_DEVICE block_diagonal(const block_item &g, const T *block)
      : from(block + spti_block_diagonal_tile(g.strip, 0, 0) * SPTI_BLOCK_TILE), count(2 * (g.strip + 1)) {}
  SPTI_DEVICE void fetch(int32_t first) {
#pragma unroll
    for (int i = 0; i < Shape::STEPS; i++)
      if (first + i < count) load_fragment(from_global(), from + (first + i) * SPTI_BLOCK_TILE, tile[i]);
  }
  /* The first ones have been fetched. */
  SPTI_DEVICE void multiply(block_sums<T, Shape::TILES> &x, const double *r) {
#pragma unroll
    for (int first = 0; first < 2 * SPTI_BLOCK_STRIPS; first += Shape::STEPS) {
      if (first > 0 && first < count) fetch(first);
#pragma unroll
      for (int i = 0; i < Shape::STEPS; i += 2)
        if (first + i < count) multiply_tiles<2>(x, tile + i, r + (first + i) * SPTI_BLOCK_STEP * Shape::ROW, Shape::ROW);
    }
  }
};

} // namespace spti
#endif
