/* scalar.cpp -- the arithmetic of core/device/scalar.cuh against the host's: division by a divisor, over the whole range of its types. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "core/device/device.cuh"
#include "simt/cases/problem.h"

using spti::complex_t;
using spti::quotient;

/* Integers in the order of the floating-point numbers; the two zeros are neighbours. */
static int64_t place_of(double v) {
  int64_t bits;
  memcpy(&bits, &v, sizeof v);
  return bits < 0 ? INT64_MIN - bits - 1 : bits;
}
static int64_t place_of(float v) {
  int32_t bits;
  memcpy(&bits, &v, sizeof v);
  return bits < 0 ? int64_t(INT32_MIN) - bits - 1 : bits;
}

/* NaN, infinity and zero must be the same, with their sign; other numbers at most neighbours. */
template <typename R> static bool agree(R found, R wanted) {
  if (isnan(wanted) || isnan(found)) return isnan(wanted) && isnan(found);
  if (isinf(wanted) || isinf(found) || wanted == 0 || found == 0) return found == wanted && signbit(found) == signbit(wanted);
  const int64_t apart = place_of(found) - place_of(wanted);
  return apart >= -1 && apart <= 1;
}

template <typename R> static void expect_quotient(R a, R t) {
  const R found = quotient(a, t), wanted = a / t;
  cr_assert(agree(found, wanted), "%a / %a = %a, not %a", double(a), double(t), double(wanted), double(found));
}

static double any_bits(numbers &random, double) {
  const uint64_t bits = random.next();
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
static float any_bits(numbers &random, float) {
  const uint32_t bits = uint32_t(random.next() >> 13);
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

template <typename R> static std::vector<R> special_values() {
  using limits = std::numeric_limits<R>;
  const R least = limits::denorm_min(), small = limits::min(), one = 1, eps = limits::epsilon();
  std::vector<R> v = {0,
                      least,
                      3 * least,
                      small - least,
                      small,
                      small + least,
                      2 * small,
                      1 / small,
                      1 / (4 * small),
                      one - eps / 2,
                      one,
                      one + eps,
                      R(3),
                      limits::max(),
                      limits::max() / 2,
                      sqrt(small),
                      sqrt(limits::max()),
                      R(1e-20),
                      limits::infinity(),
                      limits::quiet_NaN()};
  if (sizeof(R) == sizeof(double)) /* where divisor<double> changes to plain division */
    for (const double edge : {1e-250, 1e250, 1e-58, 1e58}) v.insert(v.end(), {R(edge), R(edge * (1 - 1e-15)), R(edge * (1 + 1e-15))});
  for (size_t i = 0, count = v.size(); i < count; i++) v.push_back(-v[i]);
  return v;
}

template <typename R> static void all_pairs_of_specials() {
  const std::vector<R> values = special_values<R>();
  numbers random(17);
  for (const R a : values) {
    for (const R t : values) expect_quotient(a, t);
    for (int i = 0; i < 2000; i++) {
      expect_quotient(a, any_bits(random, a));
      expect_quotient(any_bits(random, a), a);
    }
  }
}

Test(simt_scalar, f64_special_values) { all_pairs_of_specials<double>(); }
Test(simt_scalar, f32_special_values) { all_pairs_of_specials<float>(); }

/* Numerators and denominators of any exponent, then quotients near the ends of the range. */
template <typename R> static void whole_range(uint64_t seed) {
  numbers random(seed);
  const R least = std::numeric_limits<R>::denorm_min(), small = std::numeric_limits<R>::min(), most = std::numeric_limits<R>::max();
  for (int i = 0; i < 400000; i++) {
    const R a = any_bits(random, R()), t = any_bits(random, R());
    expect_quotient(a, t);
    expect_quotient(R(least * random.below(100000)), t);                        /* subnormal numerators, */
    expect_quotient(a, R(least * (1 + random.below(100000))));                  /* denominators, */
    expect_quotient(R(t * small * random.between(0, 4)), t);                    /* and quotients */
    expect_quotient(R(most * random.between(-1, 1)), R(random.between(-2, 2))); /* overflow, or not */
  }
}

Test(simt_scalar, f64_whole_range) { whole_range<double>(1); }
Test(simt_scalar, f32_whole_range) { whole_range<float>(2); }

/* The correction rounds all but rare quotients correctly, also of small and large numbers. */
Test(simt_scalar, f64_is_mostly_exact) {
  numbers random(3);
  for (const double scale : {1.0, 1e-300, 1e-280, 1e300}) {
    int off = 0;
    for (int i = 0; i < 300000; i++) {
      const double a = scale * random.between(1, 2), t = random.between(1, 2);
      off += quotient(a, t) != a / t;
    }
    cr_assert_lt(off, 30, "%d of 300000 quotients of %g are off by one place", off, scale);
  }
}

/* ---- complex ---- */

template <typename R> static wide wide_quotient(complex_t<R> a, complex_t<R> t) {
  const long double d = (long double)t.re * t.re + (long double)t.im * t.im;
  return {((long double)a.re * t.re + (long double)a.im * t.im) / d, ((long double)a.im * t.re - (long double)a.re * t.im) / d};
}

template <typename R> static void complex_range(uint64_t seed, int exponents, int spread) {
  numbers random(seed);
  const auto part = [&](int scale) { return R(ldexp(random.between(-1, 1), scale + random.below(spread))); };
  for (int i = 0; i < 300000; i++) {
    const int scale = random.below(2 * exponents) - exponents, other = scale + random.below(40) - 20;
    const complex_t<R> a = {part(other), part(other)}, t = {part(scale), part(scale)};
    const complex_t<R> q = quotient(a, t);
    const wide exact = wide_quotient(a, t), error = wide(q.re, q.im) - exact;
    cr_assert(std::abs(error) <= 8 * (std::numeric_limits<R>::epsilon() / 2) * std::abs(exact), "(%a + %ai) / (%a + %ai) = %a + %ai",
              double(a.re), double(a.im), double(t.re), double(t.im), double(q.re), double(q.im));
  }
}

Test(simt_scalar, c128) { complex_range<double>(4, 900, 40); }
Test(simt_scalar, c64) { complex_range<float>(5, 60, 12); }

/* Divisors whose |re| + |im| is above the largest number of the type, and some that are just below it. */
template <typename R> static void complex_divisors_at_the_end(uint64_t seed) {
  numbers random(seed);
  const R most = std::numeric_limits<R>::max();
  const auto sign = [&] { return random.below(2) ? 1 : -1; };
  for (int i = 0; i < 100000; i++) {
    const complex_t<R> t = {R(sign() * most * random.between(0.25, 1)), R(sign() * most * random.between(0, 1))};
    const complex_t<R> divisor_of_it = i % 2 ? t : complex_t<R>{t.im, t.re};
    const R scale = R(i % 3 ? most / 2 : most * 1e-30);
    const complex_t<R> a = {R(scale * random.between(-1, 1)), R(scale * random.between(-1, 1))}, q = quotient(a, divisor_of_it);
    const wide exact = wide_quotient(a, divisor_of_it), error = wide(q.re, q.im) - exact;
    cr_assert(std::abs(error) <= 8 * (std::numeric_limits<R>::epsilon() / 2) * std::abs(exact), "(%a + %ai) / (%a + %ai) = %a + %ai",
              double(a.re), double(a.im), double(divisor_of_it.re), double(divisor_of_it.im), double(q.re), double(q.im));
  }
}

Test(simt_scalar, c128_divisors_at_the_end) { complex_divisors_at_the_end<double>(6); }
Test(simt_scalar, c64_divisors_at_the_end) { complex_divisors_at_the_end<float>(7); }

Test(simt_scalar, complex_axes_and_not_finite) {
  const double inf = INFINITY;
  for (const double d : {2.0, -2.0, 1e300, 1e-300}) {
    const complex_t<double> by_real = quotient(complex_t<double>{6, -8}, complex_t<double>{d, 0});
    const complex_t<double> by_imaginary = quotient(complex_t<double>{6, -8}, complex_t<double>{0, d});
    cr_assert(by_real.re == 6 / d && by_real.im == -8 / d);
    cr_assert(by_imaginary.re == -8 / d && by_imaginary.im == -6 / d);
  }
  for (const complex_t<double> bad : {complex_t<double>{NAN, 1}, {1, NAN}, {inf, 1}, {1, -inf}, {NAN, NAN}}) {
    const complex_t<double> q = quotient(bad, complex_t<double>{3, 4});
    cr_assert(!(isfinite(q.re) && isfinite(q.im)), "what is not finite must not vanish");
  }
  for (const complex_t<double> bad : {complex_t<double>{NAN, 1}, {1, NAN}, {0, 0}}) {
    const complex_t<double> q = quotient(complex_t<double>{3, 4}, bad);
    cr_assert(!(isfinite(q.re) && isfinite(q.im)), "nor in the denominator");
  }
}
