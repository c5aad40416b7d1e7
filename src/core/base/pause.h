/* pause.h -- how a thread waits for another one. */
#ifndef SPTI_CORE_BASE_PAUSE_H
#define SPTI_CORE_BASE_PAUSE_H

#include <sched.h>
#include <time.h>

/* One round of waiting, number `round` = 0, 1, ...: at first a pause of the processor, then others get the core, and after a thousand
 * rounds the thread sleeps for a moment. */
static inline void spti_pause(int round) {
  enum { PAUSES = 64, YIELDS = 1024, NAP_NS = 50000 };
  const struct timespec nap = {.tv_nsec = NAP_NS};
  if (round >= PAUSES + YIELDS) nanosleep(&nap, NULL);
  else if (round >= PAUSES) sched_yield();
#if defined __x86_64__ || defined __i386__
  else __builtin_ia32_pause();
#endif
}

#endif
