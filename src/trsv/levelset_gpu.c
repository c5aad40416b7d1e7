/* levelset on a GPU -- substitution by level sets, without any polling.
 * x(i) = (b(i) - sum over j of t(i,j) x(j)) / t(i,i), level by level; the rows of a level need only earlier levels.
 * Runs of narrow levels are one launch of one block each, which goes through them in chunks of 32 rows; a wide level is a launch of
 * its own.
 * The kernels are in levelset_gpu_kernels.cu.
 * Source: [anderson1989], [saltz1990], algorithm 2 of [lu2023tile]; what differs is said there. Wins: deep narrow problems, such as
 * factors of direct solvers and chains; problems of a few levels. Loses: hundreds of levels of some hundred rows each, where a level is too
 * wide for a block and too narrow for a launch. Deterministic: yes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/gpu.h"
#include "core/levels_gpu.h"
#include "core/method.h"
#include "trsv/levelset_gpu_kernels.h"

enum { CHUNK = SPTI_LEVELSET_GPU_CHUNK };

/* What a variant "levelset:narrow=128" may set. */
typedef struct {
  int32_t narrow;  /* rows of a level that a run takes in */
  int32_t heavy;   /* entries of a level that it does not */
  int32_t lanes;   /* feeder lanes per row; 0: by the entries */
  int32_t segment; /* rows of a segment, a multiple of 32 */
  int32_t dense;   /* entries per row from which a run is divided into segments */
} settings;

/* A run or a wide level. */
typedef struct {
  bool wide;
  int32_t first, last; /* places */
  int32_t lanes;       /* per row */
  int32_t segment;     /* a run's rows per segment */
  int32_t at, count;   /* a run's words of level_starts; a wide level's long rows */
} step;

typedef struct {
  settings set;
  spti_pull_rows rows;
  step *steps;
  int32_t step_count, wide_count;
  int32_t words, long_capacity;
  int32_t *level_starts; /* device, [words] */
  int32_t *long_rows;    /* device, [long_capacity], or NULL */
  int32_t *begin;        /* device, [n], and */
  int32_t *order;        /* device, [entries], or both NULL: no run in several segments */
  int32_t entries;       /* without diagonals */
  int32_t least, most;   /* rows per level */
} state;

static sptrsm_status parse_setting(settings *s, const char *key, size_t length, long value) {
  const struct {
    const char *key;
    int32_t *target;
    long most;
  } known[] = {{"narrow", &s->narrow, INT32_MAX},
               {"heavy", &s->heavy, INT32_MAX},
               {"lanes", &s->lanes, 16},
               {"segment", &s->segment, 1 << 20},
               {"dense", &s->dense, INT32_MAX}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strlen(known[i].key) != length || memcmp(known[i].key, key, length) != 0) continue;
    if (value < 0 || value > known[i].most)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "levelset: %s=%ld is not in 0..%ld", known[i].key, value, known[i].most);
    *known[i].target = (int32_t)value;
    return SPTRSM_OK;
  }
  return spti_fail(SPTRSM_ERR_ARGUMENT, "levelset: unknown parameter \"%.*s\"; known are narrow, heavy, lanes, segment, dense", (int)length,
                   key);
}

/* "key=value,key=value" */
static sptrsm_status parse_variant(settings *s, const char *text) {
  while (*text) {
    size_t length = strcspn(text, "=,");
    char *end = NULL;
    long value = text[length] == '=' ? strtol(text + length + 1, &end, 10) : 0;
    if (!end || end == text + length + 1 || (*end && *end != ','))
      return spti_fail(SPTRSM_ERR_ARGUMENT, "levelset: expected key=value[,key=value...] in \"%s\"", text);
    SPTI_TRY(parse_setting(s, text, length, value));
    text = *end ? end + 1 : end;
  }
  if (s->lanes & (s->lanes - 1)) return spti_fail(SPTRSM_ERR_ARGUMENT, "levelset: lanes=%d is not a power of two", s->lanes);
  if (s->segment < CHUNK || s->segment % CHUNK)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "levelset: segment=%d is not a multiple of %d", s->segment, CHUNK);
  return SPTRSM_OK;
}

/* ---- the schedule ---- */

/* What the survey found, on the host. */
typedef struct {
  const int32_t *ptr;        /* [levels+1], of places */
  const int32_t *entries;    /* [levels+1], running */
  const int32_t *long_count; /* [levels] */
} survey;

static int32_t power_of_two_above(int64_t wanted, int32_t most) {
  int32_t p = 1;
  while (p < wanted && p < most) p *= 2;
  return p;
}

static int64_t row_average(const survey *found, int32_t level, int32_t end) {
  return (found->entries[end] - found->entries[level]) / (found->ptr[end] - found->ptr[level]);
}

static bool is_narrow(const settings *set, const survey *found, int32_t level) {
  return found->ptr[level + 1] - found->ptr[level] <= set->narrow && found->entries[level + 1] - found->entries[level] <= set->heavy;
}

/* The end of the run that begins at a level; the level itself if it is to be a launch of its own. */
static int32_t end_of_run(const settings *set, const survey *found, int32_t level, int32_t levels) {
  int32_t end = level;
  while (end < levels && is_narrow(set, found, end)) end++;
  return end;
}

static step run_of(const settings *set, const survey *found, int32_t level, int32_t end, int32_t at) {
  step s = {.first = found->ptr[level], .last = found->ptr[end], .at = at};
  s.count = (s.last - s.first + CHUNK - 1) / CHUNK;
  const int64_t average = row_average(found, level, end);
  s.lanes = set->lanes ? set->lanes : power_of_two_above(average, SPTI_LEVELSET_GPU_FEEDERS_MAX / CHUNK);
  s.segment = average >= set->dense ? set->segment : s.count * CHUNK;
  return s;
}

static step wide_level(const survey *found, int32_t level) {
  return (step){.wide = true,
                .first = found->ptr[level],
                .last = found->ptr[level + 1],
                .lanes = power_of_two_above(row_average(found, level, level + 1) / 2, 32),
                .at = found->entries[level] / SPTI_LEVELSET_GPU_LONG,
                .count = found->long_count[level]};
}

static void plan_steps(state *s, const survey *found, int32_t levels) {
  for (int32_t l = 0; l < levels;) {
    const int32_t end = end_of_run(&s->set, found, l, levels);
    step *next = &s->steps[s->step_count++];
    if (end > l) {
      *next = run_of(&s->set, found, l, end, s->words);
      s->words += next->count;
      l = end;
    } else {
      *next = wide_level(found, l++);
      s->wide_count++;
    }
  }
}

/* Bit r of a run's word c: place first + 32 c + r begins a level. */
static void mark_level_starts(const state *s, const int32_t *ptr, int32_t *words) {
  int32_t level = 0;
  memset(words, 0, (size_t)s->words * sizeof *words);
  for (int32_t i = 0; i < s->step_count; i++) {
    const step *run = &s->steps[i];
    for (; ptr[level] < run->last; level++) {
      const int32_t at = ptr[level] - run->first;
      if (!run->wide) words[run->at + at / CHUNK] |= (int32_t)(1u << (at % CHUNK));
    }
  }
}

static sptrsm_status upload_level_starts(const sptrsm_plan *plan, state *s, const int32_t *ptr) {
  int32_t *words;
  SPTI_TRY(spti_alloc(plan->context, &s->level_starts, s->words, sizeof *s->level_starts, "levelset level starts"));
  SPTI_TRY(spti_host_alloc(&words, s->words, sizeof *words, "levelset level starts"));
  mark_level_starts(s, ptr, words);
  const size_t bytes = (size_t)s->words * sizeof *words;
  const sptrsm_status status = spti_gpu_copy(plan->context, s->level_starts, bytes, words, bytes, bytes, 1, SPTI_TO_DEVICE);
  spti_host_free(words);
  return status;
}

/* ---- rows of runs in several segments ---- */

static bool in_segments(const step *s) { return !s->wide && s->last - s->first > s->segment; }

/* values, of the rows in segments, into the order of the split. */
static sptrsm_status reorder(const sptrsm_plan *plan, const state *s, void *values, size_t bytes) {
  const size_t all = (size_t)s->entries * bytes;
  void *old;
  SPTI_TRY(spti_alloc(plan->context, &old, s->entries, bytes, "levelset entries"));
  sptrsm_status status = spti_gpu_copy(plan->context, old, all, values, all, all, 1, SPTI_ON_DEVICE);
  for (int32_t i = 0; i < s->step_count && status == SPTRSM_OK; i++) {
    if (!in_segments(&s->steps[i])) continue;
    const spti_levelset_gpu_reorder_args args = {.start = s->rows.start,
                                                 .order = s->order,
                                                 .first = s->steps[i].first,
                                                 .last = s->steps[i].last,
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
  for (int32_t i = 0; i < s->step_count; i++) {
    if (!in_segments(&s->steps[i])) continue;
    if (!s->order) {
      SPTI_TRY(spti_alloc(plan->context, &s->begin, plan->view.n, sizeof *s->begin, "levelset segments"));
      SPTI_TRY(spti_alloc(plan->context, &s->order, s->entries, sizeof *s->order, "levelset order of entries"));
    }
    const spti_levelset_gpu_split_args args = {
        .rows = {.start = s->rows.start, .from = s->rows.from, .first = s->steps[i].first, .last = s->steps[i].last},
        .segment = s->steps[i].segment,
        .begin = s->begin,
        .order = s->order};
    SPTI_CUDA(spti_levelset_gpu_split_launch(&args, plan->context->stream));
  }
  if (!s->order) return SPTRSM_OK;
  SPTI_TRY(reorder(plan, s, s->rows.from, sizeof *s->rows.from));
  return reorder_values(plan, s);
}

/* ---- analysis ---- */

/* facts: [2 levels + 1], host. */
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
  if (status == SPTRSM_OK) status = spti_gpu_copy(plan->context, facts, bytes, on_device, bytes, bytes, 1, SPTI_TO_HOST);
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

static sptrsm_status schedule(const sptrsm_plan *plan, state *s, const spti_gpu_levels *levels) {
  int32_t *facts;
  if (levels->longest > SPTI_LEVELSET_GPU_LONG) {
    s->long_capacity = (int32_t)(plan->view.nnz / SPTI_LEVELSET_GPU_LONG);
    SPTI_TRY(spti_alloc(plan->context, &s->long_rows, s->long_capacity, sizeof *s->long_rows, "levelset long rows"));
  }
  SPTI_TRY(spti_host_alloc(&s->steps, levels->count, sizeof *s->steps, "levelset steps"));
  SPTI_TRY(spti_host_alloc(&facts, 2 * (int64_t)levels->count + 1, sizeof *facts, "levelset survey"));
  sptrsm_status status = take_survey(plan, s, levels, facts);
  if (status == SPTRSM_OK) {
    const survey found = {.ptr = levels->ptr, .entries = facts, .long_count = facts + levels->count + 1};
    plan_steps(s, &found, levels->count);
    s->entries = facts[levels->count];
    status = upload_level_starts(plan, s, levels->ptr);
  }
  spti_host_free(facts);
  return status;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  state *s;
  const spti_gpu_levels *levels;
  settings set = {.narrow = 100, .heavy = 8192, .segment = 512, .dense = 96};
  SPTI_TRY(parse_variant(&set, plan->variant));
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "levelset state"));
  *s = (state){.set = set};
  plan->state = s;
  SPTI_TRY(spti_plan_levels(plan, &levels));
  if (plan->view.n == 0) return SPTRSM_OK;
  count_rows(s, levels);
  SPTI_TRY(spti_pull_rows_create(&s->rows, plan, levels->order));
  SPTI_TRY(schedule(plan, s, levels));
  SPTI_TRY(split_rows(plan, s));
  spti_plan_drop_levels(plan);
  return SPTRSM_OK;
}

static sptrsm_status update_values(sptrsm_plan *plan) {
  const state *s = plan->state;
  if (plan->view.n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_pull_rows_update(&s->rows, plan));
  return reorder_values(plan, s);
}

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  if (!s) return;
  spti_pull_rows_free(&s->rows, plan);
  spti_free(plan->context, s->level_starts);
  spti_free(plan->context, s->long_rows);
  spti_free(plan->context, s->begin);
  spti_free(plan->context, s->order);
  spti_host_free(s->steps);
  spti_host_free(s);
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const double average = plan->levels > 0 ? (double)plan->view.n / plan->levels : 0;
  int32_t segments = 0;
  for (int32_t i = 0; i < s->step_count; i++)
    if (!s->steps[i].wide) segments += (s->steps[i].last - s->steps[i].first + s->steps[i].segment - 1) / s->steps[i].segment;
  snprintf(info->parameters, sizeof info->parameters, "levels=%d rows=%d/%.1f/%d runs=%d segments=%d wide=%d", plan->levels, s->least,
           average, s->most, s->step_count - s->wide_count, segments, s->wide_count);
  info->plan_bytes =
      sizeof *s + s->rows.bytes + (size_t)(s->words + s->long_capacity) * sizeof(int32_t) + (size_t)s->step_count * sizeof *s->steps;
  if (s->order) info->plan_bytes += ((size_t)plan->view.n + (size_t)s->entries) * sizeof(int32_t);
}

/* ---- solve ---- */

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  *out = (size_t)plan->view.n * (size_t)panel * sptrsm_dtype_bytes(plan->view.dtype);
  return SPTRSM_OK;
}

static sptrsm_status work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  return spti_alloc(plan->context, work, (int64_t)plan->view.n * panel, sptrsm_dtype_bytes(plan->view.dtype),
                    "levelset solutions by place");
}

static void work_free(void *work, const sptrsm_plan *plan) { spti_free(plan->context, work); }

static int launch_wide(const sptrsm_plan *plan, const step *level, spti_levelset_gpu_rows rows) {
  const state *s = plan->state;
  rows.first = level->first;
  rows.last = level->last;
  const spti_levelset_gpu_wide_args args = {
      .rows = rows, .lanes = level->lanes, .long_rows = level->count ? s->long_rows + level->at : NULL, .long_count = level->count};
  return spti_levelset_gpu_wide_launch(&args, plan->view.dtype, plan->context->stream);
}

static int launch_run(const sptrsm_plan *plan, const step *run, spti_levelset_gpu_rows rows) {
  const state *s = plan->state;
  int error = 0;
  for (rows.first = run->first; rows.first < run->last && !error; rows.first = rows.last) {
    rows.last = run->last - rows.first > run->segment ? rows.first + run->segment : run->last;
    const spti_levelset_gpu_run_args args = {.rows = rows,
                                             .begin = rows.first > run->first ? s->begin : NULL,
                                             .level_starts = s->level_starts + run->at + (rows.first - run->first) / CHUNK,
                                             .feeders = run->lanes * CHUNK};
    if (args.begin) error = spti_levelset_gpu_partial_launch(&args, plan->view.dtype, plan->context->stream);
    if (!error) error = spti_levelset_gpu_run_launch(&args, plan->view.dtype, plan->context->stream);
  }
  return error;
}

static sptrsm_status solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *transfer) {
  const state *s = plan->state;
  const spti_levelset_gpu_rows rows = {.transfer = *transfer,
                                       .row = s->rows.row,
                                       .start = s->rows.start,
                                       .from = s->rows.from,
                                       .val = s->rows.val,
                                       .diag = s->rows.diag,
                                       .x = work,
                                       .pitch = plan->view.n};
  for (int32_t i = 0; i < s->step_count; i++) {
    const step *next = &s->steps[i];
    SPTI_CUDA(next->wide ? launch_wide(plan, next, rows) : launch_run(plan, next, rows));
  }
  return SPTRSM_OK;
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
