/* two_blocks.h -- the host's side of two work blocks that refill each other (core/two_blocks/two_blocks.cuh): a workspace of both and of the words
 * that their solves are controlled by. */
#ifndef SPTI_CORE_TWO_BLOCKS_TWO_BLOCKS_H
#define SPTI_CORE_TWO_BLOCKS_TWO_BLOCKS_H

#include "core/device/launch.h"
#include "core/plan/plan.h"

typedef struct {
  void *memory; /* two blocks of rows x ld, then the control words */
  int64_t rows, ld;
  int64_t losses; /* of the context, when the memory was last made whole */
} spti_two_blocks;

/* Right-hand sides of a panel, for a method's `panel`: as many as two work blocks have room for, since dependencies are waited for once
 * per panel. */
int32_t spti_two_blocks_panel(const sptrsm_plan *);
/* Device memory of two blocks of `rows` rows for up to `panel` right-hand sides. */
sptrsm_status spti_two_blocks_bytes(size_t *out, const sptrsm_plan *, int64_t rows, int32_t panel);
/* A method's work, *out is a spti_two_blocks. UNSUPPORTED where a row would have more bytes than kernels count in 32 bits. */
sptrsm_status spti_two_blocks_create(void **out, const sptrsm_plan *, int64_t rows, int32_t panel);
void spti_two_blocks_free(void *work, const sptrsm_plan *);
/* Before a solve: fills the blocks anew if a dependency was lost since they were whole. *out: what the solve is controlled by. */
sptrsm_status spti_two_blocks_ready(spti_syncfree *out, spti_two_blocks *, const sptrsm_plan *);

#endif
