/* block_near.cuh -- the near columns of a panel, those that are ready last: y = inverse r is made of the sums over all columns before them
 * while the block still waits; then x = y - N x(near) with N = inverse A(near), which the analysis made, is one product away from the
 * arrival of x(near) (block_solve.cuh has the whole).
 *
 * NaN and infinity. What is not finite stays so in every sum that it enters, so an element of x that is finite has met none and is
 * published; the others are summed again by entries. */
#ifndef SPTI_BLOCK_NEAR_CUH
#define SPTI_BLOCK_NEAR_CUH

#include "trsm/block_diagonal.cuh"

namespace spti {

/* A strip's tiles of one chunk of near steps, counted from the last step back. */
template <typename T, typename Shape> struct block_near {
  block_fragment<T> tile[Shape::STEPS];
  const T *from; /* the strip's first tile */
  int32_t steps;

  SPTI_DEVICE block_near(const spti_block_solve_args &a, const block_item &g) : steps(spti_block_near(g.end - g.begin)) {
    const int64_t first = int64_t(load_const(a.panels.near_start + g.panel)) + g.strip * steps;
    from = (const T *)a.panels.near + first * SPTI_BLOCK_TILE;
  }
  /* Of the near step that a chunk begins with; below 0: it lacks its first ones. */
  SPTI_DEVICE int32_t begin(int32_t chunks_left) const { return steps - chunks_left * Shape::STEPS; }

  /* chunks_left: of the near steps, with this one. */
  SPTI_DEVICE void fetch(int32_t chunks_left) {
#pragma unroll
    for (int i = 0; i < Shape::STEPS; i++) {
      const int32_t step = begin(chunks_left) + i;
      tile[i] = {};
      if (step >= 0) load_fragment(from_global(), from + step * SPTI_BLOCK_TILE, tile[i]);
    }
  }
  SPTI_DEVICE void multiply(block_sums<T, Shape::TILES> &sums, const double *buffer, int32_t chunks_left) const {
#pragma unroll
    for (int i = 0; i < Shape::STEPS; i += 2)
      if (begin(chunks_left) + i + 1 >= 0) multiply_tiles<2>(sums, tile + i, buffer + i * SPTI_BLOCK_STEP * Shape::ROW, Shape::ROW);
  }
};

/* Whole block: from y to x. values: as take_columns left them, asked for. False: a dependency was lost. */
template <typename T, typename Shape>
SPTI_DEVICE bool take_near_columns(const spti_block_solve_args &a, const block_item &g, const T *now, int32_t far, double *buffers,
                                   block_shared *shared, block_values<T, Shape> &values, block_near<T, Shape> &near, bool multiplies,
                                   block_sums<T, Shape::TILES> &sums) {
  const int32_t chunks = chunks_of<Shape>(g);
  int32_t step = g.end - (chunks - far) * Shape::STEPS;
  for (int32_t chunk = far; chunk < chunks; chunk++, step += Shape::STEPS) {
    double *buffer = buffers + (chunk & 1) * Shape::CHUNK * Shape::ROW;
    if (!values.next_chunk(a, g, now, step, chunk, chunks, buffer, shared)) return false;
    if (multiplies) near.multiply(sums, buffer, chunks - chunk);
    if (multiplies && chunk + 1 < chunks) near.fetch(chunks - chunk - 1);
  }
  return true;
}

} // namespace spti
#endif
