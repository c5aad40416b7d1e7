/* sums.cuh -- block's solve kernel, second part: the sums that a warp keeps in registers for its strip, which begin as right-hand sides and
 * end as solutions. Here they are read from B, added up over warps that share a strip, published in the work block and written to X.
 * solve.cuh has the kernel.
 *
 * NaN and infinity. Every sum that a value enters that is not finite is not finite itself. So a finite element depends on finite values
 * only and may be published at once; the others are solved again by entries (solve.cuh). X is written after that, since it may be the
 * memory of B. */
#ifndef SPTI_TRSM_BLOCK_GPU_SUMS_CUH
#define SPTI_TRSM_BLOCK_GPU_SUMS_CUH

#include "core/device/copy.cuh"
#include "trsm/block/gpu/columns.cuh"

namespace spti {

/* ---- the layout of mma's C operand ---- */

/* Element 2 h + i of tile n is row row_of_lane(h) of the panel and right-hand side 8 n + column_of_lane() + i of the task's tile. */
SPTI_DEVICE int32_t row_of_lane(const block_item &g, int h) { return g.strip * SPTI_BLOCK_STRIP + 8 * h + lane() / 4; }
SPTI_DEVICE int32_t column_of_lane() { return lane() % 4 * 2; }

template <typename N, typename R> SPTI_DEVICE void set_parts(N (&c)[1][4], int e, R v) { c[0][e] = v; }
template <typename N, typename R> SPTI_DEVICE void set_parts(N (&c)[2][4], int e, complex_t<R> v) {
  c[0][e] = v.re;
  c[1][e] = v.im;
}
template <typename T, typename N> SPTI_DEVICE T get_parts(const N (&c)[1][4], int e) { return T(c[0][e]); }
template <typename T, typename N> SPTI_DEVICE T get_parts(const N (&c)[2][4], int e) { return from_reals<T>::make(c[0][e], c[1][e]); }

/* ---- from right-hand sides ---- */

/* May two neighbouring right-hand sides be moved by one access everywhere? A complex value is two words already. */
template <typename T> SPTI_DEVICE bool in_pairs(const spti_end &end, int32_t width) {
  const uint64_t odd = uint64_t(end.row_stride) | uint64_t(width) | uint64_t(reinterpret_cast<uintptr_t>(end.data) / sizeof(T));
  return planes_of<T>::COUNT == 1 && end.col_stride == 1 && (odd & 1) == 0;
}

/* The lane's right-hand sides of one row, from its first one on, of which there are `left`. */
template <typename R, int Tiles, typename N> SPTI_DEVICE void load_pairs(const R *at, int32_t left, int h, block_sums<R, Tiles, N> &sums) {
#pragma unroll
  for (int n = 0; n < Tiles; n++) {
    const two<R> v = 8 * n < left ? load(reinterpret_cast<const two<R> *>(at + 8 * n)) : two<R>{0, 0};
    sums.part[n][0][2 * h] = v.first;
    sums.part[n][0][2 * h + 1] = v.second;
  }
}
template <typename R, int Tiles, typename N>
SPTI_DEVICE void load_pairs(const complex_t<R> *, int32_t, int, block_sums<complex_t<R>, Tiles, N> &) {}

/* The first part of a strip starts from the right-hand sides, the others from 0. All are loaded before the first is needed. */
template <typename T, typename Shape>
SPTI_DEVICE void start_sums(const spti_block_solve_args &a, const block_task<T, Shape> &t, typename Shape::sums &sums) {
  const spti_transfer &between = a.between;
  const spti_end &from = between.from;
  const bool pairs = in_pairs<T>(from, between.width);
  int64_t block_row[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int32_t r = row_of_lane(t, h), k = t.k + column_of_lane();
    const bool wanted = t.part == 0 && r < t.rows;
    const int32_t left = wanted ? between.width - k : 0;
    block_row[h] = wanted ? row_at(from, row_of_place(a, t.first + r)) : 0;
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
  if (between.alpha[0] == 1 && between.alpha[1] == 0 && !from.scale) return;
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int n = 0; n < Shape::TILES; n++)
#pragma unroll
      for (int e = 2 * h; e < 2 * h + 2; e++)
        set_parts(sums.part[n], e, scale_row(from, block_row[h], times_alpha(between.alpha, get_parts<T>(sums.part[n], e))));
}

/* ---- sums in shared memory ---- */

/* The upper word of a number, with its exponent, without its sign; and that of 1e300 or, in single precision, 1e37. */
SPTI_DEVICE uint32_t upper_word(double v) { return uint32_t(double_bits(v) >> 32) & 0x7fffffffu; }
SPTI_DEVICE uint32_t upper_word(float v) { return float_bits(v) & 0x7fffffffu; }
SPTI_DEVICE constexpr uint32_t upper_word_of_most(double) { return 0x7e37e43cu; }
SPTI_DEVICE constexpr uint32_t upper_word_of_most(float) { return 0x7cf0bdc2u; }

/* Finite, and not near overflow? Other sums may be wrong, since tiles hold zeros for missing entries: 0 times infinity is NaN. */
template <typename Number> SPTI_DEVICE bool is_good(Number sum) { return upper_word(sum) < upper_word_of_most(sum); }

/* Right-hand sides of the tile beyond the last one do not count. */
template <typename T, typename Shape> SPTI_DEVICE void mark_if_bad(const block_task<T, Shape> &t, int k, typename Shape::number sum) {
  if (!is_good(sum) && k < t.left) t.shared->some_bad = t.shared->bad[k] = 1;
}

/* f(word in shared memory, the lane's element that belongs there, its right-hand side) for all elements of the warp. Each warp has 16 rows
 * of r to itself: those of part p of strip s begin at row 16 (p strips + s). */
template <typename T, typename Shape, typename F>
SPTI_DEVICE void for_rows(const block_task<T, Shape> &t, typename Shape::sums &sums, typename Shape::word *r, F f) {
#pragma unroll
  for (int n = 0; n < Shape::TILES; n++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int k = 8 * n + column_of_lane();
      typename Shape::word *at = r + (t.warp * SPTI_BLOCK_STRIP + 8 * h + lane() / 4) * Shape::ROW + k * Shape::PLANES;
#pragma unroll
      for (int w = 0; w < 2 * Shape::PLANES; w++)
        f(at + w, sums.part[n][w % Shape::PLANES][2 * h + w / Shape::PLANES], k + w / Shape::PLANES);
    }
}

/* Whole block: adds the parts of each strip, in order, to the rows of the first part. */
template <typename T, typename Shape> SPTI_DEVICE void add_parts(const block_task<T, Shape> &t, typename Shape::word *r) {
  const int rows = t.strips * SPTI_BLOCK_STRIP;
  for (int i = thread_in_block(); i < rows * Shape::WORDS; i += BLOCK_THREADS) {
    const int word = i % Shape::WORDS;
    typename Shape::word *at = r + i / Shape::WORDS * Shape::ROW + word;
    typename Shape::number sum = value_of(at[0]);
    for (int p = 1; p < t.parts; p++) sum += value_of(at[p * rows * Shape::ROW]);
    at[0] = word_of(sum);
    mark_if_bad(t, word / Shape::PLANES, sum);
  }
}

/* Whole block: stores the sums in r, added up over the parts of each strip, and waits for the copy of the inverse. */
template <typename T, typename Shape>
SPTI_DEVICE void gather_sums(const block_task<T, Shape> &t, typename Shape::word *r, typename Shape::sums &sums) {
  for_rows(t, sums, r, [&](auto *word, auto &sum, int k) {
    *word = word_of(sum);
    if (t.parts == 1) mark_if_bad(t, k, sum);
  });
  await_copies<0>();
  syncthreads();
  if (t.parts == 1) return;
  add_parts(t, r);
  syncthreads();
}

/* ---- to solutions ---- */

/* Publishes one solution, or two neighbouring ones. */
template <typename R> SPTI_DEVICE void put_pair(R *at, R x, R y, bool first, bool second) {
  if (second) store_relaxed((two<R> *)at, {x, y});
  else if (first) store_relaxed(at, x);
}
template <typename R> SPTI_DEVICE void put_pair(complex_t<R> *at, complex_t<R> x, complex_t<R> y, bool first, bool second) {
  if (first) store_relaxed((two<R> *)at, {x.re, x.im});
  if (second) store_relaxed((two<R> *)at + 1, {y.re, y.im});
}
template <typename R> SPTI_DEVICE complex_t<R> publishable(complex_t<R> v) { return {publishable(v.re), publishable(v.im)}; }

/* The addresses in the work block of the lane's elements of a strip, computed before the elements are known. */
template <typename T, typename Shape> struct block_target {
  T *at[2];        /* the first element of each of the lane's rows */
  int32_t left[2]; /* right-hand sides from it on; 0: no such row */

  SPTI_DEVICE block_target(const spti_block_solve_args &a, const block_task<T, Shape> &t) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int32_t r = row_of_lane(t, h);
      at[h] = t.now + (t.first + r) * a.ld + t.k + column_of_lane();
      left[h] = r < t.rows ? t.left - column_of_lane() : 0;
    }
  }
  /* Publishes all elements of the lane if all are good; else none, and returns false. */
  SPTI_DEVICE bool put_good(const typename Shape::sums &x) const {
    uint32_t most = 0;
#pragma unroll
    for (int n = 0; n < Shape::TILES; n++)
#pragma unroll
      for (int e = 0; e < 4 * Shape::PLANES; e++) {
        const uint32_t word = upper_word(x.part[n][e / 4][e % 4]);
        most = word > most ? word : most;
      }
    if (most >= upper_word_of_most(typename Shape::number())) return false;
    each_pair(x, [](T v) { return v; });
    return true;
  }
  SPTI_DEVICE void put(const typename Shape::sums &x) const {
    each_pair(x, [](T v) { return publishable(v); });
  }

private:
  template <typename F> SPTI_DEVICE void each_pair(const typename Shape::sums &x, F f) const {
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int n = 0; n < Shape::TILES; n++)
        put_pair(at[h] + 8 * n, f(get_parts<T>(x.part[n], 2 * h)), f(get_parts<T>(x.part[n], 2 * h + 1)), 8 * n < left[h],
                 8 * n + 1 < left[h]);
  }
};

template <typename R> SPTI_DEVICE void store_pair(R *at, const R (&x)[2]) { store_once(reinterpret_cast<two<R> *>(at), {x[0], x[1]}); }
template <typename R> SPTI_DEVICE void store_pair(complex_t<R> *, const complex_t<R> (&)[2]) {} /* never called: in_pairs */

/* Whole warp: writes a strip's solutions to X. */
template <typename T, typename Shape>
SPTI_DEVICE void write_strip(const spti_block_solve_args &a, const block_task<T, Shape> &t, const typename Shape::sums &x) {
  const spti_end &to = a.between.to;
  const bool pairs = in_pairs<T>(to, a.between.width);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int32_t r = row_of_lane(t, h);
    if (r >= t.rows) break;
    const int64_t row = row_at(to, row_of_place(a, t.first + r));
    T *at = element_at<T>(to, row, t.k + column_of_lane());
#pragma unroll
    for (int n = 0; n < Shape::TILES; n++) {
      const int k = 8 * n + column_of_lane();
      const T v[2] = {scale_row(to, row, get_parts<T>(x.part[n], 2 * h)), scale_row(to, row, get_parts<T>(x.part[n], 2 * h + 1))};
      if (pairs && k < t.left) store_pair(at + 8 * n, v);
      if (!pairs && k < t.left) store_once(at + 8 * n * to.col_stride, v[0]);
      if (!pairs && k + 1 < t.left) store_once(at + (8 * n + 1) * to.col_stride, v[1]);
    }
  }
}

} // namespace spti
#endif
