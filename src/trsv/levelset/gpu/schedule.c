/* schedule.c -- see schedule.h. Takes O(levels) time. */
#include "trsv/levelset/gpu/schedule.h"

#include <string.h>

#include "core/context/alloc.h"
#include "core/base/variant.h"

enum { CHUNK = SPTI_LEVELSET_GPU_CHUNK, DEVICE_THREADS = 1 << 17 /* about as many as a large device runs at once */ };

typedef spti_levelset_gpu_settings settings;
typedef spti_levelset_gpu_step step;
typedef spti_levelset_gpu_survey survey;

static const settings DEFAULTS = {.narrow = 100, .heavy = 8192, .segment = 512, .dense = 48, .block = 8};

sptrsm_status spti_levelset_gpu_settings_parse(settings *s, const char *text) {
  const spti_setting known[] = {{"narrow", &s->narrow, 0, INT32_MAX, NULL}, {"heavy", &s->heavy, 0, INT32_MAX, NULL},
                                {"lanes", &s->lanes, 0, 16, NULL},          {"segment", &s->segment, 0, 1 << 20, NULL},
                                {"dense", &s->dense, 0, INT32_MAX, NULL},   {"block", &s->block, 0, INT32_MAX, NULL}};
  *s = DEFAULTS;
  SPTI_TRY(spti_variant_parse("levelset", text, known, (int)(sizeof known / sizeof *known)));
  if (s->lanes & (s->lanes - 1)) return spti_fail(SPTRSM_ERR_ARGUMENT, "levelset: lanes=%d is not a power of two", s->lanes);
  if (s->segment < CHUNK || s->segment % CHUNK)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "levelset: segment=%d is not a multiple of %d", s->segment, CHUNK);
  return SPTRSM_OK;
}

/* ---- the schedule ---- */

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

/* The level behind the run that begins with `level`; `level` itself if it is wide. */
static int32_t end_of_run(const settings *set, const survey *found, int32_t level) {
  int32_t end = level;
  while (end < found->levels && is_narrow(set, found, end)) end++;
  return end;
}

static step run_of(const settings *set, const survey *found, int32_t level, int32_t end, int32_t at) {
  step s = {.first = found->ptr[level], .last = found->ptr[end], .at = at};
  s.count = (s.last - s.first + CHUNK - 1) / CHUNK;
  const int64_t average = row_average(found, level, end);
  s.lanes = set->lanes ? set->lanes : average > 12 ? 16 : 8;
  s.segment = average >= set->dense ? set->segment : s.count * CHUNK;
  return s;
}

/* About half as many lanes as the average row has entries, or more where threads of the device would be idle otherwise: the longest row
 * decides how long a level takes. */
static int32_t lanes_of_level(const survey *found, int32_t level) {
  const int64_t average = row_average(found, level, level + 1), rows = found->ptr[level + 1] - found->ptr[level];
  if (found->entries[level + 1] == found->entries[level]) return 1;
  return power_of_two_above(average / 2 > DEVICE_THREADS / rows ? average / 2 : DEVICE_THREADS / rows, 32);
}

step spti_levelset_gpu_wide_level(const survey *found, int32_t level) {
  return (step){.wide = true,
                .first = found->ptr[level],
                .last = found->ptr[level + 1],
                .lanes = lanes_of_level(found, level),
                .at = found->entries[level] / SPTI_LEVELSET_GPU_LONG,
                .count = found->long_count[level]};
}

sptrsm_status spti_levelset_gpu_schedule_make(spti_levelset_gpu_schedule *out, const settings *set, const survey *found) {
  spti_levelset_gpu_schedule s = {0};
  SPTI_TRY(spti_host_alloc(&s.steps, found->levels, sizeof *s.steps, "levelset steps"));
  for (int32_t l = 0; l < found->levels;) {
    const int32_t end = end_of_run(set, found, l);
    step *next = &s.steps[s.count++];
    if (end > l) {
      *next = run_of(set, found, l, end, s.words);
      s.words += next->count;
      s.segments += spti_levelset_gpu_segments(next);
      l = end;
    } else {
      *next = spti_levelset_gpu_wide_level(found, l++);
      s.wide++;
    }
  }
  *out = s;
  return SPTRSM_OK;
}

void spti_levelset_gpu_schedule_free(spti_levelset_gpu_schedule *s) {
  spti_host_free(s->steps);
  *s = (spti_levelset_gpu_schedule){0};
}

void spti_levelset_gpu_level_starts(int32_t *words, const spti_levelset_gpu_schedule *s, const int32_t *level_ptr) {
  int32_t level = 0;
  memset(words, 0, (size_t)s->words * sizeof *words);
  for (int32_t i = 0; i < s->count; i++) {
    const step *run = &s->steps[i];
    for (; level_ptr[level] < run->last; level++) {
      const int32_t at = level_ptr[level] - run->first;
      if (!run->wide) words[run->at + at / CHUNK] |= (int32_t)(1u << (at % CHUNK));
    }
  }
}
