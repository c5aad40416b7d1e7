/* rows.tmpl.h -- rows of WIDTH columns: x(i,:) = (b(i,:) - sum t(i,j) x(j,:)) / t(i,i), the sum in vector registers.
 * Entries are taken in solve order, so that the row solved last is needed last. Undefines WIDTH for the next inclusion.
 *
 * Complex vectors hold real and imaginary parts in turn, and two sums: of re(t) x and of im(t) x, joined at the end of the row.
 * The quotient s / d follows Smith (1962), whose scalars depend on the row alone: x = (p s + q (-i) s) / e. */

#define AT_WIDTH(f) NAME(SPTI_CAT(f, WIDTH))
#include "core/base/vector.tmpl.h"

#if SPTI_IS_COMPLEX

static inline void AT_WIDTH(divide_)(VECTOR *sum, T d) {
  R re = __real__ d, im = __imag__ d;
  bool upright = (re < 0 ? -re : re) < (im < 0 ? -im : im);
  R p = upright ? re / im : 1, q = upright ? 1 : im / re, e = upright ? re * p + im : re + im * q;
  for (int c = 0; c < COUNT; c++) sum[c] = (p * sum[c] + q * AT_WIDTH(turned_)(sum[c])) / e;
}

#endif

static void AT_WIDTH(rows_)(const spti_view *v, const int32_t *rows, int32_t begin, int32_t end, T *w, int64_t ld) {
  const T *val = v->val;
  const int32_t *idx = v->idx;
  int64_t step = v->backward ? -1 : 1;
  for (int32_t s = begin; s < end; s++) {
    int32_t i = rows ? rows[s] : spti_view_line(v, s);
    int64_t first = spti_view_begin(v, i), last = spti_view_end(v, i) - 1;
    int64_t p = v->backward ? last : first;
    VECTOR *x = (VECTOR *)(w + i * ld), sum[COUNT];
    for (int c = 0; c < COUNT; c++) sum[c] = x[c];
#if SPTI_IS_COMPLEX
    VECTOR cross[COUNT];
    for (int c = 0; c < COUNT; c++) cross[c] = (VECTOR){0};
#endif
    for (int64_t left = last - first; left >= 0; left--, p += step) {
      const VECTOR *y = (const VECTOR *)(w + idx[p] * ld);
#if SPTI_IS_COMPLEX
      R re = __real__ val[p], im = __imag__ val[p];
      for (int c = 0; c < COUNT; c++) sum[c] -= re * y[c], cross[c] += im * y[c];
#else
      for (int c = 0; c < COUNT; c++) sum[c] -= val[p] * y[c];
#endif
    }
    T d = v->unit ? 1 : val[spti_view_diagonal(v, i)];
#if SPTI_IS_COMPLEX
    R sign = v->conj ? 1 : -1; /* sum - i cross without conjugation */
    for (int c = 0; c < COUNT; c++) sum[c] -= sign * AT_WIDTH(turned_)(cross[c]);
    if (v->conj) d = CONJ(d);
    if (!v->unit) AT_WIDTH(divide_)(sum, d);
#else
    if (!v->unit)
      for (int c = 0; c < COUNT; c++) sum[c] /= d;
#endif
    for (int c = 0; c < COUNT; c++) x[c] = sum[c];
  }
}

#undef AT_WIDTH
#undef WIDTH
