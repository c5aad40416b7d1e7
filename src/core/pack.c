/* pack.c -- see pack.h. Strides decide the access pattern: a slab is narrow (at most 32 columns), so column-major blocks are
 * read as that many streams. */
#include "core/pack.h"

#include <math.h>

static inline float size_f32(float x) { return fabsf(x); }
static inline double size_f64(double x) { return fabs(x); }
static inline float size_c64(float _Complex x) { return fabsf(__real__ x) + fabsf(__imag__ x); }
static inline double size_c128(double _Complex x) { return fabs(__real__ x) + fabs(__imag__ x); }

#define SPTI_TEMPLATE "core/pack.tmpl.h"
#include "core/for_each_dtype.h"

spti_columns spti_block_columns(const sptrsm_block *block, int64_t first) {
  bool rows = block->layout == SPTRSM_ROW_MAJOR;
  spti_columns c = {.data = block->data, .row_stride = rows ? block->ld : 1, .col_stride = rows ? 1 : block->ld};
  if (block->data) c.data = (char *)block->data + first * c.col_stride * (int64_t)sptrsm_dtype_bytes(block->dtype);
  return c;
}

void spti_pack(const spti_panel *W, int32_t n, sptrsm_dtype dtype, const spti_columns *B, const spti_edge *edge, const void *alpha) {
  SPTI_SWITCH(dtype, pack)(W, n, B, edge, alpha);
}

void spti_unpack(const spti_columns *X, int32_t n, sptrsm_dtype dtype, const spti_panel *W, const spti_edge *edge) {
  SPTI_SWITCH(dtype, unpack)(X, n, W, edge);
}

void spti_apply_diagonal(const spti_panel *W, int32_t n, sptrsm_dtype dtype, const spti_diagonal *D, spti_op op) {
  SPTI_SWITCH(dtype, apply_diagonal)(W, n, D, op);
}
