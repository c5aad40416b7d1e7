/* driver.c -- HDF5's plain file driver (sec2), except that a failed write is remembered instead of reported.
 *
 * HDF5 can't close a file that it can't write: its caches stay dirty, closing fails half-way, and the process crashes at exit. With
 * this driver every write seems to succeed. After the first failure nothing more is written, HDF5 closes the file normally, and the
 * caller discards the output because spti_io_driver_error() is not 0. The driver's function table is a copy of that of sec2, so it
 * fits the HDF5 version at hand. One output at a time.
 */
#include "io/file/file.h"

#include <errno.h>
#include <unistd.h>
#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

static H5FD_class_t plain, forgiving;
static hid_t driver = -1;
static int first_error; /* errno of the first failed write; 0: none */

static void note_failure(void) {
  if (first_error == 0) first_error = errno != 0 ? errno : EIO;
}

/* Finds the errno of a failed write again. Some HDF5 versions format the time for their own error message after the failure, and the
 * search for the time zone leaves ENOENT, which a write never gives: then the same write is repeated. */
static void ask_again(H5FD_t *file, haddr_t at, size_t bytes, const void *data) {
  void *handle = NULL;
  if (errno != ENOENT || plain.get_handle == NULL || plain.get_handle(file, H5P_DEFAULT, &handle) < 0) return;
  errno = 0;
  if (pwrite(*(const int *)handle, data, bytes, (off_t)at) == (ssize_t)bytes) errno = EIO;
}

static herr_t forgiving_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t bytes, const void *data) {
  errno = 0;
  if (first_error == 0 && plain.write(file, type, dxpl, at, bytes, data) < 0) {
    ask_again(file, at, bytes, data);
    note_failure();
  }
  return 0;
}

static herr_t forgiving_truncate(H5FD_t *file, hid_t dxpl, hbool_t closing) {
  errno = 0;
  if (first_error == 0 && plain.truncate(file, dxpl, closing) < 0) note_failure();
  return 0;
}

/* The function table of sec2 can only be reached through an open file. */
static bool copy_plain_driver(const char *name) {
  hid_t plist = H5Pcreate(H5P_FILE_ACCESS);
  H5FD_t *file = NULL;
  if (plist >= 0 && H5Pset_fapl_sec2(plist) >= 0) file = H5FDopen(name, H5F_ACC_RDWR, plist, HADDR_UNDEF);
  if (plist >= 0) H5Pclose(plist);
  if (file == NULL) return false;
  plain = *file->cls;
  H5FDclose(file);
  forgiving = plain;
  forgiving.name = "sptrsm_output";
  forgiving.write = forgiving_write;
  forgiving.truncate = forgiving_truncate;
  return true;
}

int spti_io_driver_error(void) { return first_error; }

static const hsize_t aligned_from = 4096, alignment = 64; /* bytes */

static hid_t open_with_driver(const char *name, bool create) {
  first_error = 0;
  if (driver < 0 || H5Iis_valid(driver) <= 0) driver = copy_plain_driver(name) ? H5FDregister(&forgiving) : -1;
  hid_t plist = H5Pcreate(H5P_FILE_ACCESS), id = -1;
  /* Arrays begin where they can be mapped (option `map`). */
  if (driver >= 0 && plist >= 0 && H5Pset_driver(plist, driver, NULL) >= 0 && H5Pset_alignment(plist, aligned_from, alignment) >= 0)
    id = create ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, plist) : H5Fopen(name, H5F_ACC_RDWR, plist);
  if (plist >= 0) H5Pclose(plist);
  return id;
}

hid_t spti_io_driver_create(const char *name) { return open_with_driver(name, true); }

hid_t spti_io_driver_open(const char *name) { return open_with_driver(name, false); }
