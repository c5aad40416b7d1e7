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
  int32_t narrow; /* rows of a level that a run takes in */
  int32_t heavy;  /* entries of a level that it does not */
  int32_t lanes;  /* feeder lanes per row; 0: by the entries */
} settings;

typedef struct {
  bool wide;
  int32_t first, last; /* places */
  int32_t lanes;       /* per row */
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
  int32_t least, most;   /* rows per level */
} state;

static sptrsm_status parse_setting(settings *s, const char *key, size_t length, long value) {
  const struct {
    const char *key;
    int32_t *target;
    long most;
  } known[] = {{"narrow", &s->narrow, INT32_MAX}, {"heavy", &s->heavy, INT32_MAX}, {"lanes", &s->lanes, 16}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strlen(known[i].key) != length || memcmp(known[i].key, key, length) != 0) continue;
    if (value < 0 || value > known[i].most)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "levelset: %s=%ld is not in 0..%ld", known[i].key, value, known[i].most);
    *known[i].target = (int32_t)value;
    return SPTRSM_OK;
  }
  return spti_fail(SPTRSM_ERR_ARGUMENT, "levelset: unknown parameter \"%.*s\"; known are narrow, heavy, lanes", (int)length, key);
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
  s.lanes = set->lanes ? set->lanes : power_of_two_above(row_average(found, level, end), SPTI_LEVELSET_GPU_FEEDERS_MAX / CHUNK);
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
    status = upload_level_starts(plan, s, levels->ptr);
  }
  spti_host_free(facts);
  return status;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  state *s;
  const spti_gpu_levels *levels;
  settings set = {.narrow = 100, .heavy = 8192};
  SPTI_TRY(parse_variant(&set, plan->variant));
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "levelset state"));
  *s = (state){.set = set};
  plan->state = s;
  SPTI_TRY(spti_plan_levels(plan, &levels));
  if (plan->view.n == 0) return SPTRSM_OK;
  count_rows(s, levels);
  SPTI_TRY(spti_pull_rows_create(&s->rows, plan, levels->order));
  SPTI_TRY(schedule(plan, s, levels));
  spti_plan_drop_levels(plan);
  return SPTRSM_OK;
}

static sptrsm_status update_values(sptrsm_plan *plan) {
  const state *s = plan->state;
  return plan->view.n > 0 ? spti_pull_rows_update(&s->rows, plan) : SPTRSM_OK;
}

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  if (!s) return;
  spti_pull_rows_free(&s->rows, plan);
  spti_free(plan->context, s->level_starts);
  spti_free(plan->context, s->long_rows);
  spti_host_free(s->steps);
  spti_host_free(s);
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const double average = plan->levels > 0 ? (double)plan->view.n / plan->levels : 0;
  snprintf(info->parameters, sizeof info->parameters, "levels=%d rows=%d/%.1f/%d runs=%d wide=%d", plan->levels, s->least, average, s->most,
           s->step_count - s->wide_count, s->wide_count);
  info->plan_bytes =
      sizeof *s + s->rows.bytes + (size_t)(s->words + s->long_capacity) * sizeof(int32_t) + (size_t)s->step_count * sizeof *s->steps;
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

static int launch_step(const sptrsm_plan *plan, const step *next, spti_levelset_gpu_rows rows) {
  const state *s = plan->state;
  rows.first = next->first;
  rows.last = next->last;
  if (next->wide) {
    const spti_levelset_gpu_wide_args args = {
        .rows = rows, .lanes = next->lanes, .long_rows = next->count ? s->long_rows + next->at : NULL, .long_count = next->count};
    return spti_levelset_gpu_wide_launch(&args, plan->view.dtype, plan->context->stream);
  }
  const spti_levelset_gpu_run_args args = {.rows = rows, .level_starts = s->level_starts + next->at, .feeders = next->lanes * CHUNK};
  return spti_levelset_gpu_run_launch(&args, plan->view.dtype, plan->context->stream);
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
  for (int32_t i = 0; i < s->step_count; i++) SPTI_CUDA(launch_step(plan, &s->steps[i], rows));
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
