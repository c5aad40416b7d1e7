/* direct.c -- columns of a contiguous block, read and written without HDF5, and the lock around calls of HDF5.
 *
 * Contiguous numbers of the machine's own type lie in the file exactly as in memory, so pread and pwrite at H5Dget_offset move them
 * without HDF5's lock and buffers. Everything else (chunks, filters, conversions, external or unallocated storage, other file
 * drivers) goes through HDF5, one thread at a time.
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

/* A thread-safe build of HDF5 has one error report per thread, so each thread silences its own. */
void spti_io_lock_hdf5(spti_io_report *old) {
  pthread_mutex_lock(&hdf5_mutex);
  if (!spti_io_take_report(old)) *old = (spti_io_report){0};
}

void spti_io_unlock_hdf5(const spti_io_report *old) {
  spti_io_give_report(old);
  pthread_mutex_unlock(&hdf5_mutex);
}

/* ---- where a dataset lies ---- */

static bool is_contiguous(hid_t dataset) {
  hid_t plist = H5Dget_create_plist(dataset);
  bool good = plist >= 0 && H5Pget_layout(plist) == H5D_CONTIGUOUS && H5Pget_external_count(plist) == 0;
  if (plist >= 0) H5Pclose(plist);
  return good;
}

/* The file descriptor, if HDF5 reads the file by its plain driver (sec2); -1: by another driver. */
static int descriptor(hid_t file) {
  void *handle = NULL;
  hid_t access = H5Fget_access_plist(file);
  bool plain = access >= 0 && H5Pget_driver(access) == H5FD_SEC2;
  if (access >= 0) H5Pclose(access);
  return plain && H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && handle != NULL ? *(const int *)handle : -1;
}

int spti_io_descriptor(const spti_io_dataset *d) {
  hid_t file = H5Iget_file_id(d->id);
  int fd = file >= 0 ? descriptor(file) : -1;
  if (file >= 0) H5Fclose(file);
  return fd;
}

bool spti_io_is_external(const spti_io_dataset *d, const spti_io_file *f) {
  hid_t plist = H5Dget_create_plist(d->id);
  int fd = spti_io_descriptor(d);
  bool inside = plist >= 0 && fd >= 0 && fd == descriptor(f->id);
  if (inside && H5Pget_layout(plist) == H5D_VIRTUAL) inside = false;
  if (inside && H5Pget_layout(plist) == H5D_CONTIGUOUS && H5Pget_external_count(plist) != 0) inside = false;
  if (plist >= 0) H5Pclose(plist);
  return !inside;
}

bool spti_io_find_span(spti_io_span *span, const spti_io_dataset *d, sptrsm_dtype dtype) {
  struct stat file;
  bool is_complex = d->pairs || d->number.is_complex;
  int fd = spti_io_descriptor(d);
  if (fd < 0 || spti_is_complex(dtype) != is_complex || d->number.is_integer || !is_contiguous(d->id)) return false;
  hid_t stored = H5Dget_type(d->id), wanted = spti_io_memory_type(&d->number, dtype);
  bool same = stored >= 0 && wanted >= 0 && H5Tequal(stored, wanted) > 0;
  if (stored >= 0) H5Tclose(stored);
  if (wanted >= 0) H5Tclose(wanted);
  haddr_t at = H5Dget_offset(d->id);
  size_t each = sptrsm_dtype_bytes(dtype), bytes = spti_io_bytes(span->rows, spti_io_bytes(span->cols, each));
  if (!same || at == HADDR_UNDEF || fstat(fd, &file) != 0 || bytes > INT64_MAX - at || at + bytes > (haddr_t)file.st_size) return false;
  span->fd = fd;
  span->at = (off_t)at;
  span->each = each;
  return true;
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

sptrsm_status spti_io_span_read(const spti_io_span *s, int64_t first, int64_t width, void *out, const char *where) {
  if (move_columns(s, first, width, out, false) == 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: columns %lld:%lld can't be read: %s", where, (long long)first, (long long)(first + width),
                          errno != 0 ? strerror(errno) : "the file became shorter");
}

sptrsm_status spti_io_span_write(const spti_io_span *s, int64_t first, int64_t width, const void *data, const char *where) {
  if (move_columns(s, first, width, (char *)data, true) == 0) {
    off_t skip = (off_t)(first * s->rows * (int64_t)s->each);
    /* Starts writing to the disk now, so that a later fdatasync has little to wait for. A hint: failure does not matter. */
    if (s->layout == SPTRSM_COL_MAJOR)
      (void)sync_file_range(s->fd, s->at + skip, (off_t)(width * s->rows * (int64_t)s->each), SYNC_FILE_RANGE_WRITE);
    return SPTRSM_OK;
  }
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: columns %lld:%lld can't be written: %s", where, (long long)first, (long long)(first + width),
                          strerror(errno != 0 ? errno : EIO));
}
