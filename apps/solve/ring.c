/* ring.c -- see ring.h. One lock, one condition, and a count of finished items for each stage. */
#include "solve/ring.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"

typedef struct {
  ring *r;
  pthread_mutex_t lock;
  pthread_cond_t moved;
  int64_t done[RING_STAGES];
  bool stopped;
  sptrsm_status status;
  char message[1024];
} state;

typedef struct {
  state *s;
  int stage;
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

/* Waits until the stage may work on the item. False: a stage has failed. */
static bool may_begin(state *s, int stage, int64_t item) {
  const int64_t *before = stage > 0 ? &s->done[stage - 1] : &s->done[RING_STAGES - 1];
  int64_t ahead = stage > 0 ? 0 : s->r->slots;
  pthread_mutex_lock(&s->lock);
  while (!s->stopped && item >= *before + ahead) pthread_cond_wait(&s->moved, &s->lock);
  bool go = !s->stopped;
  pthread_mutex_unlock(&s->lock);
  return go;
}

static void *work(void *argument) {
  const worker *w = argument;
  state *s = w->s;
  ring *r = s->r;
  for (int64_t item = 0; item < r->items && may_begin(s, w->stage, item); item++) {
    double start = cli_now();
    sptrsm_status status = r->stages[w->stage](r->context, item, (int)(item % r->slots));
    r->busy[w->stage] += cli_now() - start;
    if (status != SPTRSM_OK) {
      stop(s, status, sptrsm_last_error());
      break;
    }
    pthread_mutex_lock(&s->lock);
    s->done[w->stage]++;
    pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->lock);
  }
  return NULL;
}

sptrsm_status ring_run(ring *r) {
  state s = {.r = r, .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
  worker workers[RING_STAGES];
  pthread_t threads[RING_STAGES];
  bool started[RING_STAGES] = {false};
  for (int k = 0; k < RING_STAGES; k++) {
    workers[k] = (worker){&s, k};
    r->busy[k] = 0;
    if (k == r->home) continue;
    int error = pthread_create(&threads[k], NULL, work, &workers[k]);
    started[k] = error == 0;
    if (error != 0) stop(&s, SPTRSM_ERR_MEMORY, "no thread for a stage of the stream; raise the limit of processes (ulimit -u)");
  }
  work(&workers[r->home]);
  for (int k = 0; k < RING_STAGES; k++)
    if (started[k]) pthread_join(threads[k], NULL);
  pthread_cond_destroy(&s.moved);
  pthread_mutex_destroy(&s.lock);
  return s.status == SPTRSM_OK ? SPTRSM_OK : sptrsm_error_set(s.status, "%s", s.message);
}
