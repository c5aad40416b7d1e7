/* writer.c -- writes a solution a few columns at a time, for solutions larger than memory.
 *
 * Plain: HDF5 writes the skeleton of OUT.part, with datasets that have their place but no numbers, and closes it. Columns then go to
 * their places by pwrite, so that HDF5 holds no metadata in memory while columns are written. OUT.part.journal records what the
 * solution depends on, the bytes of the skeleton, and which columns are on the disk: after a kill at any moment OUT.part can be put
 * back into the state of the last checkpoint and resumed. At the end HDF5 adds the report and the digest of the journal, and the
 * file gets its name.
 * Filtered (compression or checksums): chunks go through HDF5 to a temporary file, which can't be resumed.
 */
#include "io/write/writer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- filtered ---- */

static sptrsm_status write_filtered(sptrsm_file_writer *w, int64_t first, const sptrsm_block *X, const double *berr) {
  spti_io_target target = {.id = w->dataset, .type = w->type, .layout = X->layout, .where = w->out.final, .name = w->name};
  spti_io_report report;
  if (w->has_berr) memcpy(w->berr + first, berr, (size_t)X->nrhs * sizeof *berr);
  spti_io_lock_hdf5(&report);
  sptrsm_status status = spti_io_write_columns(&target, X, first);
  spti_io_unlock_hdf5(&report);
  return status;
}

/* ---- write ---- */

int sptrsm_file_writer_direct(const sptrsm_file_writer *w) { return w != NULL && w->plain; }

static sptrsm_status check_open(const sptrsm_file_writer *w) {
  return w->ended ? sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: its writer was finished already; close it", w->part) : SPTRSM_OK;
}

sptrsm_status sptrsm_file_writer_write(sptrsm_file_writer *w, int64_t first, const sptrsm_block *X, const double *berr) {
  if (w == NULL || X == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_writer_write: writer or block is NULL");
  SPTI_IO_TRY(check_open(w));
  int64_t dense = X->layout == SPTRSM_ROW_MAJOR ? X->nrhs : X->n;
  if (X->n != w->shape.n || X->dtype != w->shape.dtype || X->layout != w->shape.layout || X->place != SPTRSM_HOST || X->ld != dense)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: a writer takes dense host blocks of its rows, type and layout", w->out.final);
  if (w->finished || first < 0 || X->nrhs < 1 || first > w->shape.nrhs - X->nrhs || (w->has_berr && berr == NULL))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: %lld columns from column %lld on of %lld, or their errors are missing", w->out.final,
                            (long long)X->nrhs, (long long)first, (long long)w->shape.nrhs);
  if (!w->plain) return write_filtered(w, first, X, berr);
  int64_t at = first;
  SPTI_IO_TRY(spti_writer_locate(w, &at, X->nrhs, true));
  spti_io_span span = spti_writer_span(w), of_berr = spti_writer_berr_span(w);
  w->unsynced = true;
  SPTI_IO_TRY(spti_io_span_write(&span, at, X->nrhs, X->data, spti_writer_data_name(w)));
  spti_writer_note(w, first, X);
  return w->has_berr ? spti_io_span_write(&of_berr, at, X->nrhs, berr, spti_writer_data_name(w)) : SPTRSM_OK;
}

/* Several processes change a shared journal, one at a time. */
static sptrsm_status record_shared(sptrsm_file_writer *w, const sptrsm_file_columns *c) {
  SPTI_IO_TRY(spti_io_journal_lock(&w->journal));
  sptrsm_status status = spti_writer_record_done(w, c);
  spti_io_journal_unlock(&w->journal);
  return status;
}

sptrsm_status sptrsm_file_writer_checkpoint(sptrsm_file_writer *w, const sptrsm_file_columns *c) {
  if (w == NULL || c == NULL || c->state == NULL)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_writer_checkpoint: writer, columns or state is NULL");
  SPTI_IO_TRY(check_open(w));
  if (c->first < 0 || c->first >= c->end || c->end > w->shape.nrhs)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: columns %lld:%lld of %lld can't be done", w->part, (long long)c->first,
                            (long long)c->end, (long long)w->shape.nrhs);
  if (!w->plain || w->finished) return SPTRSM_OK;
  SPTI_IO_TRY(spti_writer_sync(w));
  return w->journal.shared ? record_shared(w, c) : spti_writer_record_done(w, c);
}

/* ---- several processes ---- */

static sptrsm_status check_joined(const sptrsm_file_writer *w, const char *function) {
  if (w != NULL && (w->journal.shared || w->finished)) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: the writer is none that has joined others", function);
}

sptrsm_status sptrsm_file_writer_claim(sptrsm_file_writer *w, int64_t first, int64_t end) {
  SPTI_IO_TRY(check_joined(w, "sptrsm_file_writer_claim"));
  if (first < 0 || first > end || end > w->shape.nrhs)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: columns %lld:%lld of %lld can't be claimed", w->part, (long long)first,
                            (long long)end, (long long)w->shape.nrhs);
  return first == end || w->finished ? SPTRSM_OK : spti_io_journal_claim(&w->journal, first, end);
}

/* Sees whether another process has finished the file, and has removed the journal then; one that was killed before it did leaves that to
 * this one. */
static sptrsm_status take_finished(sptrsm_file_writer *w) {
  struct stat s;
  if (fstat(w->journal.fd, &s) == 0 && s.st_nlink == 0) w->finished = spti_writer_is_file(w->out.final);
  else if (spti_io_is_same(w->fd, w->out.final)) {
    w->finished = true;
    return spti_writer_remove_journal(w);
  }
  return SPTRSM_OK;
}

/* Undoes what HDF5 wrote for a process that was killed, or failed, while it finished the file. */
static sptrsm_status undo_end(sptrsm_file_writer *w) {
  const bool has_end = spti_io_journal_next(&w->journal, "end", NULL) != NULL;
  return has_end && spti_io_is_same(w->fd, w->part) ? spti_writer_restore(w) : SPTRSM_OK;
}

sptrsm_status sptrsm_file_writer_left(sptrsm_file_writer *w, int64_t *columns) {
  SPTI_IO_TRY(check_joined(w, "sptrsm_file_writer_left"));
  *columns = 0;
  if (w->finished || w->gate >= 0) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_gate_enter(&w->gate, w->gate_name));
  sptrsm_status status = take_finished(w);
  if (status == SPTRSM_OK) status = spti_io_journal_reload(&w->journal);
  if (status == SPTRSM_OK) status = spti_writer_take_done(w);
  if (status == SPTRSM_OK) *columns = spti_writer_columns_left(w);
  if (status == SPTRSM_OK && *columns == 0 && !w->finished) status = undo_end(w);
  if (status != SPTRSM_OK || *columns > 0 || w->finished) spti_io_gate_leave(&w->gate, w->gate_name);
  return status;
}

/* ---- finish ---- */

static sptrsm_status write_digest(sptrsm_file_writer *w) {
  char *lines;
  SPTI_IO_TRY(spti_writer_digest(&lines, w));
  sptrsm_status status = spti_io_write_text(w->dataset, spti_writer_digest_name, lines, w->out.final);
  free(lines);
  return status;
}

/* Lets HDF5 write the end: the report, for a plain file the digest of its journal, and for a filtered file the errors. */
static sptrsm_status write_end(sptrsm_file_writer *w, const char *report) {
  if (w->plain) {
    SPTI_IO_TRY(spti_writer_sync(w));
    SPTI_IO_TRY(spti_writer_check_pieces(w, true));
    SPTI_IO_TRY(spti_io_journal_append(&w->journal, "end", "HDF5 writes"));
    w->out.id = spti_io_driver_open(w->part);
    if (w->out.id >= 0) w->dataset = H5Dopen2(w->out.id, w->name, H5P_DEFAULT);
    if (w->dataset < 0) return spti_io_write_failed(w->out.final, w->name);
  }
  if (report != NULL) SPTI_IO_TRY(spti_io_write_text(w->dataset, "sptrsm_report", report, w->out.final));
  if (w->plain) SPTI_IO_TRY(write_digest(w));
  herr_t closed = H5Dclose(w->dataset);
  w->dataset = -1;
  if (closed < 0) return spti_io_write_failed(w->out.final, w->name);
  spti_io_array berr = spti_io_vector("berr", H5T_NATIVE_DOUBLE, w->shape.nrhs);
  return w->berr != NULL ? spti_io_write_beside(&w->out, w->name, &berr, w->berr, &w->options) : SPTRSM_OK;
}

sptrsm_status sptrsm_file_writer_finish(sptrsm_file_writer *w, const char *report) {
  if (w == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_writer_finish: writer is NULL");
  SPTI_IO_TRY(check_open(w));
  w->ended = true;
  if (w->finished) return w->journal.shared ? SPTRSM_OK : spti_writer_remove_journal(w);
  SPTI_IO_TRY(write_end(w, report));
  w->begun = false; /* committed or discarded */
  SPTI_IO_TRY(spti_io_output_commit(&w->out));
  if (w->plain && !w->journal.shared && !spti_io_gate_foreign(w->gate_name)) unlink(w->gate_name); /* of a process killed at the gate */
  return w->plain ? spti_writer_remove_journal(w) : SPTRSM_OK;
}

void sptrsm_file_writer_close(sptrsm_file_writer *w) {
  if (w == NULL) return;
  if (w->dataset >= 0) H5Dclose(w->dataset);
  if (w->type >= 0) H5Tclose(w->type);
  if (w->begun) spti_io_output_discard(&w->out);
  if (w->fd >= 0) close(w->fd);
  spti_writer_close_piece(w);
  spti_io_journal_close(&w->journal);
  if (w->gate >= 0) spti_io_gate_leave(&w->gate, w->gate_name);
  free(w->done);
  free(w->berr);
  free(w->name);
  free(w->part);
  free(w->journal_name);
  free(w->journal_new);
  free(w->gate_name);
  free(w->piece.base);
  free(w);
}
