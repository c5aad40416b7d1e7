/* kernels.h -- the kernels of levelset on the host: substitution over a list of rows of a panel.
 * They are compiled from one source, rows.tmpl.h, for each value type and each instruction set (baseline.c, avx2.c, avx512.c). No
 * instruction set fuses a product with a sum or reorders the terms of a sum, so all of them give the same bits. */
#ifndef SPTI_TRSV_LEVELSET_HOST_KERNELS_H
#define SPTI_TRSV_LEVELSET_HOST_KERNELS_H

#include "core/plan/method.h"

/* Solves rows of a pull view for `width` columns of the row-major panel w, whose rows are ld values apart: rows[begin..end), or the
 * begin-th to the end-th row in solve order where rows is NULL. Rows outside the list that they depend on must be solved already. */
typedef void spti_levelset_rows(const spti_view *, const int32_t *rows, int32_t begin, int32_t end, void *w, int64_t ld, int32_t width);

/* Solves all rows of a pull view for a group of several items: see spti_method.solve_items. Reads no value of the view. */
typedef void spti_levelset_items(const spti_view *, const spti_item_values *, void *w, int64_t ld, int32_t width);

extern spti_levelset_rows *const spti_levelset_baseline[4]; /* by dtype */
extern spti_levelset_items *const spti_levelset_items_baseline[4];
#ifdef SPTI_X86_KERNELS
extern spti_levelset_rows *const spti_levelset_avx2[4], *const spti_levelset_avx512[4];
extern spti_levelset_items *const spti_levelset_items_avx2[4], *const spti_levelset_items_avx512[4];
#endif

#endif
