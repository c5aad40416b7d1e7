/* schedule.h -- how levelset on a GPU divides the levels into runs of narrow ones and wide ones. Host only. */
#ifndef SPTI_TRSV_LEVELSET_GPU_SCHEDULE_H
#define SPTI_TRSV_LEVELSET_GPU_SCHEDULE_H

#include <stdbool.h>

#include "core/base/error.h"
#include "trsv/levelset/gpu/kernels.h"

/* What a variant "levelset:narrow=128" may set. */
typedef struct {
  int32_t narrow;  /* rows of a level that a run takes in */
  int32_t heavy;   /* entries of a level that it does not */
  int32_t lanes;   /* feeder lanes per row; 0: by the entries */
  int32_t segment; /* rows of a segment, a multiple of 32 */
  int32_t dense;   /* entries per row from which a run is divided into segments */
  int32_t block;   /* levels up to which blocks of right-hand sides take a launch a level (block.h) */
} spti_levelset_gpu_settings;

sptrsm_status spti_levelset_gpu_settings_parse(spti_levelset_gpu_settings *, const char *variant); /* over the defaults */

/* A run or a wide level. */
typedef struct {
  bool wide;
  int32_t first, last; /* places */
  int32_t lanes;       /* per row */
  int32_t segment;     /* a run's rows per segment */
  int32_t at, count;   /* a run's words of level starts; a wide level's long rows */
} spti_levelset_gpu_step;

/* What is known of the levels. */
typedef struct {
  int32_t levels;
  const int32_t *ptr;        /* [levels+1], of places */
  const int32_t *entries;    /* [levels+1], running */
  const int32_t *long_count; /* [levels] */
} spti_levelset_gpu_survey;

typedef struct {
  spti_levelset_gpu_step *steps; /* [levels] at most */
  int32_t count, wide, segments; /* steps; wide levels among them; segments of all runs */
  int32_t words;                 /* of level starts */
} spti_levelset_gpu_schedule;

sptrsm_status spti_levelset_gpu_schedule_make(spti_levelset_gpu_schedule *out, const spti_levelset_gpu_settings *,
                                              const spti_levelset_gpu_survey *);
spti_levelset_gpu_step spti_levelset_gpu_wide_level(const spti_levelset_gpu_survey *, int32_t level); /* one by itself */
void spti_levelset_gpu_schedule_free(spti_levelset_gpu_schedule *);

/* Bit r of a run's word c: place first + 32 c + r begins a level. words: [words]. */
void spti_levelset_gpu_level_starts(int32_t *words, const spti_levelset_gpu_schedule *, const int32_t *level_ptr);

static inline int32_t spti_levelset_gpu_segments(const spti_levelset_gpu_step *run) {
  return (run->last - run->first + run->segment - 1) / run->segment;
}

#endif
