/* team.c -- see team.h. A job lies in the team. It is open while it has free seats; a helper joins by taking one, and the caller closes the
 * job by taking all that are left, which tells it how many helpers it has to wait for. Nobody else ever has to wait for a helper that was
 * woken but does not run yet.
 * Helpers watch for the next job for a moment before they sleep, since a sleeping thread takes longer to come than a small solve lasts. A
 * helper that nobody wakes for some seconds ends, so contexts that are kept but not used have no threads; the next job starts new ones.
 * A group is a team without threads of its own: those that serve in it are in the middle of a job of the team that has the group. */
#include "core/context/team.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/pause.h"
#include "core/context/alloc.h"
#include "core/context/context.h"
#include "core/context/cpus.h"

enum { IDLE_S = 2 };                /* a helper that slept for so long ends */
static const double WATCH_S = 1e-4; /* before a thread sleeps */
static const double REST = 20;      /* times the time lost: waiting takes at most a twentieth of all time, but for what was saved */
static const double LOST_S = 1e-2;  /* more than this is not taken for lost: the process was stopped */
static const double SAVED_S = 2e-4; /* at most this much saved time is set against later losses */

typedef struct {
  spti_team *team;
  pthread_t thread;
  bool joinable;     /* the thread was started and not joined */
  atomic_bool ended; /* it has been idle, and does not look at the team again */
} helper;

struct spti_team {
  int usable, threads; /* processors for this process when the team was made; threads of a job */
  atomic_int process;  /* process_number of the helpers' process; BEING_RENEWED while a forked process forgets them */
  atomic_bool in_use;
  _Atomic double rest_until;
  double saved; /* by helpers, at most SAVED_S */

  /* The job. Written before seats are offered, unchanged until all helpers have left. */
  spti_task *task;
  void *argument;
  int64_t pieces;
  fenv_t modes;
  atomic_llong next; /* piece to be claimed */
  atomic_int seats;  /* a helper that takes the s-th becomes member s */
  atomic_int left;   /* helpers that joined and have left */

  /* Sleeping. Sleepers first count themselves, then look once more; wakers first publish, then look for sleepers. */
  pthread_mutex_t lock;
  pthread_cond_t wake, done;
  atomic_int asleep;
  atomic_bool caller_asleep;
  bool ending;        /* under the lock */
  atomic_int helpers; /* those that have not ended */
  int places;         /* in the array; a place is used again when its helper has ended */
  bool refused;       /* the system gave no more threads */
  spti_team
      *groups;      /* [SPTI_GROUPS_MAX]; NULL: it is a group itself, and its helpers are threads in a job of the team that it belongs to */
  atomic_bool open; /* group: its caller may still have jobs for it */
  helper helper[];
};

enum { BEING_RENEWED = -1 };

/* Processes are told apart by the forks that lead to them, since numbers of the system are used again, in other namespaces too. */
static atomic_int process_number;

static void count_fork(void) { atomic_fetch_add(&process_number, 1); }

static bool watch_forks(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool watched;
  pthread_mutex_lock(&lock);
  watched = watched || pthread_atfork(NULL, NULL, count_fork) == 0;
  const bool good = watched;
  pthread_mutex_unlock(&lock);
  return good;
}

/* ---- waiting ---- */

/* Watches for a while whether `count` has reached `least`. */
static bool watch(atomic_int *count, int least) {
  if (atomic_load(count) >= least) return true;
  const double end = spti_seconds() + WATCH_S;
  for (int round = 0; spti_seconds() < end; round++) {
    spti_pause(round);
    if (atomic_load(count) >= least) return true;
  }
  return false;
}

/* ---- helpers ---- */

/* Returns the number of pieces it did. */
static int64_t claim_pieces(spti_team *team, int member) {
  int64_t piece, own = 0;
  for (; (piece = atomic_fetch_add(&team->next, 1)) < team->pieces; own++) team->task(team->argument, piece, member);
  return own;
}

/* Takes a seat -> its number, or 0 if none is free. */
static int join(spti_team *team) {
  int seats = atomic_load(&team->seats);
  while (seats > 0 && !atomic_compare_exchange_weak(&team->seats, &seats, seats - 1)) {}
  return seats > 0 ? seats : 0;
}

static void leave(spti_team *team) {
  atomic_fetch_add(&team->left, 1);
  if (!atomic_load(&team->caller_asleep)) return;
  pthread_mutex_lock(&team->lock);
  pthread_cond_signal(&team->done);
  pthread_mutex_unlock(&team->lock);
}

/* Sleeps until seats are offered. False: the helper is to end, since the team ends or nobody has needed the helper for a while. */
static bool sleep_until_work(helper *self) {
  spti_team *team = self->team;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += IDLE_S;
  pthread_mutex_lock(&team->lock);
  atomic_fetch_add(&team->asleep, 1);
  bool timed_out = false;
  while (atomic_load(&team->seats) <= 0 && !team->ending && !timed_out)
    timed_out = pthread_cond_timedwait(&team->wake, &team->lock, &end) != 0;
  atomic_fetch_sub(&team->asleep, 1);
  const bool goes_on = atomic_load(&team->seats) > 0 && !team->ending;
  pthread_mutex_unlock(&team->lock);
  return goes_on;
}

/* False: no seat is free. */
static bool take_part(spti_team *team) {
  const int member = join(team);
  if (member == 0) return false;
  if (team->groups) fesetenv(&team->modes); /* threads in a group have them already; one is that which called the library */
  claim_pieces(team, member);
  leave(team);
  return true;
}

static void *help(void *argument) {
  helper *self = argument;
  spti_team *team = self->team;
  do {
    do take_part(team);
    while (watch(&team->seats, 1));
  } while (sleep_until_work(self));
  atomic_store(&self->ended, true);
  atomic_fetch_sub(&team->helpers, 1);
  return NULL;
}

/* Starts a helper in a place, unless one is there. False: the system gives no thread. */
static bool start_helper(spti_team *team, int place) {
  helper *h = &team->helper[place];
  if (place == team->places) team->helper[team->places++] = (helper){.team = team};
  if (h->joinable && !atomic_load(&h->ended)) return true;
  if (h->joinable) pthread_join(h->thread, NULL);
  atomic_store(&h->ended, false);
  h->joinable = pthread_create(&h->thread, NULL, help, h) == 0;
  if (h->joinable) atomic_fetch_add(&team->helpers, 1);
  return h->joinable;
}

/* Signals are for the threads of the program, except those that a thread causes itself. */
static void start_helpers(spti_team *team, int wanted) {
  sigset_t blocked, before;
  if (team->refused || atomic_load(&team->helpers) >= wanted) return;
  sigfillset(&blocked);
  const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  for (size_t s = 0; s < sizeof own / sizeof *own; s++) sigdelset(&blocked, own[s]);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  for (int h = 0; h < wanted && !team->refused && atomic_load(&team->helpers) < wanted; h++) team->refused = !start_helper(team, h);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the team ---- */

static void begin_without_helpers(spti_team *team) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&team->lock, NULL);
  pthread_cond_init(&team->wake, &monotonic);
  pthread_cond_init(&team->done, NULL);
  atomic_store(&team->seats, 0);
  atomic_store(&team->asleep, 0);
  atomic_store(&team->caller_asleep, false);
  atomic_store(&team->in_use, false);
  pthread_condattr_destroy(&monotonic);
  atomic_store(&team->helpers, 0);
  team->places = 0;
  team->refused = false;
  team->saved = 0;
  atomic_store(&team->rest_until, 0);
  for (int g = 0; team->groups && g < SPTI_GROUPS_MAX; g++) begin_without_helpers(&team->groups[g]);
  atomic_store(&team->process, atomic_load(&process_number));
}

/* A process that forked has none of the threads, and locks and counts may be as a helper left them. */
static bool take_team(spti_team *team) {
  const int me = atomic_load(&process_number);
  int process = atomic_load(&team->process);
  if (process != me) {
    if (process == BEING_RENEWED || !atomic_compare_exchange_strong(&team->process, &process, BEING_RENEWED)) return false;
    begin_without_helpers(team);
  }
  return !atomic_exchange(&team->in_use, true);
}

sptrsm_status spti_team_create(spti_team **out) {
  spti_team *team;
  if (!watch_forks()) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "threads of a context: the system has no memory to watch for forks");
  SPTI_TRY(spti_host_alloc(&team, 1, sizeof *team + (SPTI_THREADS_MAX - 1) * sizeof *team->helper, "threads of a context"));
  const sptrsm_status status = spti_host_alloc(&team->groups, SPTI_GROUPS_MAX, sizeof *team->groups, "groups of threads");
  if (status != SPTRSM_OK) {
    spti_host_free(team);
    return status;
  }
  memset(team->groups, 0, SPTI_GROUPS_MAX * sizeof *team->groups);
  team->usable = team->threads = spti_cpus_usable();
  team->ending = false;
  begin_without_helpers(team);
  *out = team;
  return SPTRSM_OK;
}

void spti_team_destroy(spti_team *team) {
  if (!team) return;
  if (atomic_load(&team->process) == atomic_load(&process_number)) {
    pthread_mutex_lock(&team->lock);
    team->ending = true;
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
    for (int h = 0; h < team->places; h++)
      if (team->helper[h].joinable) pthread_join(team->helper[h].thread, NULL);
    pthread_mutex_destroy(&team->lock);
    pthread_cond_destroy(&team->wake);
    pthread_cond_destroy(&team->done);
  }
  spti_host_free(team->groups);
  spti_host_free(team);
}

void spti_team_set_threads(spti_team *team, int threads) {
  team->threads = threads > 0 ? threads : team->usable;
  team->refused = false;
  team->saved = 0;
  atomic_store(&team->rest_until, 0);
}

int spti_team_threads(const spti_team *team) { return team ? team->threads : 1; }

int spti_team_ready(const spti_team *team) {
  return !team || team->threads == 1 || spti_seconds() < atomic_load(&team->rest_until) ? 1 : team->threads;
}

/* ---- a job ---- */

/* Returns how many helpers may join. */
static int open_job(spti_team *team, int threads, int64_t pieces, spti_task *task, void *argument) {
  const int useful = (int)(pieces < threads ? pieces : threads) - 1;
  if (team->groups) start_helpers(team, useful);
  const int helpers = atomic_load(&team->helpers), seats = useful < helpers ? useful : helpers;
  team->task = task;
  team->argument = argument;
  team->pieces = pieces;
  fegetenv(&team->modes);
  atomic_store(&team->next, 1); /* the caller has piece 0 */
  atomic_store(&team->left, 0);
  atomic_store(&team->seats, seats);
  const int asleep = atomic_load(&team->asleep);
  if (asleep == 0) return seats;
  pthread_mutex_lock(&team->lock);
  if (seats >= asleep) pthread_cond_broadcast(&team->wake);
  else
    for (int s = 0; s < seats; s++) pthread_cond_signal(&team->wake);
  pthread_mutex_unlock(&team->lock);
  return seats;
}

static void wait_for_helpers(spti_team *team, int joined) {
  if (watch(&team->left, joined)) return;
  pthread_mutex_lock(&team->lock);
  atomic_store(&team->caller_asleep, true);
  while (atomic_load(&team->left) < joined) pthread_cond_wait(&team->done, &team->lock);
  atomic_store(&team->caller_asleep, false);
  pthread_mutex_unlock(&team->lock);
}

/* What the caller did of a job, and how long that took. */
typedef struct {
  int64_t own, pieces;
  double seconds;
} callers_part;

static callers_part do_job(spti_team *team, int threads, int64_t pieces, spti_task *task, void *argument) {
  const int seats = open_job(team, threads, pieces, task, argument);
  const double begin = spti_seconds();
  task(argument, 0, 0);
  const int64_t own = 1 + claim_pieces(team, 0);
  const double end = spti_seconds();
  wait_for_helpers(team, seats - atomic_exchange(&team->seats, 0));
  return (callers_part){.own = own, .pieces = pieces, .seconds = end - begin};
}

/* The end of a job that began at `called`. The caller alone would have needed at least its own time for each piece; if it did no piece,
 * nothing is known. What goes beyond that, waking helpers included, is lost. */
static void release_team(spti_team *team, double called, const callers_part *part) {
  const double taken = spti_seconds() - called;
  const double lost = part->own > 0 ? taken - part->seconds * (double)part->pieces / (double)part->own : 0;
  team->saved -= lost < LOST_S ? lost : LOST_S;
  if (team->saved < 0) atomic_store(&team->rest_until, called + taken - REST * team->saved);
  team->saved = team->saved < 0 ? 0 : team->saved < SAVED_S ? team->saved : SAVED_S;
  atomic_store(&team->in_use, false);
}

void spti_team_run(spti_team *team, int threads, int64_t pieces, spti_task *task, void *argument) {
  if (team && threads > 1 && pieces > 1 && take_team(team)) {
    const double called = spti_seconds();
    const callers_part part = do_job(team, threads, pieces, task, argument);
    release_team(team, called, &part);
  } else
    for (int64_t piece = 0; piece < pieces; piece++) task(argument, piece, 0);
}

/* ---- a job in groups ---- */

typedef struct {
  spti_team *team;   /* whose groups do the job */
  spti_team *inside; /* without groups: what the pieces get */
  int groups;
  int64_t pieces;
  spti_group_task *task;
  void *argument;
  atomic_llong next; /* piece to be claimed */
  callers_part part;
} grouped_job;

static void do_piece(void *argument, int64_t piece, int member) {
  const grouped_job *job = argument;
  job->task(job->argument, piece, member, job->inside);
}

/* Helps in a group while it may have jobs. */
static void serve(spti_team *group) {
  atomic_fetch_add(&group->helpers, 1);
  for (int round = 0; atomic_load(&group->open); round++)
    if (take_part(group)) round = 0;
    else spti_pause(round);
  atomic_fetch_sub(&group->helpers, 1);
}

/* Whoever takes one of the first places has a group and does pieces; who takes a later one serves. */
static void join_group(void *argument, int64_t place, int member) {
  grouped_job *job = argument;
  const int own = (int)(place % job->groups);
  spti_team *group = &job->team->groups[own];
  if (place >= job->groups) {
    serve(group);
    return;
  }
  const double begin = spti_seconds();
  int64_t done = 0;
  for (int64_t piece; (piece = atomic_fetch_add(&job->next, 1)) < job->pieces; done++) job->task(job->argument, piece, own, group);
  atomic_store(&group->open, false);
  if (member == 0) job->part.own += done, job->part.seconds += spti_seconds() - begin;
}

static void run_in_groups(grouped_job *job, int threads) {
  const double called = spti_seconds();
  for (int g = 0; g < job->groups; g++) {
    job->team->groups[g].threads = (threads - 1 - g) / job->groups + 1;
    atomic_store(&job->team->groups[g].open, true);
  }
  do_job(job->team, threads, threads, join_group, job);
  release_team(job->team, called, &job->part);
}

void spti_team_run_groups(spti_team *team, int threads, int groups, int64_t pieces, spti_group_task *task, void *argument) {
  grouped_job job = {.team = team, .pieces = pieces, .task = task, .argument = argument, .part = {.pieces = pieces}};
  atomic_init(&job.next, 0);
  job.groups = groups < pieces ? groups : (int)pieces;
  if (job.groups > SPTI_GROUPS_MAX) job.groups = SPTI_GROUPS_MAX;
  if (groups >= threads) {
    spti_team_run(team, threads, pieces, do_piece, &job);
  } else if (job.groups > 1 && team && take_team(team)) {
    run_in_groups(&job, threads);
  } else {
    if (job.groups <= 1) job.inside = team;
    spti_team_run(NULL, 1, pieces, do_piece, &job);
  }
}
