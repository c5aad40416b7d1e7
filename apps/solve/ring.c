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

typedef struct { /* a thread */
  state *s;
  bool has[RING_STAGES]; /* the stages that it works on */
  int server;            /* of stage `home` */
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

/* Does another server that goes on do this number of items before this one does one? The fastest of those that go on is never behind. */
static bool is_behind(const ring *r, int me, int64_t items) {
  const ring_server *s = &r->server[me];
  const double own = s->seconds > 0 ? s->seconds : s->items == 1 ? s->first : 0;
  for (int k = 0; k < r->servers; k++) {
    const ring_server *other = &r->server[k];
    if (k != me && !other->left && other->seconds > 0 && own > (double)items * other->seconds) return true;
  }
  return false;
}

bool ring_sits_out(ring *r, int me, int64_t taken) {
  const int64_t ahead = r->slots - (RING_STAGES - 1), rest = r->items - taken + 1; /* and the item that the other has begun */
  ring_server *s = &r->server[me];
  if (s->left) {
    s->left = taken < s->until || is_behind(r, me, rest);
    if (!s->left) s->seconds = 0;
    return s->left;
  }
  s->left = is_behind(r, me, rest < ahead || s->seconds == 0 ? rest : ahead);
  s->pause = !s->left ? 0 : s->pause > 0 ? 2 * s->pause : r->slots;
  s->until = taken + s->pause;
  return s->left;
}

void ring_count(ring_server *s, double seconds) {
  if (s->items++ > 0) s->seconds = seconds;
  else s->first = seconds;
  s->busy += seconds;
}

/* A stage of the worker that can take an item; -1: none can now, and *more says whether one will. */
static int find_stage(const state *s, const worker *w, bool *more) {
  ring *r = s->r;
  *more = false;
  for (int stage = RING_STAGES - 1; stage >= 0 && !s->stopped; stage--) {
    if (!w->has[stage] || s->taken[stage] == r->items) continue;
    if (is_ready(s, stage) && (stage != r->home || !ring_sits_out(r, w->server, s->taken[stage]))) return stage;
    *more = true;
  }
  return -1;
}

/* Waits for the next item -> its stage; -1: there is none, or a stage has failed. */
static int take(state *s, const worker *w, int64_t *item) {
  bool more;
  int stage;
  pthread_mutex_lock(&s->lock);
  while ((stage = find_stage(s, w, &more)) < 0 && more) pthread_cond_wait(&s->moved, &s->lock);
  if (stage >= 0) *item = s->taken[stage]++;
  pthread_cond_broadcast(&s->moved); /* others of this stage may wait for an item that is not there any more */
  pthread_mutex_unlock(&s->lock);
  return stage;
}

static void finish(state *s, const worker *w, int stage, int64_t item, double seconds) {
  ring *r = s->r;
  const int slot = (int)(item % r->slots);
  pthread_mutex_lock(&s->lock);
  if (stage == r->home) {
    if (!r->is_empty || !r->is_empty(r->context, slot)) ring_count(&r->server[w->server], seconds);
    s->early[slot] = true;
    while (s->done[stage] < s->taken[stage] && s->early[s->done[stage] % r->slots]) s->early[s->done[stage]++ % r->slots] = false;
  } else {
    r->busy[stage] += seconds;
    s->done[stage]++;
  }
  pthread_cond_broadcast(&s->moved);
  pthread_mutex_unlock(&s->lock);
}

static void *work(void *argument) {
  const worker *w = argument;
  state *s = w->s;
  ring *r = s->r;
  int64_t item;
  for (int stage; (stage = take(s, w, &item)) >= 0;) {
    double start = cli_now();
    sptrsm_status status = r->stages[stage](r->context, item, (int)(item % r->slots), w->server);
    if (status != SPTRSM_OK) {
      stop(s, status, sptrsm_last_error());
      break;
    }
    finish(s, w, stage, item, cli_now() - start);
  }
  return NULL;
}

static int list_workers(worker workers[THREADS_MAX], state *s) {
  int count = 0;
  for (int k = 0; k < s->r->servers; k++, count++) {
    workers[count] = (worker){.s = s, .server = k};
    workers[count].has[s->r->home] = true;
  }
  for (int k = 0; k < RING_STAGES; k++)
    if (k != s->r->home) {
      workers[count] = (worker){.s = s};
      workers[count++].has[k] = true;
    }
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
  for (int k = 1; k < count; k++) { /* the first server is the calling thread, which also does what has no thread */
    started[k] = pthread_create(&threads[k], NULL, work, &workers[k]) == 0;
    for (int stage = 0; stage < RING_STAGES && !started[k]; stage++) workers[0].has[stage] |= workers[k].has[stage];
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
