/* cli.h -- the command-line side of all programs: exit codes, messages, option values, output files, signals, progress, formatting.
 *
 * Data goes to stdout, messages to stderr as "sptrsm-solve: error: ...". Colour only on a terminal and without NO_COLOR.
 */
#ifndef APPS_COMMON_CLI_H
#define APPS_COMMON_CLI_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <sptrsm_io.h>
#include <stdio.h>

typedef struct {
  char text[64];
} cli_text;

/* Exit codes, the same in every program. */
enum {
  CLI_OK = 0,
  CLI_ABOVE = 1,    /* the work is done, but a residual is above a threshold, or a solution is not finite */
  CLI_USAGE = 2,    /* wrong options, or something this build or device can't do */
  CLI_INPUT = 3,    /* a file can be read, but its contents are wrong */
  CLI_SINGULAR = 4, /* a diagonal entry is missing, zero or not finite */
  CLI_IO = 5,       /* a file can't be read or written */
  CLI_MEMORY = 6,
  CLI_DEVICE = 7,
  CLI_INTERNAL = 8,
  CLI_SIGINT = 130
};

/* ---- start and options: cli.c ---- */

typedef struct {
  const char *name;                  /* "sptrsm-solve" */
  const char *help;                  /* the whole text of --help: fits a screen, examples first */
  const struct argp_option *options; /* without --help, --version, -q, -v */
  argp_parser_t parse;
} cli_program;

/* For the end of main: returns the exit code. After CLI_MEMORY it ends the program itself, without the exit handlers, because those of HDF5
 * may crash or hang after an allocation that failed. */
int cli_end(int code);
/* Installs the signal handlers and parses the command line; wrong usage prints one line and exits with CLI_USAGE. */
void cli_start(const cli_program *, int argc, char **argv, void *input);
/* Values of options. Where the text is wrong, they print a message with the option's name and exit with CLI_USAGE. */
int64_t cli_integer(const char *option, const char *text, int64_t least, int64_t most);
double cli_number(const char *option, const char *text);
size_t cli_size(const char *option, const char *text);                                      /* "512M", "1.5G", "4096" */
void cli_range(const char *option, const char *text, int64_t *begin, int64_t *end);         /* "a:b", "a:", ":b", "k" */
int cli_choice(const char *option, const char *text, const char *const names[], int count); /* index into names */
/* "; did you mean NAME?" for the name that is most like a mistyped word; "" if none is. */
cli_text cli_suggestion(const char *word, size_t length, const char *const names[], int count);
extern const char *const cli_dtypes[4], *const cli_uplos[2], *const cli_ops[3], *const cli_orders[2], *const cli_selects[3];

/* ---- messages and exit codes: message.c ---- */

void cli_set_program(const char *name); /* begins every message; kept by reference; cli_start does it */
bool cli_quiet(void);                   /* -q was given */
void cli_be_quiet(void);
bool cli_verbose(void); /* -v was given */
void cli_be_verbose(void);
/* From now on nothing is printed. cli_tell_error prints the latest error after all, as one of `name`, which is kept by reference. */
void cli_be_mute(const char *name);
void cli_tell_error(void);
bool cli_mute(void);
_Noreturn void cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2))); /* exits with CLI_USAGE */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));  /* not with -q */
void cli_phase(const char *format, ...) __attribute__((format(printf, 1, 2))); /* only with -v */
int cli_exit_code(sptrsm_status);
int cli_fail(sptrsm_status);         /* prints the library's message, returns the exit code */
int cli_no_memory(const char *what); /* likewise for the program's own allocations */
/* Memory for an array, to be given back with free(); NULL: there is none. Large arrays get huge pages, since otherwise page faults take
 * much of the time in which they are filled. */
void *cli_large_memory(size_t bytes);
const char *cli_last_error(void); /* text of the latest cli_error, or "" */
/* For the text of a report: text with every control character as \xHH; itself where it has none, else valid for seven more calls. */
const char *cli_shown(const char *text);

/* ---- output files and JSON: cli_output.c ---- */

/* Checks before any work that a file can be written. Refuses a file that exists, without force; a path that is no regular file; a folder
 * that is missing or not writable; and each of the inputs (named as FILE or FILE:/path). Returns an exit code. */
int cli_check_output(const char *path, bool force, const char *const inputs[], int count);
/* Checks that the files which a stream keeps beside its output (PATH.part, its journals, its lock) are neither inputs nor the report of an
 * option; json may be NULL. Returns an exit code. */
int cli_check_partial(const char *path, const char *option, const char *json, const char *const inputs[], int count);
/* The same as cli_check_output for the report of an option: a file is replaced without force if it is empty or begins with { or [, as a
 * report does. */
int cli_check_json(const char *option, const char *path, bool force, const char *const inputs[], int count);
bool cli_same_output(const char *a, const char *b); /* whether two names mean one file, which need not exist yet */
char *cli_file_of(const char *where);               /* "f.h5" of "f.h5:/L"; the caller frees; NULL without memory */
/* "dir/name.h5:/B" with ".solution.h5" gives "dir/name.solution.h5"; the caller frees; NULL without memory. */
char *cli_sibling(const char *where, const char *ending);
/* Jansson leaves out what it has no memory for, mostly without a word. In the programs it allocates by
 * cli_json_allocate, which notes a failure; cli_json_lacked_memory says whether one was noted since it was last asked. Who builds or parses
 * JSON asks once, at the end. */
void *cli_json_allocate(size_t bytes);
bool cli_json_lacked_memory(void);
/* The text of a report, by json_dumps; drops the reference; the caller frees. NULL: no memory for the text, or for a part of the report. */
char *cli_json_dump(json_t *, size_t flags);
/* Writes a file that appears whole or not at all. path "-": stdout. Returns an exit code. */
int cli_write_file(const void *data, size_t size, const char *path);
int cli_write_json(json_t *, const char *path); /* the same with a report; drops the reference */
int cli_flush(void);                            /* flushes stdout; a message and an exit code if not all of it could be written */
json_t *cli_json_text(const char *);            /* a string; bytes that are not UTF-8 are replaced; null for NULL */
json_t *cli_json_number(double);                /* a number; null for NaN and infinity, which JSON lacks */
json_t *cli_json_error(int code);               /* {"status", "message", "exit_code"} of the latest cli_error */

/* ---- files that are not complete yet: cli_output.c ---- */

/* Notes a file for cli_abandon, kept by reference; NULL: none. */
void cli_unfinished(const char *path);
/* Removes what is not complete, the library's output too; for handlers of signals. */
void cli_abandon(void);

/* The second of two outputs that belong together. It is written as `held`, a new file, before the first output; the end gives it its name
 * if the first one is there, and else removes it. Returns the exit code of the first, or that of a failure. */
typedef struct {
  const char *first;
  ino_t old_first; /* of the file that the first output replaces; 0: none */
  char *path, *held;
  bool force; /* a file `path` is replaced */
} cli_second;
int cli_second_begin(cli_second *, const char *first, const char *path, bool force); /* where it fails, nothing is to be ended */
int cli_second_end(cli_second *, int code);

/* ---- signals: cli.c, status.c ---- */

/* Between write and end a crash (SIGSEGV, SIGBUS, SIGABRT, SIGFPE) is reported as one of HDF5 that writes the named output, with exit code
 * CLI_INTERNAL, or with CLI_MEMORY where memory was missing before it. The name is kept by reference. Pairs do not nest. */
void cli_guard_write(const char *where);
void cli_guard_end(void);

/* Text that is added to the message "interrupted" of a signal that ends the program, kept by reference; NULL: none. */
void cli_interrupt_note(const char *text);

/* What a bus error means where files are mapped, kept by reference: it is then said, and the exit code is CLI_IO. */
void cli_note_bus_error(const char *text);

/* SIGUSR1 prints one line: the latest phase, and the latest count while that phase lasts. */
void cli_status_start(const char *program);                           /* installs the handler; program is kept by reference */
void cli_status_phase(const char *text);                              /* copies the text and ends the count */
void cli_status_count(const char *unit, int64_t from, int64_t total); /* unit is kept by reference */
void cli_status_done(int64_t done);

/* ---- threads: threads.c ---- */

void cli_use_threads(int threads); /* for the program's own work; 0: as many as the library has on the host */
int cli_threads(void);
/* Does one piece. member: 0 for the thread that called cli_share, another number below `threads` for each helper. */
typedef void cli_task(void *argument, int64_t piece, int member);
/* Calls task(argument, piece, member) once for each piece from 0 to pieces - 1, by up to `threads` threads; returns when all are done. */
void cli_share(int threads, int64_t pieces, cli_task *, void *argument);
/* From now on, `watch` is called after each piece, by the thread that did it; begin: cli_now before the piece. */
typedef void cli_watch(void *argument, double begin, int member);
void cli_watch_pieces(cli_watch *watch, void *argument);

/* ---- time, formatting: message.c; progress: status.c ---- */

double cli_now(void);        /* seconds, monotonic */
double cli_peak_bytes(void); /* the most memory that the program has had */

typedef struct {
  const char *what;
  double start, last;
  const char *unit; /* what is counted, "columns"; NULL: only percentages are shown */
  int64_t from;     /* count at the begin, done by an earlier run */
  int tenths;       /* of the work that a text line was printed for */
  bool bar;         /* the bar is on the terminal */
} cli_progress;
void cli_progress_begin(cli_progress *, const char *what);
void cli_progress_count(cli_progress *, const char *unit, int64_t from, int64_t total); /* shows count, rate and time left from now on */
void cli_progress_step(cli_progress *, int64_t done, int64_t total);                    /* shows nothing in the first two seconds */
void cli_progress_end(cli_progress *);

cli_text cli_bytes(double bytes);      /* "12.3 MB" */
cli_text cli_seconds(double seconds);  /* "4.56 ms" */
cli_text cli_error_size(double value); /* "1.23e-16", "not a number" */

#endif
