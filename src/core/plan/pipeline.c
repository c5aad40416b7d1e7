/* pipeline.c -- checks of B and X, the memory of panels, and the run on the host. */
#include "core/plan/pipeline.h"

#include <stdatomic.h>
#include <string.h>

#include "core/base/overlap.h"
#include "core/context/alloc.h"
#include "core/context/trace.h"
#include "core/plan/method.h"
#include "core/plan/pack.h"
#include "core/plan/plan.h"

/* ---- checks ---- */

sptrsm_status spti_block_check(const sptrsm_block *block, const sptrsm_context *context, sptrsm_dtype dtype, const char *name) {
  if (block->nrhs < 0) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: nrhs = %lld is negative", name, (long long)block->nrhs);
  if (block->dtype != dtype) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s has another dtype than the matrix", name);
  if (block->layout != SPTRSM_ROW_MAJOR && block->layout != SPTRSM_COL_MAJOR)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: unknown layout %d", name, (int)block->layout);
  if (block->place != SPTRSM_HOST && block->place != SPTRSM_CUDA)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: unknown place %d", name, (int)block->place);
  if (block->place == SPTRSM_CUDA && context->place == SPTRSM_HOST)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s is in device memory, the context works on the host", name);
  if (block->place == SPTRSM_CUDA) SPTI_TRY(spti_check_alignment(block->data, sptrsm_dtype_bytes(dtype), name));
  int64_t least = block->layout == SPTRSM_ROW_MAJOR ? block->nrhs : block->n;
  if (block->ld < least)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: ld = %lld is less than %lld", name, (long long)block->ld, (long long)least);
  if (!block->data && block->n > 0 && block->nrhs > 0) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: data is NULL", name);
  int64_t vectors = block->layout == SPTRSM_ROW_MAJOR ? block->n : block->nrhs;
  if (least > 0 && vectors > 0 && block->ld > INT64_MAX / (int64_t)sizeof(double _Complex) / vectors)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: %lld %s of ld = %lld do not fit the address space", name, (long long)vectors,
                     block->layout == SPTRSM_ROW_MAJOR ? "rows" : "columns", (long long)block->ld);
  return SPTRSM_OK;
}

static sptrsm_status check_block(const spti_pipeline *pipe, const sptrsm_block *block, const char *name) {
  if (block->n != pipe->n) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s has %d rows, the matrix has order %d", name, block->n, pipe->n);
  return spti_block_check(block, pipe->context, pipe->dtype, name);
}

static sptrsm_status check_overlap(const sptrsm_block *B, const sptrsm_block *X) {
  if (B->data == X->data && B->ld == X->ld && B->layout == X->layout && B->place == X->place) return SPTRSM_OK;
  if (!spti_blocks_overlap(B, X)) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "X overlaps B; it may be B itself (same data, ld and layout) or elsewhere");
}

/* ---- memory ---- */

enum { STAGING_SHARE = 16, STAGING_LEAST = 8 };
#ifndef SPTI_STAGING_VALUES
#define SPTI_STAGING_VALUES ((int64_t)1 << 19) /* at least: smaller parts are copied slowly */
#endif
enum { NARROW = 16, NARROW_BYTES = 32 << 20, SHARE_LEAST = 4 /* columns of a slab that threads don't share, see slab_width */ };

/* A slab for each thread, but if the number of columns is known, no more slabs than are needed: one for every 8 columns if memory is
 * limited; else one for each column if there are at most as many columns as threads, or fewer than SHARE_LEAST; else one for every
 * SHARE_LEAST columns. */
static int slab_count(const sptrsm_context *context, const sptrsm_options *options) {
  if (context->place == SPTRSM_CUDA) return 1;
  const int threads = spti_team_threads(context->team);
  const bool limited = options->memory_limit > 0 || context->memory_limit > 0;
  const int least = limited ? 8 : options->nrhs_hint <= threads || options->nrhs_hint < SHARE_LEAST ? 1 : SHARE_LEAST;
  const int64_t useful = options->nrhs_hint > 0 ? (options->nrhs_hint - 1) / least + 1 : threads;
  return useful < threads ? (int)useful : threads;
}

/* Values of a part in which blocks in host memory pass where the factor may come to the device once for each panel, so that every column
 * that fits beside it counts: a sixteenth of a panel, at least eight columns, a row and SPTI_STAGING_VALUES. 0: whole panels pass. */
static int64_t part_of(const sptrsm_context *context, int64_t n, int32_t panel, const sptrsm_options *options) {
  if (!spti_plan_may_stream(context, options->method) && !spti_plan_streams(context, options->method)) return 0;
  const int64_t all = n * panel, columns = panel / STAGING_SHARE;
  int64_t part = n * (columns > STAGING_LEAST ? columns : STAGING_LEAST);
  if (part < SPTI_STAGING_VALUES) part = SPTI_STAGING_VALUES;
  if (part > all) part = all;
  return part > panel ? part : panel;
}

sptrsm_status spti_panels_bytes(size_t *out, const sptrsm_context *context, int32_t n, sptrsm_dtype dtype, int32_t panel,
                                const sptrsm_options *options) {
  const int64_t values = (int64_t)n * panel, part = part_of(context, n, panel, options);
  const size_t bytes = sptrsm_dtype_bytes(dtype), slabs = (size_t)slab_count(context, options);
  if (context->place == SPTRSM_HOST) return spti_bytes(out, values, bytes * slabs, "panels of right-hand sides");
  return spti_bytes(out, values + (part > 0 ? part : values), bytes, "panels of right-hand sides");
}

int32_t spti_narrow_panel(int32_t n, sptrsm_dtype dtype, int32_t panel, const sptrsm_options *options) {
  const int64_t column = (int64_t)n * (int64_t)sptrsm_dtype_bytes(dtype);
  const int32_t narrow = NARROW * column <= NARROW_BYTES ? NARROW : NARROW / 2;
  return options->panel > 0 || panel < narrow ? panel : narrow;
}

sptrsm_status spti_panels_create(spti_panels *out, const sptrsm_context *context, int32_t n, sptrsm_dtype dtype, int32_t panel,
                                 const sptrsm_options *options) {
  spti_panels panels = {.panel = panel,
                        .narrow = spti_narrow_panel(n, dtype, panel, options),
                        .slabs = slab_count(context, options),
                        .limited = options->memory_limit > 0 || context->memory_limit > 0,
                        .part = part_of(context, n, panel, options)};
  size_t slab_bytes = sptrsm_dtype_bytes(dtype) * (size_t)panels.slabs;
  SPTI_TRY(spti_alloc(context, &panels.W, (int64_t)n * panel, slab_bytes, "panels of right-hand sides"));
  *out = panels;
  return SPTRSM_OK;
}

void spti_panels_free(spti_panels *panels, const sptrsm_context *context) {
  spti_free(context, panels->W);
  spti_free(context, panels->staging);
  spti_gpu_copies_free(panels->copies);
  *panels = (spti_panels){0};
}

/* ---- the run on the host ---- */

enum { SHARED_LEAST = 1 << 18 /* of work_of: solves with less are over before other threads come */ };

int32_t spti_padded_width(int32_t width, int32_t panel) {
  int32_t padded = width <= 2 ? width : width <= 4 ? 4 : (width + 7) / 8 * 8;
  return padded < panel ? padded : panel;
}

static const char *step_of(const spti_stage *stage) {
  if (!stage->plan) return "diagonal";
  return stage->plan->view.backward ? "backward solve" : "forward solve";
}

/* Columns [first, first + W->width) of the solve. */
static sptrsm_status run_slab(const spti_pipeline *pipe, const spti_panel *W, const spti_columns *B, const spti_columns *X,
                              const void *alpha, int64_t first) {
  double now = spti_trace_begin(pipe->context);
  spti_pack(W, pipe->n, pipe->dtype, B, &pipe->first, alpha);
  now = spti_trace_step(pipe->context, "copy B", first, W->width, now);
  for (int s = 0; s < pipe->stage_count; s++) {
    const spti_stage *stage = &pipe->stages[s];
    if (stage->plan) SPTI_TRY(stage->plan->method->solve(stage->plan, stage->work, W));
    else spti_apply_diagonal(W, pipe->n, pipe->dtype, stage->diagonal, stage->op);
    now = spti_trace_step(pipe->context, step_of(stage), first, W->width, now);
  }
  spti_unpack(X, pipe->n, pipe->dtype, W, &pipe->last);
  spti_trace_step(pipe->context, "copy X", first, W->width, now);
  return SPTRSM_OK;
}

/* How many threads can share one slab with profit: the most that any stage can use. */
static int sharers_of(const spti_pipeline *pipe) {
  int most = 1;
  for (int s = 0; s < pipe->stage_count; s++) {
    const sptrsm_plan *plan = pipe->stages[s].plan;
    if (plan && plan->schedule && plan->schedule->team > most) most = plan->schedule->team;
  }
  return most;
}

/* The time of a slab that `threads` share, by the model of the schedules, over the time of one thread. */
static double shared_time(const spti_pipeline *pipe, int threads) {
  double alone = 0, shared = 0;
  for (int s = 0; s < pipe->stage_count; s++) {
    const sptrsm_plan *plan = pipe->stages[s].plan;
    if (!plan) continue;
    alone += (double)plan->view.nnz;
    shared += (double)plan->view.nnz * (plan->schedule ? spti_schedule_time(plan->schedule, threads) : 1);
  }
  return alone > 0 ? shared / alone : 1;
}

/* Is there a method that has a rule of its own for the width, as `block`, which reads its factor once a slab? */
static bool wants_wide_slabs(const spti_pipeline *pipe) {
  bool wants = false;
  for (int s = 0; s < pipe->stage_count; s++) wants = wants || (pipe->stages[s].plan && pipe->stages[s].plan->method->panel);
  return wants;
}

/* Columns of a slab: those of the panel, or fewer, a multiple of 8, so that all threads have the same number of slabs. Where there are
 * fewer than 8 columns for each thread and threads don't share a slab, it is a multiple of SHARE_LEAST. Unless wide slabs are wanted, it
 * is one column if there are no more columns than threads; and of three columns two threads take two and one. */
static int32_t slab_width(const spti_pipeline *pipe, int32_t most, int64_t nrhs, int threads, bool shares) {
  const bool few = nrhs < (int64_t)8 * threads && !shares;
  const int64_t rounds = (nrhs - 1) / ((int64_t)most * threads) + 1, least = (nrhs - 1) / (rounds * threads) + 1;
  if (few && (least == 1 || nrhs < SHARE_LEAST) && !wants_wide_slabs(pipe)) return (int32_t)least;
  const int64_t unit = few ? SHARE_LEAST : 8, share = (least - 1 + unit) / unit * unit;
  return share < most ? (int32_t)share : most;
}

/* The most columns of a slab: spti_panels.narrow where B and X are column-major, unless wide slabs are wanted and a panel has at most
 * NARROW_BYTES. */
static int32_t most_columns(const spti_pipeline *pipe, const spti_panels *panels, bool by_columns) {
  const int64_t bytes = (int64_t)pipe->n * panels->panel * (int64_t)sptrsm_dtype_bytes(pipe->dtype);
  return !by_columns || (wants_wide_slabs(pipe) && bytes <= NARROW_BYTES) ? panels->panel : panels->narrow;
}

/* One solve: slabs of `width` columns, each packed, solved and unpacked in the panel of the thread or group that claimed it. */
typedef struct {
  const spti_pipeline *pipe;
  const spti_panels *panels;
  const void *alpha;
  const sptrsm_block *B, *X;
  int32_t width;
  atomic_int result;
} host_run;

static void run_one(void *argument, int64_t slab, int member, spti_team *inside) {
  host_run *run = argument;
  const spti_pipeline *pipe = run->pipe;
  const int64_t first = slab * run->width, left = run->B->nrhs - first;
  const size_t slab_bytes = (size_t)pipe->n * (size_t)run->panels->panel * sptrsm_dtype_bytes(pipe->dtype);
  spti_panel W = {.data = (char *)run->panels->W + slab_bytes * (size_t)member, .team = spti_team_ready(inside) > 1 ? inside : NULL};
  W.width = (int32_t)(left < run->width ? left : run->width);
  W.ld = W.padded = spti_padded_width(W.width, run->panels->panel);
  const spti_columns from = spti_block_columns(run->B, first), to = spti_block_columns(run->X, first);
  const sptrsm_status status = run_slab(pipe, &W, &from, &to, run->alpha, first);
  if (status != SPTRSM_OK) atomic_store(&run->result, status);
}

/* Multiply-adds of a solve, roughly: what the choice of threads goes by. */
static double work_of(const spti_pipeline *pipe, int64_t nrhs) {
  double entries = 2.0 * pipe->n; /* the first and the last pass */
  for (int s = 0; s < pipe->stage_count; s++) entries += pipe->stages[s].plan ? (double)pipe->stages[s].plan->view.nnz : pipe->n;
  return entries * (double)nrhs * (double)sptrsm_dtype_bytes(pipe->dtype) / sizeof(double);
}

/* How a solve is divided: the threads work in groups, each of which has one slab of `width` columns at a time. */
typedef struct {
  int32_t width;
  int threads, groups;
} division;

/* The time of a division by a model: reading a factor costs as much as READING columns, and fewer columns than LEAST cost as much as these,
 * since they fill a vector. */
static double time_of(const spti_pipeline *pipe, division d, int64_t nrhs) {
  enum { READING = 8, LEAST = 8 };
  const int64_t slabs = (nrhs - 1) / d.width + 1, rounds = (slabs - 1) / d.groups + 1;
  return (double)rounds * ((d.width > LEAST ? d.width : LEAST) + READING) * shared_time(pipe, d.threads / d.groups);
}

/* Each thread has slabs of its own, unless that leaves half of the threads without one, also because the workspace has few. Then all
 * threads share the only slab; or, where wide slabs are wanted, there are as many groups as take the least time, if that saves a tenth at
 * least, since threads wait for each other on a busy machine. Other methods then keep slabs of their own. */
static division divide(const spti_pipeline *pipe, const spti_panels *panels, int ready, int64_t nrhs, bool by_columns) {
  const int owners = ready < panels->slabs ? ready : panels->slabs; /* the workspace has that many slabs */
  const bool can_share = ready > 1 && sharers_of(pipe) > 1;
  const int32_t most = most_columns(pipe, panels, by_columns);
  division best = {.width = slab_width(pipe, most, nrhs, owners, can_share), .threads = owners, .groups = owners};
  const int64_t slabs = (nrhs - 1) / best.width + 1, owned = slabs < owners ? slabs : owners;
  if (can_share && slabs == 1) return (division){.width = best.width, .threads = ready, .groups = 1};
  if (!can_share || 2 * owned > ready || !wants_wide_slabs(pipe)) return best;
  double least = 0.9 * time_of(pipe, best, nrhs);
  for (int groups = 1; groups <= owners && 2 * groups <= ready && groups <= SPTI_GROUPS_MAX; groups++) {
    const division d = {.width = slab_width(pipe, most, nrhs, groups, true), .threads = ready, .groups = groups};
    const double time = time_of(pipe, d, nrhs);
    if (time < least) best = d, least = time;
  }
  return best;
}

static sptrsm_status run_host(const spti_pipeline *pipe, const spti_panels *panels, const void *alpha, const sptrsm_block *B,
                              const sptrsm_block *X) {
  spti_team *threads = panels->lent ? NULL : pipe->context->team;
  const int ready = work_of(pipe, B->nrhs) < SHARED_LEAST ? 1 : spti_team_ready(threads);
  const bool by_columns = B->layout == SPTRSM_COL_MAJOR && X->layout == SPTRSM_COL_MAJOR;
  const division d = divide(pipe, panels, ready, B->nrhs, by_columns);
  host_run run = {.pipe = pipe, .panels = panels, .alpha = alpha, .B = B, .X = X, .width = d.width};
  atomic_init(&run.result, SPTRSM_OK);
  spti_team_run_groups(threads, d.threads, d.groups, (B->nrhs - 1) / d.width + 1, run_one, &run);
  return (sptrsm_status)atomic_load(&run.result);
}

sptrsm_status spti_pipeline_check(const spti_pipeline *pipe, const sptrsm_block *B, const sptrsm_block *X) {
  SPTI_TRY(check_block(pipe, B, "B"));
  SPTI_TRY(check_block(pipe, X, "X"));
  if (B->nrhs != X->nrhs)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "B has %lld right-hand sides, X has %lld", (long long)B->nrhs, (long long)X->nrhs);
  return check_overlap(B, X);
}

sptrsm_status spti_pipeline_run(const spti_pipeline *pipe, spti_panels *panels, const void *alpha, const sptrsm_block *B,
                                const sptrsm_block *X) {
  SPTI_TRY(spti_pipeline_check(pipe, B, X));
  if (pipe->n == 0 || B->nrhs == 0) return SPTRSM_OK;
  if (pipe->context->place == SPTRSM_CUDA) return spti_pipeline_run_gpu(pipe, panels, alpha, B, X);
  return run_host(pipe, panels, alpha, B, X);
}
