/* cli.c -- start, option values and signals of the command-line programs. */
#include "common/cli.h"

#include "complete/completion.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const cli_program *program;
static const char *_Atomic interrupt_note; /* see cli_interrupt_note */
static const char *_Atomic bus_error;      /* see cli_note_bus_error */

/* ---- signals ---- */

/* Ends the program at once, wherever it is. The output gets its name by a rename at the very end, so only a temporary file has to be
 * removed. Async-signal-safe calls only. */
__attribute__((no_sanitize("address"))) static void on_signal(int signal_number) {
  static const char interrupted[] = ": interrupted", cpu_time[] = ": the limit of CPU time is reached", end[] = "\n";
  const char *text = signal_number == SIGXCPU ? cpu_time : interrupted, *kept = interrupt_note;
  cli_abandon();
  if (signal_number != SIGPIPE && !cli_mute()) { /* of `| head` the user knows */
    ssize_t ignored = write(STDERR_FILENO, program->name, strlen(program->name));
    ignored = write(STDERR_FILENO, text, strlen(text));
    if (kept) ignored = write(STDERR_FILENO, kept, strlen(kept));
    ignored = write(STDERR_FILENO, end, sizeof end - 1);
    (void)ignored;
  }
  _exit(128 + signal_number);
}

/* After a crash nothing but the temporary file is touched; then the system does what it does without a handler (a core dump). */
__attribute__((no_sanitize("address"))) static void on_fatal(int signal_number) {
  cli_abandon();
  if (signal_number == SIGBUS && bus_error) {
    ssize_t ignored = write(STDERR_FILENO, program->name, strlen(program->name));
    ignored = write(STDERR_FILENO, ": error: ", 9);
    ignored = write(STDERR_FILENO, bus_error, strlen(bus_error));
    ignored = write(STDERR_FILENO, "\n", 1);
    (void)ignored;
    _exit(CLI_IO);
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void cli_interrupt_note(const char *text) { interrupt_note = text; }

void cli_note_bus_error(const char *text) { bus_error = text; }

/* A signal that is ignored (nohup), or has a handler already (AddressSanitizer), stays so. Handlers have a stack of their own, because
 * an overflow of the stack is a crash, too. */
static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK}, old;
  sigemptyset(&action.sa_mask);
  if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL) sigaction(number, &action, NULL);
}

/* All signals that end a program and can be caught; SIGUSR1 has its own handler. A write beyond the limit of file sizes fails (EFBIG)
 * instead of ending the program. */
static void catch_signals(void) {
  static const int ending[] = {SIGHUP,    SIGINT,  SIGQUIT, SIGPIPE, SIGALRM,   SIGTERM, SIGUSR2,
                               SIGVTALRM, SIGPROF, SIGXCPU, SIGPOLL, SIGSTKFLT, SIGPWR};
  static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  static char stack[1 << 16];
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) handle(ending[i], on_signal);
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++) handle(number, on_signal);
  for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) handle(fatal[i], on_fatal);
  handle(SIGXFSZ, SIG_IGN);
}

/* Where the two limits of CPU time are equal, as `ulimit -t` sets them, the system ends a program by SIGKILL and sends no SIGXCPU before.
 * So the soft limit comes a second earlier, or more where many processors use it up fast. Where the limit is too short for that, a timer
 * sends the signal half a second earlier. */
static void watch_cpu_time(void) {
  const rlim_t spare = 1 + (rlim_t)sysconf(_SC_NPROCESSORS_ONLN) / 32;
  struct rlimit limit;
  if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_cur != limit.rlim_max) return;
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max == 0) return;
  if (limit.rlim_max > 2 * spare) {
    limit.rlim_cur = limit.rlim_max - spare;
    if (setrlimit(RLIMIT_CPU, &limit) == 0) return;
  }
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGXCPU};
  const struct itimerspec when = {.it_value = {.tv_sec = (time_t)limit.rlim_max - 1, .tv_nsec = 500000000}};
  timer_t timer;
  if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0) timer_settime(timer, TIMER_ABSTIME, &when, NULL);
}

/* ---- crashes inside HDF5 while it writes; it reads in a process of its own ---- */

/* SIGABRT comes from the C library where it finds the heap damaged. */
static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE};
enum { CRASHES = sizeof crashes / sizeof crashes[0] };

static struct {
  const char *where;             /* the output; NULL: not between begin and end */
  pthread_t thread;              /* the one that calls HDF5; a crash of another thread has other causes */
  struct sigaction old[CRASHES]; /* handlers outside of the guard */
  stack_t stack;
} guard;

/* Without AddressSanitizer, which would allocate memory before _exit, perhaps inside of an allocation. */
__attribute__((no_sanitize("address"), noreturn)) static void end_in_hdf5(bool lacked_memory) {
  const char *text = lacked_memory ? ": HDF5 had no memory, and crashed\n" : ": writing crashed inside HDF5\n";
  cli_abandon();
  ssize_t ignored = write(STDERR_FILENO, program->name, strlen(program->name));
  ignored = write(STDERR_FILENO, ": error: ", 9);
  ignored = write(STDERR_FILENO, guard.where, strlen(guard.where));
  ignored = write(STDERR_FILENO, text, strlen(text));
  (void)ignored;
  _exit(lacked_memory ? CLI_MEMORY : CLI_INTERNAL);
}

/* HDF5 crashes after allocations that failed, of which errno tells. */
__attribute__((no_sanitize("address"))) static void on_crash(int signal_number) {
  if (pthread_equal(pthread_self(), guard.thread)) end_in_hdf5(errno == ENOMEM);
  on_fatal(signal_number); /* and back to the crash, or to the signal raised */
}

/* HDF5 1.10 calls exit(-1) itself where it has no memory for its own tables. */
static void on_exit_in_hdf5(void) {
  if (guard.where) end_in_hdf5(true);
}

void cli_guard_write(const char *where) {
  static char stack[1 << 16]; /* of this thread, which need not be the one that handles other signals */
  static bool watches_exit;
  struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  guard.where = where;
  guard.thread = pthread_self();
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, &guard.stack);
  for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], &action, &guard.old[i]);
  if (!watches_exit) watches_exit = atexit(on_exit_in_hdf5) == 0;
  errno = 0;
}

void cli_guard_end(void) {
  guard.where = NULL;
  for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], &guard.old[i], NULL);
  sigaltstack(&guard.stack, NULL);
}

/* ---- suggestions ---- */

static bool alike(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

static size_t least_of(size_t a, size_t b) { return a < b ? a : b; }

/* Characters to insert, delete, replace or swap with the next one to turn a word into the other (optimal string alignment); upper and lower
 * case count as the same. */
static size_t distance(const char *from, size_t length, const char *to) {
  enum { MOST = 64 };
  size_t columns = strlen(to), rows[3][MOST + 1];
  if (columns > MOST) return columns;
  for (size_t k = 0; k <= columns; k++) rows[0][k] = k;
  for (size_t i = 0; i < length; i++) {
    const size_t *above = rows[i % 3], *second = rows[(i + 2) % 3]; /* the row above and, from i = 1 on, the one above that */
    size_t *row = rows[(i + 1) % 3];
    row[0] = i + 1;
    for (size_t k = 0; k < columns; k++) {
      row[k + 1] = least_of(above[k] + !alike(from[i], to[k]), 1 + least_of(row[k], above[k + 1]));
      if (i > 0 && k > 0 && alike(from[i], to[k - 1]) && alike(from[i - 1], to[k])) row[k + 1] = least_of(row[k + 1], second[k - 1] + 1);
    }
  }
  return rows[length % 3][columns];
}

cli_text cli_suggestion(const char *word, size_t length, const char *const names[], int count) {
  size_t least = 1 + length / 3; /* a word that differs in more is another one */
  cli_text t = {""};
  for (int i = 0; i < count; i++) {
    size_t d = distance(word, length, names[i]);
    if (d >= least) continue;
    least = d;
    snprintf(t.text, sizeof t.text, "; did you mean %s?", names[i]);
  }
  return t;
}

/* ---- the command line ---- */

enum { KEY_HELP = 1000, KEY_VERSION, KEY_COMPLETION };

static const struct argp_option common_options[] = {
    {"help", KEY_HELP, NULL, 0, "show help", 0},
    {"version", KEY_VERSION, NULL, 0, "show the version", 0},
    {"completion", KEY_COMPLETION, "bash|zsh|fish", 0, "print a completion script", 0},
    {"quiet", 'q', NULL, 0, "errors and warnings only", 0},
    {"verbose", 'v', NULL, 0, "say what is done", 0},
    {0},
};

static const struct argp_option *find_option(const struct argp_option *list, const char *name, size_t length) {
  for (; list->name || list->key; list++)
    if (list->name && strlen(list->name) == length && strncmp(list->name, name, length) == 0) return list;
  return NULL;
}

/* A suggestion for an unknown "--word" of this length, with its hyphens. */
static cli_text suggest_option(const char *word, size_t length) {
  const struct argp_option *const lists[] = {program->options, common_options};
  char spelled[64][32];
  const char *names[64];
  int count = 0;
  for (int l = 0; l < 2; l++)
    for (const struct argp_option *o = lists[l]; (o->name || o->key) && count < 64; o++) {
      if (o->name == NULL) continue;
      snprintf(spelled[count], sizeof spelled[count], "--%s", o->name);
      names[count] = spelled[count];
      count++;
    }
  return cli_suggestion(word, length, names, count);
}

static bool is_flag(const struct argp_option *list, char letter) {
  while ((list->name || list->key) && list->key != letter) list++;
  return list->key == letter && list->arg == NULL;
}

/* A word such as -qv, of options that are known and take no value. */
static bool is_understood(const char *word) {
  const char *c = word + 1;
  while (*c && (is_flag(program->options, *c) || is_flag(common_options, *c))) c++;
  return word[0] == '-' && c > word + 1 && *c == '\0';
}

/* argp has found an option that it can't take: prints which one and why, and exits. It is the word before state->next, or the one at
 * state->next where argp has not come to the end of a word of short options. */
static void explain_option(const struct argp_state *state) {
  const char *word = state->next > 0 ? state->argv[state->next - 1] : "", *next = state->next < state->argc ? state->argv[state->next] : "";
  if (next[0] == '-' && next[1] != '-' && (word[0] != '-' || is_understood(word))) word = next;
  if (strncmp(word, "--", 2) != 0)
    cli_usage("unknown option '%s', or its value is missing%s", word, suggest_option(word, strcspn(word, "=")).text);
  size_t length = strcspn(word + 2, "=");
  const struct argp_option *known = find_option(program->options, word + 2, length);
  if (known == NULL) known = find_option(common_options, word + 2, length);
  if (known == NULL) cli_usage("unknown or ambiguous option '%s'%s", word, suggest_option(word, length + 2).text);
  cli_usage("option '--%s' %s", known->name, known->arg ? "needs a value" : "takes no value");
}

static int print_completion(const char *text) {
  static const char *const shells[] = {"bash", "zsh", "fish"};
  const struct argp_option *const tables[] = {program->options, common_options};
  completion_print((completion_shell)cli_choice("--completion", text, shells, 3), program->name, tables);
  return cli_flush();
}

static error_t parse_common(int key, char *text, struct argp_state *state) {
  switch (key) {
  case KEY_HELP: fputs(program->help, stdout); exit(cli_flush());
  case KEY_VERSION: printf("%s %s\n", program->name, sptrsm_version()); exit(cli_flush());
  case KEY_COMPLETION: exit(print_completion(text));
  case 'q': cli_be_quiet(); return 0;
  case 'v': cli_be_verbose(); return 0;
  case ARGP_KEY_ERROR: explain_option(state); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* Where stdin, stdout or stderr are closed, the next file that is opened would get its number, and messages would be written into it.
 * Instead they get /dev/null, opened in the direction in which their use still fails. */
static void fill_descriptors(void) {
  int fd;
  do fd = open("/dev/null", fcntl(STDIN_FILENO, F_GETFD) < 0 ? O_WRONLY : O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
}

void cli_start(const cli_program *started, int argc, char **argv, void *input) {
  static const struct argp common = {.options = common_options, .parser = parse_common};
  const struct argp_child children[] = {{&common, 0, NULL, 0}, {0}};
  const struct argp argp = {.options = started->options, .parser = started->parse, .children = children};
  fill_descriptors();
  program = started;
  cli_set_program(program->name);
  cli_status_start(program->name);
  catch_signals();
  watch_cpu_time();
  json_set_alloc_funcs(cli_json_allocate, free);
  error_t error = argp_parse(&argp, argc, argv, ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT, NULL, input);
  if (error == ENOMEM) exit(cli_no_memory("the command line"));
  if (error) cli_usage("%s", strerror(error));
}

int cli_end(int code) {
  if (code != CLI_MEMORY) return code;
  fflush(stdout);
  fflush(stderr);
  _exit(code);
}

/* ---- option values ---- */

/* In the order of the enumerations sptrsm_dtype, sptrsm_uplo, sptrsm_op, sptrsm_layout and sptrsm_select. */
const char *const cli_dtypes[4] = {"f32", "f64", "c64", "c128"};
const char *const cli_uplos[2] = {"lower", "upper"};
const char *const cli_ops[3] = {"N", "T", "C"};
const char *const cli_orders[2] = {"C", "F"};
const char *const cli_selects[3] = {"adaptive", "rhs", "column"};

int64_t cli_integer(const char *option, const char *text, int64_t least, int64_t most) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || value < least || value > most)
    cli_usage("%s: '%s' is not a whole number from %lld to %lld", option, text, (long long)least, (long long)most);
  return value;
}

double cli_number(const char *option, const char *text) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(value)) cli_usage("%s: '%s' is not a number", option, text);
  return value;
}

size_t cli_size(const char *option, const char *text) {
  static const char units[] = "kMGT";
  char *end;
  double value = strtod(text, &end);
  bool wrong = end == text || !isfinite(value) || value <= 0;
  if (*end != '\0') {
    const char *unit = strchr(units, *end == 'K' ? 'k' : *end);
    wrong = wrong || unit == NULL || (end[1] != '\0' && strcmp(end + 1, "B") != 0);
    if (!wrong) value *= pow(1000, (double)(unit - units + 1));
  }
  if (wrong || value < 1 || value >= 9e18) cli_usage("%s: '%s' is not a size such as 4096, 512M or 1.5G", option, text);
  return (size_t)value;
}

void cli_range(const char *option, const char *text, int64_t *begin, int64_t *end) {
  char *colon = strchr(text, ':'), *rest = NULL;
  errno = 0;
  *begin = 0;
  *end = -1;
  bool wrong = text[0] == '\0' || strcmp(text, ":") == 0 || text[0] == '-';
  if (text != colon) *begin = strtoll(text, &rest, 10);
  wrong = wrong || (rest && rest != (colon ? colon : text + strlen(text)));
  wrong = wrong || *begin == INT64_MAX;
  if (colon == NULL && !wrong) *end = *begin + 1;
  if (colon && colon[1] != '\0') {
    *end = strtoll(colon + 1, &rest, 10);
    wrong = wrong || *rest != '\0' || *end <= *begin;
  }
  if (wrong || errno != 0) cli_usage("%s: '%s' is not a range a:b (from a up to, not including, b)", option, text);
}

int cli_choice(const char *option, const char *text, const char *const names[], int count) {
  char list[256] = "";
  for (int i = 0; i < count; i++) {
    if (strcmp(text, names[i]) == 0) return i;
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
  }
  cli_usage("%s: '%s' is not one of %s%s", option, text, list, cli_suggestion(text, strlen(text), names, count).text);
}
