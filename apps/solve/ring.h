/* ring.h -- a pipeline of stages, each at work on another item, over a ring of buffers (slots).
 *
 * Stage s takes item i as soon as stage s-1 is done with it; the first stage, as soon as the last stage has freed the item's slot. Each
 * stage takes the items in order and has a thread of its own; stage `home` runs on the calling thread. A stage that fails stops all others.
 */
#ifndef APPS_SOLVE_RING_H
#define APPS_SOLVE_RING_H

#include <sptrsm.h>

enum { RING_STAGES = 4 };

typedef struct {
  sptrsm_status (*stages[RING_STAGES])(void *context, int64_t item, int slot); /* slot = item % slots */
  int home;                                                                    /* the stage that runs on the calling thread */
  int slots; /* one more than stages: then all stages can work at the same time */
  int64_t items;
  void *context;
  double busy[RING_STAGES]; /* result: seconds that each stage worked */
} ring;

/* Returns when all threads have ended. After a failure sptrsm_last_error() of the calling thread is the message of the failed stage. */
sptrsm_status ring_run(ring *);

#endif
