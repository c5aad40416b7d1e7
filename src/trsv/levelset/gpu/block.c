/* block.c -- see block.h. */
#include "trsv/levelset/gpu/block.h"

#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/method.h"
#include "trsv/levelset/gpu/block_kernels.h"

typedef spti_levelset_gpu_block block;
typedef spti_levelset_gpu_step step;

/* A long row is cut into parts, a thread block each: one part for PART_ENTRIES entries of the longest row, within limits on the
 * number of parts of a row and of a level. */
enum { PART_ENTRIES = 512, PARTS_OF_A_ROW = 64, PARTS_OF_A_LEVEL = 16384 };

static int32_t parts_of(const block *b, const step *level) {
  if (level->count == 0) return 1;
  int32_t parts = (b->longest + PART_ENTRIES - 1) / PART_ENTRIES;
  if (parts > PARTS_OF_A_ROW) parts = PARTS_OF_A_ROW;
  if (parts > PARTS_OF_A_LEVEL / level->count) parts = PARTS_OF_A_LEVEL / level->count;
  return parts > 1 ? parts : 1;
}

static sptrsm_status find_columns(block *b, const sptrsm_plan *plan, const spti_pull_rows *rows) {
  SPTI_TRY(spti_alloc(plan->context, &b->column, b->entries, sizeof *b->column, "levelset columns"));
  const spti_levelset_gpu_column_args args = {.entries = b->entries, .row = rows->row, .from = rows->from, .column = b->column};
  SPTI_CUDA(spti_levelset_gpu_column_launch(&args, plan->context->stream));
  return SPTRSM_OK;
}

sptrsm_status spti_levelset_gpu_block_create(block *out, const sptrsm_plan *plan, const spti_levelset_gpu_survey *found,
                                             const spti_pull_rows *rows, int32_t longest) {
  *out = (block){.longest = longest, .entries = found->entries[found->levels]};
  SPTI_TRY(spti_host_alloc(&out->steps, found->levels, sizeof *out->steps, "levelset levels"));
  for (int32_t l = 0; l < found->levels; l++) {
    out->steps[l] = spti_levelset_gpu_wide_level(found, l);
    const int32_t count = out->steps[l].count, parts = parts_of(out, &out->steps[l]);
    if (count > out->most_long) out->most_long = count;
    if (parts > 1 && count * parts > out->most_parts) out->most_parts = count * parts;
  }
  SPTI_TRY(find_columns(out, plan, rows));
  out->count = found->levels;
  return SPTRSM_OK;
}

void spti_levelset_gpu_block_free(block *b, const sptrsm_plan *plan) {
  spti_free(plan->context, b->column);
  spti_host_free(b->steps);
}

static size_t sums_bytes(const block *b, const sptrsm_plan *plan, int32_t width) {
  return (size_t)b->most_parts * (size_t)width * sptrsm_dtype_bytes(plan->view.dtype);
}

static int32_t counters_of(const block *b, int32_t width) { return b->most_parts > 0 ? b->most_long * spti_levelset_gpu_tiles(width) : 0; }

size_t spti_levelset_gpu_block_bytes(const block *b, const sptrsm_plan *plan, int32_t panel) {
  return b->count > 0 ? sums_bytes(b, plan, panel) + (size_t)counters_of(b, panel) * sizeof(int32_t) : 0;
}

sptrsm_status spti_levelset_gpu_block_solve(const block *b, const sptrsm_plan *plan, spti_levelset_gpu_packed packed, void *x, void *sums,
                                            const spti_transfer *transfer) {
  spti_levelset_gpu_block_args args = {.dtype = plan->view.dtype,
                                       .transfer = *transfer,
                                       .row = packed.rows->row,
                                       .start = packed.rows->start,
                                       .column = b->column,
                                       .val = packed.rows->val,
                                       .diag = packed.rows->diag,
                                       .solved = transfer->to,
                                       .copies = transfer->to.scale != NULL,
                                       .partial = sums,
                                       .counters = (int32_t *)((char *)sums + sums_bytes(b, plan, transfer->width)),
                                       .counter_count = counters_of(b, transfer->width)};
  if (args.copies) args.solved = (spti_end){.data = x, .row_stride = transfer->width, .col_stride = 1};
  for (int32_t l = 0; l < b->count; l++) {
    const step *level = &b->steps[l];
    args.first = level->first;
    args.last = level->last;
    args.keep = l + 1 < b->count;
    args.long_count = level->count;
    args.long_rows = level->count ? packed.long_rows + level->at : NULL;
    args.parts = parts_of(b, level);
    SPTI_CUDA(l == 0 ? spti_levelset_gpu_first_launch(&args, plan->context->stream)
                     : spti_levelset_gpu_level_launch(&args, plan->context->stream));
  }
  return SPTRSM_OK;
}
