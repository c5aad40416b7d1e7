/* journal.c -- an append-only text file of records, from which a stream is resumed after a kill.
 *
 * A record is one text line: 16 hex digits (the FNV-1a checksum of the rest), a blank, a word, a blank, text. A record is appended with
 * one write and one fdatasync, so a kill leaves at most one incomplete record at the end, which fails its checksum and is cut off
 * by the next run.
 *
 * Locks lie behind all text, on ranges of bytes that nobody writes. They belong to the open file (F_OFD_SETLK), so they end with the
 * process, however it ends. One byte is for having the journal open: alone, or together with others, who then take a second byte for
 * each change of the file. From a third byte on there is one for each column of the solution, held by the process that solves it.
 */
#include "io/write/write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUM_DIGITS = 16, JOURNAL_BYTES_MAX = 1 << 30 };

static uint64_t checksum(const char *text, size_t length) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t k = 0; k < length; k++) h = (h ^ (unsigned char)text[k]) * 0x100000001b3u;
  return h;
}

static sptrsm_status failed(const spti_io_journal *j) {
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", j->path, strerror(errno != 0 ? errno : EIO));
}

/* ---- locks ---- */

enum { OPEN_BYTE, CHANGE_BYTE, FIRST_COLUMN_BYTE };
static const off_t locks_at = (off_t)1 << 40; /* more than JOURNAL_BYTES_MAX, and less than what file systems take for a size */

typedef enum { TAKEN, BUSY, NO_LOCKS } lock_result;

/* type: F_WRLCK (alone), F_RDLCK (with others) or F_UNLCK. */
static lock_result set_lock(int fd, short type, off_t byte, off_t count, bool waits) {
  struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = locks_at + byte, .l_len = count};
  int failed;
  do failed = fcntl(fd, waits ? F_OFD_SETLKW : F_OFD_SETLK, &range);
  while (failed != 0 && errno == EINTR);
  return failed == 0 ? TAKEN : errno == EAGAIN || errno == EACCES ? BUSY : NO_LOCKS;
}

static sptrsm_status busy(const char *path) {
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: another process is at work on this output; wait for it, or choose another", path);
}

static sptrsm_status no_locks(const char *path) {
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: processes that share an output need a file system with locks (%s); choose another folder",
                          path, strerror(errno));
}

/* Has the file alone; on a file system without locks that is left to the user. */
static sptrsm_status lock_alone(const spti_io_journal *j) {
  return set_lock(j->fd, F_WRLCK, OPEN_BYTE, 1, false) == BUSY ? busy(j->path) : SPTRSM_OK;
}

sptrsm_status spti_io_journal_share(spti_io_journal *j) {
  lock_result result = set_lock(j->fd, F_RDLCK, OPEN_BYTE, 1, false);
  j->shared = result == TAKEN;
  return result == TAKEN ? SPTRSM_OK : result == BUSY ? busy(j->path) : no_locks(j->path);
}

sptrsm_status spti_io_journal_lock(const spti_io_journal *j) {
  return set_lock(j->fd, F_WRLCK, CHANGE_BYTE, 1, true) == TAKEN ? SPTRSM_OK : no_locks(j->path);
}

void spti_io_journal_unlock(const spti_io_journal *j) { (void)set_lock(j->fd, F_UNLCK, CHANGE_BYTE, 1, false); }

sptrsm_status spti_io_journal_claim(const spti_io_journal *j, int64_t first, int64_t end) {
  lock_result result = set_lock(j->fd, F_WRLCK, FIRST_COLUMN_BYTE + first, end - first, false);
  if (result == TAKEN) return SPTRSM_OK;
  if (result == NO_LOCKS) return no_locks(j->path);
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: another process is at work on some of the columns %lld:%lld; wait for it", j->path,
                          (long long)first, (long long)end);
}

bool spti_io_is_same(int fd, const char *path) {
  struct stat own, named;
  return fstat(fd, &own) == 0 && stat(path, &named) == 0 && own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

bool spti_io_gate_foreign(const char *path) {
  struct stat s;
  return lstat(path, &s) == 0 && (!S_ISREG(s.st_mode) || s.st_size > 0);
}

sptrsm_status spti_io_gate_enter(int *fd, const char *path) {
  if (spti_io_gate_foreign(path))
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: is in the way, not empty; remove it, or choose another output", path);
  for (;;) {
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", path, strerror(errno));
    sptrsm_status status = set_lock(*fd, F_WRLCK, CHANGE_BYTE, 1, true) == TAKEN ? SPTRSM_OK : no_locks(path);
    if (status == SPTRSM_OK && spti_io_is_same(*fd, path)) return SPTRSM_OK;
    close(*fd); /* the one before has removed it */
    *fd = -1;
    if (status != SPTRSM_OK) return status;
  }
}

void spti_io_gate_leave(int *fd, const char *path) {
  unlink(path);
  close(*fd);
  *fd = -1;
}

bool spti_io_journal_busy(const char *path) {
  struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = locks_at + OPEN_BYTE, .l_len = 1};
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* a pipe would wait for a writer */
  bool is_busy = fd >= 0 && fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
  if (fd >= 0) close(fd);
  return is_busy;
}

/* ---- is it a journal? ---- */

/* A journal begins with 16 hex digits and this. */
static const char first_word[] = " format ";
enum { BEGIN_BYTES = SUM_DIGITS + sizeof first_word - 1 };

enum { FOREIGN = -1, UNREADABLE = -2 };

/* How many bytes of that are there, which a kill may have cut off. FOREIGN: the file begins with something else; UNREADABLE: see errno. */
static int begin_of(int fd) {
  char begin[BEGIN_BYTES];
  const ssize_t got = pread(fd, begin, sizeof begin, 0);
  if (got < 0 && errno != EISDIR && errno != ESPIPE) return UNREADABLE;
  for (ssize_t k = 0; k < got; k++)
    if (k < SUM_DIGITS ? strchr("0123456789abcdef", begin[k]) == NULL || begin[k] == '\0' : begin[k] != first_word[k - SUM_DIGITS])
      return FOREIGN;
  return got < 0 ? FOREIGN : (int)got;
}

static sptrsm_status in_the_way(const char *path) {
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: is in the way and no journal; remove it, or choose another output", path);
}

sptrsm_status spti_io_journal_not_foreign(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* a pipe would wait for a writer */
  if (fd < 0 && (errno == ENOENT || errno == ENAMETOOLONG)) return SPTRSM_OK;
  const int begin = fd >= 0 ? begin_of(fd) : errno == ELOOP || errno == ENXIO ? FOREIGN : UNREADABLE, error = errno;
  if (fd >= 0) close(fd);
  if (begin == UNREADABLE) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: can't be read: %s", path, strerror(error));
  return begin == BEGIN_BYTES ? SPTRSM_OK : in_the_way(path);
}

/* ---- writing ---- */

sptrsm_status spti_io_journal_create(spti_io_journal *j, const char *path) {
  *j = (spti_io_journal){.fd = -1};
  SPTI_IO_TRY(spti_io_copy(&j->path, path));
  j->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (j->fd < 0 && errno != ELOOP) return failed(j);
  if (j->fd >= 0) SPTI_IO_TRY(lock_alone(j));
  const int begin = j->fd >= 0 ? begin_of(j->fd) : FOREIGN;
  if (begin == UNREADABLE) return failed(j);
  if (begin == FOREIGN) return in_the_way(path);
  if (ftruncate(j->fd, 0) == 0) return SPTRSM_OK;
  sptrsm_status status = failed(j);
  unlink(path);
  return status;
}

/* Goes on after a short write; the next write then gives the reason. */
static bool write_all(int fd, const char *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t more = write(fd, data + done, bytes - done);
    if (more < 0 && errno != EINTR) return false;
    if (more > 0) done += (size_t)more;
  }
  return true;
}

sptrsm_status spti_io_journal_line(char **out, const char *word, const char *text, const char *where) {
  size_t length = strlen(word) + 1 + strlen(text), bytes = SUM_DIGITS + 1 + length + 1;
  char *line, sum[SUM_DIGITS + 1];
  if (strchr(text, '\n') != NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: a record has no line breaks", where);
  SPTI_IO_TRY(spti_io_allocate(&line, where, bytes + 1));
  snprintf(line + SUM_DIGITS, bytes + 1 - SUM_DIGITS, " %s %s\n", word, text);
  snprintf(sum, sizeof sum, "%016" PRIx64, checksum(line + SUM_DIGITS + 1, length));
  memcpy(line, sum, SUM_DIGITS);
  *out = line;
  return SPTRSM_OK;
}

/* ---- reading back ---- */

static sptrsm_status read_all(spti_io_journal *j, size_t *bytes) {
  struct stat s;
  free(j->text);
  j->text = NULL;
  if (fstat(j->fd, &s) != 0) return failed(j);
  if (s.st_size > JOURNAL_BYTES_MAX) return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: too large for a journal", j->path);
  *bytes = (size_t)s.st_size;
  SPTI_IO_TRY(spti_io_allocate(&j->text, j->path, *bytes + 1));
  size_t got = 0;
  while (got < *bytes) {
    ssize_t more = pread(j->fd, j->text + got, *bytes - got, (off_t)got);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) return failed(j);
    got += (size_t)more;
  }
  j->text[got] = '\0';
  return SPTRSM_OK;
}

/* Ends each valid record with a NUL, up to the first invalid one; returns the bytes of the valid records. */
static size_t cut_records(char *text, size_t bytes) {
  size_t at = 0;
  for (char *end; at < bytes && (end = memchr(text + at, '\n', bytes - at)) != NULL; at = (size_t)(end - text) + 1) {
    size_t length = (size_t)(end - text) - at;
    char sum[SUM_DIGITS + 1];
    if (length < SUM_DIGITS + 3 || memchr(text + at, '\0', length) != NULL) break;
    snprintf(sum, sizeof sum, "%016" PRIx64, checksum(text + at + SUM_DIGITS + 1, length - SUM_DIGITS - 1));
    if (memcmp(sum, text + at, SUM_DIGITS) != 0 || text[at + SUM_DIGITS] != ' ') break;
    *end = '\0';
  }
  return at;
}

sptrsm_status spti_io_journal_reload(spti_io_journal *j) {
  size_t bytes = 0;
  SPTI_IO_TRY(read_all(j, &bytes));
  j->bytes = cut_records(j->text, bytes);
  return SPTRSM_OK;
}

sptrsm_status spti_io_journal_of_lines(spti_io_journal *j, const char *lines) {
  *j = (spti_io_journal){.fd = -1};
  SPTI_IO_TRY(spti_io_copy(&j->text, lines));
  j->bytes = cut_records(j->text, strlen(lines));
  return SPTRSM_OK;
}

/* Reads the records, and cuts off an incomplete last one. */
static sptrsm_status mend(spti_io_journal *j) {
  size_t bytes = 0;
  SPTI_IO_TRY(read_all(j, &bytes));
  j->bytes = cut_records(j->text, bytes);
  if (j->bytes == 0 && bytes > 0)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: not a journal of this version; remove it and its part, or begin anew (--force without --resume or --part)",
                            j->path);
  return j->bytes == bytes || ftruncate(j->fd, (off_t)j->bytes) == 0 ? SPTRSM_OK : failed(j);
}

static sptrsm_status open_file(spti_io_journal *j, const char *path) {
  *j = (spti_io_journal){.fd = -1};
  SPTI_IO_TRY(spti_io_copy(&j->path, path));
  j->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  return j->fd >= 0 ? SPTRSM_OK : failed(j);
}

sptrsm_status spti_io_journal_open(spti_io_journal *j, const char *path) {
  SPTI_IO_TRY(open_file(j, path));
  SPTI_IO_TRY(lock_alone(j));
  return mend(j);
}

sptrsm_status spti_io_journal_join(spti_io_journal *j, const char *path, bool *alone) {
  SPTI_IO_TRY(open_file(j, path));
  SPTI_IO_TRY(spti_io_journal_lock(j));
  *alone = set_lock(j->fd, F_WRLCK, OPEN_BYTE, 1, false) == TAKEN;
  if (!*alone) SPTI_IO_TRY(spti_io_journal_share(j));
  j->shared = true;
  return mend(j);
}

/* Whether the last text line is whole; a process that was killed may have left a part of one. */
static bool ends_whole(const spti_io_journal *j) {
  struct stat s;
  char last = '\n';
  return fstat(j->fd, &s) != 0 || s.st_size == 0 || pread(j->fd, &last, 1, s.st_size - 1) != 1 || last == '\n';
}

sptrsm_status spti_io_journal_append(spti_io_journal *j, const char *word, const char *text) {
  char *line;
  if (j->shared && !ends_whole(j)) SPTI_IO_TRY(mend(j));
  SPTI_IO_TRY(spti_io_journal_line(&line, word, text, j->path));
  sptrsm_status status = write_all(j->fd, line, strlen(line)) && fdatasync(j->fd) == 0 ? SPTRSM_OK : failed(j);
  free(line);
  return status;
}

const char *spti_io_journal_next(const spti_io_journal *j, const char *word, const char *after) {
  const char *at = after != NULL ? after + strlen(after) + 1 : j->text;
  for (size_t length = strlen(word); at < j->text + j->bytes; at += strlen(at) + 1) {
    const char *record = at + SUM_DIGITS + 1;
    if (strncmp(record, word, length) == 0 && record[length] == ' ') return record + length + 1;
  }
  return NULL;
}

void spti_io_journal_close(spti_io_journal *j) {
  if (j->fd >= 0) close(j->fd);
  free(j->path);
  free(j->text);
  *j = (spti_io_journal){.fd = -1};
}
