/* schedule.h -- how several threads share one panel: steps with a barrier between them.
 *
 * A step is one wide level, split among the threads by entries, or a run of consecutive narrow levels that one thread solves
 * alone. Rows of a step keep the natural solve order, which is valid within a run too and reads the matrix forwards. */
#ifndef SPTI_TRSV_LEVELSET_HOST_SCHEDULE_H
#define SPTI_TRSV_LEVELSET_HOST_SCHEDULE_H

#include "core/levels/levels.h"

typedef struct {
  int32_t steps, wide; /* all of them, and those that are split */
  int32_t *ptr;        /* [steps+1]: rows of step s are order[ptr[s] .. ptr[s+1]) */
  int32_t *order;      /* [n] */
  int64_t *cost;       /* [n+1]: work before the r-th row of order */
  bool *split;         /* [steps] */
  int least, team;     /* threads from which and up to which sharing pays; 1 and 1: never */
  size_t bytes;
} spti_schedule;

/* From the levels of a pull view. The result does not depend on the threads of this machine. */
sptrsm_status spti_schedule_build(spti_schedule *out, const spti_view *, const spti_levels *);
void spti_schedule_free(spti_schedule *);

/* Rows order[begin..end) of a step for one thread of `threads`: a share of equal work; all or none where it is not split. */
void spti_schedule_share(int32_t *begin, int32_t *end, const spti_schedule *, int32_t step, int thread, int threads);

#endif
