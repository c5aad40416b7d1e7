/* ring.h -- a pipeline of stages, each at work on other items, over a ring of buffers (slots).
 *
 * Stage s takes item i as soon as stage s-1 is done with it; the first stage, as soon as the last stage has freed the item's slot. Each
 * stage takes the items in order and has a thread of its own; stage `home` runs on the calling thread, and so does a stage that the system
 * has no thread for. A stage that fails stops all others.
 *
 * Stage `home` may have several servers, with a thread each: whichever is free takes the next item, and the stage after it gets the items
 * in order all the same. A server sits out some items where its latest took so long that another one would have run out of slots, or
 * would have done all that is left, meanwhile; after its first item only the latter counts, since it may take less for the next. Then
 * it tries another item; as long as that is too slow too, each pause is twice as long.
 *
 * A server that needs at least twice as long for an item as another one takes none that the other, which waits or is soon free, would have
 * done before it. One that is doubted waits until another one is measured, takes its first item where the others would need the time of 32
 * of theirs for what is left, and leaves all to them once it has shown that it needs twice as long or more.
 */
#ifndef APPS_SOLVE_RING_H
#define APPS_SOLVE_RING_H

#include <stdbool.h>

#include <sptrsm.h>

enum { RING_STAGES = 4, RING_SERVERS_MAX = 64 };

/* One slot more than stages: then all stages can work at the same time. For each more server one that it holds and one that waits. */
static inline int ring_slots(int servers) { return RING_STAGES + 1 + 2 * (servers - 1); }
enum { RING_SLOTS_MAX = RING_STAGES + 1 + 2 * (RING_SERVERS_MAX - 1) };

typedef struct {
  double busy;          /* seconds that it worked */
  double seconds;       /* of its latest item; 0: not known, as after the first, which takes longer than those after it */
  double latest;        /* of its latest item, if it was not the first one; also after a pause, when `seconds` is not known any more */
  double first;         /* of its first item: what another one takes at most, until it has done that */
  int64_t items;        /* that it did, without empty ones */
  bool left;            /* it is too slow, and sits out */
  int64_t pause, until; /* how many items it sits out, and how many all servers have taken then */
  bool works;           /* on an item, now */
} ring_server;

typedef struct {
  sptrsm_status (*stages[RING_STAGES])(void *context, int64_t item, int slot, int server); /* slot = item % slots */
  int home;                                                                                /* the stage that runs on the calling thread */
  int servers;                                                                             /* of stage `home`, at least 1 */
  int slots;                                                                               /* ring_slots(servers) */
  int64_t items;
  bool doubted[RING_SERVERS_MAX];                  /* servers that are taken for slow until they are measured */
  bool (*is_empty)(const void *context, int slot); /* NULL, or whether there is no work in this slot; then the item is not counted */
  void *context;
  double busy[RING_STAGES];             /* result: seconds that each stage worked; with several servers, the one that worked longest */
  ring_server server[RING_SERVERS_MAX]; /* result */
} ring;

/* Returns when all threads have ended. After a failure sptrsm_last_error() of the calling thread is the message of the failed stage. */
sptrsm_status ring_run(ring *);

/* ---- for tests ---- */

/* Does this server leave the next item to others? taken: by all servers so far; ready: items that wait. Brings the server's state up to
 * date. */
bool ring_sits_out(ring *, int server, int64_t taken, int64_t ready);

void ring_begin(ring *, int server);                                /* the server takes an item */
void ring_count(ring *, int server, double seconds, bool is_empty); /* it has done it */

#endif
