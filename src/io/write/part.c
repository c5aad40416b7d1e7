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
  return (spti_io_span){.fd = w->fd,
                        .at = w->place.X,
                        .each = sptrsm_dtype_bytes(w->shape.dtype),
                        .rows = w->shape.n,
                        .cols = w->shape.nrhs,
                        .layout = w->shape.layout};
}

spti_io_span spti_writer_berr_span(const sptrsm_file_writer *w) {
  return (spti_io_span){
      .fd = w->fd, .at = w->place.berr, .each = sizeof(double), .rows = 1, .cols = w->shape.nrhs, .layout = SPTRSM_COL_MAJOR};
}

/* Creates a dataset that gets its place in the file at once; *at: its byte offset. */
static sptrsm_status place_array(off_t *at, const sptrsm_file_writer *w, const spti_io_array *array, const char *order) {
  hid_t dataset;
  SPTI_IO_TRY(spti_io_create_array(&dataset, w->out.id, array, &w->options, w->out.final));
  sptrsm_status status = order != NULL ? spti_io_write_text(dataset, "order", order, w->out.final) : SPTRSM_OK;
  haddr_t offset = H5Dget_offset(dataset);
  H5Dclose(dataset);
  *at = (off_t)offset;
  if (status == SPTRSM_OK && offset == HADDR_UNDEF)
    status = sptrsm_error_set(SPTRSM_ERR_IO, "%s: dataset %s has no place; is the disk full?", w->out.final, array->name);
  return status;
}

sptrsm_status spti_writer_make_skeleton(sptrsm_file_writer *w) {
  spti_io_array X = spti_io_block_array(w->name, &w->shape, w->shape.layout, w->shape.nrhs);
  X.type = w->type;
  X.chunk[0] = 0;
  X.early = true;
  SPTI_IO_TRY(place_array(&w->place.X, w, &X, w->shape.layout == SPTRSM_ROW_MAJOR ? "C" : "F"));
  if (w->has_berr) {
    char *name;
    SPTI_IO_TRY(spti_io_beside(&name, w->name, "berr", w->out.final));
    spti_io_array berr = spti_io_vector(name, H5T_NATIVE_DOUBLE, w->shape.nrhs);
    berr.early = true;
    sptrsm_status status = place_array(&w->place.berr, w, &berr, NULL);
    free(name);
    if (status != SPTRSM_OK) return status;
  }
  return spti_io_output_close(&w->out);
}

sptrsm_status spti_writer_open_part(sptrsm_file_writer *w) {
  struct stat s;
  w->fd = open(w->out.temp, O_RDWR | O_CLOEXEC);
  if (w->fd < 0 || fstat(w->fd, &s) != 0) return spti_writer_system_failed(w->out.temp);
  w->place.size = s.st_size;
  return SPTRSM_OK;
}

/* Reserves the space, so that a disk that is too small is reported now. File systems that can't reserve are accepted. */
sptrsm_status spti_writer_reserve(const sptrsm_file_writer *w) {
  char need[24];
  if (fallocate(w->fd, 0, 0, w->place.size) == 0 || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR) return SPTRSM_OK;
  int code = errno;
  spti_io_size_text(need, (size_t)w->place.size);
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: no room for the solution, %s: %s", w->out.final, need, strerror(code));
}

bool spti_writer_is_file(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

sptrsm_status spti_writer_remove_journal(const sptrsm_file_writer *w) {
  return unlink(w->journal_name) == 0 || errno == ENOENT ? SPTRSM_OK : spti_writer_system_failed(w->journal_name);
}
