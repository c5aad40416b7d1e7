/* block_ends.h -- a caller's blocks of right-hand sides and solutions, in any layout, permuted, scaled, in place; and the same values
 * row-major and unpermuted, for the residual. */
#ifndef TESTS_SIMT_CASES_BLOCK_ENDS_H
#define TESTS_SIMT_CASES_BLOCK_ENDS_H

#include "core/device/transfer.h"
#include "simt/cases/problem.h"

/* The caller's B and X; solution() has X row-major with ld = width. */
template <typename T> struct block_ends {
  std::vector<T> B, X, plain; /* plain: alpha B, permuted and scaled, row-major */
  std::vector<int32_t> map;
  std::vector<double> scale;
  spti_transfer t = {};

  /* Case has n, width and the flags columns (B and X are column-major), in_place, permuted, scaled. */
  template <typename Case> block_ends(const Case &c, uint64_t seed) {
    const int64_t padding = int64_t(seed % 3), width = c.width, n = c.n;
    const int64_t row_stride = c.columns ? 1 : width + padding, col_stride = c.columns ? n + padding : 1;
    B = random_block<T>((n + padding) * (width + padding), seed + 1);
    X = c.in_place ? std::vector<T>() : std::vector<T>(B.size(), T(77));
    numbers r(seed + 5);
    for (int32_t i = 0; i < n; i++) {
      map.push_back(i);
      scale.push_back(double(1 << r.below(3)));
      std::swap(map[size_t(i)], map[size_t(r.below(i + 1))]);
    }
    spti_end end = {B.data(), row_stride, col_stride, c.permuted ? map.data() : nullptr, c.scaled ? scale.data() : nullptr, 1};
    t.from = end;
    end.divide = 0;
    if (!c.in_place) end.data = X.data();
    t.to = end;
    t.alpha[0] = -0.5;
    t.width = c.width;
    for (int32_t i = 0; i < n; i++)
      for (int32_t k = 0; k < width; k++) {
        const T b = B[size_t(place_of(i) * row_stride + k * col_stride)];
        plain.push_back(b * T(-0.5) / T(c.scaled ? real(scale[size_t(place_of(i))]) : real(1)));
      }
  }
  block_ends(const block_ends &) = delete;
  block_ends &operator=(const block_ends &) = delete;

  using real = typename dtype_of<T>::real;
  int64_t place_of(int64_t i) const { return t.from.map ? map[size_t(i)] : i; }

  /* X without permutation and scaling; powers of two are exact. */
  std::vector<T> solution() const {
    std::vector<T> out;
    const T *x = (const T *)t.to.data;
    for (int64_t i = 0; i < int64_t(scale.size()); i++)
      for (int64_t k = 0; k < t.width; k++)
        out.push_back(x[place_of(i) * t.to.row_stride + k * t.to.col_stride] / T(t.to.scale ? real(scale[size_t(place_of(i))]) : real(1)));
    return out;
  }
};

#endif
