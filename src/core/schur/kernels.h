/* kernels.h -- the dense product of schur, compiled once for each instruction set from the same source. */
#ifndef SPTI_CORE_SCHUR_KERNELS_H
#define SPTI_CORE_SCHUR_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include <sptrsm.h>

#include "core/base/isa.h"

enum { SPTI_SCHUR_GROUP = 32, SPTI_SCHUR_VECTOR = 8 }; /* columns of a group at most; the widths of groups are multiples of the second */

/* Rows that two groups have in common: `count` rows from row `left` of the one and row `right` of the other. */
typedef struct {
  int64_t left, right;
  int32_t count;
} spti_schur_segment;

/* tile += left^T right over the rows of the segments; with conj, left is conjugated. All three are row-major with the leading dimensions
 * left_ld, right_ld, right_ld; tile has left_ld rows. */
typedef void spti_schur_product(void *tile, const void *left, int32_t left_ld, const void *right, int32_t right_ld,
                                const spti_schur_segment *, int count, bool conj);

/* The kernels of an instruction set, by dtype; NULL where they were not built. */
extern spti_schur_product *const *const spti_schur_products[SPTI_ISA_COUNT];

extern spti_schur_product *const spti_schur_baseline[4];
#ifdef SPTI_X86_KERNELS
extern spti_schur_product *const spti_schur_avx2[4], *const spti_schur_avx512[4];
#endif

#endif
