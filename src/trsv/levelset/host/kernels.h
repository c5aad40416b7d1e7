/* kernels.h -- substitution over a list of rows of a panel, compiled once per instruction set from the same source.
 * No variant fuses a product with a sum and none reorders one, so all of them give the same bits. */
#ifndef SPTI_TRSV_LEVELSET_HOST_KERNELS_H
#define SPTI_TRSV_LEVELSET_HOST_KERNELS_H

#include "core/matrix/view.h"

/* Solves lines rows[begin..end) of a pull view, or the begin-th to the end-th in solve order where rows is NULL, for
 * `width` columns of the row-major panel w. What these lines depend on outside the list must be solved already. */
typedef void spti_levelset_rows(const spti_view *, const int32_t *rows, int32_t begin, int32_t end, void *w, int64_t ld, int32_t width);

typedef struct {
  spti_levelset_rows *rows[4]; /* by dtype */
} spti_levelset_kernels;

extern const spti_levelset_kernels spti_levelset_baseline;
#ifdef SPTI_X86_KERNELS
extern const spti_levelset_kernels spti_levelset_avx2, spti_levelset_avx512;
#endif

#endif
