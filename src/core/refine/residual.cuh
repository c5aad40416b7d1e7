/* residual.cuh -- one row of a residual, its backward error, and maxima of these. */
#ifndef SPTI_CORE_REFINE_RESIDUAL_CUH
#define SPTI_CORE_REFINE_RESIDUAL_CUH

#include "core/device/device.cuh"

namespace spti {

/* r = alpha b - op(A) x and s = |op(A)| |x| + |alpha b| in one row; it begins with r = alpha b. */
template <typename T> struct residual_row {
  T r;
  real_of<T> s;
  SPTI_DEVICE residual_row(T alpha_b) : r(alpha_b), s(magnitude(alpha_b)) {}
  /* Row i of A x, where x(j) is x[j * step]. */
  SPTI_DEVICE void subtract(const int64_t *ptr, const int32_t *idx, const T *val, int32_t conj, int64_t i, const T *x, int64_t step) {
    const int64_t end = load_const(ptr + i + 1);
    for (int64_t p = load_const(ptr + i); p < end; p++) {
      const T t = conj_if(conj, load_const(val + p)), v = load(x + load_const(idx + p) * step);
      r = r - t * v;
      s += magnitude(t) * magnitude(v);
    }
  }
};

/* The backward error of a row, by the rules of spti_residual_args. */
template <typename R> SPTI_DEVICE R backward_error(R size, R s, R tiny, R small) {
  return s > small ? size / s + (s - s) : size == 0 && s == 0 ? R(0) : (size + tiny) / (s + tiny); /* s - s: zero, else NaN */
}

/* Maxima are of the bits of numbers that are not negative, which compare like integers, with NaN as the greatest. */
SPTI_DEVICE int64_t figure(double v) { return int64_t(double_bits(v) & 0x7fffffffffffffffu); }
SPTI_DEVICE int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }
/* The maximum over the lanes of the warp that are a multiple of `lanes` apart from this one. */
SPTI_DEVICE int64_t column_maximum(int64_t v, int lanes) {
  for (int by = 16; by >= lanes; by >>= 1) v = greater(v, shfl(v, lane() ^ by));
  return v;
}

} // namespace spti
#endif
