/* two_blocks.h -- the host's side of two work blocks that refill each other (two_blocks.cuh): a workspace with both blocks and the control
 * words; or, in memory that others use between solves, with one block, which each solve fills. */
#ifndef SPTI_CORE_TWO_BLOCKS_TWO_BLOCKS_H
#define SPTI_CORE_TWO_BLOCKS_TWO_BLOCKS_H

#include "core/plan/plan.h"
#include "core/two_blocks/kernels.h"

typedef struct {
  void *memory; /* blocks of rows x ld, then the control words */
  int64_t rows, ld;
  bool shares_work; /* the memory has works of others between solves: one block, which each solve has filled before it; else two */
  int64_t losses;   /* the context's count of losses when the blocks were last filled by two_blocks_start */
} spti_two_blocks;

/* A method's width of panels: as many right-hand sides as two work blocks have room for, since each panel waits for all dependencies once
 * more. */
int32_t spti_two_blocks_panel(const sptrsm_plan *);
/* Device memory of two blocks of `rows` rows for up to `panel` right-hand sides. */
sptrsm_status spti_two_blocks_bytes(size_t *out, const sptrsm_plan *, int64_t rows, int32_t panel);
/* UNSUPPORTED if a row of a work block has more bytes than kernels count in 32 bits. */
sptrsm_status spti_two_blocks_check_width(int32_t panel);
/* Creates a method's workspace; *out is a spti_two_blocks. Checks the width. */
sptrsm_status spti_two_blocks_create(void **out, const sptrsm_plan *, int64_t rows, int32_t panel);
void spti_two_blocks_free(void *work, const sptrsm_plan *);
/* A workspace in memory of the caller's, of spti_two_blocks_shared_bytes, that others may use between its solves. It has one block, since
 * each solve begins by filling it. Nothing is to be freed. */
sptrsm_status spti_two_blocks_place(spti_two_blocks *out, void *memory, int64_t rows, int32_t panel);
sptrsm_status spti_two_blocks_shared_bytes(size_t *out, const sptrsm_plan *, int64_t rows, int32_t panel);
/* The same for a method's spti_shared_work: *out is a spti_two_blocks, which spti_two_blocks_free frees without the memory. */
sptrsm_status spti_two_blocks_create_in(void **out, void *memory, int64_t rows, int32_t panel);
/* To be called before a solve of `width` right-hand sides: fills the blocks anew if a dependency was lost since they were filled. If others
 * use the memory, it fills the block, whose ld becomes what the width needs. *out is for the solve's kernel. */
sptrsm_status spti_two_blocks_ready(spti_syncfree *out, spti_two_blocks *, const sptrsm_plan *, int32_t width);

#endif
