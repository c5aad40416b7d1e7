/* scalar.cuh -- arithmetic of the four value types in device code: float, double, and complex_t of either, which is two real words. It is
 * included by device.cuh and needs its SPTI_DEVICE, fused and product. */
#ifndef SPTI_CORE_DEVICE_SCALAR_CUH
#define SPTI_CORE_DEVICE_SCALAR_CUH

namespace spti {

template <typename R> struct complex_t { R re, im; };

template <typename T> struct real_part_of { using type = T; };
template <typename R> struct real_part_of<complex_t<R>> { using type = R; };
template <typename T> using real_of = typename real_part_of<T>::type;

template <typename R> SPTI_DEVICE complex_t<R> operator+(complex_t<R> a, complex_t<R> b) { return {a.re + b.re, a.im + b.im}; }
template <typename R> SPTI_DEVICE complex_t<R> operator-(complex_t<R> a, complex_t<R> b) { return {a.re - b.re, a.im - b.im}; }
template <typename R> SPTI_DEVICE complex_t<R> operator-(complex_t<R> a) { return {-a.re, -a.im}; }
template <typename R> SPTI_DEVICE complex_t<R> operator*(complex_t<R> a, complex_t<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <typename R> SPTI_DEVICE complex_t<R> operator*(R a, complex_t<R> b) { return {a * b.re, a * b.im}; }

SPTI_DEVICE float conj_if(bool, float a) { return a; }
SPTI_DEVICE double conj_if(bool, double a) { return a; }
template <typename R> SPTI_DEVICE complex_t<R> conj_if(bool yes, complex_t<R> a) { return {a.re, yes ? -a.im : a.im}; }

template <typename T> SPTI_DEVICE T one() { return T(1); }
template <> SPTI_DEVICE complex_t<float> one<complex_t<float>>() { return {1.0f, 0.0f}; }
template <> SPTI_DEVICE complex_t<double> one<complex_t<double>>() { return {1.0, 0.0}; }

SPTI_DEVICE bool is_zero(float a) { return a == 0; }
SPTI_DEVICE bool is_zero(double a) { return a == 0; }
template <typename R> SPTI_DEVICE bool is_zero(complex_t<R> a) { return a.re == 0 && a.im == 0; }

/* t x + sum with defined roundings: the compiler neither fuses nor splits an operation. */
SPTI_DEVICE float multiply_add(float t, float x, float sum) { return fused(t, x, sum); }
SPTI_DEVICE double multiply_add(double t, double x, double sum) { return fused(t, x, sum); }
template <typename R> SPTI_DEVICE complex_t<R> multiply_add(complex_t<R> t, complex_t<R> x, complex_t<R> sum) {
  return {fused(-t.im, x.im, fused(t.re, x.re, sum.re)), fused(t.im, x.re, fused(t.re, x.im, sum.im))};
}

/* |re| + |im|, by which pivots are compared. */
SPTI_DEVICE float magnitude(float a) { return a < 0 ? -a : a; }
SPTI_DEVICE double magnitude(double a) { return a < 0 ? -a : a; }
template <typename R> SPTI_DEVICE R magnitude(complex_t<R> a) { return magnitude(a.re) + magnitude(a.im); }

/* from_reals: the value with the given parts, rounded to its type; real types drop the imaginary part. */
template <typename T> struct from_reals {
  static SPTI_DEVICE T make(double re, double) { return T(re); }
};
template <typename R> struct from_reals<complex_t<R>> {
  static SPTI_DEVICE complex_t<R> make(double re, double im) { return {R(re), R(im)}; }
};

/* Scaling and multiplying by alpha must give the same bits in a pass of their own and in a method that reads B and subtracts a sum at
 * once. Hence they use products that the compiler cannot fuse with a following operation. */

/* Multiplies or divides by a real scale factor, in double precision. */
template <typename R> SPTI_DEVICE R scale_by(R v, double s, bool divide) { return R(divide ? double(v) / s : product(double(v), s)); }
template <typename R> SPTI_DEVICE complex_t<R> scale_by(complex_t<R> v, double s, bool divide) {
  return {scale_by(v.re, s, divide), scale_by(v.im, s, divide)};
}

/* A real alpha multiplies each part by itself, so that a NaN or Inf in one part does not spread to the other. */
template <typename R> SPTI_DEVICE R times_alpha(const double *alpha, R v) { return product(v, R(alpha[0])); }
template <typename R> SPTI_DEVICE complex_t<R> times_alpha(const double *alpha, complex_t<R> v) {
  const R re = R(alpha[0]), im = R(alpha[1]);
  if (im == 0) return {product(v.re, re), product(v.im, re)};
  return {fused(re, v.re, -product(im, v.im)), fused(re, v.im, product(im, v.re))};
}

/* divisor<T>: does all work of a division by t that does not need the numerator, because the division is in the critical path of every
 * row.
 *   f64      multiplies by the reciprocal in twice the precision, 1 / t = reciprocal + rest; the result is correctly rounded except in rare
 *            cases, which are off by one ulp. Near the ends of the range it divides.
 *   f32      multiplies by the reciprocal in f64.
 *   complex  Smith's formula, which avoids overflow and underflow of intermediate results: with |re| >= |im| and r = im / re,
 *            (a + bi) / t = ((a + b r) + (b - a r) i) / (re + im r); otherwise the same with re and im exchanged. The denominator
 *            re + im r is a double for both types, and its half where it could overflow.
 *
 * quick(a) divides without checking the range, for code where a branch costs too much. If quick_holds(a), it returns what divide(a)
 * returns except perhaps for the sign of a zero; if divides_quickly(a), it returns exactly what divide(a) returns. */
template <typename T> struct divisor;
template <> struct divisor<float> {
  double reciprocal;
  SPTI_DEVICE void set(double t) { reciprocal = 1 / t; }
  SPTI_DEVICE float quick(float a) const { return float(double(a) * reciprocal); }
  SPTI_DEVICE bool quick_holds(float) const { return true; }
  SPTI_DEVICE bool divides_quickly(float) const { return true; }
  SPTI_DEVICE float divide(float a, bool = false) const { return quick(a); }
};
template <> struct divisor<double> {
  double t, reciprocal, rest;
  SPTI_DEVICE void set(double value) {
    t = value;
    reciprocal = 1 / value;
    rest = fused(-t, reciprocal, 1.0) * reciprocal;
  }
  SPTI_DEVICE double quick(double a) const { return fused(a, reciprocal, a * rest); }
  SPTI_DEVICE bool quick_holds(double a) const {
    const double q = magnitude(a * reciprocal), r = magnitude(reciprocal);
    const bool safe = (r > 1e-250) & (r < 1e250), normal = (q > 1e-250) & (q < 1e250) & (magnitude(a) > 1e-250);
    return safe & (normal | (a == 0)); /* no branch for each */
  }
  /* Far from both ends of the range, nonzero, finite? It looks at the exponent only, since it is in the critical path. */
  static SPTI_DEVICE bool is_ordinary(double v) { return (uint32_t(double_bits(v) >> 52) & 0x7ff) - 193 < 1661; }
  SPTI_DEVICE bool divides_quickly(double a) const { return is_ordinary(quick(a)) & is_ordinary(a) & is_ordinary(reciprocal); }
  /* by_twice: the divisor is 2 t, which no double holds; t is then so large that the quotient isn't taken quickly. */
  SPTI_DEVICE double divide(double a, bool by_twice = false) const { return divides_quickly(a) ? quick(a) : (by_twice ? a / 2 : a) / t; }
};
template <typename R> struct divisor<complex_t<R>> {
  R ratio;
  divisor<R> denominator;
  bool mirrored, halved;
  SPTI_DEVICE void set(complex_t<R> t) {
    mirrored = !(magnitude(t.re) >= magnitude(t.im));
    ratio = mirrored ? t.re / t.im : t.im / t.re;
    double large = mirrored ? t.im : t.re, small = mirrored ? t.re : t.im;
    halved = magnitude(large) > 0x1p1022;
    if (halved) large /= 2, small /= 2;
    denominator.set(large + small * double(ratio));
  }
  SPTI_DEVICE complex_t<R> numerator(complex_t<R> a) const {
    if (mirrored) return {a.re * ratio + a.im, a.im * ratio - a.re};
    return {a.re + a.im * ratio, a.im - a.re * ratio};
  }
  SPTI_DEVICE complex_t<R> quick(complex_t<R> a) const {
    const complex_t<R> b = numerator(a);
    return {denominator.quick(b.re), denominator.quick(b.im)};
  }
  SPTI_DEVICE bool quick_holds(complex_t<R> a) const {
    const complex_t<R> b = numerator(a);
    return denominator.quick_holds(b.re) && denominator.quick_holds(b.im);
  }
  SPTI_DEVICE bool divides_quickly(complex_t<R> a) const {
    const complex_t<R> b = numerator(a);
    return denominator.divides_quickly(b.re) && denominator.divides_quickly(b.im);
  }
  SPTI_DEVICE complex_t<R> divide(complex_t<R> a) const {
    const complex_t<R> b = numerator(a);
    return {denominator.divide(b.re, halved), denominator.divide(b.im, halved)};
  }
};

template <typename T> SPTI_DEVICE T quotient(T a, T t) {
  divisor<T> d;
  d.set(t);
  return d.divide(a);
}

} // namespace spti
#endif
