/* limits.cuh -- limits within which products with the inverses of `block` are accurate enough: the range of a type, and how much the
 * roundings of a row may be amplified. values_kernels.cu says what is compared with them. */
#ifndef SPTI_TRSM_BLOCK_GPU_LIMITS_CUH
#define SPTI_TRSM_BLOCK_GPU_LIMITS_CUH

#include <math.h>

#include "core/device/device.cuh"
#include "trsm/block/gpu/analysis_kernels.h"

namespace spti {

/* Real numbers of T: the least and the largest normal number, and the distance of subnormal numbers. */
template <typename R> struct range;
template <> struct range<float> {
  static constexpr double LEAST = 1.1754943508222875e-38, MOST = 3.4028234663852886e38, STEP = 1.401298464324817e-45;
};
template <> struct range<double> {
  static constexpr double LEAST = 2.2250738585072014e-308, MOST = 1.7976931348623157e308, STEP = 4.9406564584124654e-324;
};
template <typename R> struct range<complex_t<R>> : range<R> {};

/* What a row is made of: the sums of the magnitudes of its entries, and of their square roots. */
struct row_terms {
  double sum, roots;
  SPTI_DEVICE void add(double m) {
    sum += m;
    roots += sqrt(m);
  }
};

/* The amplification of roundings up to which a product with the inverse is as accurate as promised. A residual is measured by one rounding
 * for each term of its row in the whole matrix, while roundings add up like the root of their number. The roundings that are amplified
 * come from the panel's rows alone, however long the row is: hence the cap, with which a row stays within 4 bounds as long as solutions are
 * of similar size. share_of_few_terms is for others. */
SPTI_DEVICE double limit_by_terms(const spti_block_values_args &a, int32_t place) {
  const spti_view &v = a.columns.view;
  if (place >= load_const(a.columns.first + a.columns.count)) return a.bound; /* beyond the last row */
  const int32_t line = v.backward ? v.n - 1 - place : place;
  const int64_t terms = load_const(v.ptr + line + 1) - load_const(v.ptr + line) - v.head - v.tail + 2;
  const double share = double(terms) / SPTI_BLOCK_TERMS;
  return share > 1 ? a.bound * share * sqrt(fmin(share, double(SPTI_BLOCK_TERMS_MOST))) : a.bound;
}

/* The part of that limit for a row that takes solutions in which others cancel. All terms of a residual may be small by chance, while the
 * roundings of what cancelled stay. Of e terms of one size all are below 10^(-8 / e) of their usual size once in 10^8 right-hand sides;
 * terms of other sizes count as e = (sum of roots)^2 / sum of them. With a.spare = 32 the limit is not lowered from e = 5.3 on. */
SPTI_DEVICE double share_of_few_terms(const spti_block_values_args &a, const row_terms &t) {
  constexpr double CHANCE = 18.420680743952367; /* ln 10^8 */
  const double roots = t.roots / sqrt(t.sum);
  return fmin(1.0, a.spare * exp(-CHANCE / (roots * roots)));
}

} // namespace spti
#endif
