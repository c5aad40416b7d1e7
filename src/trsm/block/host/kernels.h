/* kernels.h -- the kernels of block on the host, compiled once for each instruction set from the same source. */
#ifndef SPTI_TRSM_BLOCK_HOST_KERNELS_H
#define SPTI_TRSM_BLOCK_HOST_KERNELS_H

#include "trsm/block/host/nodes.h"

/* Solves nodes [begin, end) for `width` columns in place. w: the row of place 0; step: values from one place to the next, negative where
 * places count backwards. unit: diagonals are one and not read. */
typedef void spti_block_host_solve(const spti_nodes *, const void *val, int32_t begin, int32_t end, bool unit, void *w, int64_t step,
                                   int32_t width);

typedef struct {
  spti_block_host_solve *solve[4]; /* by dtype */
} spti_block_host_kernels;

extern const spti_block_host_kernels spti_block_host_baseline;
#ifdef SPTI_X86_KERNELS
extern const spti_block_host_kernels spti_block_host_avx2, spti_block_host_avx512;
#endif

#endif
