/* team.c -- the threads of a context: every piece of a job is done once, whatever helpers do; solves go on where threads can't be created
 * and in a process that forked, with the same bits; helpers work in the caller's floating-point modes. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sptrsm.h>

#include "core/base/pause.h"
#include "core/context/team.h"

enum { PIECES = 1000, THREADS = 8 };

/* ---- threads that can't be had: the linker replaces pthread_create (--wrap) ---- */

static atomic_bool threads_fail;
static atomic_int threads_asked;

typedef void *thread_function(void *);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, thread_function *, void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, thread_function *, void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, thread_function *function, void *argument) {
  atomic_fetch_add(&threads_asked, 1);
  return threads_fail ? EAGAIN : __real_pthread_create(thread, attributes, function, argument);
}

/* ---- the team ---- */

typedef struct {
  atomic_int times[PIECES], members[THREADS], rounding;
  atomic_int others; /* pieces that helpers did */
  atomic_int wrong;  /* pieces with a bad member, or with one that another thread was at the same time */
  spti_team *team;   /* not NULL: each piece runs a job of its own on it */
} tally;

static void count(void *argument, int64_t piece, int member) {
  tally *t = argument;
  atomic_fetch_add(&t->times[piece], 1);
  if (member < 0 || member >= THREADS || atomic_fetch_add(&t->members[member], 1) != 0) atomic_fetch_add(&t->wrong, 1);
  if (member > 0) atomic_fetch_add(&t->others, 1);
  if (fegetround() == FE_UPWARD) atomic_fetch_add(&t->rounding, 1);
  atomic_fetch_sub(&t->members[member], 1);
}

static void count_inside(void *argument, int64_t piece, int member) {
  tally *t = argument;
  tally inner = {.team = NULL};
  spti_team_run(t->team, THREADS, PIECES, count, &inner);
  for (int p = 0; p < PIECES; p++) t->wrong += inner.times[p] != 1;
  t->wrong += inner.others + inner.wrong; /* a job inside a job has no helpers */
  count(argument, piece, member);
}

static spti_team *open_team(int threads) {
  spti_team *team;
  cr_assert_eq(spti_team_create(&team), SPTRSM_OK);
  spti_team_set_threads(team, threads);
  return team;
}

static void check_once(const tally *t, int64_t pieces) {
  cr_assert_eq(t->wrong, 0);
  for (int p = 0; p < PIECES; p++) cr_assert_eq(t->times[p], p < pieces, "piece %d was done %d times", p, t->times[p]);
}

Test(team, does_every_piece_once) {
  spti_team *team = open_team(THREADS);
  for (int round = 0; round < 300; round++) {
    const int64_t pieces = round % 3 == 0 ? round % 10 : PIECES;
    tally t = {.team = NULL};
    spti_team_run(team, 1 + round % THREADS, pieces, count, &t);
    check_once(&t, pieces);
  }
  spti_team_destroy(team);
}

Test(team, works_without_a_team_and_inside_a_job) {
  spti_team *team = open_team(THREADS);
  tally alone = {.team = NULL}, outer = {.team = team};
  spti_team_run(NULL, THREADS, PIECES, count, &alone);
  check_once(&alone, PIECES);
  cr_assert_eq(alone.others, 0);
  spti_team_run(team, THREADS, 20, count_inside, &outer);
  check_once(&outer, 20);
  spti_team_destroy(team);
  spti_team_destroy(NULL);
}

/* ---- groups ---- */

enum { GROUPS = 3 };

typedef struct {
  tally pieces, inner[GROUPS];
  spti_team *team;    /* what a piece must get; NULL: the team of its group */
  bool none;          /* a piece must get no team */
  atomic_int strange; /* pieces with another team */
  atomic_int helped;  /* pieces in which another thread did a part */
  bool waits;         /* a piece goes on until another thread has done a part */
} grouped_tally;

static void count_part(void *argument, int64_t piece, int member) {
  count(argument, piece, member);
  spti_pause(100); /* others get the core */
}

static void count_in_group(void *argument, int64_t piece, int member, spti_team *inside) {
  grouped_tally *t = argument;
  count(&t->pieces, piece, member);
  if (t->none ? inside != NULL : t->team ? inside != t->team : inside == NULL || spti_team_threads(inside) != 2 + (member == 0))
    atomic_fetch_add(&t->strange, 1);
  if (t->none) return;
  tally *inner = &t->inner[member];
  do {
    *inner = (tally){.team = NULL};
    spti_team_run(inside, THREADS, PIECES, count_part, inner);
    for (int p = 0; p < PIECES; p++) t->pieces.wrong += inner->times[p] != 1;
    t->pieces.wrong += inner->wrong;
  } while (t->waits && inner->others == 0);
  if (inner->others > 0) atomic_fetch_add(&t->helped, 1);
}

/* Seven threads in three groups of three, two and two; returns whether all was as it should be. */
static bool groups_work(spti_team *team) {
  bool good = true;
  for (int round = 0; round < 20; round++) {
    grouped_tally t = {.waits = round == 0};
    spti_team_run_groups(team, 7, GROUPS, 20, count_in_group, &t);
    for (int p = 0; p < PIECES; p++) good = good && t.pieces.times[p] == (p < 20);
    good = good && t.pieces.wrong == 0 && t.strange == 0 && (!t.waits || t.helped == 20);
  }
  return good;
}

Test(team, groups_help_inside_a_piece, .timeout = 120) {
  spti_team *team = open_team(7);
  cr_assert(groups_work(team));
  spti_team_destroy(team);
}

/* In a job of the same team there are no groups. */
static void run_groups_inside(void *argument, int64_t piece, int member) {
  grouped_tally *t = argument, inner = {.none = true};
  spti_team_run_groups(t->team, 7, GROUPS, 20, count_in_group, &inner);
  check_once(&inner.pieces, 20);
  atomic_fetch_add(&t->strange, inner.strange);
  count(&t->pieces, piece, member);
}

Test(team, one_group_is_the_team_and_each_thread_alone_has_none) {
  spti_team *team = open_team(THREADS);
  grouped_tally one = {.team = team}, alone = {.none = true}, within = {.team = team};
  spti_team_run_groups(team, THREADS, 1, 20, count_in_group, &one);
  check_once(&one.pieces, 20);
  cr_assert_eq(one.pieces.others + one.strange, 0);
  spti_team_run_groups(team, THREADS, THREADS, 20, count_in_group, &alone);
  check_once(&alone.pieces, 20);
  cr_assert_eq(alone.strange, 0);
  spti_team_run(team, THREADS, 20, run_groups_inside, &within);
  check_once(&within.pieces, 20);
  cr_assert_eq(within.strange, 0);
  spti_team_destroy(team);
}

/* ---- resting ---- */

/* Two pieces: the caller does one, and the other thread needs 30 ms longer. */
typedef struct {
  atomic_int begun;
} late_pair;

static void keep_the_caller_waiting(void *argument, int64_t piece, int member, spti_team *inside) {
  late_pair *t = argument;
  const struct timespec long_time = {.tv_nsec = 30000000};
  (void)piece, (void)inside;
  atomic_fetch_add(&t->begun, 1);
  for (int round = 0; member == 0 && atomic_load(&t->begun) < 2 && round < 2000; round++) spti_pause(round);
  if (member == 0) return;
  nanosleep(&long_time, NULL);
}

static void keep_waiting(void *argument, int64_t piece, int member) { keep_the_caller_waiting(argument, piece, member, NULL); }

/* Is the team found resting after one of the jobs? It may have rested enough where this thread did
 * not run for a while, so there are many tries. */
static bool rests(spti_team *team, int groups) {
  for (int try = 0; try < 100; try++) {
    late_pair t = {.begun = 0};
    if (groups > 1) spti_team_run_groups(team, 4, groups, 2, keep_the_caller_waiting, &t);
    else spti_team_run(team, 2, 2, keep_waiting, &t);
    if (spti_team_ready(team) == 1) return true;
  }
  return false;
}

Test(team, rests_after_helpers_kept_the_caller_waiting, .timeout = 120) {
  spti_team *team = open_team(4);
  cr_assert_eq(spti_team_ready(team), 4);
  cr_assert(rests(team, 1), "a caller that waited uses its helpers again at once");
  spti_team_set_threads(team, 4);
  cr_assert_eq(spti_team_ready(team), 4, "it rests after its threads were set");
  cr_assert(rests(team, 2), "a caller that waited for another group uses its helpers again at once");
  spti_team_destroy(team);
}

static void *run_jobs(void *argument) {
  for (int round = 0; round < 100; round++) {
    tally t = {.team = NULL};
    spti_team_run(argument, THREADS, PIECES, count, &t);
    check_once(&t, PIECES);
  }
  return NULL;
}

Test(team, serves_several_callers) {
  spti_team *team = open_team(THREADS);
  pthread_t caller[3];
  for (int c = 0; c < 3; c++) cr_assert_eq(pthread_create(&caller[c], NULL, run_jobs, team), 0);
  for (int c = 0; c < 3; c++) pthread_join(caller[c], NULL);
  spti_team_destroy(team);
}

/* Waits in the caller's piece until a helper came, so that the test does not depend on who runs first. */
static void meet(void *argument, int64_t piece, int member) {
  tally *t = argument;
  if (member > 0 && fegetround() == FE_UPWARD) atomic_fetch_add(&t->rounding, 1);
  if (member > 0) atomic_fetch_add(&t->others, 1);
  for (int round = 0; piece == 0 && atomic_load(&t->others) == 0; round++) spti_pause(round);
}

Test(team, helpers_take_over_the_rounding_mode) {
  spti_team *team = open_team(2);
  tally nearest = {.team = NULL}, upward = {.team = NULL}, again = {.team = NULL};
  spti_team_run(team, 2, 2, meet, &nearest);
  fesetround(FE_UPWARD);
  spti_team_run(team, 2, 2, meet, &upward);
  fesetround(FE_TONEAREST);
  spti_team_run(team, 2, 2, meet, &again);
  cr_assert_eq(nearest.rounding, 0);
  cr_assert_eq(upward.rounding, 1, "the helper kept its own rounding mode");
  cr_assert_eq(again.rounding, 0);
  spti_team_destroy(team);
}

/* A helper's piece asks which signals it blocks. */
static void look_at_signals(void *argument, int64_t piece, int member) {
  tally *t = argument;
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  for (int s = 1; s < SIGSYS && member > 0; s++) {
    const bool own = s == SIGSEGV || s == SIGBUS || s == SIGFPE || s == SIGILL, never = s == SIGKILL || s == SIGSTOP;
    if (sigismember(&blocked, s) == (own || never)) atomic_fetch_add(&t->wrong, 1);
  }
  meet(t, piece, member);
}

/* A handler of the program runs in one of the program's threads, but where a helper itself went wrong. */
Test(team, helpers_leave_signals_to_the_program) {
  spti_team *team = open_team(2);
  tally t = {.team = NULL};
  spti_team_run(team, 2, 2, look_at_signals, &t);
  cr_assert_eq(t.wrong, 0, "%d signals", t.wrong);
  spti_team_destroy(team);
}

/* Threads of this process. */
static int threads_now(void) {
  int count = -2; /* "." and ".." */
  DIR *tasks = opendir("/proc/self/task");
  cr_assert(tasks != NULL);
  while (readdir(tasks) != NULL) count++;
  closedir(tasks);
  return count;
}

Test(team, helpers_that_nobody_needs_end_and_come_again) {
  enum { TEAMS = 4 };
  spti_team *team[TEAMS];
  const struct timespec pause = {.tv_nsec = 100000000};
  for (int k = 0; k < TEAMS; k++) team[k] = open_team(THREADS);
  const int before = threads_now();
  for (int round = 0; round < 2; round++) {
    for (int k = 0; k < TEAMS; k++) {
      tally t = {.team = NULL};
      spti_team_run(team[k], THREADS, THREADS, meet, &t);
      cr_assert(t.others > 0);
    }
    for (int waited = 0; threads_now() > before && waited < 1000; waited++) nanosleep(&pause, NULL);
    cr_assert_eq(threads_now(), before, "helpers stay though nobody needs them");
  }
  for (int k = 0; k < TEAMS; k++) spti_team_destroy(team[k]);
}

/* One that slept for long ends, so a job may have fewer for a moment, never more. */
Test(team, has_the_helpers_that_a_job_can_use) {
  spti_team *team = open_team(THREADS);
  const int before = threads_now();
  tally few = {.team = NULL};
  spti_team_run(team, 2, 2, meet, &few);
  int helpers = 0;
  for (int attempt = 0; helpers < THREADS - 1 && attempt < 1000; attempt++) {
    tally all = {.team = NULL};
    spti_team_run(team, THREADS, THREADS, meet, &all);
    helpers = threads_now() - before;
    for (int look = 0; helpers > THREADS - 1 && look < 100; look++, helpers = threads_now() - before)
      usleep(10000); /* the system may list threads for a moment that have ended */
    cr_assert_leq(helpers, THREADS - 1);
  }
  cr_assert_eq(helpers, THREADS - 1);
  spti_team_destroy(team);
}

Test(team, waiting_long_leaves_the_core) {
  enum { ROUNDS = 200 };
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int round = 0; round < ROUNDS; round++) spti_pause(100000 + round);
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
  cr_assert(seconds >= 2e-5 * ROUNDS, "%d rounds took %g s, so the thread did not sleep", ROUNDS, seconds);
}

/* Whether the system refused a thread is forgotten with another number of threads, and threads that are there are no reason to start no
 * more. */
Test(team, threads_that_were_refused_are_asked_for_again) {
  spti_team *team = open_team(3);
  tally alone = {.team = NULL};
  threads_fail = true;
  for (int round = 0; round < 2; round++) spti_team_run(team, 3, PIECES, count, &alone);
  cr_assert_eq(threads_asked, 1, "the system was asked %d times", (int)threads_asked);
  cr_assert_eq(alone.others, 0);
  threads_fail = false;
  spti_team_set_threads(team, 3);
  spti_team_run(team, 2, PIECES, count, &alone);
  cr_assert_geq(threads_asked, 2, "the system was not asked again");
  spti_team_run(team, 3, PIECES, count, &alone);
  cr_assert_geq(threads_asked, 3, "there is one helper only");
  spti_team_destroy(team);
}

/* A job that can use more helpers adds to those that are there. Several attempts, since a helper that slept for long ends by itself. */
Test(team, helpers_that_are_there_are_not_started_again) {
  int asked = 0;
  for (int attempt = 0; asked != 2 && attempt < 5; attempt++) {
    spti_team *team = open_team(3);
    tally t = {.team = NULL};
    const int before = threads_asked;
    for (int threads = 2; threads <= 3; threads++) spti_team_run(team, threads, PIECES, count, &t);
    asked = threads_asked - before;
    spti_team_destroy(team);
  }
  cr_assert_eq(asked, 2, "two helpers took %d threads", asked);
}

/* ---- solves ---- */

enum { N = 4000, NRHS = 64 };

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  double *B, *X;
} system_of;

static void open_system(system_of *s, int threads) {
  static int64_t ptr[N + 1];
  static int32_t idx[2 * N];
  static double val[2 * N];
  int64_t p = 0;
  for (int32_t i = 0; i < N; ptr[++i] = p) {
    if (i > 0) idx[p] = i - 1, val[p++] = 0.1 + 0.01 * (i % 7);
    idx[p] = i, val[p++] = 3;
  }
  const sptrsm_sparse T = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .n = N, .ptr = ptr, .idx = idx, .val = val};
  *s = (system_of){.B = calloc((size_t)N * NRHS, sizeof(double)), .X = calloc((size_t)N * NRHS, sizeof(double))};
  for (int32_t i = 0; i < N * NRHS; i++) s->B[i] = 1 + i % 13;
  cr_assert_eq(sptrsm_context_create(&s->context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_context_set_threads(s->context, threads), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&s->matrix, s->context, &T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_create(&s->plan, s->matrix, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
}

static sptrsm_status solve(system_of *s) {
  const sptrsm_block B = {.data = s->B, .ld = NRHS, .n = N, .nrhs = NRHS, .dtype = SPTRSM_F64};
  sptrsm_block X = B;
  X.data = s->X;
  memset(s->X, 0, sizeof(double) * N * NRHS);
  return sptrsm_solve(s->plan, NULL, NULL, &B, &X);
}

static void close_system(system_of *s) {
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  sptrsm_context_destroy(s->context);
  free(s->B);
  free(s->X);
}

static bool same_bits(const system_of *a, const system_of *b) { return memcmp(a->X, b->X, sizeof(double) * N * NRHS) == 0; }

#ifndef __SANITIZE_THREAD__  /* its runtime starts no thread in a child */
#ifndef __SANITIZE_ADDRESS__ /* a helper that just starts may hold a lock of its runtime at the fork, which the child waits for */
/* The child ends with 0 if its solves succeed, also one of a second child, and it can destroy everything. */
static int solve_in_child(system_of *s, const system_of *alone, int generations) {
  int ended = 0;
  const pid_t child = fork();
  if (child == 0) {
    alarm(60); /* a child that hangs fails */
    int wrong = 0;
    for (int round = 0; round < 5; round++) wrong |= solve(s) != SPTRSM_OK || !same_bits(s, alone);
    if (generations > 1) wrong |= solve_in_child(s, alone, generations - 1);
    close_system(s);
    _exit(wrong);
  }
  cr_assert(child > 0 && waitpid(child, &ended, 0) == child);
  return !WIFEXITED(ended) || WEXITSTATUS(ended) != 0;
}

Test(team, has_groups_in_a_child_of_a_fork, .timeout = 120) {
  int ended = 0;
  spti_team *team = open_team(7);
  cr_assert(groups_work(team));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60); /* a child that hangs fails */
    _exit(groups_work(team) ? 0 : 1);
  }
  cr_assert(child > 0 && waitpid(child, &ended, 0) == child);
  cr_assert(WIFEXITED(ended) && WEXITSTATUS(ended) == 0, "groups fail in the child of a process with threads");
  spti_team_destroy(team);
}

Test(team, solves_in_a_child_of_a_fork, .timeout = 120) {
  system_of alone, s;
  open_system(&alone, 1);
  open_system(&s, 4);
  cr_assert_eq(solve(&alone), SPTRSM_OK);
  for (int round = 0; round < 20; round++) cr_assert(solve(&s) == SPTRSM_OK && same_bits(&s, &alone));
  cr_assert_eq(solve_in_child(&s, &alone, 2), 0, "the child of a process with threads could not solve");
  cr_assert(solve(&s) == SPTRSM_OK && same_bits(&s, &alone));
  close_system(&s);
  close_system(&alone);
}
#endif

/* No thread can be created in the child: its user may have no more processes (root would be exempt). */
static void solve_without_threads(const system_of *alone) {
  const struct rlimit none = {0, 0};
  system_of s;
  alarm(60);
  pthread_t thread;
  if (setrlimit(RLIMIT_NPROC, &none) != 0 || (getuid() == 0 && setuid(65534) != 0)) _exit(2);
  if (pthread_create(&thread, NULL, run_jobs, NULL) == 0) _exit(3);
  open_system(&s, 16);
  int wrong = 0;
  for (int round = 0; round < 5; round++) wrong |= solve(&s) != SPTRSM_OK || !same_bits(&s, alone);
  close_system(&s);
  _exit(wrong);
}

Test(team, solves_where_no_thread_can_be_created, .timeout = 120) {
  system_of alone;
  int ended = 0;
  open_system(&alone, 1);
  cr_assert_eq(solve(&alone), SPTRSM_OK);
  const pid_t child = fork();
  if (child == 0) solve_without_threads(&alone);
  cr_assert(child > 0 && waitpid(child, &ended, 0) == child);
  cr_assert(WIFEXITED(ended), "the child ended by a signal");
  cr_assert_eq(WEXITSTATUS(ended), 0, "the child ended with %d", WEXITSTATUS(ended));
  close_system(&alone);
}
#endif
