/* message.c -- messages on stderr, exit codes, and how much a program says; times and sizes as text. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/cli.h"

static struct {
  const char *program; /* begins every message */
  bool quiet, verbose;
  bool mute;        /* errors are only kept */
  char error[1024]; /* the latest message of cli_error */
} said = {.program = "sptrsm"};

void cli_set_program(const char *name) { said.program = name; }
bool cli_quiet(void) { return said.quiet; }
void cli_be_quiet(void) { said.quiet = true; }
bool cli_verbose(void) { return said.verbose; }
void cli_be_verbose(void) { said.verbose = true; }
const char *cli_last_error(void) { return said.error; }
bool cli_mute(void) { return said.mute; }

void cli_be_mute(const char *name) {
  said.program = name;
  said.quiet = said.mute = true;
}

void cli_tell_error(void) {
  char text[sizeof said.error];
  said.mute = false;
  memcpy(text, said.error, sizeof text);
  cli_error("%s", text[0] ? text : "failed");
}

/* Bytes of the control character that the text begins with, 0: none. In UTF-8 those from 128 to 159 have two. */
static int control_bytes(const char *text) {
  const unsigned char c = (unsigned char)text[0], next = c == 0xc2 ? (unsigned char)text[1] : 0;
  if ((c < ' ' && c != '\0') || c == 127) return 1;
  return next >= 0x80 && next < 0xa0 ? 2 : 0;
}

/* A copy with every control character shown as \xHH: names come from other people, and must neither steer the terminal nor begin a line
 * of their own. NULL: no memory. */
static char *printable(const char *text) {
  const size_t length = strlen(text);
  char *shown = length < SIZE_MAX / 4 ? malloc(4 * length + 1) : NULL, *at = shown;
  if (shown == NULL) return NULL;
  while (*text) {
    int bytes = control_bytes(text);
    if (bytes == 0) *at++ = *text++;
    for (; bytes > 0; bytes--) at += sprintf(at, "\\x%02x", (unsigned char)*text++);
  }
  *at = '\0';
  return shown;
}

const char *cli_shown(const char *text) {
  static char *kept[8];
  static int next;
  const char *c = text;
  while (*c && control_bytes(c) == 0) c++;
  if (*c == '\0') return text;
  next = (next + 1) % 8;
  free(kept[next]);
  kept[next] = printable(text);
  return kept[next] ? kept[next] : "(no memory for a name)";
}

/* Writes a message in one piece, so that messages of several processes do not end up within each other. */
static void message(const char *kind, const char *colour, const char *format, va_list values) {
  const char *no_color = getenv("NO_COLOR");
  if (said.mute) return;
  bool coloured = isatty(STDERR_FILENO) && (no_color == NULL || no_color[0] == '\0');
  fflush(stdout);
  va_list again;
  va_copy(again, values);
  char *raw, *text = NULL, *line = NULL;
  if (vasprintf(&raw, format, again) >= 0) {
    text = printable(raw);
    free(raw);
  }
  va_end(again);
  const char *before = coloured ? colour : "", *after = coloured ? "\033[0m" : "";
  int length = -1;
  if (text && kind) length = asprintf(&line, "%s: %s%s:%s %s\n", said.program, before, kind, after, text);
  else if (text) length = asprintf(&line, "%s: %s\n", said.program, text);
  if (length >= 0) {
    fwrite(line, 1, (size_t)length, stderr);
    free(line);
  } else { /* no memory for the line */
    fprintf(stderr, "%s: %s%s", said.program, kind ? kind : "", kind ? ": " : "");
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
  }
  free(text);
}

void cli_error(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(said.error, sizeof said.error, format, values);
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
  if (said.quiet) return;
  va_list values;
  va_start(values, format);
  message(NULL, "", format, values);
  va_end(values);
}

void cli_usage(const char *format, ...) {
  va_list values;
  va_start(values, format);
  message("error", "\033[1;31m", format, values);
  va_end(values);
  fprintf(stderr, "Try '%s --help'.\n", said.program);
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

int cli_no_memory(const char *what) {
  cli_error("no memory for %s; take fewer columns (--cols) or a machine with more memory", what);
  return CLI_MEMORY;
}

/* ---- time, memory, formatting ---- */

void *cli_large_memory(size_t bytes) {
  enum { HUGE_PAGE = 2 << 20 };
  void *data = NULL;
  if (bytes < HUGE_PAGE) return malloc(bytes + 1);
  if (posix_memalign(&data, HUGE_PAGE, bytes) != 0) return NULL;
  (void)madvise(data, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
  return data;
}

double cli_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double cli_peak_bytes(void) {
  struct rusage use;
  return getrusage(RUSAGE_SELF, &use) == 0 ? 1024.0 * (double)use.ru_maxrss : 0;
}

cli_text cli_bytes(double bytes) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  int unit = 0;
  for (; bytes >= 999.5 && unit < 6; unit++) bytes /= 1000;
  cli_text t;
  snprintf(t.text, sizeof t.text, unit == 0 ? "%.0f %s" : "%.3g %s", bytes, units[unit]);
  return t;
}

cli_text cli_seconds(double s) {
  cli_text t;
  if (s < 0.9995e-3) snprintf(t.text, sizeof t.text, "%.3g us", 1e6 * s);
  else if (s < 0.9995) snprintf(t.text, sizeof t.text, "%.3g ms", 1e3 * s);
  else if (s < 120) snprintf(t.text, sizeof t.text, "%.3g s", s);
  else snprintf(t.text, sizeof t.text, "%.0f min %.0f s", floor(s / 60), s - 60 * floor(s / 60));
  return t;
}

cli_text cli_error_size(double value) {
  cli_text t;
  if (isnan(value)) snprintf(t.text, sizeof t.text, "not a number");
  else snprintf(t.text, sizeof t.text, "%.2e", value);
  return t;
}
