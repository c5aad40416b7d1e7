/* solve.tmpl.h -- kernels of levelset for one type T: one per width, and the split of any width into those. */

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

/* The widest kernel whose sums leave registers free. */
#define WIDEST ((int32_t)(SUM_VECTORS * VECTOR_BYTES / sizeof(T) / (SPTI_IS_COMPLEX ? 2 : 1)))

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

#undef WIDEST
