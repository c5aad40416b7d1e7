/* limits_host.c -- the limits of the host: bandwidth of a copy by all threads, and the time of a value from one thread to another. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine/machine.h"
#include "common/cli.h"

enum { TRIES = 3, HOPS = 20000, SPINS = 1 << 14 };
static const double LONGEST_S = 1;                  /* of a try with hops; a machine with nothing else to do takes some milliseconds */
static const size_t COPY_BYTES = (size_t)128 << 20; /* well above the caches of one socket's core complex */

typedef struct {
  char *from, *to;
  size_t parts;
  bool is_first; /* each part is written first by one thread, so its pages lie near that thread */
} copy_job;

static void copy_part(void *argument, int64_t part, int member) {
  const copy_job *j = argument;
  const size_t begin = COPY_BYTES / j->parts * (size_t)part;
  const size_t bytes = (size_t)part + 1 == j->parts ? COPY_BYTES - begin : COPY_BYTES / j->parts;
  (void)member;
  if (!j->is_first) memcpy(j->to + begin, j->from + begin, bytes);
  else memset(j->from + begin, 1, bytes), memset(j->to + begin, 2, bytes);
}

static double copy_rate(void) {
  const int threads = cli_threads();
  copy_job j = {.from = malloc(COPY_BYTES), .to = malloc(COPY_BYTES), .parts = (size_t)threads};
  double best = INFINITY;
  for (int t = 0; t <= TRIES && j.from && j.to; t++) {
    double start = cli_now();
    j.is_first = t == 0;
    cli_share(threads, threads, copy_part, &j);
    double seconds = cli_now() - start;
    if (t > 0 && seconds < best) best = seconds;
  }
  free(j.from);
  free(j.to);
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

typedef struct {
  atomic_int turn;
  double deadline;
} ball;

static void *pass_odd_turns(void *argument) {
  ball *b = argument;
  pass_turns(&b->turn, 1, b->deadline);
  return NULL;
}

static double hop(void) {
  double best = INFINITY;
  for (int t = 0; t < TRIES; t++) {
    double start = cli_now();
    ball b = {.deadline = start + LONGEST_S};
    pthread_t other;
    atomic_init(&b.turn, 0);
    if (cli_threads() < 2 || pthread_create(&other, NULL, pass_odd_turns, &b) != 0) return NAN;
    pass_turns(&b.turn, 0, b.deadline);
    pthread_join(other, NULL);
    best = fmin(best, (cli_now() - start) / abs(atomic_load(&b.turn)));
  }
  return best;
}

void bench_host_limits(bench_limits *limits) { *limits = (bench_limits){copy_rate(), hop(), NAN, NAN, {NAN, NAN}}; }
