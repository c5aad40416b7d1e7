/* solve.c -- one call on several contexts: a thread for each; share.h hands the columns out, unless the caller has. */
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/dtype.h"
#include "core/base/sized.h"
#include "core/context/alloc.h"
#include "core/direct/direct.h"
#include "core/multi/members.h"

typedef struct {
  sptrsm_multi *multi;
  sptrsm_system system;
  sptrsm_op op;
  const void *alpha;
  bool each; /* B and X are arrays with a block for each context, otherwise one block */
  const sptrsm_block *B;
  sptrsm_block *X;
  const sptrsm_refine_options *options;
  sptrsm_refine_result *refined; /* NULL: no refinement */
  fenv_t modes;                  /* floating-point modes of the calling thread */
  pthread_mutex_t lock;
  pthread_cond_t moved;
  int64_t next; /* the first column that nobody has taken */
  bool stopped;
  sptrsm_status status;
  char message[1024];
} job;

typedef struct {
  job *job;
  int member;
  bool has_thread;
} seat;

static sptrsm_block columns_of(const sptrsm_block *X, int64_t begin, int64_t end) {
  sptrsm_block part = *X;
  const int64_t first = X->layout == SPTRSM_ROW_MAJOR ? begin : begin * X->ld;
  part.data = (char *)X->data + (size_t)first * sptrsm_dtype_bytes(X->dtype);
  part.nrhs = end - begin;
  return part;
}

/* ---- the columns of one context ---- */

/* As one call would say: the first column that has the largest error, or NaN. */
static void add_result(job *j, const sptrsm_refine_result *part, int64_t first) {
  sptrsm_refine_result *r = j->refined;
  const int64_t worst = first + part->worst;
  if (part->worst < 0) return; /* there were no columns */
  pthread_mutex_lock(&j->lock);
  const bool equal = part->max_berr == r->max_berr || (isnan(part->max_berr) && isnan(r->max_berr));
  const bool larger = part->max_berr > r->max_berr || (isnan(part->max_berr) && !isnan(r->max_berr));
  if (r->worst < 0 || larger || (equal && worst < r->worst)) r->max_berr = part->max_berr, r->worst = worst;
  r->unconverged += part->unconverged;
  pthread_mutex_unlock(&j->lock);
}

static sptrsm_status refine_columns(job *j, const spti_member *m, const sptrsm_block *B, sptrsm_block *X, int64_t first) {
  const sptrsm_refine_result *r = j->refined;
  sptrsm_refine_result part = {.size = sizeof part,
                               .berr = r->berr ? r->berr + first : NULL,
                               .ferr = r->ferr ? r->ferr + first : NULL,
                               .steps = r->steps ? r->steps + first : NULL};
  SPTI_TRY(sptrsm_direct_refine(m->direct, j->system, j->op, j->alpha, B, X, j->options, &part));
  add_result(j, &part, first);
  return SPTRSM_OK;
}

/* Of the block, or of the member's own one. */
static sptrsm_status solve_columns(job *j, int me, int64_t begin, int64_t end) {
  const spti_member *m = &j->multi->members[me];
  const int k = j->each ? me : 0;
  sptrsm_block B = columns_of(&j->B[k], begin, end), X = columns_of(&j->X[k], begin, end);
  if (j->refined) return refine_columns(j, m, &B, &X, begin);
  SPTI_TRY(m->direct ? sptrsm_direct_solve(m->direct, j->system, j->op, j->alpha, &B, &X) : sptrsm_solve(m->plan, NULL, j->alpha, &B, &X));
  return sptrsm_context_sync(m->context);
}

/* ---- threads ---- */

/* False: there is nothing more for this member. */
static bool take(job *j, int me, int64_t *begin, int64_t *end) {
  const sptrsm_multi *m = j->multi;
  spti_share_answer answer = SPTI_SHARE_LATER;
  pthread_mutex_lock(&j->lock);
  while (!j->stopped && (answer = spti_share_take(begin, end, m->workers, m->count, me, &j->next, j->B->nrhs)) == SPTI_SHARE_LATER)
    pthread_cond_wait(&j->moved, &j->lock);
  const bool taken = !j->stopped && answer == SPTI_SHARE_TAKEN;
  pthread_mutex_unlock(&j->lock);
  return taken;
}

static void count(job *j, int me, double seconds) {
  pthread_mutex_lock(&j->lock);
  spti_share_count(&j->multi->workers[me], seconds);
  pthread_cond_broadcast(&j->moved);
  pthread_mutex_unlock(&j->lock);
}

/* This member has no thread, so nobody waits for its speed. */
static void leave(job *j, int me) {
  pthread_mutex_lock(&j->lock);
  j->multi->workers[me].left = true;
  pthread_cond_broadcast(&j->moved);
  pthread_mutex_unlock(&j->lock);
}

static void stop(job *j, int me, sptrsm_status status) {
  (void)spti_name_member(status, j->multi, me);
  pthread_mutex_lock(&j->lock);
  if (!j->stopped) j->status = status, snprintf(j->message, sizeof j->message, "%s", sptrsm_last_error()); /* the first is the cause */
  j->stopped = true;
  pthread_cond_broadcast(&j->moved);
  pthread_mutex_unlock(&j->lock);
}

static bool is_stopped(job *j) {
  pthread_mutex_lock(&j->lock);
  const bool stopped = j->stopped;
  pthread_mutex_unlock(&j->lock);
  return stopped;
}

static void solve_own(job *j, int me) {
  if (is_stopped(j)) return;
  const sptrsm_status status = solve_columns(j, me, 0, j->B[me].nrhs);
  if (status != SPTRSM_OK) stop(j, me, status);
  else j->multi->workers[me].solved = j->B[me].nrhs;
}

static void *work(void *argument) {
  const seat *s = argument;
  job *j = s->job;
  int64_t begin, end;
  if (j->each) solve_own(j, s->member);
  while (!j->each && take(j, s->member, &begin, &end)) {
    const double start = spti_seconds();
    const sptrsm_status status = solve_columns(j, s->member, begin, end);
    if (status != SPTRSM_OK) stop(j, s->member, status);
    else count(j, s->member, spti_seconds() - start);
  }
  return NULL;
}

static void *work_aside(void *argument) {
  const seat *s = argument;
  fesetenv(&s->job->modes);
  return work(argument);
}

/* A host context has several threads, each with a panel; one that is shared would not be faster. A GPU copies one panel while it solves
 * another, but for the first and the last of a chunk, so it takes many at once. */
enum { GPU_PANELS = 32 };

static int panels_of(const spti_member *s) { return s->context->place == SPTRSM_HOST ? spti_team_threads(s->context->team) : GPU_PANELS; }

static void begin_shares(sptrsm_multi *m) {
  bool has_device = false;
  for (int k = 0; k < m->count; k++) has_device = has_device || m->members[k].context->place != SPTRSM_HOST;
  for (int k = 0; k < m->count; k++) {
    const spti_member *s = &m->members[k];
    spti_share_worker *w = &m->workers[k];
    w->panel = s->direct ? s->direct->panel : s->plan->panel;
    if (w->panel < 1) w->panel = 1; /* no plan was made yet */
    w->chunk = w->panel * panels_of(s);
    w->prompt = s->context->place == SPTRSM_HOST;
    w->doubted = w->prompt && has_device;
    spti_share_begin(w);
  }
}

/* Signals are for the threads of the program, except those that a thread causes itself. */
static void block_signals(sigset_t *before) {
  sigset_t blocked;
  const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  sigfillset(&blocked);
  for (size_t s = 0; s < sizeof own / sizeof *own; s++) sigdelset(&blocked, own[s]);
  pthread_sigmask(SIG_SETMASK, &blocked, before);
}

static void run(job *j, seat *seats, pthread_t *threads) {
  sptrsm_multi *m = j->multi;
  sigset_t before;
  fegetenv(&j->modes);
  pthread_mutex_init(&j->lock, NULL);
  pthread_cond_init(&j->moved, NULL);
  begin_shares(m);
  for (int k = 1; k < m->count && !j->each; k++) m->workers[k].left = (k - 1) * m->workers[k].panel >= j->B->nrhs;
  block_signals(&before);
  for (int k = 0; k < m->count; k++) {
    seats[k] = (seat){j, k, false};
    if (k == 0 || m->workers[k].left) continue;
    seats[k].has_thread = pthread_create(&threads[k], NULL, work_aside, &seats[k]) == 0;
    if (!seats[k].has_thread) leave(j, k);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  for (int k = 0; k < (j->each ? m->count : 1); k++)
    if (!seats[k].has_thread) work(&seats[k]);
  for (int k = 1; k < m->count; k++)
    if (seats[k].has_thread) pthread_join(threads[k], NULL);
  pthread_cond_destroy(&j->moved);
  pthread_mutex_destroy(&j->lock);
}

static sptrsm_status solve(job *j) {
  const sptrsm_multi *m = j->multi;
  seat *seats;
  pthread_t *threads = NULL;
  sptrsm_status status;
  SPTI_TRY(spti_host_alloc(&seats, m->count, sizeof *seats, "threads of contexts"));
  SPTI_TRY_DONE(spti_host_alloc(&threads, m->count, sizeof *threads, "threads of contexts"));
  run(j, seats, threads);
  status = j->status == SPTRSM_OK ? SPTRSM_OK : spti_fail(j->status, "%s", j->message);
done:
  spti_host_free(seats);
  spti_host_free(threads);
  return status;
}

/* ---- calls ---- */

/* Blocks of member k. */
static sptrsm_status check_blocks(const job *j, int k, const sptrsm_block *B, const sptrsm_block *X) {
  const spti_member *m = &j->multi->members[k];
  spti_pipeline pipe = {.context = m->context};
  if (m->plan) pipe.dtype = m->plan->view.dtype, pipe.n = m->plan->view.n;
  else pipe.dtype = j->refined ? m->direct->given : m->direct->dtype, pipe.n = m->direct->n;
  return spti_pipeline_check(&pipe, B, X);
}

/* The blocks, before any of them changes; a solve of no columns looks at the rest. */
static sptrsm_status check(job *j) {
  const int count = j->multi->count;
  if (!j->each && (j->B->place != SPTRSM_HOST || j->X->place != SPTRSM_HOST))
    return spti_fail(SPTRSM_ERR_ARGUMENT,
                     "B and X of several contexts are in host memory; a block in device memory is solved by one context");
  for (int k = 0; k < count && j->each; k++) SPTI_TRY(spti_name_member(check_blocks(j, k, &j->B[k], &j->X[k]), j->multi, k));
  if (!j->each) SPTI_TRY(check_blocks(j, 0, j->B, j->X));
  for (int k = 0; k < count && j->refined; k++)
    if (!j->multi->members[k].direct->extension.state)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "context %d has no matrix to refine with: sptrsm_multi_set_original gives it to all", k);
  return solve_columns(j, 0, 0, 0);
}

static sptrsm_status check_and_solve(job *j) {
  SPTI_TRY(check(j));
  return solve(j);
}

/* of_plans: the call is for plans. */
static sptrsm_status check_call(const sptrsm_multi *m, const sptrsm_block *B, const sptrsm_block *X, bool of_plans, const char *call) {
  if (!m || !B || !X) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: multi, B or X is NULL", call);
  if (of_plans && !m->members[0].plan)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: this is one of factor sets; call sptrsm_multi_direct_solve", call);
  if (!of_plans && !m->members[0].direct) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: this is one of plans; call sptrsm_multi_solve", call);
  return SPTRSM_OK;
}

sptrsm_status sptrsm_multi_direct_solve(sptrsm_multi *m, sptrsm_system system, sptrsm_op op, const void *alpha, const sptrsm_block *B,
                                        sptrsm_block *X) {
  SPTI_TRY(check_call(m, B, X, false, "sptrsm_multi_direct_solve"));
  job j = {.multi = m, .system = system, .op = op, .alpha = alpha, .B = B, .X = X};
  return check_and_solve(&j);
}

sptrsm_status sptrsm_multi_solve(sptrsm_multi *m, const void *alpha, const sptrsm_block *B, sptrsm_block *X) {
  SPTI_TRY(check_call(m, B, X, true, "sptrsm_multi_solve"));
  job j = {.multi = m, .alpha = alpha, .B = B, .X = X};
  return check_and_solve(&j);
}

sptrsm_status sptrsm_multi_direct_solve_each(sptrsm_multi *m, sptrsm_system system, sptrsm_op op, const void *alpha, const sptrsm_block *B,
                                             sptrsm_block *X) {
  SPTI_TRY(check_call(m, B, X, false, "sptrsm_multi_direct_solve_each"));
  job j = {.multi = m, .system = system, .op = op, .alpha = alpha, .each = true, .B = B, .X = X};
  return check_and_solve(&j);
}

sptrsm_status sptrsm_multi_solve_each(sptrsm_multi *m, const void *alpha, const sptrsm_block *B, sptrsm_block *X) {
  SPTI_TRY(check_call(m, B, X, true, "sptrsm_multi_solve_each"));
  job j = {.multi = m, .alpha = alpha, .each = true, .B = B, .X = X};
  return check_and_solve(&j);
}

sptrsm_status sptrsm_multi_refine(sptrsm_multi *m, sptrsm_system system, sptrsm_op op, const void *alpha, const sptrsm_block *B,
                                  sptrsm_block *X, const sptrsm_refine_options *options, sptrsm_refine_result *out) {
  const size_t least = SPTI_SIZE_UP_TO(sptrsm_refine_result, unconverged);
  sptrsm_refine_result result = {.size = sizeof result};
  SPTI_TRY(check_call(m, B, X, false, "sptrsm_multi_refine"));
  if (out) SPTI_TRY(spti_sized_check(out, least, sizeof *out, "sptrsm_multi_refine", "sptrsm_refine_result"));
  if (out) SPTI_TRY(spti_sized_read(&result, sizeof result, out, least, "sptrsm_refine_result"));
  result.max_berr = 0;
  result.worst = -1;
  result.unconverged = 0;
  job j = {.multi = m, .system = system, .op = op, .alpha = alpha, .B = B, .X = X, .options = options, .refined = &result};
  SPTI_TRY(check_and_solve(&j));
  if (out) spti_sized_write(out, &result, sizeof result);
  return SPTRSM_OK;
}
