/* reference.h -- the panels of `block` made on the host from a pull view, by plain loops: what the device's are compared with, and
 * what tests of the solve kernels run on. Every array is in host memory. */
#ifndef TESTS_TRSM_BLOCK_REFERENCE_H
#define TESTS_TRSM_BLOCK_REFERENCE_H

#include "core/matrix/view.h"
#include "trsm/block/gpu/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int32_t rows;   /* of a panel at most: a multiple of 16 up to 64 */
  int32_t least;  /* rows of a panel before it may end where the next row does not need it */
  int32_t window; /* columns whose places in ready order are in different windows never share a step; 0: one window */
  /* On row sums of abs(inverse) abs(block), abs = |re| + |im|, on average over a row with abs(block) as weights; trsm/block/gpu/limits.cuh
   * has each row's part in them. For what underflows see trsm/block/gpu/values_kernels.cu. */
  double bound;  /* strips up to the last row above this are refined */
  double spare;  /* factor by which the lowered limit of rows of few terms is raised */
  double refine; /* a panel above this, too, is substituted */
} block_rules;

static const block_rules BLOCK_RULES = {64, 16, 0, 100, 32, 0};

typedef struct {
  spti_block_panels panels;
  int64_t steps, tiles; /* of all panels */
  int32_t levels;       /* of the panels */
  int32_t flagged[3];   /* panels that are substituted, refined, and whose near columns are not multiplied in advance */
  int32_t *level;       /* [count] */
  int32_t *ready_at;    /* [n]: position of each place when the panels stand in `order` */
} block_reference;

/* End with block_reference_free. False: no memory. */
bool block_reference_make(block_reference *, const spti_view *, const block_rules *);
void block_reference_free(block_reference *);

#ifdef __cplusplus
}
#endif
#endif
