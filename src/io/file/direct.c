/* direct.c -- contiguous numbers, read and written without HDF5, and the lock around calls of HDF5 in this process.
 *
 * Contiguous numbers of the machine's own type lie in the file exactly as in memory, so pread and pwrite at H5Dget_offset move them
 * without HDF5, its lock and its buffers.
 */
#include "io/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
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

sptrsm_status spti_io_bytes_read(int fd, off_t at, size_t bytes, void *out, const char *where) {
  if (move_bytes(fd, out, bytes, at, false) == 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: can't be read: %s", where, errno != 0 ? strerror(errno) : "the file became shorter");
}

sptrsm_status spti_io_span_read(const spti_io_span *s, int64_t first, int64_t width, void *out, const char *where) {
  if (move_columns(s, first, width, out, false) == 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: columns %lld:%lld can't be read: %s", where, (long long)(s->before + first),
                          (long long)(s->before + first + width), errno != 0 ? strerror(errno) : "the file became shorter");
}

sptrsm_status spti_io_span_write(const spti_io_span *s, int64_t first, int64_t width, const void *data, const char *where) {
  if (move_columns(s, first, width, (char *)data, true) == 0) {
    off_t skip = (off_t)(first * s->rows * (int64_t)s->each);
    /* Starts writing to the disk now, so that a later fdatasync has little to wait for. A hint: failure does not matter. */
    if (s->layout == SPTRSM_COL_MAJOR)
      (void)sync_file_range(s->fd, s->at + skip, (off_t)(width * s->rows * (int64_t)s->each), SYNC_FILE_RANGE_WRITE);
    return SPTRSM_OK;
  }
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: columns %lld:%lld can't be written: %s", where, (long long)(s->before + first),
                          (long long)(s->before + first + width), strerror(errno != 0 ? errno : EIO));
}
