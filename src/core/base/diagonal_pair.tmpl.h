/* diagonal_pair.tmpl.h -- the elimination of a 2x2 block of the diagonal D, for one type T, whose real type is R. */

/* [[a, u], [s, d]] after elimination with the first pivot a if |a d| > |u s|, else s: rows [p, q] and [r, t], the second pivot
 * t - (r / p) q. What is subtracted is then no larger than the entry that it is subtracted from, so the relative backward error of every
 * entry is small. Quotients are compared, since products may overflow or vanish; where both quotients overflow, s is taken. */
typedef struct {
  T p, q, r, t, pivot;
  T factor; /* r / p, divided by `scale`, which is 1 unless r / p is so small that it would lose digits */
  R scale;
  bool swap; /* s and d are the first row */
} NAME(spti_diagonal_pair);

static inline R NAME(spti_diagonal_pair_size)(T x) {
  const R re = __real__ x, im = __imag__ x;
  return (re < 0 ? -re : re) + (im < 0 ? -im : im);
}

/* (r / p) v */
static inline T NAME(spti_diagonal_pair_eliminated)(const NAME(spti_diagonal_pair) * b, T v) { return b->factor * (b->scale * v); }

static inline NAME(spti_diagonal_pair) NAME(spti_diagonal_pair_make)(T a, T u, T s, T d) {
  const bool single = sizeof(R) == sizeof(float);
  NAME(spti_diagonal_pair) b = {.p = a, .q = u, .r = s, .t = d, .scale = 1};
  b.swap = !(NAME(spti_diagonal_pair_size)(a) / NAME(spti_diagonal_pair_size)(u) >
             NAME(spti_diagonal_pair_size)(s) / NAME(spti_diagonal_pair_size)(d));
  if (b.swap) b.p = s, b.q = d, b.r = a, b.t = u;
  b.factor = b.r / b.p;
  if (NAME(spti_diagonal_pair_size)(b.factor) < (R)(single ? FLT_MIN : DBL_MIN)) {
    b.scale = (R)(single ? 0x1p-124 : 0x1p-1020);
    b.factor = b.r * (R)(single ? 0x1p124 : 0x1p1020) / b.p;
  }
  b.pivot = b.t - NAME(spti_diagonal_pair_eliminated)(&b, b.q);
  return b;
}

/* False where the second pivot is no larger than the rounding errors of the type, or where the factor overflows, or |re| + |im| of a pivot
 * or of the entry that the first one divides: devices add these parts. */
static inline bool NAME(spti_diagonal_pair_is_regular)(T a, T u, T s, T d) {
  const bool single = sizeof(R) == sizeof(float);
  const NAME(spti_diagonal_pair) b = NAME(spti_diagonal_pair_make)(a, u, s, d);
  const double epsilon = single ? FLT_EPSILON : DBL_EPSILON, half_of_least = single ? (double)FLT_TRUE_MIN / 2 : 0;
  const double lost = epsilon * (spti_half_size(b.t) + spti_half_size(NAME(spti_diagonal_pair_eliminated)(&b, b.q)));
  return isfinite(NAME(spti_diagonal_pair_size)(b.p)) && isfinite(NAME(spti_diagonal_pair_size)(b.r)) && spti_parts_are_finite(b.factor) &&
         isfinite(NAME(spti_diagonal_pair_size)(b.pivot)) && spti_half_size(b.pivot) > fmax(lost, half_of_least);
}
