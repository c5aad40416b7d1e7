/* tile.cuh -- one tile of 16 rows by 8 columns on the tensor cores: it is loaded as the A operand of mma, and its product with eight rows
 * of right-hand sides is added to accumulators. Products and sums are in f64, or in f32 (spti_block_solve_args.single). */
#ifndef SPTI_TRSM_BLOCK_GPU_TILE_CUH
#define SPTI_TRSM_BLOCK_GPU_TILE_CUH

#include "core/device/device.cuh"
#include "core/device/tf32.cuh"
#include "trsm/block/gpu/kernels.h"

namespace spti {

/* Planes of a type: the real part, and the imaginary part of a complex type. */
template <typename T> struct planes_of { static constexpr int COUNT = 1; };
template <typename R> struct planes_of<complex_t<R>> { static constexpr int COUNT = 2; };

/* The four elements of a tile that one lane holds, in the order in which they are stored (kernels.h). */
template <typename T> struct block_fragment { real_of<T> part[planes_of<T>::COUNT][4]; };

struct from_global {
  template <typename R> SPTI_DEVICE two<R> operator()(const two<R> *p) const { return load_const(p); }
};
struct from_shared {
  template <typename R> SPTI_DEVICE two<R> operator()(const two<R> *p) const { return *p; }
};

template <typename Load, typename R> SPTI_DEVICE void load_fragment(Load load_two, const R *tile, block_fragment<R> &f) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const two<R> v = load_two(reinterpret_cast<const two<R> *>(tile) + 32 * h + lane());
    f.part[0][2 * h] = v.first;
    f.part[0][2 * h + 1] = v.second;
  }
}
template <typename Load, typename R>
SPTI_DEVICE void load_fragment(Load load_two, const complex_t<R> *tile, block_fragment<complex_t<R>> &f) {
#pragma unroll
  for (int e = 0; e < 4; e++) {
    const two<R> v = load_two(reinterpret_cast<const two<R> *>(tile) + 64 * (e / 2) + 2 * lane() + e % 2);
    f.part[0][e] = v.first;
    f.part[1][e] = v.second;
  }
}

/* Index of element (row, column) in a stored tile. */
SPTI_DEVICE int32_t place_in_tile(int32_t row, int32_t column) { return (32 * (column / 4) + row % 8 * 4 + column % 4) * 2 + row / 8; }

/* Is this an entry of the matrix? A missing entry is +0, a stored zero is -0. */
SPTI_DEVICE bool is_entry(float v) { return float_bits(v) != 0; }
SPTI_DEVICE bool is_entry(double v) { return double_bits(v) != 0; }
template <typename R> SPTI_DEVICE bool is_entry(complex_t<R> v) { return is_entry(v.re) || is_entry(v.im); }

/* Accumulators of a warp, as C operands of mma: 16 rows by 8 right-hand sides for each tile of right-hand sides. Number: double or
 * float. */
template <typename T, int Tiles, typename Number = double> struct block_sums { Number part[Tiles][planes_of<T>::COUNT][4]; };

/* What shared memory holds of a number: itself, or in single precision its 11 leading bits, rounded, and the remainder. A remainder of
 * zero is -0, which changes the sign of no sum, so that +0 and -0 are recovered. */
struct alignas(8) two_terms {
  float high, low;
};
SPTI_DEVICE double word_of(double v) { return v; }
SPTI_DEVICE two_terms word_of(float v) {
  const float high = rounded_tf32(v);
  return {high, -(high - v)};
}
SPTI_DEVICE double value_of(double w) { return w; }
SPTI_DEVICE float value_of(two_terms w) { return w.high + w.low; }
template <typename Number> struct word_type { using type = double; };
template <> struct word_type<float> { using type = two_terms; };

/* ---- products in f64 ---- */

/* Adds one real product for all tiles of right-hand sides. b: the lane's first word of B; its others are 4, 8 and 12 rows below. */
template <typename T, int Tiles>
SPTI_DEVICE void multiply_plane(block_sums<T, Tiles> &sums, int plane, const double (&a)[2][4], const double *b, int row) {
#pragma unroll
  for (int n = 0; n < Tiles; n++) {
    const double *at = b + n * 8 * planes_of<T>::COUNT, x[4] = {at[0], at[4 * row], at[8 * row], at[12 * row]};
    mma(sums.part[n][plane], a[0], a[1], x);
  }
}
template <typename T, int Tiles>
SPTI_DEVICE void multiply_plane(block_sums<T, Tiles> &sums, int plane, const double (&a)[1][4], const double *b, int row) {
#pragma unroll
  for (int n = 0; n < Tiles; n++) {
    const double *at = b + n * 8 * planes_of<T>::COUNT;
    mma(sums.part[n][plane], a[0], at[0], at[4 * row]);
  }
}
/* One plane of `Count` fragments, converted to f64 and multiplied with `sign`, 1 or -1. */
template <typename T, int Count> struct widened {
  double a[Count][4];
  SPTI_DEVICE widened(const block_fragment<T> *f, int plane, double sign) {
#pragma unroll
    for (int i = 0; i < Count; i++)
#pragma unroll
      for (int e = 0; e < 4; e++) a[i][e] = sign * double(f[i].part[plane][e]);
  }
};

/* sums += tiles * x for one tile or two neighbouring ones. x: 8 rows for each tile, `row` words apart in shared memory; real and imaginary
 * part of a complex value are neighbours. */
template <int Count, typename R, int Tiles>
SPTI_DEVICE void multiply_tiles(block_sums<R, Tiles> &sums, const block_fragment<R> *f, const double *x, int row) {
  multiply_plane<R, Tiles>(sums, 0, widened<R, Count>(f, 0, 1).a, x + lane() % 4 * row + lane() / 4, row);
}
template <int Count, typename R, int Tiles>
SPTI_DEVICE void multiply_tiles(block_sums<complex_t<R>, Tiles> &sums, const block_fragment<complex_t<R>> *f, const double *x, int row) {
  using T = complex_t<R>;
  const double *b = x + lane() % 4 * row + lane() / 4 * 2;
  const widened<T, Count> re(f, 0, 1), im(f, 1, 1), minus_im(f, 1, -1);
  multiply_plane<T, Tiles>(sums, 0, re.a, b, row);
  multiply_plane<T, Tiles>(sums, 1, re.a, b + 1, row);
  multiply_plane<T, Tiles>(sums, 0, minus_im.a, b + 1, row);
  multiply_plane<T, Tiles>(sums, 1, im.a, b, row);
}

/* ---- products in f32 ---- */

/* One plane of a fragment as A operands of mma. */
struct split_plane {
  float high[4], low[4];
  template <typename R> SPTI_DEVICE explicit split_plane(const R (&part)[4]) {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const two_terms w = word_of(float(part[e]));
      high[e] = w.high;
      low[e] = cut_tf32(w.low);
    }
  }
  SPTI_DEVICE void negate() {
#pragma unroll
    for (int e = 0; e < 4; e++) high[e] = -high[e], low[e] = -low[e];
  }
};

/* Adds one real product for all tiles of right-hand sides, without the products of two remainders, which are as small as the roundings of a
 * few operations [ootomo2022]. A remainder below 2^-126 loses bits, so numbers below 2^-114 are less accurate. b: as above. */
template <typename T, int Tiles>
SPTI_DEVICE void multiply_plane(block_sums<T, Tiles, float> &sums, int plane, const split_plane &a, const two_terms *b, int row) {
#pragma unroll
  for (int n = 0; n < Tiles; n++) {
    const two_terms *at = b + n * 8 * planes_of<T>::COUNT, x = at[0], x4 = at[4 * row];
    mma(sums.part[n][plane], a.low, x.high, x4.high);
    mma(sums.part[n][plane], a.high, cut_tf32(x.low), cut_tf32(x4.low));
    mma(sums.part[n][plane], a.high, x.high, x4.high);
  }
}
template <int Count, typename T, int Tiles>
SPTI_DEVICE void multiply_tiles(block_sums<T, Tiles, float> &sums, const block_fragment<T> *f, const two_terms *x, int row) {
  constexpr int PLANES = planes_of<T>::COUNT;
  const two_terms *b = x + lane() % 4 * row + lane() / 4 * PLANES;
#pragma unroll
  for (int i = 0; i < Count; i++, b += SPTI_BLOCK_STEP * row) {
    const split_plane re(f[i].part[0]);
    multiply_plane(sums, 0, re, b, row);
    if constexpr (PLANES == 2) {
      multiply_plane(sums, 1, re, b + 1, row);
      split_plane im(f[i].part[1]);
      multiply_plane(sums, 1, im, b, row);
      im.negate();
      multiply_plane(sums, 0, im, b + 1, row);
    }
  }
}

} // namespace spti
#endif
