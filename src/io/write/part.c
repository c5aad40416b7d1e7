/* part.c -- the file OUT.part of a plain stream: HDF5 writes its skeleton, pwrite the columns. */
#include "io/write/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char spti_writer_digest_name[] = "sptrsm_journal";

sptrsm_status spti_writer_system_failed(const char *path) { return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", path, strerror(errno)); }

spti_io_span spti_writer_span(const sptrsm_file_writer *w) {
  const bool split = w->piece.count > 0;
  return (spti_io_span){.fd = split ? w->piece.fd : w->fd,
                        .at = split ? w->piece.X : w->place.X,
                        .each = sptrsm_dtype_bytes(w->shape.dtype),
                        .rows = w->shape.n,
                        .cols = split ? w->piece.cols : w->shape.nrhs,
                        .layout = w->shape.layout,
                        .before = split ? w->piece.first : 0};
}

spti_io_span spti_writer_berr_span(const sptrsm_file_writer *w) {
  const bool split = w->piece.count > 0;
  return (spti_io_span){.fd = split ? w->piece.fd : w->fd,
                        .at = split ? w->piece.berr : w->place.berr,
                        .each = sizeof(double),
                        .rows = 1,
                        .cols = split ? w->piece.cols : w->shape.nrhs,
                        .layout = SPTRSM_COL_MAJOR,
                        .before = split ? w->piece.first : 0};
}

const char *spti_writer_data_name(const sptrsm_file_writer *w) { return w->piece.count > 0 ? w->piece.name : w->part; }

sptrsm_status spti_writer_sync(sptrsm_file_writer *w) {
  if (w->unsynced && fdatasync(spti_writer_span(w).fd) != 0) return spti_writer_system_failed(spti_writer_data_name(w));
  w->unsynced = false;
  return SPTRSM_OK;
}

/* Creates a dataset that gets its place in the file at once; *at: its byte offset. */
static sptrsm_status place_array(off_t *at, const spti_io_output *out, const spti_io_array *array, const sptrsm_save_options *o,
                                 const char *order) {
  hid_t dataset;
  SPTI_IO_TRY(spti_io_create_array(&dataset, out->id, array, o, out->final));
  sptrsm_status status = order != NULL ? spti_io_write_text(dataset, "order", order, out->final) : SPTRSM_OK;
  haddr_t offset = H5Dget_offset(dataset);
  H5Dclose(dataset);
  *at = (off_t)offset;
  if (status == SPTRSM_OK && offset == HADDR_UNDEF)
    status = sptrsm_error_set(SPTRSM_ERR_IO, "%s: dataset %s has no place; is the disk full?", out->final, array->name);
  return status;
}

sptrsm_status spti_writer_place_arrays(const sptrsm_file_writer *w, const spti_io_output *out, int64_t nrhs, off_t *X_at, off_t *berr_at) {
  sptrsm_block shape = w->shape;
  shape.nrhs = nrhs;
  spti_io_array X = spti_io_block_array(w->name, &shape, shape.layout, nrhs);
  X.type = w->type;
  X.chunk[0] = 0;
  X.early = true;
  SPTI_IO_TRY(place_array(X_at, out, &X, &w->options, shape.layout == SPTRSM_ROW_MAJOR ? "C" : "F"));
  if (!w->has_berr) return SPTRSM_OK;
  char *name;
  SPTI_IO_TRY(spti_io_beside(&name, w->name, "berr", out->final));
  spti_io_array berr = spti_io_vector(name, H5T_NATIVE_DOUBLE, nrhs);
  berr.early = true;
  sptrsm_status status = place_array(berr_at, out, &berr, &w->options, NULL);
  free(name);
  return status;
}

sptrsm_status spti_writer_make_skeleton(sptrsm_file_writer *w) {
  SPTI_IO_TRY(spti_writer_place_arrays(w, &w->out, w->shape.nrhs, &w->place.X, &w->place.berr));
  return spti_io_output_close(&w->out);
}

off_t spti_writer_place_of(spti_io_file *f, const char *name, sptrsm_dtype dtype, const int64_t dims[2]) {
  spti_io_object o;
  spti_io_dataset d;
  if (spti_io_object_open_path(&o, f, name) != SPTRSM_OK || spti_io_dataset_of(&d, &o) != SPTRSM_OK) return -1;
  spti_io_place place;
  spti_io_find_place(&place, &d, (int)dtype);
  if (dims != NULL && (d.dims[0] != dims[0] || d.dims[1] != dims[1])) place.at = -1;
  spti_io_dataset_close(&d);
  if (place.fd >= 0) close(place.fd);
  return place.at;
}

sptrsm_status spti_writer_open_part(sptrsm_file_writer *w) {
  struct stat s;
  w->fd = open(w->out.temp, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (w->fd < 0 || fstat(w->fd, &s) != 0) return spti_writer_system_failed(w->out.temp);
  w->place.size = s.st_size;
  if (w->piece.count > 0) w->place.X = w->place.berr = s.st_size; /* the part is all skeleton */
  return SPTRSM_OK;
}

/* Reserves the space, so that a disk that is too small is reported now. File systems that can't reserve are accepted. */
sptrsm_status spti_writer_reserve(int fd, off_t bytes, const char *where) {
  char need[24];
  if (fallocate(fd, 0, 0, bytes) == 0 || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR) return SPTRSM_OK;
  int code = errno;
  spti_io_size_text(need, (size_t)bytes);
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: no room for the solution, %s: %s", where, need, strerror(code));
}

bool spti_writer_is_file(const char *path) {
  struct stat s;
  return lstat(path, &s) == 0 && S_ISREG(s.st_mode);
}

sptrsm_status spti_writer_remove_journal(const sptrsm_file_writer *w) {
  return unlink(w->journal_name) == 0 || errno == ENOENT ? SPTRSM_OK : spti_writer_system_failed(w->journal_name);
}
