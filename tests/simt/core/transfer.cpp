/* transfer.cpp -- core/device/transfer.cuh on the emulator against plain loops: right-hand sides and solutions in the caller's blocks. */
#include <criterion/criterion.h>

#include <algorithm>

#include "core/device/transfer.cuh"
#include "simt/cases/problem.h"

struct transfer_args {
  spti_transfer transfer;
  int32_t n;
};

template <typename T> SPTI_KERNEL(64) move_kernel(transfer_args a) {
  const int64_t at = int64_t(spti::block_in_grid()) * 64 + spti::thread_in_block(), i = at / a.transfer.width, k = at % a.transfer.width;
  if (i < a.n) spti::write_solution(a.transfer, i, k, spti::read_rhs<T>(a.transfer, i, k));
}

/* One end with its arrays: element (r,k) is data[r * row + k * column]. */
struct end_case {
  bool row_major, map, scale, divide;
  int64_t row, column;
  std::vector<int32_t> rows;
  std::vector<double> factor;

  void draw(numbers &random, int32_t n, int32_t width) {
    const int64_t ld = (row_major ? width : n) + random.below(3);
    row = row_major ? ld : 1;
    column = row_major ? 1 : ld;
    rows.resize(size_t(n));
    factor.resize(size_t(n));
    for (int32_t i = 0; i < n; i++) {
      rows[size_t(i)] = i;
      factor[size_t(i)] = random.between(0.5, 2) * (random.below(2) ? 1 : -1);
    }
    if (!map) return;
    for (int32_t i = n; i > 1; i--) std::swap(rows[size_t(i - 1)], rows[size_t(random.below(i))]);
  }
  int64_t size(int32_t n, int32_t width) const { return row_major ? n * row : width * column; }
  spti_end end(void *data) const { return {data, row, column, map ? rows.data() : nullptr, scale ? factor.data() : nullptr, divide}; }
  size_t at(int64_t i, int64_t k) const { return size_t(rows[size_t(i)] * row + k * column); }
  wide scaled(int64_t i, wide v) const {
    const long double f = scale ? (long double)factor[size_t(rows[size_t(i)])] : 1;
    return divide ? v / f : v * f;
  }
};

template <typename T>
using device_value = typename std::conditional<(dtype_of<T>::value >= SPTRSM_C64), spti::complex_t<typename dtype_of<T>::real>, T>::type;

template <typename T> static void check_transfer(int32_t n, int32_t width, unsigned forms, int alpha, uint64_t seed) {
  numbers random(seed);
  const auto form = [&](unsigned bit) { return (forms >> bit & 1) != 0; };
  end_case from = {form(0), form(1), form(2), form(3), 0, 0, {}, {}}, to = {form(4), form(5), form(6), form(7), 0, 0, {}, {}};
  from.draw(random, n, width);
  to.draw(random, n, width);
  std::vector<T> B = random_block<T>(from.size(n, width), seed + 1), X = random_block<T>(to.size(n, width), seed + 2), expected = X;
  const std::vector<T> old = B;
  const wide factor = alpha == 0 ? wide(1) : wide(-1.5L, alpha == 2 && dtype_of<T>::value >= SPTRSM_C64 ? 0.75L : 0);
  const transfer_args args = {{from.end(B.data()), to.end(X.data()), {double(factor.real()), double(factor.imag())}, width}, n};
  simt::use(simt::schedule::from_seed(seed));
  cr_assert_eq(SPTI_LAUNCH(move_kernel<device_value<T>>, (int64_t(n) * width + 63) / 64, 64, 0, nullptr, args), 0, "%s",
               simt::error().c_str());
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < width; k++) {
      const wide wanted = to.scaled(i, from.scaled(i, factor * widen(old[from.at(i, k)]))), found = widen(X[to.at(i, k)]);
      cr_assert(std::abs(found - wanted) <= 8 * std::numeric_limits<typename dtype_of<T>::real>::epsilon() * std::abs(wanted),
                "element (%d,%d), forms %#x, alpha %d, seed %d", int(i), int(k), forms, alpha, int(seed));
      expected[to.at(i, k)] = X[to.at(i, k)];
    }
  cr_assert(B == old, "B was written, forms %#x", forms);
  cr_assert(X == expected, "X was written beside its elements, forms %#x", forms);
}

/* Every layout, map, scaling and scale operation at both ends. */
template <typename T> static void all_forms() {
  for (unsigned forms = 0; forms < 256; forms++)
    for (int alpha = 0; alpha < 3; alpha++) check_transfer<T>(17, 3, forms, alpha, forms * 3 + unsigned(alpha) + 1);
  check_transfer<T>(1, 1, 0x37, 1, 5);
  check_transfer<T>(33, 70, 0x71, 1, 6);
}

Test(simt_transfer, f64) { all_forms<double>(); }
Test(simt_transfer, f32) { all_forms<float>(); }
Test(simt_transfer, c128) { all_forms<std::complex<double>>(); }
Test(simt_transfer, c64) { all_forms<std::complex<float>>(); }

/* B may be X if no end has a map. */
Test(simt_transfer, in_place) {
  std::vector<double> X = random_block<double>(40, 1), scale(20, 4.0);
  const std::vector<double> B = X;
  const spti_end from = {X.data(), 1, 20, nullptr, scale.data(), 1}, to = {X.data(), 1, 20, nullptr, nullptr, 0};
  const transfer_args args = {{from, to, {3, 0}, 2}, 20};
  cr_assert_eq(SPTI_LAUNCH(move_kernel<double>, 1, 64, 0, nullptr, args), 0, "%s", simt::error().c_str());
  for (size_t e = 0; e < 40; e++) cr_assert_eq(X[e], 3 * B[e] / 4);
}

/* With a real alpha a NaN or Inf in one part of a number does not reach the other part. */
Test(simt_transfer, parts_keep_apart) {
  spti::complex_t<double> B[2] = {{NAN, 2}, {INFINITY, -1}}, X[2] = {{0, 0}, {0, 0}};
  const double scale[2] = {0.5, 8};
  const transfer_args args = {{{B, 1, 2, nullptr, scale, 0}, {X, 1, 2, nullptr, scale, 1}, {-3, 0}, 1}, 2};
  cr_assert_eq(SPTI_LAUNCH(move_kernel<spti::complex_t<double>>, 1, 64, 0, nullptr, args), 0, "%s", simt::error().c_str());
  cr_assert(std::isnan(X[0].re) && X[0].im == -6);
  cr_assert(X[1].re == -INFINITY && X[1].im == 3);
}
