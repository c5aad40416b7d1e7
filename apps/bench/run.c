/* run.c -- the parent process: starts a worker, watches its time, and starts another one after a measurement that hangs or crashes.
 *
 * The parent opens no device and starts no threads, so that every fork is a fresh process. One worker does the whole run unless it fails,
 * because opening a device takes longer than many measurements.
 */
#include "bench/run.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/table.h"
#include "bench/worker.h"

static const double start_limit_s = 120; /* to open a device and measure its limits */

typedef enum { STARTING, IDLE, LOADING, MEASURING } phase;

typedef struct {
  bench_session *s;
  pid_t pid;
  int pipe_end;
  phase phase;
  int first;         /* measurement that the worker begins with */
  int next;          /* first measurement without a result, or the one that is being made */
  double deadline;   /* of the phase */
  double budget_end; /* of the run */
  bool timed_out;
  bool is_ready; /* a worker has reported the machine */
  cli_progress progress;
} watch;

/* ---- results ---- */

/* The exit code of the run is the highest one of its measurements. */
static void note_code(bench_session *s, int code) {
  if (code > s->worst) s->worst = code;
}

static void finish(watch *w, int index, const bench_result *r) {
  w->s->results[index] = *r;
  note_code(w->s, r->code);
  cli_progress_end(&w->progress);
  bench_table_row(w->s, index);
  cli_progress_step(&w->progress, index + 1, w->s->count);
  w->next = index + 1;
  w->phase = IDLE;
}

static void finish_as(watch *w, int index, int code, const char *status) {
  bench_result r = {.g1 = NAN, .code = code};
  snprintf(r.status, sizeof r.status, "%s", status);
  finish(w, index, &r);
}

/* Gives up all remaining measurements of the triangle that measurement `index` belongs to. */
static void refuse(watch *w, int index, int code, const char *text) {
  const int per_load = bench_per_load(&w->s->args);
  char status[320];
  cli_progress_end(&w->progress);
  if (text) cli_error("%s", text);
  snprintf(status, sizeof status, "failed: %s", text ? text : "reading crashed");
  for (int end = index - index % per_load + per_load; index < end; index++) {
    bench_result *r = &w->s->results[index];
    *r = (bench_result){.g1 = NAN, .code = code};
    memcpy(r->status, status, sizeof r->status);
  }
  note_code(w->s, code);
  w->next = index;
  w->phase = IDLE;
}

static bool settle(watch *w, const bench_machine *machine) {
  bench_session *s = w->s;
  if (w->is_ready) return true; /* a later worker: its limits are not measured */
  if (s->args.tune == TUNE_SYNCFREE_CSC && machine->place == SPTRSM_HOST) {
    cli_error("--tune=syncfree-csc is for a GPU; there is none here, or --host was given");
    return note_code(s, CLI_USAGE), false;
  }
  s->machine = *machine;
  if (bench_args_settle(&s->args, machine->place) != CLI_OK) return note_code(s, CLI_MEMORY), false;
  s->count = bench_count(&s->args, &s->inputs);
  const int loads = s->inputs.count * s->args.dtype_count;
  s->results = calloc((size_t)s->count + 1, sizeof *s->results);
  s->features = calloc((size_t)loads + 1, sizeof *s->features);
  if (s->results == NULL || s->features == NULL) return note_code(s, cli_no_memory("the results")), false;
  for (int l = 0; l < loads; l++) s->features[l].n = -1;
  w->is_ready = true;
  bench_table_begin(s);
  cli_progress_begin(&w->progress, "measuring");
  return true;
}

/* For SIGUSR1. */
static void note_measurement(const watch *w, int index) {
  const bench_args *a = &w->s->args;
  const bench_id id = bench_id_of(a, index);
  char text[200];
  snprintf(text, sizeof text, "measuring %s, %s, %lld right-hand sides", w->s->inputs.list[id.input].shown, a->methods[id.method],
           (long long)a->nrhs[id.nrhs]);
  cli_status_phase(text);
}

static void note_triangle(watch *w, int index) {
  const bench_args *a = &w->s->args;
  const bench_id id = bench_id_of(a, index);
  char text[200];
  snprintf(text, sizeof text, "reading %s", w->s->inputs.list[id.input].shown);
  cli_status_phase(text);
  if (isatty(STDERR_FILENO) || a->table == TABLE_LEVELS) return;
  cli_note("triangle %d of %d: %s, %s", id.input + 1, w->s->inputs.count, w->s->inputs.list[id.input].shown,
           cli_dtypes[a->dtypes[id.dtype]]);
}

/* A worker that follows a failed one reads the triangle a second time: it is printed once. */
static void keep_features(watch *w, int index, const bench_features *f) {
  bench_features *kept = &w->s->features[bench_load_of(&w->s->args, index)];
  const bool is_new = kept->n < 0;
  *kept = *f;
  w->phase = IDLE;
  cli_progress_end(&w->progress);
  if (is_new) bench_table_triangle(w->s, index);
}

/* Handles a message of the worker. False: the run is over. */
static bool hear(watch *w, const bench_message *m) {
  w->deadline = INFINITY; /* reading a file may take long, but does not hang */
  switch (m->what) {
  case SAY_READY: w->phase = IDLE; return settle(w, &m->machine);
  case SAY_LOADING:
    w->phase = LOADING;
    w->next = m->index;
    note_triangle(w, m->index);
    break;
  case SAY_LOADED: keep_features(w, m->index, &m->features); break;
  case SAY_REFUSED: refuse(w, m->index, m->trouble.code, m->trouble.text); break;
  case SAY_BEGIN:
    w->phase = MEASURING;
    w->next = m->index;
    note_measurement(w, m->index);
    w->deadline = cli_now() + w->s->args.limit_s;
    break;
  case SAY_RESULT: finish(w, m->index, &m->result); break;
  case SAY_FATAL: cli_error("%s", m->trouble.text), note_code(w->s, m->trouble.code); return false;
  }
  return true;
}

/* ---- the worker process ---- */

/* The child: it ends with its parent, and ignores Ctrl-C, which the parent handles. */
static void be_worker(watch *w, const int ends[2], pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(CLI_INTERNAL);
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  close(ends[0]);
  cli_be_quiet(); /* progress is the parent's */
  bench_worker(&w->s->args, &w->s->inputs, w->next, !w->is_ready, ends[1]);
}

static bool start(watch *w) {
  int ends[2];
  pid_t parent = getpid();
  fflush(NULL); /* else buffered text would be written twice */
  if (pipe(ends) != 0) return cli_error("no pipe for a worker: %s", strerror(errno)), false;
  w->pid = fork();
  if (w->pid == 0) be_worker(w, ends, parent);
  close(ends[1]);
  w->pipe_end = ends[0];
  if (w->pid < 0) return close(ends[0]), cli_error("no process for a worker: %s", strerror(errno)), false;
  w->phase = STARTING;
  w->first = w->next;
  w->timed_out = false;
  w->deadline = cli_now() + start_limit_s;
  return true;
}

/* Waits for a message. False: the time of the phase or of the run is over, and the worker has been killed. */
static bool wait_in_time(watch *w) {
  struct pollfd from = {.fd = w->pipe_end, .events = POLLIN};
  for (;;) {
    double left = fmin(w->deadline, w->is_ready ? w->budget_end : INFINITY) - cli_now();
    if (!(left > 0)) break;
    int ready = poll(&from, 1, left > 1 ? 1000 : (int)ceil(1e3 * left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) break;
  }
  kill(w->pid, SIGKILL);
  w->timed_out = true;
  return false;
}

/* Handles messages until the worker ends. False: the run is over. */
static bool listen_to(watch *w) {
  bench_message m;
  bool goes_on = true;
  while (goes_on && wait_in_time(w)) {
    ssize_t got = read(w->pipe_end, &m, sizeof m);
    if (got != (ssize_t)sizeof m) break; /* messages are written whole: this is the end */
    goes_on = hear(w, &m);
  }
  if (!goes_on) kill(w->pid, SIGKILL);
  close(w->pipe_end);
  return goes_on;
}

/* After the end of the worker: if it was at work, its measurement or triangle gets a status that tells how it ended. False: the run is
 * over. */
static bool bury(watch *w, int how) {
  char text[200];
  const bool by_signal = WIFSIGNALED(how);
  const int code = by_signal ? CLI_INTERNAL : WEXITSTATUS(how);
  const bool by_budget = w->timed_out && cli_now() >= w->budget_end;
  if (by_signal) snprintf(text, sizeof text, "crashed: %s", strsignal(WTERMSIG(how)));
  else snprintf(text, sizeof text, "crashed: exit code %d", code);
  switch (w->phase) {
  case IDLE:
    if (w->next > w->first || w->next >= w->s->count || by_budget) return true;
    break;
  case MEASURING:
    if (!by_budget) finish_as(w, w->next, w->timed_out ? CLI_ABOVE : CLI_INTERNAL, w->timed_out ? "timeout" : text);
    return true;
  case LOADING:
    if (!by_budget) {
      const char *shown = w->s->inputs.list[bench_id_of(&w->s->args, w->next).input].where;
      char whole[800];
      snprintf(whole, sizeof whole, "%s: reading %s", shown, text);
      refuse(w, w->next, code ? code : CLI_INTERNAL, code == CLI_INPUT ? NULL : whole); /* CLI_INPUT: the guard has said it */
    }
    return true;
  case STARTING:
    if (by_budget) return true;
    break;
  }
  cli_error("the worker process %s before it could measure", w->timed_out ? "took too long" : text);
  note_code(w->s, CLI_DEVICE);
  return false;
}

static void give_up_rest(watch *w, const char *status) {
  while (w->next < w->s->count) finish_as(w, w->next, CLI_OK, status);
}

bool bench_run(bench_session *s) {
  const double begin = cli_now();
  watch w = {.s = s, .budget_end = s->args.budget_s > 0 ? begin + s->args.budget_s : INFINITY};
  bool goes_on = true;
  while (goes_on && (!w.is_ready || (w.next < s->count && cli_now() < w.budget_end))) {
    int how = 0;
    if (!start(&w)) {
      note_code(s, CLI_INTERNAL);
      goes_on = false;
      break;
    }
    goes_on = listen_to(&w);
    waitpid(w.pid, &how, 0);
    if (goes_on) goes_on = bury(&w, how);
  }
  if (w.is_ready) give_up_rest(&w, goes_on ? "skipped: budget" : "failed: no worker process could go on");
  cli_progress_end(&w.progress);
  s->seconds = cli_now() - begin;
  return w.is_ready;
}
