/* schedule.h -- how several threads of the host share one panel: steps with a barrier between them.
 *
 * A step has units, which do not depend on each other, and each of which one thread solves. There are two ways to make steps, and the one
 * that takes less time by the model (schedule.c) is kept:
 *   levels   a wide level is a step with each row as a unit; a run of consecutive narrow levels is a step of one unit;
 *   trees    a layer of the elimination tree is a step with its subtrees as units (core/levels/forest.h).
 * The rows of a unit keep the natural solve order: it respects the dependencies among them, and it reads the matrix from front to back. */
#ifndef SPTI_CORE_LEVELS_SCHEDULE_H
#define SPTI_CORE_LEVELS_SCHEDULE_H

#include "core/blob/blob.h"
#include "core/context/team.h"
#include "core/levels/levels.h"

typedef struct {
  bool trees;
  int32_t steps, split; /* number of steps, and of those with several units */
  int32_t *ptr;         /* [steps+1]: the units of step s are ptr[s] .. ptr[s+1] */
  int32_t *unit;        /* [units+1]: the rows of unit u are order[unit[u] .. unit[u+1]) */
  int32_t *order;       /* [n] */
  int64_t *cost;        /* [units+1]: cost of all units before unit u, in tenths of a nanosecond (schedule.c) */
  int64_t *heaviest;    /* [steps]: the largest cost of a unit of each step */
  int least, team;      /* fewest and most threads for which sharing a panel pays; 1 and 1: it never does */
  size_t bytes;
  bool borrowed; /* the arrays are in a blob */
} spti_schedule;

/* Makes a schedule for the rows of a pull view with these level sets; it does not depend on how many threads this machine has. A schedule
 * of team 1 has no arrays. */
sptrsm_status spti_schedule_build(spti_schedule *out, const spti_view *, const spti_levels *);
/* A schedule of trees, from the costs of the rows: cost[n], in tenths of a nanosecond. */
sptrsm_status spti_schedule_trees(spti_schedule *out, const spti_view *, const int64_t *cost);
void spti_schedule_free(spti_schedule *);

/* Measures, writes or reads it. What is read has rows below `rows`, and no step or unit that isn't there. */
void spti_schedule_carry(spti_schedule *, spti_blob *, int32_t rows);

/* Part `part` of the `parts` into which a step is cut, with about equal costs: units [begin, end). */
void spti_schedule_share(int32_t *begin, int32_t *end, const spti_schedule *, int32_t step, int part, int parts);

/* The time that `threads` need together, by the model, over the time of one. */
double spti_schedule_time(const spti_schedule *, int threads);

/* How many threads of the team share a panel; 1: the caller solves it alone. */
int spti_schedule_threads(const spti_schedule *, const spti_team *);

/* Calls solve(argument, step, begin, end) for the units [begin, end) of all parts of all steps, on up to `threads` threads. */
typedef void spti_schedule_solve(void *argument, int32_t step, int32_t begin, int32_t end);
void spti_schedule_run(const spti_schedule *, spti_team *, int threads, spti_schedule_solve *solve, void *argument);

#endif
