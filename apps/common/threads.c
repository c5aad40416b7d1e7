/* threads.c -- work of a program on several threads, which end with it. A thread that can't be created leaves its part to the others. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <sptrsm_inspect.h>

#include "common/cli.h"

static int threads_asked; /* 0: none */

void cli_use_threads(int threads) { threads_asked = threads; }

int cli_threads(void) { return threads_asked > 0 ? threads_asked : sptrsm_host_threads(); }

static cli_watch *watch; /* NULL: nobody watches */
static void *watch_argument;

void cli_watch_pieces(cli_watch *function, void *argument) {
  watch = function;
  watch_argument = argument;
}

typedef struct {
  cli_task *task;
  void *argument;
  int64_t pieces;
  _Atomic int64_t next;
  atomic_int members;
} job;

static void claim_pieces(job *j, int member) {
  int64_t piece;
  while ((piece = atomic_fetch_add(&j->next, 1)) < j->pieces) {
    const double begin = watch ? cli_now() : 0;
    j->task(j->argument, piece, member);
    if (watch) watch(watch_argument, begin, member);
  }
}

static void *help(void *argument) {
  job *j = argument;
  claim_pieces(j, atomic_fetch_add(&j->members, 1));
  return NULL;
}

void cli_share(int threads, int64_t pieces, cli_task *task, void *argument) {
  job j = {.task = task, .argument = argument, .pieces = pieces};
  const int64_t most = (pieces < threads ? pieces : threads) - 1;
  pthread_t *helpers = most > 0 ? malloc((size_t)most * sizeof *helpers) : NULL;
  int64_t started = 0;
  atomic_init(&j.next, 0);
  atomic_init(&j.members, 1);
  while (helpers && started < most && pthread_create(&helpers[started], NULL, help, &j) == 0) started++;
  claim_pieces(&j, 0);
  for (int64_t h = 0; h < started; h++) pthread_join(helpers[h], NULL);
  free(helpers);
}
