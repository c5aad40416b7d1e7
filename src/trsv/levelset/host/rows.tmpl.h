/* rows.tmpl.h -- the kernels of levelset on the host for one type T: for each row i of a list,
 *   x(i,:) = (b(i,:) - sum over j of t(i,j) x(j,:)) / t(i,i),
 * with the sums of WIDTH right-hand sides in vector registers (core/base/vector.tmpl.h). This file includes itself once for each WIDTH;
 * rows() divides the columns of a panel among these widths.
 *
 * With OF_ITEMS 1 the right-hand sides are those of ITEMS systems with one pattern: the vectors of a row hold the first right-hand side of
 * each system, then the second, and t(i,j) is a vector of ITEMS values. Each lane does what it does with one system. */

#ifndef WIDTH /* ---- once for each type ---- */

#define OF_ITEMS 0
#define WIDTH    1
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
#undef OF_ITEMS

#define OF_ITEMS 1
#define WIDTH    4
#include "trsv/levelset/host/rows.tmpl.h"
#define WIDTH 8
#include "trsv/levelset/host/rows.tmpl.h"
#define WIDTH 16
#include "trsv/levelset/host/rows.tmpl.h"
#define WIDTH 32
#include "trsv/levelset/host/rows.tmpl.h"
#define WIDTH 64
#include "trsv/levelset/host/rows.tmpl.h"
#undef OF_ITEMS

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

/* See spti_levelset_items. */
static void NAME(items)(const spti_view *v, const spti_item_values *items, void *data, int64_t ld, int32_t width) {
  T *w = data;
  for (int32_t k = 0, step; k < width; k += step) {
    int32_t left = width - k < WIDEST ? width - k : WIDEST;
    step = left >= 64 ? 64 : left >= 32 ? 32 : left >= 16 ? 16 : left >= 8 ? 8 : 4;
    switch (step) {
    case 64: NAME(items_64)(v, items, w + k, ld); break;
    case 32: NAME(items_32)(v, items, w + k, ld); break;
    case 16: NAME(items_16)(v, items, w + k, ld); break;
    case 8: NAME(items_8)(v, items, w + k, ld); break;
    default: NAME(items_4)(v, items, w + k, ld);
    }
  }
}

#undef SUM_BYTES
#undef WIDEST

#else /* ---- once for each type and width ---- */

#if OF_ITEMS
#define AT_WIDTH(f) NAME(SPTI_CAT(SPTI_CAT(f, items_), WIDTH))
#else
#define AT_WIDTH(f) NAME(SPTI_CAT(f, WIDTH))
#endif
#include "core/base/vector.tmpl.h"

/* What the vectors of right-hand sides are multiplied by: a number, or SPREAD vectors of the ITEMS values of an entry, of which vector c of
 * a row takes the (c % SPREAD)-th. */
#if OF_ITEMS
#define ITEMS  ((int)(SPTI_ITEM_BYTES / sizeof(T)))
#define SPREAD (WIDTH < ITEMS ? 1 : (int)(SPTI_ITEM_BYTES / BYTES))
#define FACTOR VECTOR
#else
#define ITEMS  1
#define SPREAD 1
#define FACTOR R
#endif

#if SPTI_IS_COMPLEX

/* sum / d after Smith (1962). Its scalars depend on the row alone: the quotient is (p sum + q (-i) sum) / e. */
static inline void AT_WIDTH(smith_)(R *p, R *q, R *e, R re, R im) {
  bool upright = (re < 0 ? -re : re) < (im < 0 ? -im : im);
  *p = upright ? re / im : 1, *q = upright ? 1 : im / re, *e = upright ? re * *p + im : re + im * *q;
}

static inline void AT_WIDTH(divide_)(VECTOR *sum, const T *d, bool conj) {
#if OF_ITEMS
  R scalars[3][SPREAD * LANES];
  for (int l = 0; l < SPREAD * LANES; l += 2) {
    R im = __imag__ d[l / 2];
    AT_WIDTH(smith_)(&scalars[0][l], &scalars[1][l], &scalars[2][l], __real__ d[l / 2], conj ? -im : im);
    for (int s = 0; s < 3; s++) scalars[s][l + 1] = scalars[s][l];
  }
  const VECTOR *p = (const VECTOR *)scalars[0], *q = (const VECTOR *)scalars[1], *e = (const VECTOR *)scalars[2];
#else
  R p[1], q[1], e[1];
  AT_WIDTH(smith_)(p, q, e, __real__ * d, conj ? -__imag__ * d : __imag__ * d);
#endif
  for (int c = 0; c < COUNT; c++) sum[c] = (p[c % SPREAD] * sum[c] + q[c % SPREAD] * AT_WIDTH(turned_)(sum[c])) / e[c % SPREAD];
}

/* The real and the imaginary parts of the values of an entry. */
static inline void AT_WIDTH(load_)(FACTOR *re, FACTOR *im, const T *val) {
#if OF_ITEMS
  for (int s = 0; s < SPREAD; s++) {
    const VECTOR a = ((const VECTOR *)val)[s];
    for (int l = 0; l < LANES; l += 2) {
      re[s][l] = re[s][l + 1] = a[l];
      im[s][l] = im[s][l + 1] = a[l + 1];
    }
  }
#else
  *re = __real__ * val, *im = __imag__ * val;
#endif
}

#endif

#if !SPTI_IS_COMPLEX && !OF_ITEMS

/* Subtracts from `sum` the products of `count` entries, the first at a and j; step: 1 or -1, to the next one. Where the
 * columns of a row fill one or two vectors, four products are formed before the sum takes them one by one. */
static inline __attribute__((always_inline)) void AT_WIDTH(subtract_)(VECTOR *sum, const T *a, const int32_t *j, int64_t count, const T *w,
                                                                      int64_t ld, int64_t step) {
  for (; COUNT <= 2 && count >= 4; count -= 4, a += 4 * step, j += 4 * step) {
    VECTOR product[4][COUNT];
    for (int e = 0; e < 4; e++)
      for (int c = 0; c < COUNT; c++) product[e][c] = a[e * step] * ((const VECTOR *)(w + j[e * step] * ld))[c];
    for (int e = 0; e < 4; e++)
      for (int c = 0; c < COUNT; c++) sum[c] -= product[e][c];
  }
  for (int64_t e = 0; e < count; e++)
    for (int c = 0; c < COUNT; c++) sum[c] -= a[e * step] * ((const VECTOR *)(w + j[e * step] * ld))[c];
}

/* A row's entries are taken in solve order, so that the column solved last is needed last. step: 1 forward, -1 backward. */
static inline __attribute__((always_inline)) void AT_WIDTH(rows_in_)(const spti_view *v, const int32_t *rows, int32_t begin, int32_t end,
                                                                     T *w, int64_t ld, int64_t step) {
  const int64_t *ptr = v->ptr;
  const T *val = v->val;
  const int32_t *idx = v->idx, head = v->head, tail = v->tail, n = v->n;
  const bool unit = v->unit;
  for (int32_t s = begin; s < end; s++) {
    const int32_t i = rows ? rows[s] : step > 0 ? s : n - 1 - s;
    const int64_t first = ptr[i] + head, last = ptr[i + 1] - tail, start = step > 0 ? first : last - 1;
    VECTOR *x = (VECTOR *)(w + i * ld), sum[COUNT];
    for (int c = 0; c < COUNT; c++) sum[c] = x[c];
    if (first < last) AT_WIDTH(subtract_)(sum, val + start, idx + start, last - first, w, ld, step);
    if (!unit)
      for (int c = 0; c < COUNT; c++) sum[c] /= val[head ? first - 1 : last];
    for (int c = 0; c < COUNT; c++) x[c] = sum[c];
  }
}

/* With few columns the instructions for indices and addresses are a large part of the time. So where a row has exactly WIDTH columns, ld is
 * a constant. */
static inline __attribute__((always_inline)) void AT_WIDTH(rows_by_)(const spti_view *v, const int32_t *rows, int32_t begin, int32_t end,
                                                                     T *w, int64_t ld, int64_t step) {
  if (ld != WIDTH) AT_WIDTH(rows_in_)(v, rows, begin, end, w, ld, step);
  else if (rows) AT_WIDTH(rows_in_)(v, rows, begin, end, w, WIDTH, step);
  else AT_WIDTH(rows_in_)(v, NULL, begin, end, w, WIDTH, step);
}

static void AT_WIDTH(rows_)(const spti_view *v, const int32_t *rows, int32_t begin, int32_t end, T *w, int64_t ld) {
  if (v->backward) AT_WIDTH(rows_by_)(v, rows, begin, end, w, ld, -1);
  else AT_WIDTH(rows_by_)(v, rows, begin, end, w, ld, 1);
}

#else /* complex rows, and items of any type */

/* A row's entries are taken in solve order, so that the column solved last is needed last. Complex rows have two sums, of re(t) x and of
 * im(t) x, which are joined at the end of the row. */
#if OF_ITEMS
static void AT_WIDTH()(const spti_view *v, const spti_item_values *items, T *w, int64_t ld) {
  const T *val = items->val;
  const int32_t *rows = NULL;
  const int32_t begin = 0, end = v->n;
#define POSITION(p) ((items->at ? items->at[p] : (p)) * ITEMS)
#else
static void AT_WIDTH(rows_)(const spti_view *v, const int32_t *rows, int32_t begin, int32_t end, T *w, int64_t ld) {
  const T *val = v->val;
#define POSITION(p) (p)
#endif
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
      FACTOR re[SPREAD], im[SPREAD];
      AT_WIDTH(load_)(re, im, val + POSITION(p));
      for (int c = 0; c < COUNT; c++) sum[c] -= re[c % SPREAD] * y[c], cross[c] += im[c % SPREAD] * y[c];
#else
      const FACTOR *t = (const FACTOR *)(val + POSITION(p));
      for (int c = 0; c < COUNT; c++) sum[c] -= t[c % SPREAD] * y[c];
#endif
    }
    const T *d = v->unit ? NULL : val + POSITION(spti_view_diagonal(v, i));
#if SPTI_IS_COMPLEX
    R sign = v->conj ? 1 : -1; /* sum - i cross without conjugation */
    for (int c = 0; c < COUNT; c++) sum[c] -= sign * AT_WIDTH(turned_)(cross[c]);
    if (d) AT_WIDTH(divide_)(sum, d, v->conj);
#else
    if (d)
      for (int c = 0; c < COUNT; c++) sum[c] /= ((const FACTOR *)d)[c % SPREAD];
#endif
    for (int c = 0; c < COUNT; c++) x[c] = sum[c];
  }
}

#undef POSITION
#endif

#undef ITEMS
#undef SPREAD
#undef FACTOR
#undef AT_WIDTH
#undef WIDTH
#endif
