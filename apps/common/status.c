/* status.c -- how far a program is. SIGUSR1 prints one line: what it is doing, and the count, rate and time left where it counts something.
 * Long work shows a bar on a terminal, a text line for every 10 % elsewhere. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cli.h"

/* What the handler of SIGUSR1 prints; written by the threads that work. */
static struct {
  const char *program;
  char phases[2][200]; /* phases[phase] is complete; a new phase is written into the other one */
  _Atomic int phase;
  const char *_Atomic unit; /* NULL: no count */
  _Atomic int64_t from, done, total;
  _Atomic int64_t start_ms;
} status;

/* ---- the handler: async-signal-safe calls only ---- */

typedef struct {
  char text[400];
  size_t used;
} message;

static void add_text(message *m, const char *text) {
  while (*text && m->used + 1 < sizeof m->text) m->text[m->used++] = *text++;
}

static void add_number(message *m, int64_t number) {
  char digits[24];
  int at = sizeof digits - 1;
  digits[at] = '\0';
  if (number < 0) number = 0;
  do digits[--at] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  add_text(m, digits + at);
}

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void add_count(message *m, const char *unit) {
  int64_t done = status.done, total = status.total, gone = done - status.from, ms = now_ms() - status.start_ms;
  add_text(m, ": ");
  add_number(m, done);
  add_text(m, " of ");
  add_number(m, total);
  add_text(m, " ");
  add_text(m, unit);
  if (gone <= 0 || ms <= 0) return;
  add_text(m, ", ");
  add_number(m, (int64_t)(1e3 * (double)gone / (double)ms));
  add_text(m, "/s, ");
  add_number(m, (int64_t)((double)(total - done) * (double)ms / (double)gone / 1e3 + 0.5));
  add_text(m, " s left");
}

__attribute__((no_sanitize("address"))) static void on_usr1(int signal_number) {
  (void)signal_number;
  int kept = errno;
  message m = {.used = 0};
  const char *phase = status.phases[status.phase], *unit = status.unit;
  add_text(&m, status.program);
  add_text(&m, ": ");
  add_text(&m, phase[0] ? phase : "starting");
  if (unit) add_count(&m, unit);
  m.text[m.used++] = '\n';
  ssize_t ignored = write(STDERR_FILENO, m.text, m.used);
  (void)ignored;
  errno = kept;
}

void cli_status_start(const char *program) {
  struct sigaction action = {.sa_handler = on_usr1, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  status.program = program;
  sigaction(SIGUSR1, &action, NULL);
}

void cli_status_phase(const char *text) {
  int other = 1 - status.phase;
  snprintf(status.phases[other], sizeof status.phases[other], "%.199s", text);
  status.unit = NULL;
  status.phase = other;
}

void cli_phase(const char *format, ...) {
  char text[1200];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  cli_status_phase(text);
  if (cli_verbose()) cli_note("%s", text);
}

void cli_status_count(const char *unit, int64_t from, int64_t total) {
  status.start_ms = now_ms();
  status.from = status.done = from;
  status.total = total;
  status.unit = unit;
}

void cli_status_done(int64_t done) { status.done = done; }

/* ---- the bar ---- */

enum { BAR_CELLS = 40 };
static const double quiet_seconds = 2, redraw_seconds = 0.1;

void cli_progress_begin(cli_progress *p, const char *what) { *p = (cli_progress){.what = what, .start = cli_now()}; }

void cli_progress_count(cli_progress *p, const char *unit, int64_t from, int64_t total) {
  p->unit = unit;
  p->from = from;
  cli_status_count(unit, from, total);
}

/* ", 1200 of 5000 columns, 340/s, 11 s left", or "" without a count. */
static void describe_rate(char *out, size_t room, const cli_progress *p, int64_t done, int64_t total) {
  double seconds = cli_now() - p->start, rate = seconds > 0 ? (double)(done - p->from) / seconds : 0;
  out[0] = '\0';
  if (p->unit == NULL) return;
  int used = snprintf(out, room, ", %lld of %lld %s", (long long)done, (long long)total, p->unit);
  if (rate > 0 && done < total && used > 0 && (size_t)used < room)
    snprintf(out + used, room - (size_t)used, rate < 100 ? ", %.3g/s, %s left" : ", %.0f/s, %s left", rate,
             cli_seconds((double)(total - done) / rate).text);
}

static void draw_bar(cli_progress *p, double part, const char *rest) {
  static const char full[BAR_CELLS + 1] = "########################################";
  int width = p->unit ? BAR_CELLS / 2 : BAR_CELLS, cells = (int)(part * width);
  fprintf(stderr, "\r%s [%.*s%*s] %3d %%%s\033[K", p->what, cells, full, width - cells, "", (int)(100 * part), rest);
  fflush(stderr);
  p->bar = true;
}

void cli_progress_step(cli_progress *p, int64_t done, int64_t total) {
  char rest[120];
  double now = cli_now(), part = total > 0 ? (double)done / (double)total : 1;
  if (p->unit) cli_status_done(done);
  if (cli_quiet() || now - p->start < quiet_seconds) return;
  if (isatty(STDERR_FILENO)) {
    if (done < total && now - p->last < redraw_seconds) return;
    p->last = now;
    describe_rate(rest, sizeof rest, p, done, total);
    draw_bar(p, part, rest);
  } else if ((int)(10 * part) > p->tenths) {
    p->tenths = (int)(10 * part);
    describe_rate(rest, sizeof rest, p, done, total);
    cli_note("%s: %d %%%s", p->what, 10 * p->tenths, rest);
  }
}

void cli_progress_end(cli_progress *p) {
  if (p->bar) fprintf(stderr, "\r\033[K");
  p->bar = false;
}
