/* reader.c -- reads a dense block a few columns at a time, for blocks larger than memory; without HDF5 where the layout allows. */
#include "io/read/read.h"

#include <stdlib.h>
#include <sys/stat.h>

struct sptrsm_file_reader {
  spti_io_file file;
  spti_io_block_source source; /* points to `file` above */
  sptrsm_file_block *X;        /* shape and type; no data */
  spti_io_strip strip;         /* of a block in chunks */
  off_t size;                  /* of the file that holds the numbers, when it was opened */
  size_t bytes;                /* memory that reading takes, HDF5's included */
  sptrsm_status status;        /* of the last call that failed, or OK */
};

/* HDF5 returns zeros for data beyond the end of a file, so a file that was truncated meanwhile must be recognised by its size. */
static sptrsm_status check_size(const sptrsm_file_reader *r) {
  struct stat s;
  int fd = r->source.place.fd;
  if (fd < 0 || (fstat(fd, &s) == 0 && s.st_size >= r->size)) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: its file became shorter while it was read", r->X->where);
}

static sptrsm_status open_reader(sptrsm_file_reader *r, const char *where, int32_t n, const sptrsm_io_options *o) {
  SPTI_IO_TRY(spti_io_block_new(&r->X, where));
  SPTI_IO_TRY(spti_io_block_open(&r->source, r->X, &r->file, n, o));
  const spti_io_block_source *source = &r->source;
  spti_io_strip_plan(&r->strip, source, r->X->block.dtype);
  if (!source->direct) r->bytes = spti_io_add(r->strip.bytes, spti_io_add(spti_io_cache_bytes(&r->file), source->d.filter_bytes));
  struct stat s = {0};
  if (source->place.fd >= 0 && fstat(source->place.fd, &s) != 0) s.st_size = 0;
  r->size = s.st_size;
  return spti_io_file_found(&r->file);
}

sptrsm_status sptrsm_file_reader_open(sptrsm_file_reader **out, const char *where, int32_t n, const sptrsm_io_options *o) {
  sptrsm_io_options taken;
  sptrsm_file_reader *r;
  if (out == NULL || where == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_reader_open: out or where is NULL");
  SPTI_IO_TRY(spti_io_take_options(&taken, &o));
  SPTI_IO_TRY(spti_io_allocate(&r, where, sizeof *r));
  *r = (sptrsm_file_reader){.source.d.id = -1, .source.place.fd = -1};
  sptrsm_status status = spti_io_file_open(&r->file, where, o);
  if (status != SPTRSM_OK) {
    free(r);
    return status;
  }
  r->status = status = spti_io_settle(open_reader(r, where, n, o), where);
  if (status == SPTRSM_OK) *out = r;
  else sptrsm_file_reader_close(r);
  return status;
}

const sptrsm_file_block *sptrsm_file_reader_block(const sptrsm_file_reader *r) { return r != NULL ? r->X : NULL; }

int sptrsm_file_reader_direct(const sptrsm_file_reader *r) { return r != NULL && r->source.direct; }

int sptrsm_file_reader_external(const sptrsm_file_reader *r) { return r != NULL && r->source.place.external; }

size_t sptrsm_file_reader_bytes(const sptrsm_file_reader *r) { return r != NULL ? r->bytes : 0; }

static sptrsm_status check_target(const sptrsm_file_reader *r, int64_t first, const sptrsm_block *to) {
  const sptrsm_block *X = &r->X->block;
  if (to->n != X->n || to->dtype != X->dtype || to->layout != X->layout || to->place != SPTRSM_HOST)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: columns are read into a host block of the same rows, type and layout", r->X->where);
  if (to->nrhs < 0 || first < 0 || first > X->nrhs - to->nrhs)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: %lld columns from column %lld on asked for, but it has %lld", r->X->where,
                            (long long)to->nrhs, (long long)first, (long long)X->nrhs);
  int64_t dense = to->layout == SPTRSM_ROW_MAJOR ? to->nrhs : to->n;
  if (to->ld == dense || dense == 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: ld is %lld, columns are read densely: %lld", r->X->where, (long long)to->ld,
                          (long long)dense);
}

sptrsm_status sptrsm_file_reader_read(sptrsm_file_reader *r, int64_t first, const sptrsm_block *to) {
  if (r == NULL || to == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_reader_read: reader or block is NULL");
  SPTI_IO_TRY(check_target(r, first, to));
  if (to->n == 0 || to->nrhs == 0) return SPTRSM_OK;
  int64_t begin = r->source.begin + first;
  bool here = r->file.child == NULL && !r->source.direct; /* HDF5 is called in this process */
  spti_io_report report;
  spti_io_clear_lack();
  if (here) spti_io_lock_hdf5(&report);
  sptrsm_status status = spti_io_settle(spti_io_strip_read(&r->strip, &r->source, begin, to->nrhs, to->data), r->X->where);
  if (here) spti_io_unlock_hdf5(&report);
  if (status == SPTRSM_OK && !r->source.direct) status = check_size(r);
  if (status != SPTRSM_OK) r->status = status;
  return status;
}

void sptrsm_file_reader_close(sptrsm_file_reader *r) {
  if (r == NULL) return;
  spti_io_strip_free(&r->strip);
  spti_io_block_close(&r->source);
  spti_io_file_close(&r->file, r->status);
  sptrsm_file_block_free(r->X);
  free(r);
}
