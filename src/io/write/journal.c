/* journal.c -- an append-only text file of records, from which a stream is resumed after a kill.
 *
 * A record is one text line: 16 hex digits (the FNV-1a checksum of the rest), a blank, a word, a blank, text. A record is appended with
 * one write and one fdatasync, so a kill leaves at most one incomplete record at the end, which fails its checksum and is cut off
 * by the next run. The file is locked while it is open: one writer at a time.
 */
#include "io/write/write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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

static sptrsm_status lock(spti_io_journal *j) {
  if (flock(j->fd, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR))
    return SPTRSM_OK; /* this file system has no locks */
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: another process is at work on this output; wait for it, or choose another", j->path);
}

sptrsm_status spti_io_journal_create(spti_io_journal *j, const char *path) {
  *j = (spti_io_journal){.fd = -1};
  SPTI_IO_TRY(spti_io_copy(&j->path, path));
  j->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (j->fd < 0) return failed(j);
  SPTI_IO_TRY(lock(j));
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

sptrsm_status spti_io_journal_append(spti_io_journal *j, const char *word, const char *text) {
  char *line;
  SPTI_IO_TRY(spti_io_journal_line(&line, word, text, j->path));
  sptrsm_status status = write_all(j->fd, line, strlen(line)) && fdatasync(j->fd) == 0 ? SPTRSM_OK : failed(j);
  free(line);
  return status;
}

bool spti_io_journal_busy(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool busy = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (fd >= 0) close(fd);
  return busy;
}

bool spti_io_journal_foreign(const char *path) {
  static const char first[] = " format ";
  char begin[SUM_DIGITS + sizeof first] = "";
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno != ENOENT && errno != ENAMETOOLONG;
  ssize_t got = pread(fd, begin, sizeof begin - 1, 0);
  close(fd);
  return got < (ssize_t)sizeof begin - 1 || strspn(begin, "0123456789abcdef") != SUM_DIGITS || strcmp(begin + SUM_DIGITS, first) != 0;
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

sptrsm_status spti_io_journal_open(spti_io_journal *j, const char *path) {
  *j = (spti_io_journal){.fd = -1};
  SPTI_IO_TRY(spti_io_copy(&j->path, path));
  size_t bytes = 0;
  j->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
  if (j->fd < 0) return failed(j);
  SPTI_IO_TRY(lock(j));
  SPTI_IO_TRY(read_all(j, &bytes));
  j->bytes = cut_records(j->text, bytes);
  if (j->bytes == 0 && bytes > 0)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: not a journal of this version; begin anew (--force without --resume)", path);
  return j->bytes == bytes || ftruncate(j->fd, (off_t)j->bytes) == 0 ? SPTRSM_OK : failed(j);
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
