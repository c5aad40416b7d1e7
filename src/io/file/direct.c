/* direct.c -- contiguous numbers, read and written without HDF5, and the lock around calls of HDF5 in this process.
 *
 * Contiguous numbers of the machine's own type lie in the file exactly as in memory, so pread and pwrite at H5Dget_offset move them
 * without HDF5, its lock and its buffers. Long pieces are written past the page cache if statx reports the alignment that this needs. This
 * saves the copy into the cache, and processes that write the same file do not wait for each other.
 */
#include "io/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the lock around HDF5 ---- */

static pthread_mutex_t hdf5_mutex = PTHREAD_MUTEX_INITIALIZER;

void spti_io_exclude_hdf5(void) { pthread_mutex_lock(&hdf5_mutex); }

void spti_io_include_hdf5(void) { pthread_mutex_unlock(&hdf5_mutex); }

/* A thread-safe build of HDF5 has one error report per thread, so each thread silences its own. */
void spti_io_lock_hdf5(spti_io_report *old) {
  spti_io_exclude_hdf5();
  spti_io_take_report(old);
}

void spti_io_unlock_hdf5(const spti_io_report *old) {
  spti_io_give_report(old);
  spti_io_include_hdf5();
}

/* ---- moving columns ---- */

/* Moves all bytes. Returns -1 with errno on failure; errno 0: the file ended. */
static int move_bytes(int fd, char *data, size_t bytes, off_t at, bool writing) {
  while (bytes > 0) {
    errno = 0;
    ssize_t moved = writing ? pwrite(fd, data, bytes, at) : pread(fd, data, bytes, at);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return -1;
    data += moved;
    bytes -= (size_t)moved;
    at += moved;
  }
  return 0;
}

/* C order: one piece per row, cols apart in the file and width apart in memory. F order: the columns are one piece in both. */
static int move_columns(const spti_io_span *s, int64_t first, int64_t width, char *data, bool writing) {
  bool rows = s->layout == SPTRSM_ROW_MAJOR && width < s->cols;
  int64_t pieces = rows ? s->rows : 1, skip = s->layout == SPTRSM_ROW_MAJOR ? first : first * s->rows;
  size_t bytes = (size_t)(rows ? width : width * s->rows) * s->each;
  for (int64_t i = 0; i < pieces; i++)
    if (move_bytes(s->fd, data + (size_t)i * bytes, bytes, s->at + (off_t)((i * s->cols + skip) * (int64_t)s->each), writing) != 0)
      return -1;
  return 0;
}

/* ---- past the page cache ---- */

enum { LONG_PIECE = 1 << 20 }; /* bytes */

/* Bytes of a page of the cache, 4096 at least. Only whole pages are written directly, so none is written in both ways. */
static size_t page_bytes(void) {
  const long page = sysconf(_SC_PAGESIZE);
  return page > 4096 ? (size_t)page : 4096;
}

/* What addresses in memory must be multiples of; 0: the file can't be written in this way. */
static size_t direct_alignment(int fd) {
#ifdef STATX_DIOALIGN
  struct statx s;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) == 0 && (s.stx_mask & STATX_DIOALIGN) && s.stx_dio_offset_align > 0 &&
      page_bytes() % s.stx_dio_offset_align == 0)
    return s.stx_dio_mem_align;
#endif
  (void)fd;
  return 0;
}

static bool set_direct(int fd, bool on) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

/* Writes the whole pages of a long piece past the page cache; `at` is a multiple of a page. Returns the number of bytes written, which is
 * less than the whole pages, or 0, if that is not possible or fails. The caller writes the rest through the page cache, which reports any
 * error. */
static size_t write_directly(int fd, const char *data, size_t bytes, off_t at) {
  const size_t alignment = bytes < LONG_PIECE ? 0 : direct_alignment(fd), page = page_bytes(), whole = bytes / page * page;
  size_t done = 0;
  if (alignment == 0 || (uintptr_t)data % alignment != 0 || !set_direct(fd, true)) return 0;
  while (done < whole) {
    const ssize_t moved = pwrite(fd, data + done, whole - done, at + (off_t)done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0 || (size_t)moved % page != 0) break;
    done += (size_t)moved;
  }
  (void)set_direct(fd, false);
  return done;
}

/* ---- spans ---- */

sptrsm_status spti_io_bytes_read(int fd, off_t at, size_t bytes, void *out, const char *where) {
  if (move_bytes(fd, out, bytes, at, false) == 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: can't be read: %s", where, errno != 0 ? strerror(errno) : "the file became shorter");
}

sptrsm_status spti_io_bytes_write(int fd, off_t at, size_t bytes, const void *data, const char *where) {
  if (move_bytes(fd, (char *)data, bytes, at, true) == 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: can't be written: %s", where, errno != 0 ? strerror(errno) : "nothing was taken");
}

sptrsm_status spti_io_span_read(const spti_io_span *s, int64_t first, int64_t width, void *out, const char *where) {
  if (move_columns(s, first, width, out, false) == 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: columns %lld:%lld can't be read: %s", where, (long long)(s->before + first),
                          (long long)(s->before + first + width), errno != 0 ? strerror(errno) : "the file became shorter");
}

/* The columns, which are one piece: the whole pages past the page cache if that can be, and the rest through it. */
static int write_piece(const spti_io_span *s, int64_t first, int64_t width, char *data) {
  const off_t at = s->at + (off_t)(first * s->rows * (int64_t)s->each);
  const size_t bytes = (size_t)(width * s->rows) * s->each, page = page_bytes(), beyond = (size_t)at % page;
  const size_t head = beyond == 0 ? 0 : page - beyond;
  if (bytes <= head) return move_bytes(s->fd, data, bytes, at, true);
  const size_t begin = head + write_directly(s->fd, data + head, bytes - head, at + (off_t)head);
  if (move_bytes(s->fd, data, head, at, true) != 0 || move_bytes(s->fd, data + begin, bytes - begin, at + (off_t)begin, true) != 0)
    return -1;
  /* Starts writing to the disk now, so that a later fdatasync has little to wait for. A hint: failure does not matter. */
  (void)sync_file_range(s->fd, at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
  return 0;
}

sptrsm_status spti_io_span_write(const spti_io_span *s, int64_t first, int64_t width, const void *data, const char *where) {
  const bool is_piece = s->layout == SPTRSM_COL_MAJOR;
  if ((is_piece ? write_piece(s, first, width, (char *)data) : move_columns(s, first, width, (char *)data, true)) == 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: columns %lld:%lld can't be written: %s", where, (long long)(s->before + first),
                          (long long)(s->before + first + width), strerror(errno != 0 ? errno : EIO));
}
