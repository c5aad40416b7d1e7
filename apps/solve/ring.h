/* ring.h -- items that pass through stages, each stage at work on another item, on a ring of buffers.
 *
 * Stage s runs on item i as soon as stage s-1 is done with it; the first stage as soon as the last one has freed a slot. Each stage takes
 * the items in order and has a thread of its own; one of them runs on the calling thread. The first stage that fails stops them all.
 */
#ifndef APPS_SOLVE_RING_H
#define APPS_SOLVE_RING_H

#include <sptrsm.h>

enum { RING_STAGES = 4 };

typedef struct {
  sptrsm_status (*stages[RING_STAGES])(void *context, int64_t item, int slot); /* slot = item % slots */
  int home;                                                                    /* the stage that runs on the calling thread */
  int slots; /* one more than there are stages keeps all of them at work */
  int64_t items;
  void *context;
  double busy[RING_STAGES]; /* result: seconds at work */
} ring;

/* Returns when all threads have ended. The message of a failure is that of the calling thread (sptrsm_last_error). */
sptrsm_status ring_run(ring *);

#endif
