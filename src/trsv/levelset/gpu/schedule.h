/* schedule.h -- how levelset on a GPU divides the level sets into runs of narrow levels and single wide levels. Runs on the host. */
#ifndef SPTI_TRSV_LEVELSET_GPU_SCHEDULE_H
#define SPTI_TRSV_LEVELSET_GPU_SCHEDULE_H

#include <stdbool.h>

#include "core/base/error.h"
#include "trsv/levelset/gpu/kernels.h"

/* The parameters, as in "levelset:narrow=128". */
typedef struct {
  int32_t narrow;  /* most rows of a level in a run */
  int32_t heavy;   /* most entries of a level in a run */
  int32_t lanes;   /* feeder lanes for each row of a run; 0: chosen by the average row */
  int32_t segment; /* rows of a segment, a multiple of 32 */
  int32_t dense;   /* entries per row on average from which a run is divided into segments */
  int32_t block;   /* most levels for which blocks of right-hand sides take a launch for each level (block.h) */
} spti_levelset_gpu_settings;

/* Sets the defaults, then what the variant says. */
sptrsm_status spti_levelset_gpu_settings_parse(spti_levelset_gpu_settings *, const char *variant);

/* A run of narrow levels, or one wide level: the rows at places [first, last). */
typedef struct {
  bool wide;
  int32_t first, last;
  int32_t lanes;     /* for each row */
  int32_t segment;   /* run: rows of a segment */
  int32_t at, count; /* run: its words of level starts; wide level: its elements of the list of long rows */
} spti_levelset_gpu_step;

/* What the analysis counts for each level (spti_levelset_gpu_survey_args). */
typedef struct {
  int32_t levels;
  const int32_t *ptr;        /* [levels+1]: places of level l are [ptr[l], ptr[l+1]) */
  const int32_t *entries;    /* [levels+1]: entries before level l */
  const int32_t *long_count; /* [levels] */
} spti_levelset_gpu_survey;

typedef struct {
  spti_levelset_gpu_step *steps; /* [count], in the order of the solve */
  int32_t count, wide, segments; /* number of steps, of wide levels among them, and of segments in all runs */
  int32_t words;                 /* of level starts, in all runs */
} spti_levelset_gpu_schedule;

sptrsm_status spti_levelset_gpu_schedule_make(spti_levelset_gpu_schedule *out, const spti_levelset_gpu_settings *,
                                              const spti_levelset_gpu_survey *);
spti_levelset_gpu_step spti_levelset_gpu_wide_level(const spti_levelset_gpu_survey *, int32_t level); /* one level as a step */
void spti_levelset_gpu_schedule_free(spti_levelset_gpu_schedule *);

/* Fills words, [words]: bit r of word c of a run is set if a level begins at place first + 32 c + r. */
void spti_levelset_gpu_level_starts(int32_t *words, const spti_levelset_gpu_schedule *, const int32_t *level_ptr);

static inline int32_t spti_levelset_gpu_segments(const spti_levelset_gpu_step *run) {
  return (run->last - run->first + run->segment - 1) / run->segment;
}

#endif
