/* ring.c -- see ring.h. One lock, one condition, and counts of items for each stage. */
#include "solve/ring.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"

enum { THREADS_MAX = RING_STAGES - 1 + RING_SERVERS_MAX };

typedef struct {
  ring *r;
  pthread_mutex_t lock;
  pthread_cond_t moved;
  int64_t taken[RING_STAGES]; /* items that were taken */
  int64_t done[RING_STAGES];  /* items that are done, and all before them */
  bool early[RING_SLOTS_MAX]; /* of stage `home`: the item in this slot is done, but one before it is not */
  bool stopped;
  sptrsm_status status;
  char message[1024];
} state;

typedef struct {
  state *s;
  int stage, server;
} worker;

static void stop(state *s, sptrsm_status status, const char *message) {
  pthread_mutex_lock(&s->lock);
  if (!s->stopped) {
    s->status = status;
    snprintf(s->message, sizeof s->message, "%s", message);
  }
  s->stopped = true;
  pthread_cond_broadcast(&s->moved);
  pthread_mutex_unlock(&s->lock);
}

/* May the stage work on the next item? */
static bool is_ready(const state *s, int stage) {
  const int64_t before = stage > 0 ? s->done[stage - 1] : s->done[RING_STAGES - 1] + s->r->slots;
  return s->taken[stage] < before;
}

/* Seconds of an item; 0: not known yet. */
static double pace(const ring_server *s) { return s->items > 1 ? (s->busy - s->first) / (double)(s->items - 1) : 0; }

/* Would another server have no slot left before this one is done with an item? The fastest of those that go on stays. */
static bool is_too_slow(const ring *r, int me) {
  const double ahead = r->slots - (RING_STAGES - 1), own = pace(&r->server[me]);
  for (int k = 0; k < r->servers; k++)
    if (k != me && !r->server[k].left && pace(&r->server[k]) > 0 && own > ahead * pace(&r->server[k])) return true;
  return false;
}

/* Waits for the next item of the stage; -1: there is none, a stage has failed, or the server is too slow. */
static int64_t take(state *s, const worker *w) {
  int64_t item = -1;
  pthread_mutex_lock(&s->lock);
  while (!s->stopped && s->taken[w->stage] < s->r->items && !is_ready(s, w->stage)) pthread_cond_wait(&s->moved, &s->lock);
  const bool goes_on = !s->stopped && s->taken[w->stage] < s->r->items;
  if (goes_on && w->stage == s->r->home) s->r->server[w->server].left = is_too_slow(s->r, w->server);
  if (goes_on && !(w->stage == s->r->home && s->r->server[w->server].left)) item = s->taken[w->stage]++;
  pthread_cond_broadcast(&s->moved); /* others of this stage may wait for an item that is not there any more */
  pthread_mutex_unlock(&s->lock);
  return item;
}

static void finish(state *s, const worker *w, int64_t item, double seconds) {
  ring *r = s->r;
  pthread_mutex_lock(&s->lock);
  if (w->stage == r->home) {
    if (r->server[w->server].items++ == 0) r->server[w->server].first = seconds;
    r->server[w->server].busy += seconds;
    s->early[item % r->slots] = true;
    while (s->done[w->stage] < s->taken[w->stage] && s->early[s->done[w->stage] % r->slots])
      s->early[s->done[w->stage]++ % r->slots] = false;
  } else {
    r->busy[w->stage] += seconds;
    s->done[w->stage]++;
  }
  pthread_cond_broadcast(&s->moved);
  pthread_mutex_unlock(&s->lock);
}

static void *work(void *argument) {
  const worker *w = argument;
  state *s = w->s;
  ring *r = s->r;
  for (int64_t item; (item = take(s, w)) >= 0;) {
    double start = cli_now();
    sptrsm_status status = r->stages[w->stage](r->context, item, (int)(item % r->slots), w->server);
    if (status != SPTRSM_OK) {
      stop(s, status, sptrsm_last_error());
      break;
    }
    finish(s, w, item, cli_now() - start);
  }
  return NULL;
}

static int list_workers(worker workers[THREADS_MAX], state *s) {
  int count = 0;
  for (int k = 0; k < s->r->servers; k++) workers[count++] = (worker){s, s->r->home, k};
  for (int k = 0; k < RING_STAGES; k++)
    if (k != s->r->home) workers[count++] = (worker){s, k, 0};
  return count;
}

sptrsm_status ring_run(ring *r) {
  state s = {.r = r, .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
  worker workers[THREADS_MAX];
  pthread_t threads[THREADS_MAX];
  bool started[THREADS_MAX] = {false};
  memset(r->busy, 0, sizeof r->busy);
  memset(r->server, 0, sizeof r->server);
  const int count = list_workers(workers, &s);
  for (int k = 1; k < count; k++) { /* the first server is the calling thread */
    int error = pthread_create(&threads[k], NULL, work, &workers[k]);
    started[k] = error == 0;
    if (error != 0) stop(&s, SPTRSM_ERR_MEMORY, "no thread for a stage of the stream; raise the limit of processes (ulimit -u)");
  }
  work(&workers[0]);
  for (int k = 1; k < count; k++)
    if (started[k]) pthread_join(threads[k], NULL);
  for (int k = 0; k < r->servers; k++)
    if (r->server[k].busy > r->busy[r->home]) r->busy[r->home] = r->server[k].busy;
  pthread_cond_destroy(&s.moved);
  pthread_mutex_destroy(&s.lock);
  return s.status == SPTRSM_OK ? SPTRSM_OK : sptrsm_error_set(s.status, "%s", s.message);
}
