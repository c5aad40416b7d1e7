/* interleaved_solve.c -- solves of a uniform batch on a GPU: one launch for blocks in device memory. Blocks in host memory go
 * through staging buffers, as many items and columns at a time as these hold. */
#include "core/base/dtype.h"
#include "core/batch/gpu/interleaved.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/pipeline.h"

/* Bytes of a staging buffer, if one column of an item does not take more. */
#ifndef SPTI_BATCH_STAGE
#define SPTI_BATCH_STAGE (64 << 20)
#endif
enum { WORK_BYTES = 1 << 30 };

/* ---- what a system needs ---- */

/* The triangle of a stage and the operation on it: U = L^T and U = L^H are read from L. */
static spti_batch_triangle *triangle_of(spti_batch_interleaved *s, spti_op *op, const spti_system_stage *stage) {
  const bool mirrored = stage->factor == SPTI_U && s->u_kind != SPTRSM_U_GIVEN;
  *op = stage->op;
  if (mirrored) op->transpose = !op->transpose;
  if (mirrored && s->u_kind == SPTRSM_U_IS_LH) op->conj = !op->conj;
  return &s->triangle[stage->factor == SPTI_U && !mirrored];
}

static sptrsm_status need_order(sptrsm_batch *b, const spti_system_stage *stage) {
  spti_op op;
  spti_batch_triangle *t = triangle_of(b->state, &op, stage);
  if (stage->factor == SPTI_D || t->of[op.transpose].made) return SPTRSM_OK;
  SPTI_TRY(spti_gpu_refuse_capture(b->context, "the analysis of a batch"));
  SPTI_TRY(spti_batch_order_create(t, b, op.transpose));
  return spti_batch_interleaved_turn(b, t, 0, b->count);
}

static size_t column_bytes(const sptrsm_batch *b) {
  const spti_batch_interleaved *s = b->state;
  return ((size_t)b->n << s->log_group) * sptrsm_dtype_bytes(b->dtype);
}

/* Do 2^log columns of a group fit the shared memory of a thread block? One column may take all of it, more must leave room for other thread
 * blocks: device memory with many of these is faster than shared memory with one. */
static bool fits_shared(const sptrsm_batch *b, int32_t log) {
  const spti_batch_interleaved *s = b->state;
  const size_t shared = log == 0 ? b->context->shared_bytes : b->context->shared_bytes / BLOCKS_OF_A_MULTIPROCESSOR;
  return s->shared && column_bytes(b) << log <= shared;
}

/* The least columns of a work block: as many as a lane takes, unless solves have fewer. */
static int32_t least_panel(const sptrsm_batch *b) {
  const spti_batch_interleaved *s = b->state;
  const int64_t hint = b->options.nrhs_hint;
  if ((hint > 0 && hint < 1 << SPTI_BATCH_LOG_LANE_COLUMNS) || (s->panel > 0 && s->panel < 1 << SPTI_BATCH_LOG_LANE_COLUMNS)) return 0;
  return SPTI_BATCH_LOG_LANE_COLUMNS;
}

/* Work blocks in device memory where shared memory is too small, for as many thread blocks as the device holds. */
static sptrsm_status need_work(sptrsm_batch *b) {
  spti_batch_interleaved *s = b->state;
  const int32_t log = least_panel(b);
  if (s->work || b->n == 0 || fits_shared(b, log)) return SPTRSM_OK;
  const size_t block = column_bytes(b) << log;
  const size_t limit = b->options.memory_limit;
  int64_t blocks = BLOCKS_OF_A_MULTIPROCESSOR * spti_batch_multiprocessors(b) + 1;
  if (blocks > (int64_t)(WORK_BYTES / block) + 1) blocks = (int64_t)(WORK_BYTES / block) + 1;
  if (limit > 0 && limit < block && fits_shared(b, 0)) return SPTRSM_OK;
  if (limit > 0 && limit < block)
    return spti_fail(SPTRSM_ERR_MEMORY, "a work block of %d rows takes %zu bytes, the limit is %zu: allow that much, or use smaller groups",
                     b->n, block, limit);
  if (limit > 0 && blocks > (int64_t)(limit / block)) blocks = (int64_t)(limit / block);
  SPTI_TRY(spti_alloc(b->context, &s->work, blocks, block, "work blocks of a batch"));
  s->log_work_panel = log;
  s->work_blocks = blocks;
  s->work_bytes += block * (size_t)blocks;
  return SPTRSM_OK;
}

sptrsm_status spti_batch_interleaved_prepare(sptrsm_batch *b, const spti_system_steps *steps) {
  if (b->count == 0) return SPTRSM_OK;
  for (int i = 0; i < steps->count; i++) SPTI_TRY(need_order(b, &steps->stages[i]));
  return need_work(b);
}

/* ---- arguments ---- */

static spti_batch_end end_of(const spti_batch_interleaved *s, const spti_system_edge *e, bool first) {
  if (e->side == SPTI_NO_SIDE) return (spti_batch_end){0};
  const int which = e->side == SPTI_COL_SIDE;
  const spti_side *side = &s->sides[which];
  return (spti_batch_end){
      .map = e->transpose == first ? side->map : side->inverse, .scale = e->scaled ? s->scale[which] : NULL, .divide = side->divide};
}

static spti_batch_stage stage_of(spti_batch_interleaved *s, const spti_system_stage *stage, bool complex) {
  spti_op op = stage->op;
  if (stage->factor == SPTI_D)
    return (spti_batch_stage){.is_diagonal = 1,
                              .conj = op.conj && complex,
                              .transpose = op.transpose,
                              .hermitian = s->hermitian,
                              .diag = s->D[0],
                              .sub = s->D[1]};
  const spti_batch_triangle *t = triangle_of(s, &op, stage);
  const spti_batch_order_of *o = &t->of[op.transpose];
  return (spti_batch_stage){.conj = op.conj && complex,
                            .diag = t->diag,
                            .levels = o->levels,
                            .level = o->level,
                            .row = o->row,
                            .start = o->start,
                            .column = o->column,
                            .val = o->val,
                            .entries = o->entries};
}

/* Columns of a work block, a power of two, and where it is. Shared memory with fewer columns than a lane can take is slower than device
 * memory, because each value would be read again and again. */
static void choose_panel(spti_batch_solve_args *a, const sptrsm_batch *b) {
  const spti_batch_interleaved *s = b->state;
  const int64_t most = s->panel > 0 && s->panel < a->items.nrhs ? s->panel : a->items.nrhs;
  int32_t log_most = 0, log = 0;
  while (log_most < SPTI_BATCH_LOG_PANEL_MOST && (1 << log_most) < most) log_most++;
  while (log < log_most && fits_shared(b, log + 1)) log++;
  const bool shared = !s->work || (fits_shared(b, log) && (log == log_most || log >= SPTI_BATCH_LOG_LANE_COLUMNS));
  a->log_panel = shared ? log : log_most < s->log_work_panel ? log_most : s->log_work_panel;
  a->work = shared ? NULL : s->work;
}

/* As many threads as an average level has work for, and more where there are few thread blocks. */
static int32_t choose_threads(const sptrsm_batch *b, const spti_batch_solve_args *a) {
  const spti_batch_interleaved *s = b->state;
  int64_t levels = 1, rows = 1;
  if (s->threads > 0) return s->threads;
  for (int i = 0; i < a->stage_count; i++) {
    if (a->stages[i].is_diagonal) continue;
    levels += a->stages[i].levels;
    rows += a->n;
  }
  const int64_t lanes = 2 * (rows / levels + 1) << (a->log_group + (a->log_panel >= 2 ? a->log_panel - 2 : a->log_panel));
  int32_t threads = 64;
  while (threads < SPTI_BATCH_THREADS_MOST && threads < lanes) threads *= 2;
  const int64_t blocks = s->groups * (((a->items.nrhs - 1) >> a->log_panel) + 1);
  const bool few = blocks < 2 * BLOCKS_OF_A_MULTIPROCESSOR * spti_batch_multiprocessors(b);
  return few && threads < SPTI_BATCH_THREADS_MOST ? 2 * threads : threads;
}

static void choose_blocks(spti_batch_solve_args *a, const spti_batch_interleaved *s) {
  const spti_batch_items *items = &a->items;
  const int64_t panels = ((items->nrhs - 1) >> a->log_panel) + 1;
  const int64_t groups = ((items->first + items->count - 1) >> a->log_group) - (items->first >> a->log_group) + 1;
  a->blocks = groups * panels;
  if (a->work && a->blocks > s->work_blocks) a->blocks = s->work_blocks;
}

/* Everything but the blocks. */
static void make_args(spti_batch_solve_args *a, const sptrsm_batch *b, const spti_batch_call *call, const spti_batch_items *items) {
  spti_batch_interleaved *s = b->state;
  *a = (spti_batch_solve_args){.n = b->n,
                               .log_group = s->log_group,
                               .items = *items,
                               .from = end_of(s, &call->steps.first, true),
                               .to = end_of(s, &call->steps.last, false)};
  choose_panel(a, b);
  spti_split_alpha(a->alpha, call->alpha, b->dtype);
  for (int i = 0; i < call->steps.count; i++) {
    if (call->steps.stages[i].factor == SPTI_D && !s->D[0]) continue; /* the identity */
    a->stages[a->stage_count++] = stage_of(s, &call->steps.stages[i], spti_is_complex(b->dtype));
  }
  a->threads = choose_threads(b, a);
}

/* ---- blocks ---- */

/* The items [first, first + items), and their columns [column, column + width). */
typedef struct {
  int64_t first, items, column, width;
} portion;

typedef struct {
  const sptrsm_batch_block *block;
  spti_batch_place whole; /* of blocks in device memory */
  void *staging;          /* of blocks in host memory */
} side;

static sptrsm_status open_side(side *out, sptrsm_batch *b, const sptrsm_batch_block *block, bool is_X) {
  spti_batch_interleaved *s = b->state;
  *out = (side){.block = block};
  if (block->place == SPTRSM_CUDA) return spti_batch_device_place(&out->whole, &s->device, b, block, is_X);
  SPTI_TRY(spti_gpu_refuse_capture(b->context, "blocks in host memory"));
  out->staging = s->staging[is_X];
  return SPTRSM_OK;
}

/* A portion of a block as the kernel reads it. */
static spti_batch_place place_of(const sptrsm_batch *b, const side *s, const portion *p) {
  spti_batch_place at = s->whole;
  if (s->staging) {
    const bool rows = s->block->layout == SPTRSM_ROW_MAJOR;
    return (spti_batch_place){.data = s->staging,
                              .stride = spti_batch_is_shared(s->block) ? 0 : b->n * p->width,
                              .ld = rows ? p->width : b->n,
                              .row_major = rows};
  }
  at.first_column = p->column;
  if (at.data_of) at.data_of += p->first;
  else at.data = (char *)at.data + p->first * at.stride * (int64_t)sptrsm_dtype_bytes(b->dtype);
  return at;
}

/* Do the items of the portion lie in host memory as they do in the staging buffer? */
static bool is_dense(const sptrsm_batch *b, const side *s, const portion *p) {
  const sptrsm_batch_block *block = s->block;
  const int64_t ld = block->layout == SPTRSM_ROW_MAJOR ? block->nrhs : b->n;
  const bool regular = !block->data_of && !block->ld_of && !block->nrhs_of;
  return regular && p->width == block->nrhs && block->ld == ld && block->stride == b->n * block->nrhs;
}

static sptrsm_status move_all(const sptrsm_batch *b, const side *s, const portion *p, spti_direction direction) {
  const size_t item = (size_t)b->n * (size_t)p->width * sptrsm_dtype_bytes(b->dtype), total = item * (size_t)p->items;
  void *host = (char *)s->block->data + item * (size_t)p->first;
  if (direction == SPTI_TO_DEVICE) return spti_gpu_copy(b->context, s->staging, total, host, total, total, 1, direction);
  return spti_gpu_copy(b->context, host, total, s->staging, total, total, 1, direction);
}

/* solved[i]: is item i solved by this call? */
static sptrsm_status bring(const sptrsm_batch *b, const side *s, const portion *p, const uint8_t *solved, spti_direction direction) {
  if (!s->staging) return SPTRSM_OK;
  const size_t item = (size_t)b->n * (size_t)p->width * sptrsm_dtype_bytes(b->dtype);
  bool all = is_dense(b, s, p);
  if (spti_batch_is_shared(s->block)) return spti_batch_device_move(b, s->block, 0, p->column, p->width, s->staging, direction);
  for (int64_t i = p->first; i < p->first + p->items && all; i++) all = solved[i];
  if (all) return move_all(b, s, p, direction);
  for (int64_t i = p->first; i < p->first + p->items; i++) {
    char *at = (char *)s->staging + item * (size_t)(i - p->first);
    if (solved[i]) SPTI_TRY(spti_batch_device_move(b, s->block, i, p->column, p->width, at, direction));
  }
  return SPTRSM_OK;
}

/* ---- the run ---- */

static sptrsm_status run_portion(sptrsm_batch *b, spti_batch_solve_args *a, const side *from, const side *to, const portion *p) {
  a->from.place = place_of(b, from, p);
  a->to.place = place_of(b, to, p);
  a->items.first = p->first;
  a->items.count = p->items;
  a->items.first_column = p->column;
  a->items.nrhs = p->width;
  choose_blocks(a, b->state);
  SPTI_CUDA(spti_batch_solve_launch(a, b->dtype, b->context->stream));
  return SPTRSM_OK;
}

static sptrsm_status need_staging(sptrsm_batch *b, const spti_batch_call *call, const portion *p) {
  spti_batch_interleaved *s = b->state;
  const sptrsm_batch_block *const blocks[2] = {call->B, call->X};
  for (int i = 0; i < 2; i++) {
    if (blocks[i]->place == SPTRSM_CUDA) continue;
    spti_free(b->context, s->staging[i]);
    s->staging[i] = NULL;
    SPTI_TRY(spti_alloc(b->context, &s->staging[i], p->items * p->width, (size_t)b->n * sptrsm_dtype_bytes(b->dtype), "staging buffer"));
  }
  return SPTRSM_OK;
}

/* As much as the staging buffers hold: all columns of some items, or some columns of one item. */
static portion largest_portion(const sptrsm_batch *b, int64_t nrhs) {
  const int64_t column = (int64_t)b->n * (int64_t)sptrsm_dtype_bytes(b->dtype), most = SPTI_BATCH_STAGE / column + 1;
  if (most < nrhs) return (portion){.items = 1, .width = most};
  const int64_t items = most / nrhs;
  return (portion){.items = items < b->count ? items : b->count, .width = nrhs};
}

static sptrsm_status run_by_staging(sptrsm_batch *b, const spti_batch_call *call, spti_batch_solve_args *a, const uint8_t *solved) {
  const int64_t nrhs = a->items.nrhs;
  const portion most = largest_portion(b, nrhs);
  side from, to;
  SPTI_TRY(need_staging(b, call, &most));
  SPTI_TRY(open_side(&from, b, call->B, false));
  SPTI_TRY(open_side(&to, b, call->X, true));
  for (int64_t i = 0; i < b->count; i += most.items)
    for (int64_t k = 0; k < nrhs; k += most.width) {
      const portion p = {.first = i,
                         .items = b->count - i < most.items ? b->count - i : most.items,
                         .column = k,
                         .width = nrhs - k < most.width ? nrhs - k : most.width};
      SPTI_TRY(bring(b, &from, &p, solved, SPTI_TO_DEVICE));
      SPTI_TRY(run_portion(b, a, &from, &to, &p));
      SPTI_TRY(bring(b, &to, &p, solved, SPTI_TO_HOST));
    }
  return SPTRSM_OK;
}

static sptrsm_status run(sptrsm_batch *b, const spti_batch_call *call, const spti_batch_items *items) {
  spti_batch_solve_args a;
  make_args(&a, b, call, items);
  if (call->B->place == SPTRSM_HOST || call->X->place == SPTRSM_HOST) {
    uint8_t *solved;
    SPTI_TRY(spti_batch_interleaved_look(b));
    SPTI_TRY(spti_batch_device_solved(&solved, b, call->run));
    const sptrsm_status status = run_by_staging(b, call, &a, solved);
    spti_host_free(solved);
    return status;
  }
  side from, to;
  SPTI_TRY(open_side(&from, b, call->B, false));
  SPTI_TRY(open_side(&to, b, call->X, true));
  return run_portion(b, &a, &from, &to, &(portion){.items = b->count, .width = items->nrhs});
}

sptrsm_status spti_batch_interleaved_solve(sptrsm_batch *b, const spti_batch_call *call) {
  spti_batch_interleaved *s = b->state;
  spti_batch_items items;
  if (b->count == 0) return SPTRSM_OK;
  SPTI_TRY(spti_batch_interleaved_prepare(b, &call->steps));
  SPTI_TRY(spti_batch_device_items(&items, &s->device, b, call));
  if (call->run->status && call->run->status_place == SPTRSM_HOST) SPTI_TRY(spti_batch_interleaved_look(b));
  if (b->n > 0 && items.nrhs > 0) SPTI_TRY(run(b, call, &items));
  SPTI_TRY(spti_batch_device_errors(&s->device, b, call));
  return spti_batch_device_tell(&s->device, b, call->run);
}
