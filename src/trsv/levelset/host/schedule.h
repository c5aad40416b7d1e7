/* schedule.h -- how several threads share one panel: steps with a barrier between them.
 *
 * A step is either one wide level, which is split among the threads by entries, or a run of consecutive narrow levels, which one thread
 * solves alone. The rows of a step keep the natural solve order: it respects the dependencies within a run as well, and it reads the
 * matrix from front to back. */
#ifndef SPTI_TRSV_LEVELSET_HOST_SCHEDULE_H
#define SPTI_TRSV_LEVELSET_HOST_SCHEDULE_H

#include "core/levels/levels.h"

typedef struct {
  int32_t steps, wide; /* number of steps, and of split ones among them */
  int32_t *ptr;        /* [steps+1]: rows of step s are order[ptr[s] .. ptr[s+1]) */
  int32_t *order;      /* [n] */
  int64_t *cost;       /* [n+1]: cost of all rows before the r-th row of order, in the units of the model (schedule.c) */
  bool *split;         /* [steps]: a wide level */
  int least, team;     /* fewest and most threads for which sharing a panel pays; 1 and 1: it never does */
  size_t bytes;
} spti_schedule;

/* Makes a schedule from the level sets of a pull view. It does not depend on how many threads this machine has. */
sptrsm_status spti_schedule_build(spti_schedule *out, const spti_view *, const spti_levels *);
void spti_schedule_free(spti_schedule *);

/* The rows order[begin..end) of a step that thread `thread` of `threads` solves: equal cost for each thread where the step is split, else
 * all rows for thread 0. */
void spti_schedule_share(int32_t *begin, int32_t *end, const spti_schedule *, int32_t step, int thread, int threads);

#endif
