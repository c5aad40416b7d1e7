/* product.tmpl.h -- the kernel of the dense product for one type T: ROWS rows and WIDTH columns of the tile are held in vector registers,
 * and each common row adds the product of a column of numbers and a row of vectors. Groups of columns are row-major, which is the form
 * that matrices are packed into by other libraries before they are multiplied. This file includes itself once for each WIDTH. */

#ifndef WIDTH /* ---- once for each type ---- */

typedef struct {
  T *tile;
  const T *left, *right;
  int64_t left_ld, right_ld;
  const spti_schur_segment *segments;
  int count;
  bool conj;
} NAME(operands);

#define WIDTH 8
#include "core/schur/product.tmpl.h"
#define WIDTH 16
#include "core/schur/product.tmpl.h"

/* See spti_schur_product. */
static void NAME(product)(void *tile, const void *left, int32_t left_ld, const void *right, int32_t right_ld,
                          const spti_schur_segment *segments, int count, bool conj) {
  for (int32_t l = 0; l < right_ld;) {
    const NAME(operands) o = {(T *)tile + l, left, (const T *)right + l, left_ld, right_ld, segments, count, conj};
    if (right_ld - l >= 16) NAME(columns_16)(&o), l += 16;
    else NAME(columns_8)(&o), l += 8;
  }
}

#else /* ---- once for each WIDTH ---- */

#define AT_WIDTH(f) NAME(SPTI_CAT(f, WIDTH))
#include "core/base/vector.tmpl.h"

#define NEEDED ((int)(COUNT * (SPTI_IS_COMPLEX ? 2 : 1)))
#define ROWS   (SUM_VECTORS >= 8 * NEEDED ? 8 : SUM_VECTORS >= 4 * NEEDED ? 4 : SUM_VECTORS >= 2 * NEEDED ? 2 : 1)

/* Rows [k, k + ROWS) of the tile. A complex sum has two parts, of re(a) y and of im(a) y, joined at the end. */
static inline __attribute__((always_inline)) void AT_WIDTH(rows_)(const NAME(operands) * o, int64_t k) {
  VECTOR re[ROWS][COUNT] = {0};
#if SPTI_IS_COMPLEX
  VECTOR im[ROWS][COUNT] = {0};
#endif
  for (const spti_schur_segment *s = o->segments; s < o->segments + o->count; s++) {
    const T *a = o->left + s->left * o->left_ld + k, *b = o->right + s->right * o->right_ld;
    for (int32_t i = 0; i < s->count; i++, a += o->left_ld, b += o->right_ld) {
      VECTOR y[COUNT];
#pragma GCC unroll 8
      for (int c = 0; c < COUNT; c++) y[c] = ((const VECTOR *)b)[c];
#pragma GCC unroll 128
      for (int v = 0; v < ROWS * COUNT; v++) {
        const int r = v / COUNT, c = v % COUNT;
#if SPTI_IS_COMPLEX
        re[r][c] += __real__ a[r] * y[c];
        im[r][c] += __imag__ a[r] * y[c];
#else
        re[r][c] += a[r] * y[c];
#endif
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
    for (int c = 0; c < COUNT; c++) {
      VECTOR *to = (VECTOR *)(o->tile + (k + r) * o->right_ld) + c;
#if SPTI_IS_COMPLEX
      const VECTOR turned = AT_WIDTH(turned_)(im[r][c]);
      *to += o->conj ? re[r][c] + turned : re[r][c] - turned;
#else
      *to += re[r][c];
#endif
    }
}

static void AT_WIDTH(columns_)(const NAME(operands) * o) {
  for (int64_t k = 0; k < o->left_ld; k += ROWS) AT_WIDTH(rows_)(o, k);
}

#undef NEEDED
#undef ROWS
#undef AT_WIDTH
#undef WIDTH
#endif
