/* cli_output.c -- output files and JSON reports of the command-line programs. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cli.h"

/* ---- files ---- */

char *cli_file_of(const char *where) {
  struct stat s;
  char *name = strdup(where);
  if (name == NULL || stat(name, &s) == 0) return name; /* the name of a file may contain ":/" */
  for (char *cut = name + strlen(name); cut-- > name;) {
    if (strncmp(cut, ":/", 2) != 0) continue;
    *cut = '\0';
    return name;
  }
  return name;
}

char *cli_sibling(const char *where, const char *ending) {
  static const char *const known[] = {".h5", ".hdf5", ".mat", ".mtx.gz", ".mtx"};
  char *name = cli_file_of(where), *out = NULL;
  if (name == NULL) return NULL;
  size_t length = strlen(name);
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    size_t tail = strlen(known[i]);
    if (length <= tail || strcmp(name + length - tail, known[i]) != 0) continue;
    name[length - tail] = '\0';
    break;
  }
  if (asprintf(&out, "%s%s", name, ending) < 0) out = NULL;
  free(name);
  return out;
}

static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return strdup(".");
  return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* Checks that a file with this name, which does not exist, can be created in its folder. */
static int check_folder(const char *path) {
  int code = CLI_OK;
  struct stat s;
  if (path[0] == '\0') {
    cli_error("an output has no name; give it one");
    return CLI_USAGE;
  }
  if (lstat(path, &s) != 0 && errno == ENAMETOOLONG) {
    cli_error("%s: %s; choose another output", path, strerror(errno));
    return CLI_IO;
  }
  char *folder = folder_of(path);
  if (folder == NULL) return cli_no_memory("a file name");
  if (stat(folder, &s) != 0 || !S_ISDIR(s.st_mode)) {
    cli_error("%s: there is no folder %s; make it first or choose another output", path, folder);
    code = CLI_IO;
  } else if (access(folder, W_OK | X_OK) != 0) {
    cli_error("%s: folder %s: %s; choose another output", path, folder, strerror(errno));
    code = CLI_IO;
  }
  free(folder);
  return code;
}

static int check_inputs(const char *path, const struct stat *out, const char *const inputs[], int count) {
  struct stat in;
  for (int i = 0; i < count; i++) {
    char *name = cli_file_of(inputs[i]);
    if (name == NULL) return cli_no_memory("a file name");
    bool same = stat(name, &in) == 0 && in.st_dev == out->st_dev && in.st_ino == out->st_ino;
    free(name);
    if (!same) continue;
    cli_error("%s: the output is the input %s; choose another output", path, inputs[i]);
    return CLI_USAGE;
  }
  return CLI_OK;
}

int cli_check_output(const char *path, bool force, const char *const inputs[], int count) {
  struct stat out;
  if (stat(path, &out) != 0) {
    if (lstat(path, &out) != 0) return check_folder(path);
    cli_error("%s: a symbolic link that leads to no file; remove it or choose another output", path);
    return CLI_IO;
  }
  int code = check_inputs(path, &out, inputs, count);
  if (code != CLI_OK) return code;
  if (!S_ISREG(out.st_mode)) {
    cli_error("%s: is %s; the output must be a file, choose another", path, S_ISDIR(out.st_mode) ? "a folder" : "not a regular file");
    return CLI_IO;
  }
  if (!force) {
    cli_error("%s: exists; replace it with --force or choose another output", path);
    return CLI_IO;
  }
  return check_folder(path);
}

/* Whether the file is empty, or begins as a JSON report does. */
static bool looks_like_json(const char *path) {
  char first;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd >= 0 ? read(fd, &first, 1) : -1;
  if (fd >= 0) close(fd);
  return got == 0 || (got == 1 && (first == '{' || first == '['));
}

int cli_check_json(const char *option, const char *path, bool force, const char *const inputs[], int count) {
  struct stat out;
  if (strcmp(path, "-") == 0) return CLI_OK;
  if (stat(path, &out) != 0) return check_folder(path);
  if (S_ISDIR(out.st_mode)) {
    cli_error("%s: is a folder; %s needs a file", path, option);
    return CLI_IO;
  }
  int code = check_inputs(path, &out, inputs, count);
  if (code != CLI_OK || force || !S_ISREG(out.st_mode) || looks_like_json(path)) return code;
  cli_error("%s: exists and is no JSON report; replace it with --force or choose another file with %s", path, option);
  return CLI_IO;
}

bool cli_same_output(const char *a, const char *b) {
  struct stat s, t;
  const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
  if (stat(a, &s) == 0 && stat(b, &t) == 0) return s.st_dev == t.st_dev && s.st_ino == t.st_ino;
  if (strcmp(slash_a ? slash_a + 1 : a, slash_b ? slash_b + 1 : b) != 0) return false;
  char *folder_a = folder_of(a), *folder_b = folder_of(b);
  bool same = folder_a && folder_b && stat(folder_a, &s) == 0 && stat(folder_b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
  free(folder_a);
  free(folder_b);
  return same;
}

/* Checks a file beside the output, which will be replaced. */
static int check_beside(const char *path, const char *option, const char *json, const char *const inputs[], int count) {
  struct stat s;
  int code = stat(path, &s) == 0 ? check_inputs(path, &s, inputs, count) : CLI_OK;
  if (code != CLI_OK || json == NULL || strcmp(json, "-") == 0 || !cli_same_output(json, path)) return code;
  cli_error("%s: %s belongs to the output; choose another file", option, json);
  return CLI_USAGE;
}

int cli_check_partial(const char *path, const char *option, const char *json, const char *const inputs[], int count) {
  static const char *const endings[] = {".part", ".part.journal", ".part.journal.new", ".part.lock"};
  int code = CLI_OK;
  char *target = realpath(path, NULL), *name; /* a symbolic link is followed: the files lie beside its target */
  for (int k = 0; k < 4 && code == CLI_OK; k++) {
    if (asprintf(&name, "%s%s", target ? target : path, endings[k]) < 0) {
      code = cli_no_memory("a file name");
      break;
    }
    code = check_beside(name, option, json, inputs, count);
    free(name);
  }
  free(target);
  return code;
}

/* ---- files that are not complete yet ---- */

static const char *_Atomic unfinished; /* see cli_unfinished */

void cli_unfinished(const char *path) { unfinished = path; }

void cli_abandon(void) {
  const char *path = unfinished;
  int kept = errno;
  sptrsm_file_abandon();
  if (path) unlink(path);
  errno = kept;
}

static ino_t inode_of(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 ? s.st_ino : 0;
}

int cli_second_begin(cli_second *s, const char *first, const char *path, bool force) {
  char *target = realpath(path, NULL); /* of a symbolic link, the file it leads to is replaced */
  *s = (cli_second){.first = first, .old_first = inode_of(first), .force = force, .path = target ? target : strdup(path)};
  const char *slash = s->path ? strrchr(s->path, '/') : NULL, *name = slash ? slash + 1 : s->path;
  if (s->path == NULL || asprintf(&s->held, "%.*s.%.200s.%ld.second", (int)(name - s->path), s->path, name, (long)getpid()) < 0) {
    free(s->path);
    return cli_no_memory("a file name");
  }
  unlink(s->held); /* of a process with the same number that was killed */
  cli_unfinished(s->held);
  return CLI_OK;
}

static int take_name(const cli_second *s) {
  struct stat old;
  const bool there = stat(s->path, &old) == 0;
  errno = EEXIST; /* it has appeared meanwhile */
  if (there && (!s->force || chmod(s->held, old.st_mode & 07777) != 0)) return -1;
  return rename(s->held, s->path);
}

/* The first output may be there although its writing failed at the last step, the sync of its folder. */
int cli_second_end(cli_second *s, int code) {
  const bool first_is_new = inode_of(s->first) != s->old_first;
  if (first_is_new && take_name(s) != 0) {
    cli_error("%s: can't get its final name: %s; %s is there without it", s->path, strerror(errno), s->first);
    code = CLI_IO;
  }
  unlink(s->held); /* if it has not got its name */
  cli_unfinished(NULL);
  free(s->held);
  free(s->path);
  return code;
}

/* ---- reports ---- */

int cli_flush(void) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return CLI_OK;
  cli_error("stdout: can't write: %s", errno ? strerror(errno) : "an earlier write failed");
  return CLI_IO;
}

static atomic_bool json_lacked_memory;

void *cli_json_allocate(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory == NULL) json_lacked_memory = true;
  return memory;
}

bool cli_json_lacked_memory(void) { return atomic_exchange(&json_lacked_memory, false); }

json_t *cli_json_error(int code) {
  static const char *const names[] = {"ok", "above", "usage", "bad input", "singular", "I/O", "memory", "device", "internal"};
  const char *name = code >= 0 && code <= CLI_INTERNAL ? names[code] : "internal";
  return json_pack("{s:s, s:o, s:i}", "status", name, "message", cli_json_text(cli_last_error()), "exit_code", code);
}

/* JSON is UTF-8, file names need not be: each byte that is no part of a UTF-8 character becomes U+FFFD. */
json_t *cli_json_text(const char *text) {
  static const char replacement[] = "\xEF\xBF\xBD";
  json_t *whole = json_string(text);
  if (whole || text == NULL) return whole ? whole : json_null();
  char *clean = malloc((sizeof replacement - 1) * strlen(text) + 1), *to = clean;
  for (const char *from = text; clean && *from != '\0';) {
    size_t bytes = 0;
    for (size_t k = 4; k > 0 && bytes == 0; k--) { /* a character has at most four bytes */
      json_t *part = strnlen(from, k) == k ? json_stringn(from, k) : NULL;
      if (part) bytes = k;
      json_decref(part);
    }
    size_t put = bytes > 0 ? bytes : sizeof replacement - 1;
    memcpy(to, bytes > 0 ? from : replacement, put);
    to += put;
    from += bytes > 0 ? bytes : 1;
  }
  if (clean) {
    *to = '\0';
    whole = json_string(clean);
  }
  free(clean);
  return whole ? whole : json_null();
}

json_t *cli_json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

char *cli_json_dump(json_t *report, size_t flags) {
  char *text = report ? json_dumps(report, flags) : NULL;
  json_decref(report);
  if (!cli_json_lacked_memory()) return text;
  free(text);
  return NULL;
}

/* What becomes a file. */
typedef struct {
  const void *data;
  size_t size;
} contents;

/* Writes and closes the file, unless that is stdout or stderr. False: not all of it is written; errno says why. */
static bool put(contents c, FILE *f) {
  errno = 0;
  bool good = fwrite(c.data, 1, c.size, f) == c.size;
  int reason = errno;
  if ((f == stdout || f == stderr ? fflush(f) : fclose(f)) != 0) good = false;
  if (reason != 0) errno = reason;
  return good;
}

/* A temporary file, noted before a signal can come: signals are for this thread, since all others are done. */
static int make_temporary(char *name) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int fd = mkstemp(name);
  if (fd >= 0) cli_unfinished(name);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return fd;
}

/* Writes beside `target`, a regular file or none, and renames: the contents appear whole or not at all. */
static bool replace(contents c, const char *target) {
  struct stat s;
  mode_t mask = umask(0);
  umask(mask);
  mode_t mode = stat(target, &s) == 0 ? s.st_mode & 0777 : 0666 & ~mask;
  char *folder = folder_of(target), *temp = NULL; /* after stat(), so that errno says that there is no memory for them */
  if (folder == NULL || asprintf(&temp, "%s/.report.XXXXXX", folder) < 0) temp = NULL;
  free(folder);
  int fd = temp ? make_temporary(temp) : -1;
  FILE *f = fd >= 0 && fchmod(fd, mode) == 0 ? fdopen(fd, "w") : NULL;
  bool good = f && put(c, f) && rename(temp, target) == 0;
  int reason = errno;
  if (fd >= 0 && f == NULL) close(fd);
  if (fd >= 0 && !good) unlink(temp);
  cli_unfinished(NULL);
  free(temp);
  errno = reason;
  return good;
}

static bool is_stream(const struct stat *s, FILE *stream) {
  struct stat of;
  return fstat(fileno(stream), &of) == 0 && of.st_dev == s->st_dev && of.st_ino == s->st_ino;
}

static bool put_in(contents c, const char *path) {
  FILE *f = fopen(path, "w");
  return f && put(c, f);
}

/* Devices and pipes are written to as they are, and so are links to nothing and files in a folder where no file can be made. The file
 * that stdout or stderr goes to (/dev/stdout) gets them there. Of a symbolic link, the file it leads to is replaced. */
static bool write_contents(contents c, const char *path) {
  struct stat s;
  const bool there = stat(path, &s) == 0;
  if (there && is_stream(&s, stdout)) return put(c, stdout);
  if (there && is_stream(&s, stderr)) return put(c, stderr);
  if ((there && !S_ISREG(s.st_mode)) || (!there && lstat(path, &s) == 0)) return put_in(c, path);
  char *target = realpath(path, NULL);
  bool good = replace(c, target ? target : path);
  int reason = errno;
  if (!good && there && (reason == EACCES || reason == EPERM || reason == EROFS)) good = put_in(c, path), reason = errno;
  free(target);
  errno = reason;
  return good;
}

int cli_write_file(const void *data, size_t size, const char *path) {
  const bool to_stdout = strcmp(path, "-") == 0;
  const contents c = {data, size};
  if (to_stdout ? put(c, stdout) : write_contents(c, path)) return CLI_OK;
  const int reason = errno;
  cli_error("%s: can't write: %s", to_stdout ? "stdout" : path, strerror(reason));
  return reason == ENOMEM ? CLI_MEMORY : CLI_IO;
}

int cli_write_json(json_t *report, const char *path) {
  char *text = cli_json_dump(report, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
  if (text == NULL) return cli_no_memory("the JSON report");
  const size_t length = strlen(text);
  text[length] = '\n'; /* in place of the zero byte, which is not written */
  int code = cli_write_file(text, length + 1, path);
  free(text);
  return code;
}
