/* kernels.h -- the kernels of block on the host, compiled once for each instruction set from the same source. */
#ifndef SPTI_TRSM_BLOCK_HOST_KERNELS_H
#define SPTI_TRSM_BLOCK_HOST_KERNELS_H

#include "trsm/block/host/nodes.h"

/* What a kernel works on, in place: `width` columns; w: the row of place 0; step: values from one place to the next, negative where places
 * count backwards. unit: diagonals are one and not read. */
typedef struct {
  const spti_nodes *nodes;
  const void *val;
  void *w;
  int64_t step;
  int32_t width;
  bool unit;
} spti_block_host_panel;

/* Solves nodes [begin, end), of which a pushed one updates the first `most` places of its list, or all if these are fewer. */
typedef void spti_block_host_solve(const spti_block_host_panel *, int32_t begin, int32_t end, int32_t most);

/* Updates the places [from, to) in the list of a pushed node that was solved. */
typedef void spti_block_host_push(const spti_block_host_panel *, int32_t node, int32_t from, int32_t to);

typedef struct {
  spti_block_host_solve *solve[4]; /* by dtype */
  spti_block_host_push *push[4];
} spti_block_host_kernels;

extern const spti_block_host_kernels spti_block_host_baseline;
#ifdef SPTI_X86_KERNELS
extern const spti_block_host_kernels spti_block_host_avx2, spti_block_host_avx512;
#endif

#endif
