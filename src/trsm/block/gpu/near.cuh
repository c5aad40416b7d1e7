/* near.cuh -- the near columns of a panel, those that are ready last: y = inverse r is made of the sums over all columns before them
 * while the block still waits; then x = y - N x(near) with N = inverse A(near), which the analysis made (near_kernels.cu), is one
 * product away from the arrival of x(near). solve.cuh has the whole. */
#ifndef SPTI_TRSM_BLOCK_GPU_NEAR_CUH
#define SPTI_TRSM_BLOCK_GPU_NEAR_CUH

#include "trsm/block/gpu/diagonal.cuh"

namespace spti {

/* A strip's tiles of one chunk of near steps, counted from the last step back. */
template <typename T, typename Shape> struct block_near {
  block_fragment<T> tile[Shape::STEPS];
  const T *from; /* the strip's first tile */
  int32_t steps;

  /* chunks: of near steps; 0: there are none to be multiplied. */
  SPTI_DEVICE block_near(const spti_block_solve_args &a, const block_item &g, int32_t chunks) {
    steps = chunks > 0 ? spti_block_near(g.end - g.begin) : 0;
    const int64_t first = chunks > 0 ? int64_t(load_const(a.panels.near_start + g.panel)) + g.strip * steps : 0;
    from = (const T *)a.panels.near + first * SPTI_BLOCK_TILE;
  }
  /* The near step that a chunk begins with, this one and so many in all being left; below 0: it lacks its first ones. */
  SPTI_DEVICE int32_t begin(int32_t chunks_left) const { return steps - chunks_left * Shape::STEPS; }

  SPTI_DEVICE void fetch(int32_t chunks_left) {
    const int32_t first = begin(chunks_left);
#pragma unroll
    for (int i = 0; i < Shape::STEPS; i++) {
      tile[i] = {};
      if (chunks_left > 0 && first + i >= 0) load_fragment(from_global(), from + (first + i) * SPTI_BLOCK_TILE, tile[i]);
    }
  }
  /* The strip's tiles of the chunk after this one will be wanted soon. */
  SPTI_DEVICE void announce(int32_t chunks_left) const {
    const char *next = (const char *)(from + begin(chunks_left - 1) * SPTI_BLOCK_TILE);
    constexpr int BYTES = Shape::STEPS * SPTI_BLOCK_TILE * int(sizeof(T)), LINE = 128;
    for (int32_t at = lane() * LINE; chunks_left > 1 && at < BYTES; at += 32 * LINE) prefetch(next + at);
  }
  SPTI_DEVICE void multiply(block_sums<T, Shape::TILES> &sums, const double *buffer, int32_t chunks_left) const {
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
  /* The tiles of the next chunk, of which none is missing, take the places of those multiplied. */
  SPTI_DEVICE void multiply_and_fetch(block_sums<T, Shape::TILES> &sums, const double *buffer, int32_t chunks_left) {
    const int32_t first = begin(chunks_left), next = begin(chunks_left - 1);
#pragma unroll
    for (int i = 0; i < Shape::STEPS; i += 2) {
      if (first + i + 1 >= 0) multiply_pair(sums, buffer, i);
#pragma unroll
      for (int j = i; j < i + 2; j++) load_fragment(from_global(), from + (next + j) * SPTI_BLOCK_TILE, tile[j]);
    }
  }

private:
  SPTI_DEVICE void multiply_pair(block_sums<T, Shape::TILES> &sums, const double *buffer, int i) const {
    multiply_tiles<2>(sums, tile + i, buffer + i * SPTI_BLOCK_STEP * Shape::ROW, Shape::ROW);
  }
};

/* Whole block: from y to x. far: chunks before; values has asked for the next. parity: of the first chunk's place in the buffers. False: a
 * dependency was lost. */
template <typename T, typename Shape>
SPTI_DEVICE bool take_near_columns(const spti_block_solve_args &a, const block_item &g, const T *now, int32_t far, int32_t parity,
                                   double *buffers, block_shared *shared, block_values<T, Shape> &values, block_near<T, Shape> &near,
                                   bool multiplies, block_sums<T, Shape::TILES> &sums) {
  const int32_t chunks = chunks_of<Shape>(g);
  int32_t chunk = far, step = g.end - (chunks - far) * Shape::STEPS;
  double *buffer = buffers + (parity & 1) * Shape::CHUNK * Shape::ROW;
  if constexpr (Shape::STEPS < SPTI_BLOCK_NEAR)
    for (; chunk + 1 < chunks; chunk++, step += Shape::STEPS) {
      if (!values.next_chunk(a, g, now, step, chunk, chunks, buffer, shared)) return false;
      if (multiplies) near.multiply_and_fetch(sums, buffer, chunks - chunk);
      parity++;
      buffer = buffers + (parity & 1) * Shape::CHUNK * Shape::ROW;
    }
  values.last_chunk(a, g, now, chunk, buffer, shared);
  if (multiplies) near.multiply(sums, buffer, 1);
  return shared->lost_at > chunk;
}

} // namespace spti
#endif
