/* multi.c -- one solve on several contexts (sptrsm_multi.h): a solver and a thread for each; share.h hands the columns out. */
#include <sptrsm_multi.h>

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/dtype.h"
#include "core/base/sized.h"
#include "core/context/alloc.h"
#include "core/direct/direct.h"
#include "core/multi/share.h"

enum { MEMBERS_MAX = 1024 };

typedef struct {
  sptrsm_context *context; /* that of the solver, which keeps it alive */
  sptrsm_direct *direct;   /* or */
  sptrsm_plan *plan;
} member;

struct sptrsm_multi {
  int count;
  member *members;
  spti_share_worker *workers;
};

/* ---- creation ---- */

static sptrsm_status check_contexts(const sptrsm_context *own, sptrsm_context *const *others, int count) {
  if (count < 0 || count >= MEMBERS_MAX || (count > 0 && !others))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_create: %d more contexts, 0 to %d are possible", count, MEMBERS_MAX - 1);
  for (int k = 0; k < count; k++) {
    if (!others[k]) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_create: context %d is NULL", k);
    for (int e = -1; e < k; e++)
      if (others[k] == (e < 0 ? own : others[e]))
        return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_create: context %d is %s, too; make another context for the same device", k,
                         e < 0 ? "that of the solver" : "an earlier one");
  }
  return SPTRSM_OK;
}

static sptrsm_status alloc_multi(sptrsm_multi **out, int count) {
  sptrsm_multi *m;
  SPTI_TRY(spti_host_alloc(&m, 1, sizeof *m, "solver of several contexts"));
  *m = (sptrsm_multi){.count = count};
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_host_alloc(&m->members, count, sizeof *m->members, "solver of several contexts"));
  memset(m->members, 0, (size_t)count * sizeof *m->members);
  SPTI_TRY_GOTO(spti_host_alloc(&m->workers, count, sizeof *m->workers, "solver of several contexts"));
  memset(m->workers, 0, (size_t)count * sizeof *m->workers);
  *out = m;
  return SPTRSM_OK;
fail:
  sptrsm_multi_destroy(m);
  return status;
}

/* "context 1 (NVIDIA H200)" in front of the latest message. */
static sptrsm_status name_member(sptrsm_status status, int k, const sptrsm_context *context) {
  char name[160];
  snprintf(name, sizeof name, "context %d (%s)", k, sptrsm_context_describe(context));
  return spti_name_object(status, name);
}

static sptrsm_status clone_plan(sptrsm_plan **out, sptrsm_context *context, const sptrsm_plan *plan) {
  sptrsm_matrix *matrix;
  SPTI_TRY(sptrsm_matrix_clone(&matrix, context, plan->matrix));
  const sptrsm_status status = sptrsm_plan_clone(out, matrix, plan);
  sptrsm_matrix_destroy(matrix); /* the plan keeps it */
  return status;
}

static sptrsm_status clone_member(member *to, const member *own, sptrsm_context *context) {
  to->context = context;
  return own->direct ? sptrsm_direct_clone(&to->direct, context, own->direct) : clone_plan(&to->plan, context, own->plan);
}

/* own: what the caller has, in its context. */
static sptrsm_status create(sptrsm_multi **out, member own, sptrsm_context *const *others, int count) {
  sptrsm_multi *m;
  SPTI_TRY(check_contexts(own.context, others, count));
  SPTI_TRY(alloc_multi(&m, 1 + count));
  if (own.direct) spti_direct_retain(own.direct);
  else spti_plan_retain(own.plan);
  m->members[0] = own;
  sptrsm_status status;
  for (int k = 1; k < m->count; k++) SPTI_TRY_GOTO(name_member(clone_member(&m->members[k], &own, others[k - 1]), k, others[k - 1]));
  *out = m;
  return SPTRSM_OK;
fail:
  sptrsm_multi_destroy(m);
  return status;
}

sptrsm_status sptrsm_multi_create(sptrsm_multi **out, sptrsm_direct *direct, sptrsm_context *const *others, int count) {
  if (!out || !direct) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_create: out or direct is NULL");
  return create(out, (member){.context = direct->context, .direct = direct}, others, count);
}

sptrsm_status sptrsm_multi_create_plans(sptrsm_multi **out, const sptrsm_plan *plan, sptrsm_context *const *others, int count) {
  if (!out || !plan) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_create_plans: out or plan is NULL");
  return create(out, (member){.context = plan->context, .plan = (sptrsm_plan *)plan}, others, count);
}

void sptrsm_multi_destroy(sptrsm_multi *m) {
  if (!m) return;
  for (int k = 0; k < m->count && m->members; k++) {
    sptrsm_direct_destroy(m->members[k].direct);
    sptrsm_plan_destroy(m->members[k].plan);
  }
  spti_host_free(m->members);
  spti_host_free(m->workers);
  spti_host_free(m);
}

/* ---- solving ---- */

typedef struct {
  sptrsm_multi *multi;
  sptrsm_system system;
  sptrsm_op op;
  const void *alpha;
  const sptrsm_block *B, *X;
  fenv_t modes; /* floating-point modes of the calling thread */
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
} seat;

static sptrsm_block columns_of(const sptrsm_block *X, int64_t begin, int64_t end) {
  sptrsm_block part = *X;
  const int64_t first = X->layout == SPTRSM_ROW_MAJOR ? begin : begin * X->ld;
  part.data = (char *)X->data + (size_t)first * sptrsm_dtype_bytes(X->dtype);
  part.nrhs = end - begin;
  return part;
}

static sptrsm_status solve_columns(const job *j, const member *m, int64_t begin, int64_t end) {
  sptrsm_block B = columns_of(j->B, begin, end), X = columns_of(j->X, begin, end);
  SPTI_TRY(m->direct ? sptrsm_direct_solve(m->direct, j->system, j->op, j->alpha, &B, &X) : sptrsm_solve(m->plan, NULL, j->alpha, &B, &X));
  return sptrsm_context_sync(m->context);
}

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
  (void)name_member(status, me, j->multi->members[me].context);
  pthread_mutex_lock(&j->lock);
  j->stopped = true;
  j->status = status;
  snprintf(j->message, sizeof j->message, "%s", sptrsm_last_error());
  pthread_cond_broadcast(&j->moved);
  pthread_mutex_unlock(&j->lock);
}

static void *work(void *argument) {
  const seat *s = argument;
  job *j = s->job;
  int64_t begin, end;
  while (take(j, s->member, &begin, &end)) {
    const double start = spti_seconds();
    const sptrsm_status status = solve_columns(j, &j->multi->members[s->member], begin, end);
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

static int panels_of(const member *s) { return s->context->place == SPTRSM_HOST ? spti_team_threads(s->context->team) : GPU_PANELS; }

static void begin_shares(sptrsm_multi *m) {
  bool has_device = false;
  for (int k = 0; k < m->count; k++) has_device = has_device || m->members[k].context->place != SPTRSM_HOST;
  for (int k = 0; k < m->count; k++) {
    const member *s = &m->members[k];
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
  int started = 1;
  fegetenv(&j->modes);
  pthread_mutex_init(&j->lock, NULL);
  pthread_cond_init(&j->moved, NULL);
  begin_shares(m);
  for (int k = 1; k < m->count; k++) m->workers[k].left = (k - 1) * m->workers[k].panel >= j->B->nrhs;
  block_signals(&before);
  for (int k = 1; k < m->count; k++) {
    seats[k] = (seat){j, k};
    if (m->workers[k].left) continue;
    if (pthread_create(&threads[started], NULL, work_aside, &seats[k]) == 0) started++;
    else leave(j, k);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  seats[0] = (seat){j, 0};
  work(&seats[0]);
  for (int k = 1; k < started; k++) pthread_join(threads[k], NULL);
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

/* The blocks as a whole; a solve of no columns looks at the rest. */
static sptrsm_status check(const job *j) {
  const member *first = &j->multi->members[0];
  const spti_pipeline pipe = {.context = first->context,
                              .dtype = first->direct ? first->direct->dtype : first->plan->view.dtype,
                              .n = first->direct ? first->direct->n : first->plan->view.n};
  if (j->B->place != SPTRSM_HOST || j->X->place != SPTRSM_HOST)
    return spti_fail(SPTRSM_ERR_ARGUMENT,
                     "B and X of several contexts are in host memory; a block in device memory is solved by one context");
  SPTI_TRY(spti_pipeline_check(&pipe, j->B, j->X));
  return solve_columns(j, first, 0, 0);
}

static sptrsm_status check_and_solve(job *j) {
  SPTI_TRY(check(j));
  return solve(j);
}

sptrsm_status sptrsm_multi_direct_solve(sptrsm_multi *m, sptrsm_system system, sptrsm_op op, const void *alpha, const sptrsm_block *B,
                                        sptrsm_block *X) {
  if (!m || !B || !X || !m->members[0].direct)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_direct_solve: %s",
                     m && B && X ? "this is one of plans; call sptrsm_multi_solve" : "multi, B or X is NULL");
  job j = {.multi = m, .system = system, .op = op, .alpha = alpha, .B = B, .X = X};
  return check_and_solve(&j);
}

sptrsm_status sptrsm_multi_solve(sptrsm_multi *m, const void *alpha, const sptrsm_block *B, sptrsm_block *X) {
  if (!m || !B || !X || !m->members[0].plan)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_solve: %s",
                     m && B && X ? "this is one of factor sets; call sptrsm_multi_direct_solve" : "multi, B or X is NULL");
  job j = {.multi = m, .alpha = alpha, .B = B, .X = X};
  return check_and_solve(&j);
}

/* ---- new values, information ---- */

static bool takes_host_values(const member *m) {
  return m->direct ? m->direct->place[0] == SPTRSM_HOST && m->direct->place[1] == SPTRSM_HOST : m->plan->matrix->T.place == SPTRSM_HOST;
}

sptrsm_status sptrsm_multi_set_values(sptrsm_multi *m, const void *L_val, const void *D, const void *D_sub, const void *U_val) {
  if (!m) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_set_values: multi is NULL");
  if (m->members[0].plan && (D || D_sub || U_val))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_set_values: a triangle has neither D nor U; give its values as L_val");
  if (!takes_host_values(&m->members[0]))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_set_values: the values were given in device memory, which other devices can't "
                                          "read; make the solver of arrays in host memory");
  for (int k = 0; k < m->count; k++) {
    const member *s = &m->members[k];
    SPTI_TRY(name_member(s->direct ? sptrsm_direct_set_values(s->direct, L_val, D, D_sub, U_val)
                                   : sptrsm_matrix_set_values(s->plan->matrix, L_val),
                         k, s->context));
  }
  return SPTRSM_OK;
}

int sptrsm_multi_count(const sptrsm_multi *m) { return m ? m->count : 0; }

sptrsm_status sptrsm_multi_member_at(sptrsm_multi_member *out, const sptrsm_multi *m, int index) {
  SPTI_TRY(
      spti_sized_check(out, SPTI_SIZE_UP_TO(sptrsm_multi_member, columns), sizeof *out, "sptrsm_multi_member_at", "sptrsm_multi_member"));
  if (!m || index < 0 || index >= m->count)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_member_at: index %d is not in 0..%d", index, sptrsm_multi_count(m) - 1);
  const member *s = &m->members[index];
  const sptrsm_multi_member info = {.context = s->context, .direct = s->direct, .plan = s->plan, .columns = m->workers[index].solved};
  spti_sized_write(out, &info, sizeof info);
  return SPTRSM_OK;
}
