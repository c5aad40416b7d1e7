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

static inline R NAME(size)(T x) {
  const R re = __real__ x, im = __imag__ x;
  return (re < 0 ? -re : re) + (im < 0 ? -im : im);
}

/* Solves with the 2x2 block [[a, u], [s, d]] of two rows w0 and w1, whose values lie `step` apart; u is s, or its conjugate if the block is
 * Hermitian. Elimination with the first pivot a if |a d| > |u s|, else s: what is subtracted for the second pivot is then no larger than
 * the entry that it is subtracted from, so the relative backward error of every entry is small. Quotients are compared, since products
 * may overflow or vanish; where both quotients overflow, s is taken. core/base/diagonal_block.h refuses blocks whose factor r / p
 * overflows, or whose second pivot overflows or is lost in rounding. */
static inline void NAME(solve_2x2)(T *w0, T *w1, int32_t width, int64_t step, T a, T below, T d, bool hermitian, spti_op op) {
  const T above = hermitian ? CONJ(below) : below;
  T u = op.transpose ? below : above, s = op.transpose ? above : below;
  if (op.conj) a = CONJ(a), u = CONJ(u), s = CONJ(s), d = CONJ(d);
  const bool swap = !(NAME(size)(a) / NAME(size)(u) > NAME(size)(s) / NAME(size)(d));
  const T p = swap ? s : a, q = swap ? d : u, r = swap ? a : s, t = swap ? u : d;
  const T factor = r / p, pivot = t - factor * q;
  for (int64_t k = 0; k < width * step; k += step) {
    const T b0 = swap ? w1[k] : w0[k], b1 = swap ? w0[k] : w1[k];
    const T x1 = (b1 - factor * b0) / pivot;
    w0[k] = (b0 - q * x1) / p;
    w1[k] = x1;
  }
}
