/* limits_host.c -- the limits of the host: bandwidth of a copy by all threads, and the time of a value from one thread to another. */
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine/machine.h"
#include "common/cli.h"

enum { TRIES = 3, HOPS = 20000, SPINS = 1 << 14 };
static const double LONGEST_S = 1;                  /* of a try with hops; a machine with nothing else to do takes some milliseconds */
static const size_t COPY_BYTES = (size_t)128 << 20; /* well above the caches of one socket's core complex */

static double copy_rate(void) {
  char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
  double best = INFINITY;
  for (int t = 0; t <= TRIES && from && to; t++) {
    double start = cli_now();
#pragma omp parallel
    {
      size_t threads = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num();
      size_t begin = COPY_BYTES / threads * me, end = me + 1 == threads ? COPY_BYTES : COPY_BYTES / threads * (me + 1);
      if (t == 0)
        memset(from + begin, 1, end - begin),
            memset(to + begin, 2, end - begin); /* each thread touches its pages first, so they lie near it */
      else memcpy(to + begin, from + begin, end - begin);
    }
    double seconds = cli_now() - start;
    if (t > 0 && seconds < best) best = seconds;
  }
  free(from);
  free(to);
  return isfinite(best) ? 2.0 * (double)COPY_BYTES / best : NAN;
}

/* Thread `me` of two waits for its turn and passes the turn on. Where both threads share one core the wait yields it; on a busy machine,
 * where that takes long, the measurement ends early: the turn is then negative, -turn being the number of hops. */
static void pass_turns(atomic_int *turn, int me, double deadline) {
  for (int h = me; h < HOPS; h += 2) {
    bool has_yielded = false;
    int now;
    for (int spins = 0; (now = atomic_load_explicit(turn, memory_order_acquire)) != h; spins++) {
      if (now < 0) return;
      if (spins <= SPINS) continue;
      sched_yield();
      has_yielded = true;
    }
    const bool is_late = has_yielded && cli_now() > deadline;
    atomic_store_explicit(turn, is_late ? -h - 1 : h + 1, memory_order_release);
    if (is_late) return;
  }
}

static double hop(void) {
  double best = INFINITY;
  for (int t = 0; t < TRIES; t++) {
    atomic_int turn = 0;
    int threads = 1;
    double start = cli_now();
#pragma omp parallel num_threads(2)
    {
#pragma omp single
      threads = omp_get_num_threads();
      if (threads == 2) pass_turns(&turn, omp_get_thread_num(), start + LONGEST_S);
    }
    if (threads != 2) return NAN;
    best = fmin(best, (cli_now() - start) / abs(atomic_load(&turn)));
  }
  return best;
}

void bench_host_limits(bench_limits *limits) { *limits = (bench_limits){copy_rate(), hop(), NAN, NAN, {NAN, NAN}}; }
