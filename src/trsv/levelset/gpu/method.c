/* method.c -- levelset on a GPU: substitution by level sets, without any polling.
 * x(i) = (b(i) - sum over j of t(i,j) x(j)) / t(i,i), level by level; the rows of a level depend only on rows of earlier levels.
 * A run of narrow levels is one launch of one thread block, which solves it in chunks of 32 rows; a wide level is a launch of its own.
 * A run of dense rows is divided into segments: before each segment the whole device multiplies the entries whose columns are in earlier
 * segments, so that the one block reads only the other entries. Several launches are recorded as a CUDA graph with the workspace.
 * Kernels: kernels.cu. Blocks of right-hand sides and few levels: block.h.
 * Source: [anderson1989], [saltz1990], algorithm 2 of [lu2023tile]; kernels.cu says what differs. Wins: deep narrow problems, such as
 * factors of direct solvers and chains; few levels, with any number of right-hand sides. Loses: hundreds of levels of some hundred rows
 * each, which are too wide for a block and too narrow for a launch. Deterministic: yes. */
#include <stdio.h>

#include "core/context/alloc.h"
#include "core/context/recordings.h"
#include "core/levels/gpu.h"
#include "core/plan/analysis.h"
#include "core/plan/method.h"
#include "trsv/levelset/gpu/block.h"

typedef spti_levelset_gpu_step step;

typedef struct {
  spti_pull_rows rows;
  spti_levelset_gpu_schedule schedule;
  int32_t *level_starts; /* device, [schedule.words] */
  int32_t long_capacity;
  int32_t *long_rows;  /* device, [long_capacity], or NULL: no row is that long */
  int32_t entries;     /* diagonals excluded */
  int32_t *begin;      /* device, [n]; begin and order as in spti_levelset_gpu_split_args */
  int32_t *order;      /* device, [entries]; both NULL: no run has several segments */
  int32_t least, most; /* rows of the narrowest and of the widest level */
  spti_levelset_gpu_block block;
} state;

static sptrsm_status upload_level_starts(const sptrsm_plan *plan, state *s, const int32_t *ptr) {
  int32_t *words;
  const int32_t count = s->schedule.words;
  SPTI_TRY(spti_alloc(plan->context, &s->level_starts, count, sizeof *s->level_starts, "levelset level starts"));
  SPTI_TRY(spti_host_alloc(&words, count, sizeof *words, "levelset level starts"));
  spti_levelset_gpu_level_starts(words, &s->schedule, ptr);
  const size_t bytes = (size_t)count * sizeof *words;
  const sptrsm_status status = spti_gpu_copy(plan->context, s->level_starts, bytes, words, bytes, bytes, 1, SPTI_TO_DEVICE);
  spti_host_free(words);
  return status;
}

/* ---- rows of runs in several segments ---- */

static bool in_segments(const step *s) { return !s->wide && spti_levelset_gpu_segments(s) > 1; }

/* Brings values, elements of `bytes` bytes, into s->order for the rows of runs in several segments. */
static sptrsm_status reorder(const sptrsm_plan *plan, const state *s, void *values, size_t bytes) {
  const size_t all = (size_t)s->entries * bytes;
  void *old;
  SPTI_TRY(spti_alloc(plan->context, &old, s->entries, bytes, "levelset entries"));
  sptrsm_status status = spti_gpu_copy(plan->context, old, all, values, all, all, 1, SPTI_ON_DEVICE);
  for (int32_t i = 0; i < s->schedule.count && status == SPTRSM_OK; i++) {
    if (!in_segments(&s->schedule.steps[i])) continue;
    const spti_levelset_gpu_reorder_args args = {.start = s->rows.start,
                                                 .order = s->order,
                                                 .first = s->schedule.steps[i].first,
                                                 .last = s->schedule.steps[i].last,
                                                 .words = (int32_t)(bytes / sizeof(int32_t)),
                                                 .from = old,
                                                 .to = values};
    status = spti_gpu_check(spti_levelset_gpu_reorder_launch(&args, plan->context->stream), "the order of entries");
  }
  spti_free(plan->context, old);
  return status;
}

static sptrsm_status reorder_values(const sptrsm_plan *plan, const state *s) {
  return s->order ? reorder(plan, s, s->rows.val, sptrsm_dtype_bytes(plan->view.dtype)) : SPTRSM_OK;
}

static sptrsm_status split_rows(const sptrsm_plan *plan, state *s) {
  for (int32_t i = 0; i < s->schedule.count; i++) {
    if (!in_segments(&s->schedule.steps[i])) continue;
    if (!s->order) {
      SPTI_TRY(spti_alloc(plan->context, &s->begin, plan->view.n, sizeof *s->begin, "levelset segments"));
      SPTI_TRY(spti_alloc(plan->context, &s->order, s->entries, sizeof *s->order, "levelset order of entries"));
    }
    const spti_levelset_gpu_split_args args = {
        .rows = {.start = s->rows.start, .from = s->rows.from, .first = s->schedule.steps[i].first, .last = s->schedule.steps[i].last},
        .segment = s->schedule.steps[i].segment,
        .begin = s->begin,
        .order = s->order};
    SPTI_CUDA(spti_levelset_gpu_split_launch(&args, plan->context->stream));
  }
  if (!s->order) return SPTRSM_OK;
  SPTI_TRY(reorder(plan, s, s->rows.from, sizeof *s->rows.from));
  return reorder_values(plan, s);
}

/* ---- analysis ---- */

/* Fills facts, [2 levels + 1] in host memory: entries before each level, then long rows of each level. */
static sptrsm_status take_survey(const sptrsm_plan *plan, state *s, const spti_gpu_levels *levels, int32_t *facts) {
  int32_t *on_device;
  const int64_t count = 2 * (int64_t)levels->count + 1;
  SPTI_TRY(spti_alloc(plan->context, &on_device, count, sizeof *on_device, "levelset survey"));
  const spti_levelset_gpu_survey_args args = {.n = levels->n,
                                              .levels = levels->count,
                                              .level_ptr = levels->device_ptr,
                                              .level = levels->level,
                                              .row = s->rows.row,
                                              .start = s->rows.start,
                                              .entries = on_device,
                                              .long_count = on_device + levels->count + 1,
                                              .long_rows = s->long_rows};
  const size_t bytes = (size_t)count * sizeof *facts;
  sptrsm_status status = spti_gpu_check(spti_levelset_gpu_survey_launch(&args, plan->context->stream), "the survey of levels");
  if (status == SPTRSM_OK) status = spti_gpu_fetch(plan->context, facts, on_device, bytes);
  spti_free(plan->context, on_device);
  return status;
}

static void count_rows(state *s, const spti_gpu_levels *levels) {
  s->least = INT32_MAX;
  for (int32_t l = 0; l < levels->count; l++) {
    const int32_t rows = levels->ptr[l + 1] - levels->ptr[l];
    if (rows < s->least) s->least = rows;
    if (rows > s->most) s->most = rows;
  }
}

/* The number of right-hand sides from which few levels are solved for all of them at once (block.h). The two ways add up in different
 * orders, so the hint of the plan alone decides, and panels of every width are then solved in the same way. */
enum { BLOCK_FROM = 5 };

static bool takes_blocks(const sptrsm_plan *plan, int32_t levels, const spti_levelset_gpu_settings *set) {
  const int64_t hint = plan->options.nrhs_hint;
  return levels <= set->block && (hint == 0 || hint >= BLOCK_FROM);
}

/* Where a run takes more shared memory than a thread block has, few levels take a launch each, and triangles that need runs are refused. */
static sptrsm_status make_steps_that_fit(const sptrsm_plan *plan, state *s, const spti_levelset_gpu_settings *set,
                                         const spti_levelset_gpu_survey *found) {
  const size_t needed = spti_levelset_gpu_run_shared(plan->view.dtype), given = plan->context->shared_bytes;
  spti_levelset_gpu_settings fitting = *set;
  if (given < needed && found->levels <= set->block) fitting.narrow = 0;
  SPTI_TRY(spti_levelset_gpu_schedule_make(&s->schedule, &fitting, found));
  if (given >= needed || s->schedule.wide == s->schedule.count) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                   "levelset: narrow levels of this type need %zu bytes of shared memory, a thread block of this device has up to %zu; use "
                   "syncfree-csr, or narrow=0",
                   needed, given);
}

static sptrsm_status make_steps(const sptrsm_plan *plan, state *s, const spti_gpu_levels *levels, const spti_levelset_gpu_settings *set,
                                const spti_levelset_gpu_survey *found) {
  s->entries = found->entries[found->levels];
  SPTI_TRY(make_steps_that_fit(plan, s, set, found));
  SPTI_TRY(upload_level_starts(plan, s, levels->ptr));
  SPTI_TRY(split_rows(plan, s));
  if (!takes_blocks(plan, levels->count, set)) return SPTRSM_OK;
  return spti_levelset_gpu_block_create(&s->block, plan, found, &s->rows, levels->longest);
}

/* The survey is queued before the host waits for the places at which levels begin. */
static sptrsm_status make_schedule(sptrsm_plan *plan, state *s, const spti_levelset_gpu_settings *set) {
  const spti_gpu_levels *levels = plan->gpu_levels;
  int32_t *facts;
  if (levels->longest > SPTI_LEVELSET_GPU_LONG) {
    s->long_capacity = (int32_t)(plan->view.nnz / SPTI_LEVELSET_GPU_LONG);
    SPTI_TRY(spti_alloc(plan->context, &s->long_rows, s->long_capacity, sizeof *s->long_rows, "levelset long rows"));
  }
  SPTI_TRY(spti_host_alloc(&facts, 2 * (int64_t)levels->count + 1, sizeof *facts, "levelset survey"));
  sptrsm_status status = take_survey(plan, s, levels, facts);
  if (status == SPTRSM_OK) status = spti_plan_levels(plan, &levels);
  if (status == SPTRSM_OK) {
    count_rows(s, levels);
    const spti_levelset_gpu_survey found = {
        .levels = levels->count, .ptr = levels->ptr, .entries = facts, .long_count = facts + levels->count + 1};
    status = make_steps(plan, s, levels, set, &found);
  }
  spti_host_free(facts);
  return status;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  state *s;
  const spti_gpu_levels *levels;
  spti_levelset_gpu_settings set;
  SPTI_TRY(spti_levelset_gpu_settings_parse(&set, plan->variant));
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "levelset state"));
  *s = (state){0};
  plan->state = s;
  SPTI_TRY(spti_plan_level_order(plan, &levels));
  if (plan->view.n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_pull_rows_create(&s->rows, &plan->view, plan->context, levels->order));
  SPTI_TRY(make_schedule(plan, s, &set));
  spti_plan_drop_levels(plan);
  return SPTRSM_OK;
}

static sptrsm_status update_values(sptrsm_plan *plan) {
  const state *s = plan->state;
  if (plan->view.n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_pull_rows_update(&s->rows, &plan->view, plan->context));
  return reorder_values(plan, s);
}

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  spti_pull_rows_free(&s->rows, plan->context);
  spti_free(plan->context, s->level_starts);
  spti_free(plan->context, s->long_rows);
  spti_free(plan->context, s->begin);
  spti_free(plan->context, s->order);
  spti_levelset_gpu_schedule_free(&s->schedule);
  spti_levelset_gpu_block_free(&s->block, plan);
  spti_host_free(s);
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const double average = plan->levels > 0 ? (double)plan->view.n / plan->levels : 0;
  snprintf(info->parameters, sizeof info->parameters, "levels=%d rows=%d/%.1f/%d runs=%d segments=%d wide=%d", plan->levels, s->least,
           average, s->most, s->schedule.count - s->schedule.wide, s->schedule.segments, s->schedule.wide);
  info->plan_bytes = sizeof *s + s->rows.bytes + (size_t)(s->schedule.words + s->long_capacity) * sizeof(int32_t) +
                     (size_t)s->schedule.count * sizeof *s->schedule.steps;
  if (s->block.count > 0) info->plan_bytes += (size_t)s->block.entries * sizeof(int32_t) + (size_t)s->block.count * sizeof *s->block.steps;
  if (s->order) info->plan_bytes += ((size_t)plan->view.n + (size_t)s->entries) * sizeof(int32_t);
}

/* ---- solve ---- */

/* With this many launches or more a solve is recorded as a graph, because a launch takes the host longer than a short kernel runs. */
enum { GRAPH_ABOVE = 4 };

typedef struct {
  const sptrsm_plan *plan;
  void *x;    /* device, [n * panel]: solutions by place; with block.h unscaled solutions by row */
  void *sums; /* device, or NULL: sums of long rows, for block.h */
  spti_recordings recordings;
} workspace;

static int launch_wide(const sptrsm_plan *plan, const step *level, spti_levelset_gpu_rows rows, void *stream) {
  const state *s = plan->state;
  rows.first = level->first;
  rows.last = level->last;
  const spti_levelset_gpu_wide_args args = {
      .rows = rows, .lanes = level->lanes, .long_rows = level->count ? s->long_rows + level->at : NULL, .long_count = level->count};
  return spti_levelset_gpu_wide_launch(&args, plan->view.dtype, stream);
}

static int launch_run(const sptrsm_plan *plan, const step *run, spti_levelset_gpu_rows rows, void *stream) {
  const state *s = plan->state;
  int error = 0;
  for (rows.first = run->first; rows.first < run->last && !error; rows.first = rows.last) {
    rows.last = run->last - rows.first > run->segment ? rows.first + run->segment : run->last;
    const spti_levelset_gpu_run_args args = {.rows = rows,
                                             .begin = rows.first > run->first ? s->begin : NULL,
                                             .level_starts =
                                                 s->level_starts + run->at + (rows.first - run->first) / SPTI_LEVELSET_GPU_CHUNK,
                                             .feeders = run->lanes * SPTI_LEVELSET_GPU_CHUNK};
    if (args.begin) error = spti_levelset_gpu_partial_launch(&args, plan->view.dtype, stream);
    if (!error) error = spti_levelset_gpu_run_launch(&args, plan->view.dtype, stream);
  }
  return error;
}

static sptrsm_status queue_all(const void *work, const spti_transfer *transfer, const int64_t *bound, void *stream) {
  const workspace *ws = work;
  const sptrsm_plan *plan = ws->plan;
  const state *s = plan->state;
  const spti_levelset_gpu_rows rows = {.transfer = *transfer,
                                       .transfer_at = bound,
                                       .row = s->rows.row,
                                       .start = s->rows.start,
                                       .from = s->rows.from,
                                       .val = s->rows.val,
                                       .diag = s->rows.diag,
                                       .x = ws->x,
                                       .pitch = plan->view.n};
  for (int32_t i = 0; i < s->schedule.count; i++) {
    const step *next = &s->schedule.steps[i];
    SPTI_CUDA(next->wide ? launch_wide(plan, next, rows, stream) : launch_run(plan, next, rows, stream));
  }
  return SPTRSM_OK;
}

static int32_t launches(const state *s) {
  const int32_t runs = s->schedule.count - s->schedule.wide;
  return s->schedule.wide + 2 * s->schedule.segments - runs;
}

static bool is_recorded(const state *s) { return s->block.count == 0 && launches(s) >= GRAPH_ABOVE; }

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  const state *s = plan->state;
  *out = (size_t)plan->view.n * (size_t)panel * sptrsm_dtype_bytes(plan->view.dtype) + SPTI_TRANSFER_WORDS * sizeof(int64_t) +
         spti_levelset_gpu_block_bytes(&s->block, plan, panel);
  return SPTRSM_OK;
}

static void work_free(void *work, const sptrsm_plan *plan) {
  workspace *ws = work;
  spti_recordings_free(&ws->recordings);
  spti_free(plan->context, ws->x);
  spti_free(plan->context, ws->sums);
  spti_host_free(ws);
}

static sptrsm_status work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  workspace *ws;
  sptrsm_status status;
  SPTI_TRY(spti_host_alloc(&ws, 1, sizeof *ws, "levelset workspace"));
  *ws = (workspace){.plan = plan, .recordings = {.context = plan->context, .queue = queue_all, .work = ws}};
  SPTI_TRY_GOTO(spti_alloc(plan->context, &ws->x, (int64_t)plan->view.n * panel, sptrsm_dtype_bytes(plan->view.dtype),
                           "levelset solutions by place"));
  const size_t sums = spti_levelset_gpu_block_bytes(&((const state *)plan->state)->block, plan, panel);
  if (sums > 0) SPTI_TRY_GOTO(spti_alloc(plan->context, &ws->sums, (int64_t)sums, 1, "levelset sums of long rows"));
  if (is_recorded(plan->state)) SPTI_TRY_GOTO(spti_recordings_make(&ws->recordings, panel));
  *work = ws;
  return SPTRSM_OK;
fail:
  work_free(ws, plan);
  return status;
}

static sptrsm_status solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *transfer) {
  const workspace *ws = work;
  const state *s = plan->state;
  if (s->block.count > 0)
    return spti_levelset_gpu_block_solve(&s->block, plan, (spti_levelset_gpu_packed){&s->rows, s->long_rows}, ws->x, ws->sums, transfer);
  return spti_recordings_solve(&ws->recordings, transfer);
}

const spti_method spti_method_levelset_gpu = {
    .name = "levelset",
    .summary = "level sets without polling: runs of narrow levels in one block each, a launch for each wide one",
    .cite = "anderson1989",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_CAPTURABLE | SPTI_VARIANTS,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = work_free,
    .solve_between = solve_between,
};
