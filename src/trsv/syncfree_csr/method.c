/* method.c -- syncfree-csr: sync-free substitution by rows, in one kernel with one lane to one warp for each row.
 * Row i: x(i) = (b(i) - sum over j of t(i,j) x(j)) / t(i,i), as soon as all these x(j) are known. Each value is its own flag: memory
 * that holds a special NaN, the sentinel, has no value yet.
 * Source: [su2020capellini] (a lane for each row), [dufrechou2018] (sub-warps, size classes), [zhang2021yy] (fusion of the two),
 * [hu2024ag] (one template whose parameters are searched). Kernels, and what differs: packed_kernels.cu, natural_kernels.cu,
 * block_kernels.cu. Wins: single right-hand sides with wide and medium levels. Loses: deep problems with dense blocks, where each level
 * costs a hop between warps; many right-hand sides, which it solves one by one.
 * Deterministic: yes, but for the choice that the search of preset=ag makes. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/levels/kernels.h"
#include "core/levels/gpu.h"
#include "core/plan/analysis.h"
#include "core/plan/method.h"
#include "core/two_blocks/two_blocks.h"
#include "trsv/syncfree_csr/kernels.h"
#include "trsv/syncfree_csr/rules.h"

/* order=packed: rows sorted by level and length class, and the records that say which rows each warp solves. */
typedef struct {
  spti_pull_rows rows;
  spti_csr_record *record;
  spti_csr_segment *segment;
  int32_t records, segments;
  bool one_batch; /* no lane has more entries than one batch */
} packing;

typedef struct {
  spti_csr_settings set;
  packing packed;       /* of order=packed */
  const int32_t *order; /* of order=level: [n], owned by the plan's levels; else NULL */
  double search_seconds;
} state;

/* Bytes of one of the two work blocks: a launch takes as many right-hand sides as have room for their values in it, at least one. */
#ifndef SPTI_CSR_WORK_BYTES
#define SPTI_CSR_WORK_BYTES ((int64_t)32 << 20)
#endif

/* ---- packing ---- */

/* All rows are in one length class, so that the level order is sorted by (level, class) already. */
static bool one_class(const spti_csr_classes *c, const spti_gpu_levels *levels) {
  return levels->longest <= c->split && (c->fixed > 0 || levels->longest <= c->entries);
}

static bool fits_one_batch(const spti_csr_classes *c, int32_t longest) {
  const int32_t lanes = c->fixed > 0 ? c->fixed : 32;
  return longest <= c->split && longest <= lanes * SPTI_CSR_BATCH && (c->fixed > 0 || c->entries <= SPTI_CSR_BATCH);
}

/* Sorts args->order and args->key by key. */
static sptrsm_status sort_by_class(spti_syncfree_csr_order_args *args, int32_t levels, spti_scratch *s) {
  const int32_t n = args->view.n;
  int32_t *key, *order;
  void *temporary;
  size_t bytes;
  SPTI_TRY(spti_scratch_take(s, &key, n, sizeof *key, "syncfree-csr scratch"));
  SPTI_TRY(spti_scratch_take(s, &order, n, sizeof *order, "syncfree-csr scratch"));
  spti_sort_args sort = {.keys = args->key, .values = args->order, .sorted_keys = key, .sorted_values = order, .count = n};
  sort.bits = spti_sort_bits(levels * SPTI_CSR_CLASSES);
  SPTI_CUDA(spti_sort_launch(NULL, &bytes, &sort, s->context->stream));
  SPTI_TRY(spti_scratch_take(s, &temporary, (int64_t)bytes, 1, "syncfree-csr scratch"));
  SPTI_CUDA(spti_sort_launch(temporary, &bytes, &sort, s->context->stream));
  args->key = key;
  args->order = order;
  return SPTRSM_OK;
}

static sptrsm_status running_sum(const int32_t **out, const int32_t *count, int32_t n, spti_scratch *s) {
  int32_t *sum;
  void *temporary;
  size_t bytes;
  SPTI_TRY(spti_scratch_take(s, &sum, (int64_t)n + 1, sizeof *sum, "syncfree-csr scratch"));
  SPTI_CUDA(spti_scan_narrow_launch(NULL, &bytes, count, sum, n, s->context->stream));
  SPTI_TRY(spti_scratch_take(s, &temporary, (int64_t)bytes, 1, "syncfree-csr scratch"));
  SPTI_CUDA(spti_scan_narrow_launch(temporary, &bytes, count, sum, n, s->context->stream));
  *out = sum;
  return SPTRSM_OK;
}

static sptrsm_status last_of(int32_t *out, const sptrsm_context *context, const int32_t *sum, int32_t n) {
  return spti_gpu_fetch(context, out, sum + n, sizeof *out);
}

/* Makes the records of all warps. Waits for the device once for the number of records, and once more for the number of segments where
 * there are split rows. */
static sptrsm_status make_records(packing *out, spti_syncfree_csr_order_args *args, const spti_gpu_levels *levels, spti_scratch *s) {
  const int32_t n = args->view.n;
  const bool split = levels->longest > args->classes.split;
  int32_t records, segments = 0;
  SPTI_TRY(spti_scratch_take(s, &args->group, (int64_t)levels->count * SPTI_CSR_CLASSES, sizeof *args->group, "syncfree-csr scratch"));
  SPTI_TRY(spti_scratch_take(s, &args->records, n, sizeof *args->records, "syncfree-csr scratch"));
  if (split) SPTI_TRY(spti_scratch_take(s, &args->segments, n, sizeof *args->segments, "syncfree-csr scratch"));
  SPTI_CUDA(spti_syncfree_csr_count_launch(args, s->context->stream));
  SPTI_TRY(running_sum(&args->record_at, args->records, n, s));
  if (split) SPTI_TRY(running_sum(&args->segment_at, args->segments, n, s));
  SPTI_TRY(last_of(&records, s->context, args->record_at, n));
  if (split) SPTI_TRY(last_of(&segments, s->context, args->segment_at, n));
  out->records = records;
  out->segments = segments;
  SPTI_TRY(spti_alloc(s->context, &out->record, out->records, sizeof *out->record, "syncfree-csr records"));
  if (split) SPTI_TRY(spti_alloc(s->context, &out->segment, out->segments, sizeof *out->segment, "syncfree-csr segments"));
  args->record = out->record;
  args->segment = out->segment;
  SPTI_CUDA(spti_syncfree_csr_record_launch(args, s->context->stream));
  return SPTRSM_OK;
}

static sptrsm_status pack(sptrsm_plan *plan, state *st, const spti_gpu_levels *levels) {
  const int32_t n = plan->view.n;
  spti_scratch s = {.context = plan->context};
  spti_syncfree_csr_order_args args = {
      .view = plan->view,
      .classes = {.entries = st->set.entries, .split = st->set.split, .fixed = st->set.lanes},
      .order = levels->order,
      .level = levels->level,
      .level_ptr = levels->device_ptr,
      .gate = st->set.gate,
  };
  sptrsm_status status;
  if (n == 0) return SPTRSM_OK;
  if (levels->count > INT32_MAX / SPTI_CSR_CLASSES)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "syncfree-csr: %d levels, packed rows take at most %d; use syncfree-csr:preset=yy",
                     levels->count, INT32_MAX / SPTI_CSR_CLASSES);
  /* A split row of m entries has fewer than 2 m / split segments. */
  if (levels->longest > st->set.split && n + 2 * spti_view_entries(&plan->view) / st->set.split > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                     "syncfree-csr: %d rows and their segments of split=%d entries are beyond 32 bits; use a larger split", n,
                     st->set.split);
  st->packed.one_batch = fits_one_batch(&args.classes, levels->longest);
  SPTI_TRY_DONE(spti_scratch_take(&s, &args.key, n, sizeof *args.key, "syncfree-csr scratch"));
  SPTI_TRY_DONE(spti_gpu_check(spti_syncfree_csr_key_launch(&args, plan->context->stream), "levels and classes of rows"));
  if (!one_class(&args.classes, levels)) SPTI_TRY_DONE(sort_by_class(&args, levels->count, &s));
  SPTI_TRY_DONE(spti_pull_rows_create(&st->packed.rows, &plan->view, plan->context, args.order));
  SPTI_TRY_DONE(make_records(&st->packed, &args, levels, &s));
done:
  spti_scratch_drop(&s);
  return status;
}

static void unpack(sptrsm_plan *plan, packing *p) {
  spti_pull_rows_free(&p->rows, plan->context);
  spti_free(plan->context, p->record);
  spti_free(plan->context, p->segment);
  *p = (packing){0};
}

/* ---- solve ---- */

static int64_t stride_of(const sptrsm_plan *plan) {
  const state *st = plan->state;
  return (int64_t)plan->view.n + st->packed.segments;
}

/* The number of right-hand sides that one launch solves. */
static int32_t columns_of(const sptrsm_plan *plan, int32_t panel) {
  const int64_t stride = stride_of(plan), bytes = (int64_t)sptrsm_dtype_bytes(plan->view.dtype);
  const int64_t fit = stride > 0 ? SPTI_CSR_WORK_BYTES / (stride * bytes) : panel;
  return fit < 1 ? 1 : fit < panel ? (int32_t)fit : panel;
}

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  return spti_two_blocks_bytes(out, plan, stride_of(plan), columns_of(plan, panel));
}

static sptrsm_status work_create(void **out, const sptrsm_plan *plan, int32_t panel) {
  return spti_two_blocks_create(out, plan, stride_of(plan), columns_of(plan, panel));
}

/* All but transfer and sync. */
static spti_syncfree_csr_args args_of(const sptrsm_plan *plan, const spti_two_blocks *work) {
  const state *st = plan->state;
  const packing *p = &st->packed;
  return (spti_syncfree_csr_args){.n = plan->view.n,
                                  .dtype = plan->view.dtype,
                                  .row = p->rows.row,
                                  .start = p->rows.start,
                                  .from = p->rows.from,
                                  .val = p->rows.val,
                                  .diag = p->rows.diag,
                                  .record = p->record,
                                  .segment = p->segment,
                                  .records = p->records,
                                  .split = st->set.split,
                                  .one_batch = p->one_batch,
                                  .view = plan->view,
                                  .order = st->order,
                                  .lanes = st->set.lanes,
                                  .average = st->set.lanes > 0 ? 0 : st->set.average,
                                  .work = work->memory,
                                  .stride = work->rows,
                                  .block_size = work->rows * work->ld,
                                  .block_warps = st->set.warps};
}

static sptrsm_status solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *all) {
  const state *st = plan->state;
  const size_t bytes = sptrsm_dtype_bytes(plan->view.dtype);
  spti_two_blocks *w = work;
  const int32_t columns = (int32_t)w->ld;
  void *stream = plan->context->stream;
  spti_syncfree_csr_args args = args_of(plan, w);
  SPTI_TRY(spti_two_blocks_ready(&args.sync, w, plan, columns));
  args.sync.spin_limit /= SPTI_CSR_POLLS_PER_GUARD;
  for (int32_t k = 0; k < all->width; k += columns) {
    args.transfer = *all;
    args.transfer.from = spti_end_from(all->from, k, bytes);
    args.transfer.to = spti_end_from(all->to, k, bytes);
    args.transfer.width = all->width - k < columns ? all->width - k : columns;
    if (st->set.order == SPTI_CSR_PACKED) SPTI_CUDA(spti_syncfree_csr_packed_launch(&args, stream));
    else if (st->set.order == SPTI_CSR_BLOCK) SPTI_CUDA(spti_syncfree_csr_block_launch(&args, stream));
    else SPTI_CUDA(spti_syncfree_csr_natural_launch(&args, stream));
  }
  return SPTRSM_OK;
}

/* ---- analysis ---- */

/* Prepares the plan for the settings st->set. */
static sptrsm_status build(sptrsm_plan *plan, state *st, const spti_gpu_levels *levels) {
  unpack(plan, &st->packed);
  st->order = st->set.order == SPTI_CSR_LEVEL ? levels->order : NULL;
  return st->set.order == SPTI_CSR_PACKED ? pack(plan, st, levels) : SPTRSM_OK;
}

/* The seconds of one solve: the better of two runs, after one run to warm up. B and X: device, [n]. */
static sptrsm_status time_solve(double *out, sptrsm_plan *plan, void *B, void *X) {
  spti_transfer transfer = {.from = {.data = B, .row_stride = 1}, .to = {.data = X, .row_stride = 1}, .alpha = {1, 0}, .width = 1};
  void *work = NULL;
  sptrsm_status status = SPTRSM_OK;
  SPTI_TRY_DONE(work_create(&work, plan, 1));
  for (int run = 0; run < 3; run++) {
    SPTI_TRY_DONE(spti_gpu_wait(plan->context));
    const double start = spti_seconds();
    SPTI_TRY_DONE(solve_between(plan, work, &transfer));
    SPTI_TRY_DONE(spti_gpu_sync(plan->context));
    const double seconds = spti_seconds() - start;
    if (run == 1 || (run > 1 && seconds < *out)) *out = seconds;
  }
done:
  if (work) spti_two_blocks_free(work, plan);
  return status;
}

/* A search tries no further settings after this time. */
static const double SEARCH_SECONDS = 2;

/* Sets st->set to the fastest candidate. */
static sptrsm_status try_candidates(sptrsm_plan *plan, state *st, const spti_gpu_levels *levels, void *B, void *X) {
  const double start = spti_seconds();
  spti_csr_settings best = st->set;
  double least = 0, seconds = 0;
  for (int c = 0; spti_csr_candidate(&st->set, c) && spti_seconds() - start < SEARCH_SECONDS; c++) {
    SPTI_TRY(build(plan, st, levels));
    SPTI_TRY(time_solve(&seconds, plan, B, X));
    if (c > 0 && !(seconds < least)) continue;
    least = seconds;
    best = st->set;
  }
  st->set = best;
  st->search_seconds = spti_seconds() - start;
  return SPTRSM_OK;
}

static sptrsm_status search(sptrsm_plan *plan, state *st, const spti_gpu_levels *levels) {
  const size_t bytes = (size_t)plan->view.n * sptrsm_dtype_bytes(plan->view.dtype);
  void *zeros, *B = NULL, *X = NULL;
  sptrsm_status status;
  SPTI_TRY(spti_host_alloc(&zeros, (int64_t)bytes, 1, "syncfree-csr search"));
  memset(zeros, 0, bytes);
  SPTI_TRY_DONE(spti_alloc(plan->context, &B, (int64_t)bytes, 1, "syncfree-csr search"));
  SPTI_TRY_DONE(spti_alloc(plan->context, &X, (int64_t)bytes, 1, "syncfree-csr search"));
  SPTI_TRY_DONE(spti_gpu_copy(plan->context, B, bytes, zeros, bytes, bytes, 1, SPTI_TO_DEVICE));
  SPTI_TRY_DONE(try_candidates(plan, st, levels, B, X));
done:
  spti_free(plan->context, B);
  spti_free(plan->context, X);
  spti_host_free(zeros);
  return status;
}

static sptrsm_status check_search(const sptrsm_plan *plan, const spti_csr_settings *set) {
  if (plan->options.deterministic)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "syncfree-csr:preset=ag takes what is fastest, which may differ from run to run; clear "
                                             "options.deterministic, or use syncfree-csr");
  if (set->order >= 0 || set->lanes >= 0 || set->entries >= 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "syncfree-csr:preset=ag tries values of order, lanes and entries; leave out these or the preset");
  return SPTRSM_OK;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  const spti_view *v = &plan->view;
  const spti_gpu_levels *levels = NULL;
  spti_csr_features features = {.n = v->n, .entries = v->nnz - (v->head || v->tail ? v->n : 0)};
  state *st;
  SPTI_TRY(spti_host_alloc(&st, 1, sizeof *st, "syncfree-csr state"));
  *st = (state){0};
  plan->state = st;
  SPTI_TRY(spti_csr_parse(&st->set, plan->variant));
  if (st->set.search) SPTI_TRY(check_search(plan, &st->set));
  if (st->set.order != SPTI_CSR_NATURAL && st->set.order != SPTI_CSR_BLOCK) {
    SPTI_TRY(spti_plan_level_order(plan, &levels));
    features.levels = levels->count;
    features.longest = levels->longest;
  }
  spti_csr_choose(&st->set, &features);
  if (st->set.search) SPTI_TRY(search(plan, st, levels));
  SPTI_TRY(build(plan, st, levels));
  if (st->set.order != SPTI_CSR_LEVEL) spti_plan_drop_levels(plan); /* auto may have made levels, too */
  return SPTRSM_OK;
}

static sptrsm_status update_values(sptrsm_plan *plan) {
  const state *st = plan->state;
  return st->packed.rows.row ? spti_pull_rows_update(&st->packed.rows, &plan->view, plan->context) : SPTRSM_OK;
}

static void release(sptrsm_plan *plan) {
  state *st = plan->state;
  unpack(plan, &st->packed);
  spti_host_free(st);
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *st = plan->state;
  const packing *p = &st->packed;
  char *text = info->parameters;
  size_t room = sizeof info->parameters;
  int length = snprintf(text, room, "order=%s lanes=%d", spti_csr_order_name(st->set.order), st->set.lanes);
  if (st->set.order == SPTI_CSR_PACKED)
    length += snprintf(text + length, room - (size_t)length, " entries=%d split=%d gate=%d records=%d segments=%d", st->set.entries,
                       st->set.split, st->set.gate, p->records, p->segments);
  else if (st->set.lanes == 0) length += snprintf(text + length, room - (size_t)length, " average=%d", st->set.average);
  length += snprintf(text + length, room - (size_t)length, " warps=%d", st->set.warps);
  if (st->set.search) snprintf(text + length, room - (size_t)length, " search_ms=%.1f", 1e3 * st->search_seconds);
  if (st->set.search) info->deterministic = 0; /* another run may find other settings to be the fastest */
  info->plan_bytes = sizeof *st + p->rows.bytes + (size_t)p->records * sizeof *p->record + (size_t)p->segments * sizeof *p->segment;
  if (st->order) info->plan_bytes += spti_gpu_levels_bytes(plan->gpu_levels);
}

const spti_method spti_method_syncfree_csr = {
    .name = "syncfree-csr",
    .summary = "sync-free pull by rows, a lane to a warp per row; preset=thread, warp, yy or ag",
    .cite = "hu2024ag",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_CAPTURABLE | SPTI_VARIANTS,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = spti_two_blocks_free,
    .solve_between = solve_between,
};
