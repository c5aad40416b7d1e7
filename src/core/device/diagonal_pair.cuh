/* diagonal_pair.cuh -- solves with a 2x2 block of the diagonal D of an LDL' factorisation. */
#ifndef SPTI_CORE_DEVICE_DIAGONAL_PAIR_CUH
#define SPTI_CORE_DEVICE_DIAGONAL_PAIR_CUH

#include "core/device/device.cuh"

namespace spti {

struct diagonal_op {
  bool transpose, conj, hermitian; /* hermitian: element (i,i+1) is conj(sub), else sub */
};

/* [d0 u; l d1] [x0; x1] = [b0; b1] by elimination with the first pivot d0 if |d0 d1| > |u l|, else l; as
 * core/matrix/arithmetic.tmpl.h does on the host, and for the reason given there. */
template <typename T> struct diagonal_pair {
  T d0, d1, l, u;

  /* sub: element (i+1,i) of D. */
  SPTI_DEVICE diagonal_pair(T first, T second, T sub, diagonal_op op)
      : d0(conj_if(op.conj, first)), d1(conj_if(op.conj, second)), l(conj_if(op.conj != (op.hermitian && op.transpose), sub)),
        u(conj_if(op.conj != (op.hermitian && !op.transpose), sub)) {}

  SPTI_DEVICE void solve(T x[2], T first, T second) const {
    const bool swap = !(magnitude(d0) / magnitude(u) > magnitude(l) / magnitude(d1));
    const T p = swap ? l : d0, q = swap ? d1 : u, r = swap ? d0 : l, t = swap ? u : d1;
    const T b0 = swap ? second : first, b1 = swap ? first : second;
    const T factor = quotient(r, p);
    x[1] = quotient(b1 - factor * b0, t - factor * q);
    x[0] = quotient(b0 - q * x[1], p);
  }
};

} // namespace spti
#endif
