/* cli.c -- start, messages, option values and signals of the command-line programs. */
#include "common/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
  const cli_program *program;
  bool quiet, verbose;
  char error[1024];         /* the latest message of cli_error */
  const char *_Atomic kept; /* what an interrupt leaves, or NULL */
} cli;

/* ---- messages ---- */

/* Names come from files and from others: what would steer a terminal is shown as \x1b, and no name begins a line. NULL: no memory. */
static char *printable(const char *format, va_list values) {
  char *text, *shown = NULL;
  if (vasprintf(&text, format, values) < 0) return NULL;
  size_t length = strlen(text), at = 0;
  if (length < SIZE_MAX / 4) shown = malloc(4 * length + 1);
  for (size_t i = 0; shown && i <= length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (i < length && (c < ' ' || c == 127)) at += (size_t)snprintf(shown + at, 5, "\\x%02x", c);
    else shown[at++] = (char)c;
  }
  free(text);
  return shown;
}

static void message(const char *kind, const char *colour, const char *format, va_list values) {
  const char *no_color = getenv("NO_COLOR");
  bool coloured = isatty(STDERR_FILENO) && (no_color == NULL || no_color[0] == '\0');
  fflush(stdout);
  fprintf(stderr, "%s: ", cli.program->name);
  if (kind) fprintf(stderr, "%s%s:%s ", coloured ? colour : "", kind, coloured ? "\033[0m" : "");
  va_list again;
  va_copy(again, values);
  char *text = printable(format, again);
  va_end(again);
  if (text) fputs(text, stderr);
  else vfprintf(stderr, format, values);
  free(text);
  fputc('\n', stderr);
}

void cli_error(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(cli.error, sizeof cli.error, format, values);
  va_end(values);
  va_start(values, format);
  message("error", "\033[1;31m", format, values);
  va_end(values);
}

void cli_warning(const char *format, ...) {
  va_list values;
  va_start(values, format);
  message("warning", "\033[1;33m", format, values);
  va_end(values);
}

void cli_note(const char *format, ...) {
  if (cli.quiet) return;
  va_list values;
  va_start(values, format);
  message(NULL, "", format, values);
  va_end(values);
}

void cli_phase(const char *format, ...) {
  char text[200];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  cli_status_phase(text);
  if (!cli.verbose) return;
  va_start(values, format);
  message(NULL, "", format, values);
  va_end(values);
}

void cli_usage(const char *format, ...) {
  va_list values;
  va_start(values, format);
  message("error", "\033[1;31m", format, values);
  va_end(values);
  fprintf(stderr, "Try '%s --help'.\n", cli.program->name);
  exit(CLI_USAGE);
}

int cli_exit_code(sptrsm_status status) {
  switch (status) {
  case SPTRSM_OK: return CLI_OK;
  case SPTRSM_ERR_ARGUMENT:
  case SPTRSM_ERR_UNSUPPORTED: return CLI_USAGE;
  case SPTRSM_ERR_STRUCTURE: return CLI_INPUT;
  case SPTRSM_ERR_SINGULAR: return CLI_SINGULAR;
  case SPTRSM_ERR_IO: return CLI_IO;
  case SPTRSM_ERR_MEMORY: return CLI_MEMORY;
  case SPTRSM_ERR_DEVICE: return CLI_DEVICE;
  case SPTRSM_ERR_INTERNAL: return CLI_INTERNAL;
  }
  return CLI_INTERNAL;
}

int cli_fail(sptrsm_status status) {
  if (status != SPTRSM_OK) cli_error("%s", sptrsm_last_error());
  return cli_exit_code(status);
}

json_t *cli_json_error(int code) {
  static const char *const names[] = {"ok", "above", "usage", "bad input", "singular", "I/O", "memory", "device", "internal"};
  const char *name = code >= 0 && code <= CLI_INTERNAL ? names[code] : "internal";
  return json_pack("{s:s, s:o, s:i}", "status", name, "message", cli_json_text(cli.error), "exit_code", code);
}

int cli_no_memory(const char *what) {
  cli_error("no memory for %s; take fewer columns (--cols) or a machine with more memory", what);
  return CLI_MEMORY;
}

/* ---- signals ---- */

/* Ends at once, wherever the program is: the output appears under its name only by the last rename, so all there is to
 * clean up is a temporary file. Only async-signal-safe calls. */
__attribute__((no_sanitize("address"))) static void on_signal(int signal_number) {
  static const char text[] = ": interrupted", end[] = "\n";
  const char *kept = cli.kept;
  sptrsm_file_abandon();
  ssize_t ignored = write(STDERR_FILENO, cli.program->name, strlen(cli.program->name));
  ignored = write(STDERR_FILENO, text, sizeof text - 1);
  if (kept) ignored = write(STDERR_FILENO, kept, strlen(kept));
  ignored = write(STDERR_FILENO, end, sizeof end - 1);
  (void)ignored;
  _exit(128 + signal_number);
}

void cli_interrupt_note(const char *text) { cli.kept = text; }

static void catch_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {.sa_handler = on_signal};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction old;
    sigaction(numbers[i], NULL, &old);
    if (old.sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL); /* nohup stays in force */
  }
}

/* ---- crashes while reading ---- */

/* SIGABRT: the C library finds that the heap is damaged. */
static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE};
enum { CRASHES = sizeof crashes / sizeof crashes[0] };

static struct {
  const char *where;
  pthread_t thread;              /* that reads; a crash elsewhere is another matter */
  struct sigaction old[CRASHES]; /* what was there before */
  stack_t stack;
} guard;

/* AddressSanitizer would allocate before _exit, perhaps in the midst of an allocation. */
__attribute__((no_sanitize("address"))) static void on_crash(int signal_number) {
  static const char text[] = ": reading crashed inside HDF5: the file is damaged\n";
  if (!pthread_equal(pthread_self(), guard.thread)) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
  }
  sptrsm_file_abandon(); /* streaming, an output is under way */
  ssize_t ignored = write(STDERR_FILENO, cli.program->name, strlen(cli.program->name));
  ignored = write(STDERR_FILENO, ": error: ", 9);
  ignored = write(STDERR_FILENO, guard.where, strlen(guard.where));
  ignored = write(STDERR_FILENO, text, sizeof text - 1);
  (void)ignored;
  _exit(CLI_INPUT);
}

/* On a stack of its own: endless recursion is one of the ways to crash. */
void cli_guard_begin(const char *where) {
  static char stack[1 << 16];
  struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  guard.where = where;
  guard.thread = pthread_self();
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, &guard.stack);
  for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], &action, &guard.old[i]);
}

void cli_guard_end(void) {
  for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], &guard.old[i], NULL);
  sigaltstack(&guard.stack, NULL);
}

/* ---- the command line ---- */

enum { KEY_HELP = 1000, KEY_VERSION };

static const struct argp_option common_options[] = {
    {"help", KEY_HELP, NULL, 0, "", 0},
    {"version", KEY_VERSION, NULL, 0, "", 0},
    {"quiet", 'q', NULL, 0, "", 0},
    {"verbose", 'v', NULL, 0, "", 0},
    {0},
};

static const struct argp_option *find_option(const struct argp_option *list, const char *name, size_t length) {
  for (; list->name || list->key; list++)
    if (list->name && strlen(list->name) == length && strncmp(list->name, name, length) == 0) return list;
  return NULL;
}

/* argp has met an option it can't take; says which and why. */
static void explain_option(const struct argp_state *state) {
  const char *word = state->next > 0 ? state->argv[state->next - 1] : "";
  if (strncmp(word, "--", 2) != 0) cli_usage("unknown option '%s', or its value is missing", word);
  size_t length = strcspn(word + 2, "=");
  const struct argp_option *known = find_option(cli.program->options, word + 2, length);
  if (known == NULL) known = find_option(common_options, word + 2, length);
  if (known == NULL) cli_usage("unknown or ambiguous option '%s'", word);
  cli_usage("option '--%s' %s", known->name, known->arg ? "needs a value" : "takes no value");
}

static error_t parse_common(int key, char *text, struct argp_state *state) {
  (void)text;
  switch (key) {
  case KEY_HELP: fputs(cli.program->help, stdout); exit(cli_flush());
  case KEY_VERSION: printf("%s %s\n", cli.program->name, sptrsm_version()); exit(cli_flush());
  case 'q': cli.quiet = true; return 0;
  case 'v': cli.verbose = true; return 0;
  case ARGP_KEY_ERROR: explain_option(state); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* Where stdin, stdout or stderr are closed, the next files opened would get their numbers, and messages would go into an output. Now they
 * belong to /dev/null, opened so that using them still fails. */
static void fill_descriptors(void) {
  int fd;
  do fd = open("/dev/null", fcntl(STDIN_FILENO, F_GETFD) < 0 ? O_WRONLY : O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
}

void cli_start(const cli_program *program, int argc, char **argv, void *input) {
  static const struct argp common = {.options = common_options, .parser = parse_common};
  const struct argp_child children[] = {{&common, 0, NULL, 0}, {0}};
  const struct argp argp = {.options = program->options, .parser = program->parse, .children = children};
  fill_descriptors();
  cli.program = program;
  cli_status_start(program->name);
  catch_signals();
  error_t error = argp_parse(&argp, argc, argv, ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT, NULL, input);
  if (error) cli_usage("%s", strerror(error));
}

bool cli_quiet(void) { return cli.quiet; }
void cli_be_quiet(void) { cli.quiet = true; }
bool cli_verbose(void) { return cli.verbose; }

/* ---- option values ---- */

const char *const cli_dtypes[4] = {"f32", "f64", "c64", "c128"}; /* in the order of sptrsm_dtype, and so on below */
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
  cli_usage("%s: '%s' is not one of %s", option, text, list);
}
