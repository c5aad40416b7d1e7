/* output.c -- an HDF5 file that appears whole under its name or not at all.
 *
 * The data go to .NAME.XXXXXX in the same folder; then follow flush, close, fsync, rename, and fsync of the folder. After a failure
 * the temporary file is removed and an existing file is untouched. sptrsm_file_abandon() removes the temporary file from a signal
 * handler: it reads only entries that were complete before they were counted, and calls only gettid, nanosleep, stat and
 * unlink. An entry
 * names a file that is there, by its inode, so no other file is ever removed; so that no file is missed either, signals are held
 * back from the creation of a file until its entry is counted.
 */
#include "core/base/sized.h"
#include "io/write/write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WAITS_MOST = 2000 }; /* milliseconds, for a thread that creates a file, perhaps on a disk that does not answer */

typedef struct {
  char path[4096];
  dev_t device; /* of the file; another one of that name is not removed */
  ino_t inode;
} watched;
static watched pending_file[4];       /* files to remove: a temporary file, or a part and its journals under present and future names */
static volatile sig_atomic_t pending; /* entries in use */
static atomic_int holder;             /* the system's number of the thread that creates a file, with all signals blocked; 0: none */

static int this_thread(void) { return (int)syscall(SYS_gettid); }

void spti_io_hold_signals(sigset_t *old) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, old);
  holder = this_thread();
}

void spti_io_release_signals(const sigset_t *old) {
  holder = 0;
  pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* A handler that runs while a file is created runs in another thread, and waits for that one; or in the thread that creates it and has
 * crashed or called abort(), which no mask of signals prevents. */
void sptrsm_file_abandon(void) {
  int kept = errno, self = this_thread();
  for (int by = holder, k = 0; by != 0 && by != self && k < WAITS_MOST; by = holder, k++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  for (int k = 0; k < pending; k++) {
    const watched *f = &pending_file[k];
    struct stat s;
    if (stat(f->path, &s) == 0 && s.st_dev == f->device && s.st_ino == f->inode) unlink(f->path);
  }
  errno = kept;
}

void sptrsm_save_options_init_sized(sptrsm_save_options *o, size_t size) {
  spti_sized_init(o, size, &(sptrsm_save_options){.layout = SPTRSM_AS_STORED}, sizeof *o);
}

sptrsm_status spti_io_take_save_options(sptrsm_save_options *o, const sptrsm_save_options **options) {
  sptrsm_save_options_init(o);
  if (*options != NULL)
    SPTI_IO_TRY(spti_sized_read(o, sizeof *o, *options, SPTI_SIZE_UP_TO(sptrsm_save_options, keep_partial), "sptrsm_save_options"));
  *options = o;
  if (o->compress < 0 || o->compress > 9)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "save options: compression level %d; use 0 to 9", o->compress);
  if (o->layout < SPTRSM_AS_STORED || o->layout > SPTRSM_COL_MAJOR)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "save options: unknown layout %d", o->layout);
  return SPTRSM_OK;
}

/* ---- names ---- */

/* Makes "dir/.NAME.XXXXXX", the six characters still to be chosen. NAME is shortened where the result would be too long. */
static sptrsm_status temporary_name(char **out, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
  if (base[0] == '\0') return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: not a file name", path);
  size_t bytes = strlen(path) + sizeof "..XXXXXX", room = NAME_MAX + 1 - sizeof "..XXXXXX";
  int stem = (int)(strlen(base) < room ? strlen(base) : room);
  if (bytes > sizeof pending_file[0].path) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", path, strerror(ENAMETOOLONG));
  SPTI_IO_TRY(spti_io_allocate(out, path, bytes));
  snprintf(*out, bytes, "%.*s.%.*s.XXXXXX", (int)(base - path), path, stem, base);
  return SPTRSM_OK;
}

static sptrsm_status folder_name(char **out, const char *path) {
  const char *slash = strrchr(path, '/');
  SPTI_IO_TRY(spti_io_copy(out, slash == NULL ? "." : slash == path ? "/" : path));
  if (slash != NULL && slash != path) (*out)[slash - path] = '\0';
  return SPTRSM_OK;
}

/* Creates a file that is watched as soon as it is there. Returns 0, or -1 with errno. */
static int create_watched(const char *path) {
  sigset_t old;
  spti_io_hold_signals(&old);
  int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666), code = errno;
  bool noted = fd >= 0 && spti_io_output_watch(path, fd) == SPTRSM_OK;
  if (fd >= 0 && !noted) code = errno, unlink(path);
  spti_io_release_signals(&old);
  if (fd >= 0) close(fd);
  errno = code;
  return noted ? 0 : -1;
}

static sptrsm_status create_temporary(spti_io_output *o) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  char *tail = o->temp + strlen(o->temp) - 6;
  pending = 0;
  for (int attempt = 0; attempt < 100; attempt++) {
    unsigned char noise[6];
    if (getrandom(noise, sizeof noise, 0) != (ssize_t)sizeof noise) break;
    for (int k = 0; k < 6; k++) tail[k] = letters[noise[k] % (sizeof letters - 1)];
    if (create_watched(o->temp) == 0) return SPTRSM_OK;
    if (errno != EEXIST) break;
  }
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: can't create a file beside it: %s", o->final, strerror(errno));
}

/* A symbolic link is kept: the file that it leads to is replaced. */
static sptrsm_status follow_link(spti_io_output *o) {
  char *target = realpath(o->final, NULL);
  if (target == NULL)
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: a symbolic link that leads to no file (%s); remove it or choose another name", o->final,
                            strerror(errno));
  free(o->final);
  o->final = target;
  return SPTRSM_OK;
}

/* Checks what has the final name now. *mode: the permissions that a replacement keeps; 0: nothing has that name. */
static sptrsm_status check_target(spti_io_output *o, mode_t *mode) {
  struct stat s;
  *mode = 0;
  if (lstat(o->final, &s) != 0) return errno == ENOENT ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", o->final, strerror(errno));
  if (!o->force) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: exists; use --force to replace it", o->final);
  if (S_ISLNK(s.st_mode)) {
    SPTI_IO_TRY(follow_link(o));
    if (stat(o->final, &s) != 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", o->final, strerror(errno));
  }
  if (!S_ISREG(s.st_mode)) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: exists and is not a regular file; choose another name", o->final);
  *mode = s.st_mode & 07777;
  return SPTRSM_OK;
}

/* ---- begin, commit, discard ---- */

static sptrsm_status name_file(spti_io_output *o, const char *path, mode_t *mode) {
  SPTI_IO_TRY(spti_io_copy(&o->final, path));
  SPTI_IO_TRY(check_target(o, mode));
  return folder_name(&o->folder, o->final);
}

static sptrsm_status create_file(spti_io_output *o, const char *path) {
  mode_t mode;
  SPTI_IO_TRY(name_file(o, path, &mode));
  SPTI_IO_TRY(temporary_name(&o->temp, o->final));
  SPTI_IO_TRY(create_temporary(o));
  if (mode != 0 && chmod(o->temp, mode) != 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", o->temp, strerror(errno));
  o->id = spti_io_driver_create(o->temp);
  return o->id >= 0 ? SPTRSM_OK : spti_io_write_failed(o->temp, "its begin");
}

static sptrsm_status start(spti_io_output *o, const char *path, const sptrsm_save_options *options) {
  *o = (spti_io_output){.id = -1, .force = options->force};
  if (path == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "no output file named");
  if (!spti_io_take_report(&o->old_report)) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: HDF5 has no memory to start", path);
  return SPTRSM_OK;
}

sptrsm_status spti_io_output_begin(spti_io_output *o, const char *path, const sptrsm_save_options *options) {
  SPTI_IO_TRY(start(o, path, options));
  sptrsm_status status = create_file(o, path);
  if (status != SPTRSM_OK) spti_io_output_discard(o);
  return status;
}

sptrsm_status spti_io_output_names(spti_io_output *o, const char *path, const sptrsm_save_options *options) {
  mode_t mode;
  SPTI_IO_TRY(start(o, path, options));
  sptrsm_status status = name_file(o, path, &mode);
  if (status != SPTRSM_OK) spti_io_output_discard(o);
  return status;
}

sptrsm_status spti_io_sync_path(const char *path, int flags) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
  bool bad = fd < 0 || (fsync(fd) != 0 && errno != EINVAL); /* EINVAL: this file system has no fsync for folders */
  int code = errno;
  if (fd >= 0) close(fd);
  return bad ? sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", path, strerror(code)) : SPTRSM_OK;
}

/* Without force, a file that appeared since the first check is not replaced either, where the system can guarantee it. */
static int move_into_place(const spti_io_output *o) {
  if (o->force) return rename(o->temp, o->final);
#ifdef RENAME_NOREPLACE
  if (renameat2(AT_FDCWD, o->temp, AT_FDCWD, o->final, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
#endif
  if (access(o->final, F_OK) == 0) {
    errno = EEXIST;
    return -1;
  }
  return rename(o->temp, o->final);
}

sptrsm_status spti_io_write_failed(const char *where, const char *name) {
  int code = spti_io_driver_error();
  if (code == 0 && spti_io_lacked_memory())
    return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: HDF5 has no memory to write %s; use a machine with more memory", where, name);
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s can't be written: %s", where, name, code != 0 ? strerror(code) : "HDF5 reports an error");
}

static void end_output(spti_io_output *o) {
  free(o->final);
  free(o->temp);
  free(o->folder);
  spti_io_give_report(&o->old_report);
  *o = (spti_io_output){.id = -1};
}

sptrsm_status spti_io_output_close(spti_io_output *o) {
  herr_t flushed = H5Fflush(o->id, H5F_SCOPE_GLOBAL), closed = H5Fclose(o->id);
  o->id = -1;
  if (spti_io_driver_error() != 0 || flushed < 0 || closed < 0) return spti_io_write_failed(o->final, "its end");
  return spti_io_sync_path(o->temp, 0);
}

sptrsm_status spti_io_output_commit(spti_io_output *o) {
  sptrsm_status status = spti_io_output_close(o);
  if (status == SPTRSM_OK && move_into_place(o) != 0)
    status = sptrsm_error_set(SPTRSM_ERR_IO, "%s: can't get its final name: %s%s", o->final, strerror(errno),
                              errno == EEXIST ? "; use --force to replace it" : "");
  if (status != SPTRSM_OK) {
    spti_io_output_discard(o);
    return status;
  }
  status = spti_io_sync_path(o->folder, O_DIRECTORY);
  sptrsm_file_abandon(); /* removes a journal, if there is one: the output itself no longer has a watched name */
  pending = 0;
  end_output(o);
  return status;
}

void spti_io_output_discard(spti_io_output *o) {
  if (o->id >= 0) H5Fclose(o->id);
  if (o->temp != NULL) sptrsm_file_abandon();
  if (o->temp != NULL) pending = 0;
  end_output(o);
}

sptrsm_status spti_io_output_watch(const char *path, int fd) {
  watched *f = &pending_file[pending];
  struct stat s;
  if (pending == (int)(sizeof pending_file / sizeof pending_file[0]))
    return sptrsm_error_set(SPTRSM_ERR_INTERNAL, "%s: too many files of an output", path);
  if (strlen(path) >= sizeof f->path) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", path, strerror(ENAMETOOLONG));
  if (fstat(fd, &s) != 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", path, strerror(errno));
  f->device = s.st_dev;
  f->inode = s.st_ino;
  strcpy(f->path, path);
  pending++;
  return SPTRSM_OK;
}

void spti_io_output_unwatch(void) { pending = 0; }
