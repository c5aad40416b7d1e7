/* rows.tmpl.h -- the kernels of levelset on the host for one type T: for each row i of a list,
 *   x(i,:) = (b(i,:) - sum over j of t(i,j) x(j,:)) / t(i,i),
 * with the sums of WIDTH right-hand sides in vector registers (core/base/vector.tmpl.h). This file includes itself once for each WIDTH;
 * rows() divides the columns of a panel among these widths. */

#ifndef WIDTH /* ---- once for each type ---- */

#define WIDTH 1
#include "trsv/levelset/host/rows.tmpl.h"
#define WIDTH 2
#include "trsv/levelset/host/rows.tmpl.h"
#define WIDTH 4
#include "trsv/levelset/host/rows.tmpl.h"
#define WIDTH 8
#include "trsv/levelset/host/rows.tmpl.h"
#define WIDTH 16
#include "trsv/levelset/host/rows.tmpl.h"
#define WIDTH 32
#include "trsv/levelset/host/rows.tmpl.h"

/* The largest width whose sums take at most half of the vector registers: 8 of 16 up to AVX2, 16 of 32 with AVX-512. A complex row has
 * two sums. */
#define SUM_BYTES ((VECTOR_BYTES == 64 ? 16 : 8) * VECTOR_BYTES)
#define WIDEST    ((int32_t)(SUM_BYTES / sizeof(T) / (SPTI_IS_COMPLEX ? 2 : 1)))

/* See spti_levelset_rows. */
static void NAME(rows)(const spti_view *v, const int32_t *rows, int32_t begin, int32_t end, void *data, int64_t ld, int32_t width) {
  T *w = data;
  for (int32_t k = 0, step; k < width; k += step) {
    int32_t left = width - k < WIDEST ? width - k : WIDEST;
    step = left >= 32 ? 32 : left >= 16 ? 16 : left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    switch (step) {
    case 32: NAME(rows_32)(v, rows, begin, end, w + k, ld); break;
    case 16: NAME(rows_16)(v, rows, begin, end, w + k, ld); break;
    case 8: NAME(rows_8)(v, rows, begin, end, w + k, ld); break;
    case 4: NAME(rows_4)(v, rows, begin, end, w + k, ld); break;
    case 2: NAME(rows_2)(v, rows, begin, end, w + k, ld); break;
    default: NAME(rows_1)(v, rows, begin, end, w + k, ld);
    }
  }
}

#undef SUM_BYTES
#undef WIDEST

#else /* ---- once for each type and width ---- */

#define AT_WIDTH(f) NAME(SPTI_CAT(f, WIDTH))
#include "core/base/vector.tmpl.h"

#if SPTI_IS_COMPLEX

/* sum / d after Smith (1962). Its scalars depend on the row alone: the quotient is (p sum + q (-i) sum) / e. */
static inline void AT_WIDTH(divide_)(VECTOR *sum, T d) {
  R re = __real__ d, im = __imag__ d;
  bool upright = (re < 0 ? -re : re) < (im < 0 ? -im : im);
  R p = upright ? re / im : 1, q = upright ? 1 : im / re, e = upright ? re * p + im : re + im * q;
  for (int c = 0; c < COUNT; c++) sum[c] = (p * sum[c] + q * AT_WIDTH(turned_)(sum[c])) / e;
}

#endif

/* A row's entries are taken in solve order, so that the column solved last is needed last. Complex rows have two sums, of re(t) x and of
 * im(t) x, which are joined at the end of the row. */
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
#endif
