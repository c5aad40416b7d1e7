/* arithmetic.tmpl.h -- what the passes over a panel do with its values, for one type T. The panels of core/plan/pack.c and those
 * of core/batch/items.c have different orders, and the same bits. */

/* alpha * s * value, the scaling first. scale and alpha may be NULL: 1. */
static inline T NAME(scaled)(T value, const double *scale, bool divide, const void *alpha) {
  if (scale) value = divide ? value / (R)*scale : value * (R)*scale;
  return alpha ? *(const T *)alpha * value : value;
}

/* Two neighbours of a row of a panel: two numbers, or the parts of a complex one. Explicit vectors for what has to be gathered and divided,
 * which GCC would divide one by one. */
typedef R NAME(pair) __attribute__((vector_size(2 * sizeof(R)), aligned(sizeof(R))));
enum { NAME(pair_columns) = 2 * sizeof(R) / sizeof(T) };
#if SPTI_IS_COMPLEX
static inline NAME(pair) NAME(gather)(const T *first, const T *second) {
  (void)second;
  return (NAME(pair)){__real__ * first, __imag__ * first};
}
#else
static inline NAME(pair) NAME(gather)(const T *first, const T *second) { return (NAME(pair)){*first, *second}; }
#endif

/* Solves with the 2x2 block [[a, above], [below, d]] of two rows w0 and w1, whose values lie `step` apart; `above` is `below`, or its
 * conjugate if the block is Hermitian. */
static inline void NAME(solve_2x2)(T *w0, T *w1, int32_t width, int64_t step, T a, T below, T d, bool hermitian, spti_op op) {
  const T above = hermitian ? CONJ(below) : below;
  T u = op.transpose ? below : above, s = op.transpose ? above : below;
  if (op.conj) a = CONJ(a), u = CONJ(u), s = CONJ(s), d = CONJ(d);
  const NAME(spti_diagonal_pair) b = NAME(spti_diagonal_pair_make)(a, u, s, d);
  for (int64_t k = 0; k < width * step; k += step) {
    const T b0 = b.swap ? w1[k] : w0[k], b1 = b.swap ? w0[k] : w1[k];
    const T x1 = (b1 - NAME(spti_diagonal_pair_eliminated)(&b, b0)) / b.pivot;
    w0[k] = (b0 - b.q * x1) / b.p;
    w1[k] = x1;
  }
}
