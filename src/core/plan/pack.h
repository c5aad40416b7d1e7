/* pack.h -- the first and the last pass over a panel on the host, which change layout, permute and scale; and D^-1
 * between the triangles of L D U. */
#ifndef SPTI_CORE_PLAN_PACK_H
#define SPTI_CORE_PLAN_PACK_H

#include "core/plan/method.h"
#include "core/plan/pipeline.h"

/* Some columns of a dense block: element (i,k) is data[i*row_stride + k*col_stride]. */
typedef struct {
  void *data;
  int64_t row_stride, col_stride;
} spti_columns;

spti_columns spti_block_columns(const sptrsm_block *, int64_t first); /* from column `first` on */

/* W(i,k) = alpha * s(r) * B(r,k), r = map[i], for k < W->width; zero in the padding. alpha NULL: 1. */
void spti_pack(const spti_panel *W, int32_t n, sptrsm_dtype, const spti_columns *B, const spti_edge *, const void *alpha);
/* X(i,k) = s(i) * W(map[i],k) */
void spti_unpack(const spti_columns *X, int32_t n, sptrsm_dtype, const spti_panel *W, const spti_edge *);
/* W := D^-1 W, D^-T or D^-H by op, including the padding. */
void spti_apply_diagonal(const spti_panel *W, int32_t n, sptrsm_dtype, const spti_diagonal *, spti_op);

#endif
