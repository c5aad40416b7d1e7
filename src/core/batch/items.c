/* items.c -- see items.h. */
#include "core/batch/items.h"

#include <string.h>

#include "core/base/diagonal_block.h"

#define SPTI_TEMPLATE "core/batch/items.tmpl.h"
#include "core/base/for_each_dtype.h"

void spti_items_pack(const spti_panel *W, int32_t n, sptrsm_dtype dtype, const spti_item_columns *B, const spti_edge *edge,
                     const void *alpha) {
  SPTI_SWITCH(dtype, pack)(W, n, B, edge, alpha);
}

void spti_items_unpack(const spti_item_columns *X, int32_t n, sptrsm_dtype dtype, const spti_panel *W, const spti_edge *edge) {
  SPTI_SWITCH(dtype, unpack)(X, n, W, edge);
}

void spti_items_apply_diagonal(const spti_panel *W, int32_t n, sptrsm_dtype dtype, const spti_diagonal *D, spti_op op) {
  SPTI_SWITCH(dtype, apply_diagonal)(W, n, D, op);
}

static inline void interleave(char *to, const char *const *from, const int64_t *source, int64_t count, int items, size_t bytes) {
  for (int64_t p = 0; p < count; p++) {
    const size_t at = (size_t)(source ? source[p] : p) * bytes;
    for (int v = 0; v < items; v++)
      if (from[v]) memcpy(to + ((size_t)p * (size_t)items + (size_t)v) * bytes, from[v] + at, bytes);
  }
}

void spti_items_interleave(void *to, const void *const *from, const int64_t *source, int64_t count, int items, size_t bytes) {
  const char *arrays[SPTI_ITEMS_MOST];
  for (int v = 0; v < items; v++) arrays[v] = from[v];
  switch (bytes) { /* with constant sizes a copy becomes one move instruction */
  case 4: interleave(to, arrays, source, count, items, 4); break;
  case 8: interleave(to, arrays, source, count, items, 8); break;
  default: interleave(to, arrays, source, count, items, 16);
  }
}
