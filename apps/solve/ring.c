/* ring.c -- see ring.h. One lock, one condition, and counts of items for each stage. */
#include "solve/ring.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"

enum { THREADS_MAX = RING_STAGES - 1 + RING_SERVERS_MAX };
/* Of a server that is doubted: */
enum { DOUBT = 8 }; /* it is expected to need this many times as long as another one, until it is measured */
enum { FIRST = 4 }; /* until then it takes an item where the others would need this many times as long for what is left */

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

/* ---- whose turn it is ---- */

/* Items that others can do while one server is at work on an item, before they run out of slots. */
static int64_t items_ahead(const ring *r) { return r->slots - (RING_STAGES - 1); }

/* Seconds of the fastest of the others that go on; 0: none of them is measured. */
static double fastest_other(const ring *r, int me) {
  double best = 0;
  for (int k = 0; k < r->servers; k++) {
    const ring_server *s = &r->server[k];
    if (k != me && !s->left && s->seconds > 0 && (best <= 0 || s->seconds < best)) best = s->seconds;
  }
  return best;
}

/* What its next item may take; 0: not known. */
static double expected(const ring *r, int me, double best) {
  const ring_server *s = &r->server[me];
  return s->seconds > 0 ? s->seconds : s->items == 1 ? s->first : s->items == 0 && r->doubted[me] ? DOUBT * best : 0;
}

static bool is_slow(const ring *r, int me, double own, double best) { return r->doubted[me] && best > 0 && own >= 2 * best; }

/* Does another server do this number of items before this one does one? The fastest of those that go on is never behind. */
static bool is_behind(const ring *r, int me, int64_t items, double margin) {
  const double best = fastest_other(r, me), own = expected(r, me, best);
  return best > 0 && (is_slow(r, me, own, best) ? margin : 1) * own > (double)items * best;
}

/* Has nobody been measured that this server could be compared with, and is there somebody? */
static bool must_wait(const ring *r, int me) {
  bool has_other = false;
  for (int k = 0; k < r->servers; k++) has_other = has_other || (k != me && !r->doubted[k] && !r->server[k].left);
  return r->doubted[me] && r->server[me].items == 0 && has_other && fastest_other(r, me) <= 0;
}

/* Is there a faster one that waits, or are so few items ready that the others would have done them before this one has done one? */
static bool is_of_no_use_now(const ring *r, int me, int64_t ready) {
  const double best = fastest_other(r, me), own = r->server[me].latest > 0 ? r->server[me].latest : expected(r, me, best);
  if (best <= 0 || own < 2 * best) return false;
  for (int k = 0; k < r->servers; k++)
    if (k != me && !r->server[k].left && !r->server[k].works && r->server[k].seconds > 0 && 2 * r->server[k].seconds <= own) return true;
  return r->server[me].seconds > 0 && ready < items_ahead(r) && own > (double)(ready + 1) * best;
}

/* Should it pause? One that is known to be slow should; of one that is doubted the first item counts too, as half of its time. */
static bool is_too_slow(const ring *r, int me, int64_t rest) {
  const ring_server *s = &r->server[me];
  const bool shown = r->doubted[me] && s->items == 1;
  if (is_slow(r, me, s->seconds, fastest_other(r, me)) || is_behind(r, me, rest, FIRST)) return true;
  return (s->seconds > 0 || shown) && is_behind(r, me, items_ahead(r), shown ? 0.5 : 1);
}

bool ring_sits_out(ring *r, int me, int64_t taken, int64_t ready) {
  const int64_t rest = r->items - taken + 1; /* and the item that the other has begun */
  const bool waits = must_wait(r, me);
  ring_server *s = &r->server[me];
  if (s->left) {
    s->left = taken < s->until || waits || is_behind(r, me, rest, FIRST);
    if (!s->left) s->seconds = 0;
  } else if (waits) {
    s->left = true;
    s->until = taken;
  } else {
    s->left = is_too_slow(r, me, rest);
    if (s->left) s->pause = s->pause > 0 ? 2 * s->pause : r->slots;
    else if (s->seconds > 0) s->pause = 0;
    s->until = is_slow(r, me, s->seconds, fastest_other(r, me)) ? INT64_MAX : taken + s->pause;
  }
  return s->left || is_of_no_use_now(r, me, ready);
}

void ring_begin(ring *r, int me) { r->server[me].works = true; }

void ring_count(ring *r, int me, double seconds, bool is_empty) {
  ring_server *s = &r->server[me];
  s->works = false;
  if (is_empty) return;
  if (s->items++ == 0) s->first = seconds;
  else s->seconds = s->latest = seconds;
  s->busy += seconds;
}

/* ---- the threads ---- */

/* Items that are ready for the stage; at most 0: none. */
static int64_t ready_for(const state *s, int stage) {
  const int64_t before = stage > 0 ? s->done[stage - 1] : s->done[RING_STAGES - 1] + s->r->slots;
  return before - s->taken[stage];
}

static bool is_ready(state *s, const worker *w, int stage) {
  const int64_t ready = ready_for(s, stage);
  return ready > 0 && (stage != s->r->home || !ring_sits_out(s->r, w->server, s->taken[stage], ready));
}

/* A stage of the worker that can take an item; -1: none can now, and *more says whether one will. */
static int find_stage(state *s, const worker *w, bool *more) {
  *more = false;
  for (int stage = RING_STAGES - 1; stage >= 0 && !s->stopped; stage--) {
    if (!w->has[stage] || s->taken[stage] == s->r->items) continue;
    if (is_ready(s, w, stage)) return stage;
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
  if (stage == s->r->home) ring_begin(s->r, w->server);
  pthread_cond_broadcast(&s->moved); /* others of this stage may wait for an item that is not there any more */
  pthread_mutex_unlock(&s->lock);
  return stage;
}

static void finish(state *s, const worker *w, int stage, int64_t item, double seconds) {
  ring *r = s->r;
  const int slot = (int)(item % r->slots);
  pthread_mutex_lock(&s->lock);
  if (stage == r->home) {
    ring_count(r, w->server, seconds, r->is_empty && r->is_empty(r->context, slot));
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

/* There is no thread for a worker: another one does its stage, and nobody waits for its server. */
static void do_without(const worker *missing, worker *other) {
  state *s = missing->s;
  pthread_mutex_lock(&s->lock);
  for (int stage = 0; stage < RING_STAGES; stage++) other->has[stage] = other->has[stage] || missing->has[stage];
  if (missing->has[s->r->home]) s->r->server[missing->server].left = true;
  pthread_cond_broadcast(&s->moved);
  pthread_mutex_unlock(&s->lock);
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
    started[k] = pthread_create(&threads[k], NULL, work, &workers[k]) == 0;
    if (!started[k]) do_without(&workers[k], &workers[0]);
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
