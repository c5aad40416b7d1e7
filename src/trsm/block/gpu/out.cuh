/* out.cuh -- out with the solutions of a strip: to the work block, where others wait for them, and to X (solve.cuh has the
 * whole).
 *
 * NaN and infinity. What is not finite stays so in every sum that it enters, so an element that is finite has met none and may be
 * published; the others are solved again by entries. Until then X is left alone: it may be where the right-hand sides are. */
#ifndef SPTI_TRSM_BLOCK_GPU_OUT_CUH
#define SPTI_TRSM_BLOCK_GPU_OUT_CUH

#include "trsm/block/gpu/columns.cuh"

namespace spti {

/* The word of a number that has its sign and its exponent, without the sign; and that of 1e300. */
SPTI_DEVICE uint32_t upper_word(double v) { return uint32_t(double_bits(v) >> 32) & 0x7fffffffu; }
enum : uint32_t { UPPER_WORD_OF_MOST = 0x7e37e43cu };

/* Has it met nothing that is not finite, or nearly so? Else it is not to be trusted with zeros that stand for no entry. */
SPTI_DEVICE bool is_good(double sum) { return upper_word(sum) < UPPER_WORD_OF_MOST; }

/* One solution, or two next to each other, to the work block. */
template <typename R> SPTI_DEVICE void put_pair(R *at, R x, R y, bool first, bool second) {
  if (second) store_relaxed((two<R> *)at, {x, y});
  else if (first) store_relaxed(at, x);
}
template <typename R> SPTI_DEVICE void put_pair(complex_t<R> *at, complex_t<R> x, complex_t<R> y, bool first, bool second) {
  if (first) store_relaxed((two<R> *)at, {x.re, x.im});
  if (second) store_relaxed((two<R> *)at + 1, {y.re, y.im});
}
template <typename R> SPTI_DEVICE complex_t<R> publishable(complex_t<R> v) { return {publishable(v.re), publishable(v.im)}; }

/* Where the lane's elements of a strip go, found out before they are there. */
template <typename T, typename Shape> struct block_target {
  T *at[2];        /* of each of its rows, the first element */
  int32_t left[2]; /* right-hand sides from it on; 0: no such row */

  SPTI_DEVICE block_target(const spti_block_solve_args &a, const block_item &g, T *now) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int32_t r = row_of_lane(g, h);
      at[h] = now + (g.first + r) * a.ld + g.k + column_of_lane();
      left[h] = r < g.rows ? g.left - column_of_lane() : 0;
    }
  }
  /* Puts all elements out, if all are good. */
  SPTI_DEVICE bool put_good(const block_sums<T, Shape::TILES> &x) const {
    uint32_t most = 0;
#pragma unroll
    for (int n = 0; n < Shape::TILES; n++)
#pragma unroll
      for (int e = 0; e < 4 * Shape::PLANES; e++) {
        const uint32_t word = upper_word(x.part[n][e / 4][e % 4]);
        most = word > most ? word : most;
      }
    if (most >= UPPER_WORD_OF_MOST) return false;
    each_pair(x, [](T v) { return v; });
    return true;
  }
  SPTI_DEVICE void put(const block_sums<T, Shape::TILES> &x) const {
    each_pair(x, [](T v) { return publishable(v); });
  }

private:
  template <typename F> SPTI_DEVICE void each_pair(const block_sums<T, Shape::TILES> &x, F f) const {
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int n = 0; n < Shape::TILES; n++)
        put_pair(at[h] + 8 * n, f(get_parts<T>(x.part[n], 2 * h)), f(get_parts<T>(x.part[n], 2 * h + 1)), 8 * n < left[h],
                 8 * n + 1 < left[h]);
  }
};

template <typename R> SPTI_DEVICE void store_pair(R *at, const R (&x)[2]) { store_once(reinterpret_cast<two<R> *>(at), {x[0], x[1]}); }
template <typename R> SPTI_DEVICE void store_pair(complex_t<R> *, const complex_t<R> (&)[2]) {} /* see in_pairs */

/* Whole warp: a strip's solutions to X. */
template <typename T, typename Shape>
SPTI_DEVICE void write_strip(const spti_block_solve_args &a, const block_item &g, const block_sums<T, Shape::TILES> &x) {
  const bool pairs = in_pairs<T>(a.between.to, a.between.width);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int32_t r = row_of_lane(g, h);
    if (r >= g.rows) break;
    const int64_t row = row_at(a.between.to, row_of_place(a, g.first + r));
    T *at = element_at<T>(a.between.to, row, g.k + column_of_lane());
#pragma unroll
    for (int n = 0; n < Shape::TILES; n++) {
      const int k = 8 * n + column_of_lane();
      const T v[2] = {scale_row(a.between.to, row, get_parts<T>(x.part[n], 2 * h)),
                      scale_row(a.between.to, row, get_parts<T>(x.part[n], 2 * h + 1))};
      if (pairs && k < g.left) store_pair(at + 8 * n, v);
      if (!pairs && k < g.left) store_once(at + 8 * n * a.between.to.col_stride, v[0]);
      if (!pairs && k + 1 < g.left) store_once(at + (8 * n + 1) * a.between.to.col_stride, v[1]);
    }
  }
}

} // namespace spti
#endif
