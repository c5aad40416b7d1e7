/* status.c -- SIGUSR1 prints one line: what the program is doing, and the count, rate and time left where it counts something. */
#include <errno.h>
#include <signal.h>
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
  snprintf(status.phases[other], sizeof status.phases[other], "%s", text);
  status.unit = NULL;
  status.phase = other;
}

void cli_status_count(const char *unit, int64_t from, int64_t total) {
  status.start_ms = now_ms();
  status.from = status.done = from;
  status.total = total;
  status.unit = unit;
}

void cli_status_done(int64_t done) { status.done = done; }
