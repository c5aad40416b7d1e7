/* diagonal_pair.cuh -- solves with a 2x2 block of the diagonal D of an LDL' factorisation. */
#ifndef SPTI_CORE_DEVICE_DIAGONAL_PAIR_CUH
#define SPTI_CORE_DEVICE_DIAGONAL_PAIR_CUH

#include "core/device/device.cuh"

namespace spti {

struct diagonal_op {
  bool transpose, conj, hermitian; /* hermitian: element (i,i+1) is conj(sub), else sub */
};

/* [[a, u], [s, d]] after elimination with the first pivot a if |a d| > |u s|, else s: rows [p, q] and [r, t]. As core/base/diagonal_block.h
 * does on the host, and for the reasons given there. */
template <typename T> struct diagonal_pair {
  T p, q, r, t, factor, pivot;
  real_of<T> scale;
  bool swap;

  SPTI_DEVICE diagonal_pair(T a, T u, T s, T d) : p(a), q(u), r(s), t(d), scale(1) {
    const bool single = sizeof(scale) == sizeof(float);
    swap = !(magnitude(a) / magnitude(u) > magnitude(s) / magnitude(d));
    if (swap) p = s, q = d, r = a, t = u;
    factor = quotient(r, p);
    if (magnitude(factor) < real_of<T>(single ? 0x1p-126 : 0x1p-1022)) {
      scale = real_of<T>(single ? 0x1p-124 : 0x1p-1020);
      factor = quotient(real_of<T>(single ? 0x1p124 : 0x1p1020) * r, p);
    }
    pivot = t - eliminated(q);
  }

  /* sub: element (i+1,i) of D. */
  SPTI_DEVICE diagonal_pair(T first, T second, T sub, diagonal_op op)
      : diagonal_pair(conj_if(op.conj, first), conj_if(op.conj != (op.hermitian && !op.transpose), sub),
                      conj_if(op.conj != (op.hermitian && op.transpose), sub), conj_if(op.conj, second)) {}

  /* (r / p) v */
  SPTI_DEVICE T eliminated(T v) const { return factor * (scale * v); }

  /* In: the two right-hand sides; out: the solutions. */
  SPTI_DEVICE void solve(T &x0, T &x1) const {
    const T b0 = swap ? x1 : x0, b1 = swap ? x0 : x1;
    x1 = quotient(b1 - eliminated(b0), pivot);
    x0 = quotient(b0 - q * x1, p);
  }
};

} // namespace spti
#endif
