/* refine.cpp -- the passes of refinement on the emulator against plain loops. */
#include <criterion/criterion.h>

#include <cmath>

#include "core/refine/kernels.h"
#include "simt/cases/problem.h"
#include "simt/emulator/simt.h"

/* A square matrix with rows of any length; row 0 is empty, so that its error is zero where b is. */
template <typename T> struct square {
  std::vector<int64_t> ptr{0};
  std::vector<int32_t> idx;
  std::vector<T> val;
  square(int32_t n, numbers &random) {
    for (int32_t i = 0; i < n; i++) {
      for (int e = i == 0 ? 0 : random.below(6); e > 0; e--) {
        T v;
        random.make(v);
        idx.push_back(random.below(n));
        val.push_back(v);
      }
      ptr.push_back(int64_t(idx.size()));
    }
  }
};

/* A block of 40 columns in either layout. */
struct layout {
  int64_t row_stride, col_stride;
  layout(bool rows, int32_t n, int64_t columns) : row_stride(rows ? columns + 2 : 1), col_stride(rows ? 1 : n + 3) {}
  int64_t at(int64_t i, int64_t k) const { return i * row_stride + k * col_stride; }
};

enum { COLUMNS = 40 };

/* Some of the columns, ascending. */
static std::vector<int32_t> some_columns(int32_t width, numbers &random) {
  std::vector<int32_t> list;
  for (int32_t k = 0; k < COLUMNS && int32_t(list.size()) < width; k++)
    if (COLUMNS - k <= width - int32_t(list.size()) || random.below(COLUMNS) < 2 * width) list.push_back(k);
  return list;
}

static long double cabs1(wide v) { return std::abs(v.real()) + std::abs(v.imag()); }
static bool near(double got, long double exact, double tolerance) {
  return std::isnan(exact) ? std::isnan(got) : std::abs(got - exact) <= tolerance * (1 + std::abs(exact));
}

template <typename T> static void check_residual(int32_t n, int32_t width, uint64_t seed) {
  using real = typename dtype_of<T>::real;
  numbers random(seed);
  const square<T> A(n, random);
  const layout b_lies(random.below(2), n, COLUMNS), x_lies(random.below(2), n, COLUMNS), r_lies(random.below(2), n, width);
  std::vector<T> b = random_block<T>(COLUMNS * (n + 3) + 45 * n, seed), x = random_block<T>(int64_t(b.size()), seed + 1), r(b.size(), T(7));
  std::vector<real> weight(b.size(), real(7));
  const std::vector<int32_t> columns = some_columns(width, random);
  for (int32_t k = 0; k < COLUMNS; k++) b[size_t(b_lies.at(0, k))] = 0;
  const int32_t spoilt = random.below(3) ? -1 : random.below(width);
  if (spoilt >= 0) b[size_t(b_lies.at(n / 2, columns[size_t(spoilt)]))] = std::numeric_limits<real>::quiet_NaN();
  const double none = 0;
  std::vector<double> berr(size_t(width), none), size(size_t(width), none), x_size(size_t(width), none);
  spti_residual_args a = {};
  a.n = n, a.width = width, a.ptr = A.ptr.data(), a.idx = A.idx.data(), a.val = A.val.data(), a.columns = columns.data();
  a.conj = dtype_of<T>::value >= SPTRSM_C64 && random.below(2), a.from_zero = random.below(4) == 0;
  a.alpha[0] = random.below(2) ? 1 : -0.5, a.alpha[1] = dtype_of<T>::value >= SPTRSM_C64 && random.below(2) ? 2 : 0;
  a.b = {b.data(), b_lies.row_stride, b_lies.col_stride};
  a.x = {x.data(), x_lies.row_stride, x_lies.col_stride};
  a.r = {r.data(), r_lies.row_stride, r_lies.col_stride};
  if (random.below(2)) a.weight = {weight.data(), r_lies.row_stride, r_lies.col_stride};
  a.growth = 0.25, a.tiny = 1e-30, a.small = 1e-20, a.drop = random.below(3) ? 0 : 0.5;
  a.berr = berr.data(), a.size = size.data(), a.x_size = x_size.data();
  simt::use(simt::schedule::from_seed(seed));
  cr_assert_eq(spti_residual_launch(&a, dtype_of<T>::value, nullptr), 0, "%s", simt::error().c_str());

  const double tolerance = 32 * double(std::numeric_limits<real>::epsilon());
  for (int32_t c = 0; c < width; c++) {
    const int32_t k = columns[size_t(c)];
    long double worst = 0, most = 0, x_most = 0;
    for (int32_t i = 0; i < n; i++) {
      wide exact = wide(a.alpha[0], a.alpha[1]) * widen(b[size_t(b_lies.at(i, k))]);
      long double s = cabs1(exact);
      for (int64_t p = A.ptr[size_t(i)]; p < A.ptr[size_t(i) + 1] && !a.from_zero; p++) {
        const wide t = widen(A.val[size_t(p)]), v = widen(x[size_t(x_lies.at(A.idx[size_t(p)], k))]);
        exact -= (a.conj ? std::conj(t) : t) * v;
        s += cabs1(t) * cabs1(v);
      }
      const size_t at = size_t(r_lies.at(i, c));
      const bool bad = c == spoilt && i == n / 2;
      const bool dropped = widen(r[at]) == wide(0) && cabs1(exact) <= a.drop * s + tolerance;
      cr_assert(dropped || bad || cabs1(exact) >= a.drop * s - tolerance, "residual (%d,%d) is not dropped, seed %d", i, c, int(seed));
      cr_assert(dropped || bad || std::abs(widen(r[at]) - exact) <= tolerance * (1 + s), "residual (%d,%d), seed %d", i, c, int(seed));
      cr_assert(!bad || std::isnan(cabs1(widen(r[at]))), "NaN lost, seed %d", int(seed));
      if (a.weight.data)
        cr_assert(bad || near(weight[at], cabs1(exact) + a.growth * s, tolerance), "weight (%d,%d), seed %d", i, c, int(seed));
      r[at] = 7, weight[at] = 7;
      if (s > 0) worst = std::max(worst, cabs1(exact) / s);
      most = std::max(most, dropped ? 0 : cabs1(exact));
      x_most = std::max(x_most, cabs1(widen(x[size_t(x_lies.at(i, k))])));
    }
    if (c == spoilt && n > 0) worst = most = std::numeric_limits<long double>::quiet_NaN();
    cr_assert(near(berr[size_t(c)], worst, tolerance) && near(size[size_t(c)], most, tolerance), "figures of column %d: %g %g, seed %d", c,
              berr[size_t(c)], size[size_t(c)], int(seed));
    cr_assert(near(x_size[size_t(c)], a.from_zero ? 0 : x_most, tolerance), "size of x, column %d, seed %d", c, int(seed));
  }
  for (const T &v : r) cr_assert(widen(v) == wide(7), "wrote outside the panel, seed %d", int(seed));
  for (const real v : weight) cr_assert(v == real(7), "wrote weights outside the panel, seed %d", int(seed));
}

template <typename T> static void check_residuals(uint64_t first) {
  static const int32_t orders[] = {0, 1, 33, 300}, widths[] = {1, 2, 7, 33};
  uint64_t seed = first;
  for (int32_t n : orders)
    for (int32_t width : widths)
      for (int turn = 0; turn < 4; turn++)
        if (!left_to_other_builds(++seed)) check_residual<T>(n, width, seed);
}

Test(simt_refine, residuals_f32) { check_residuals<float>(100); }
Test(simt_refine, residuals_f64) { check_residuals<double>(200); }
Test(simt_refine, residuals_c64) { check_residuals<std::complex<float>>(300); }
Test(simt_refine, residuals_c128) { check_residuals<std::complex<double>>(400); }

/* Tiny denominators are increased, as in dgerfs. */
Test(simt_refine, tiny_denominators) {
  const int64_t ptr[] = {0, 0, 0};
  const int32_t column = 0;
  double b[] = {1e-25, 0}, x[] = {3, 4}, r[2], berr = 0, size = 0, x_size = 0;
  spti_residual_args a = {};
  a.n = 2, a.width = 1, a.ptr = ptr, a.columns = &column, a.alpha[0] = 1;
  a.b = {b, 1, 2}, a.x = {x, 1, 2}, a.r = {r, 1, 2};
  a.tiny = 1e-25, a.small = 1e-20, a.berr = &berr, a.size = &size, a.x_size = &x_size;
  simt::use(simt::schedule::from_seed(1));
  cr_assert_eq(spti_residual_launch(&a, SPTRSM_F64, nullptr), 0, "%s", simt::error().c_str());
  cr_assert(berr == 1 && size == 1e-25 && x_size == 4, "%g %g %g", berr, size, x_size);
}

/* A residual that is infinite is never dropped, and the results show it. */
Test(simt_refine, infinity_is_not_dropped) {
  const int64_t ptr[] = {0, 0, 0};
  const int32_t column = 0;
  double b[] = {INFINITY, 1}, r[2], berr = 0, size = 0, x_size = 0;
  spti_residual_args a = {};
  a.n = 2, a.width = 1, a.ptr = ptr, a.columns = &column, a.from_zero = 1, a.alpha[0] = 1;
  a.b = {b, 1, 2}, a.x = {b, 1, 2}, a.r = {r, 1, 2};
  a.drop = 1, a.berr = &berr, a.size = &size, a.x_size = &x_size;
  simt::use(simt::schedule::from_seed(1));
  cr_assert_eq(spti_residual_launch(&a, SPTRSM_F64, nullptr), 0, "%s", simt::error().c_str());
  cr_assert(std::isinf(r[0]) && r[1] == 0, "%g %g", r[0], r[1]);
  cr_assert(std::isnan(berr) && std::isinf(size), "%g %g", berr, size);
}

/* The backward error against a sum that overflows is NaN, not small. */
Test(simt_refine, overflow_is_no_small_error) {
  const int64_t ptr[] = {0, 1};
  const int32_t column = 0, idx = 0;
  const double one = 1;
  double b = 1.2e308, x = 0.8e308, r, berr = 0, size = 0, x_size = 0;
  spti_residual_args a = {};
  a.n = 1, a.width = 1, a.ptr = ptr, a.idx = &idx, a.val = &one, a.columns = &column, a.alpha[0] = 1;
  a.b = {&b, 1, 1}, a.x = {&x, 1, 1}, a.r = {&r, 1, 1};
  a.drop = 1e-15, a.berr = &berr, a.size = &size, a.x_size = &x_size;
  simt::use(simt::schedule::from_seed(1));
  cr_assert_eq(spti_residual_launch(&a, SPTRSM_F64, nullptr), 0, "%s", simt::error().c_str());
  cr_assert(r == b - x && std::isnan(berr), "%g %g", r, berr);
}

/* ---- moving columns ---- */

template <typename From, typename To> static To rounded(From v, double scale) { return To(scale * double(v)); }
template <> std::complex<float> rounded(std::complex<double> v, double scale) { return {float(v.real() * scale), float(v.imag() * scale)}; }
template <> std::complex<double> rounded(std::complex<float> v, double scale) { return {v.real() * scale, v.imag() * scale}; }
template <> std::complex<double> rounded(std::complex<double> v, double scale) { return v * scale; }

template <typename From, typename To> static void check_move(int32_t n, int32_t width, uint64_t seed) {
  numbers random(seed);
  const layout from_lies(random.below(2), n, COLUMNS), to_lies(random.below(2), n, COLUMNS);
  const std::vector<From> from = random_block<From>(COLUMNS * (n + 3) + 45 * n, seed);
  const std::vector<To> old = random_block<To>(int64_t(from.size()), seed + 1);
  std::vector<To> to = old, wanted = old;
  const std::vector<int32_t> from_columns = some_columns(width, random), to_columns = some_columns(width, random);
  std::vector<double> scale;
  for (int32_t c = 0; c < width; c++) scale.push_back(std::ldexp(1, random.below(40) - 20));
  spti_move_columns_args a = {};
  a.n = n, a.width = width, a.from_dtype = dtype_of<From>::value, a.to_dtype = dtype_of<To>::value, a.scale = scale.data();
  a.from = {const_cast<From *>(from.data()), from_lies.row_stride, from_lies.col_stride};
  a.to = {to.data(), to_lies.row_stride, to_lies.col_stride};
  if (random.below(2)) a.from_columns = from_columns.data();
  if (random.below(2)) a.to_columns = to_columns.data();
  a.add = random.below(2);
  simt::use(simt::schedule::from_seed(seed));
  cr_assert_eq(spti_move_columns_launch(&a, nullptr), 0, "%s", simt::error().c_str());
  for (int32_t c = 0; c < width; c++)
    for (int32_t i = 0; i < n; i++) {
      To &w = wanted[size_t(to_lies.at(i, a.to_columns ? to_columns[size_t(c)] : c))];
      const To v = rounded<From, To>(from[size_t(from_lies.at(i, a.from_columns ? from_columns[size_t(c)] : c))], scale[size_t(c)]);
      w = a.add ? w + v : v;
    }
  cr_assert(to == wanted, "n=%d width=%d seed=%d", n, width, int(seed));
}

template <typename From, typename To> static void check_moves(uint64_t first) {
  static const int32_t orders[] = {0, 1, 33, 300}, widths[] = {1, 5, 33};
  uint64_t seed = first;
  for (int32_t n : orders)
    for (int32_t width : widths)
      for (int turn = 0; turn < 3; turn++)
        if (!left_to_other_builds(++seed)) check_move<From, To>(n, width, seed);
}

Test(simt_refine, moved_columns) {
  check_moves<float, float>(1000);
  check_moves<double, double>(2000);
  check_moves<double, float>(3000);
  check_moves<float, double>(4000);
  check_moves<std::complex<double>, std::complex<float>>(5000);
  check_moves<std::complex<float>, std::complex<double>>(6000);
  check_moves<std::complex<double>, std::complex<double>>(7000);
}
