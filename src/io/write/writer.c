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

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char digest_name[] = "sptrsm_journal"; /* attribute of a complete X: the records by which it is recognised */

/* ---- filtered ---- */

static sptrsm_status create_filtered(sptrsm_file_writer *w, int64_t step) {
  spti_io_array array = spti_io_block_array(w->name, &w->shape, w->shape.layout, step > 0 ? step : 1);
  array.type = w->type;
  SPTI_IO_TRY(spti_io_create_array(&w->dataset, w->out.id, &array, &w->options, w->out.final));
  SPTI_IO_TRY(spti_io_write_text(w->dataset, "order", w->shape.layout == SPTRSM_ROW_MAJOR ? "C" : "F", w->out.final));
  return w->has_berr ? spti_io_allocate(&w->berr, w->out.final, spti_io_bytes(w->shape.nrhs, sizeof *w->berr)) : SPTRSM_OK;
}

static sptrsm_status write_filtered(sptrsm_file_writer *w, int64_t first, const sptrsm_block *X, const double *berr) {
  spti_io_target target = {.id = w->dataset, .type = w->type, .layout = X->layout, .where = w->out.final, .name = w->name};
  spti_io_report report;
  if (w->has_berr) memcpy(w->berr + first, berr, (size_t)X->nrhs * sizeof *berr);
  spti_io_lock_hdf5(&report);
  sptrsm_status status = spti_io_write_columns(&target, X, first);
  spti_io_unlock_hdf5(&report);
  return status;
}

/* ---- plain ---- */

/* Renames a file; the new name must be free. */
static int take_name(const char *from, const char *to) {
  if (link(from, to) == 0) return unlink(from);
  if (errno != EPERM && errno != EOPNOTSUPP) return -1;
  if (access(to, F_OK) != 0) return rename(from, to); /* this file system has no hard links */
  errno = EEXIST;
  return -1;
}

static bool is_file(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

static sptrsm_status remove_journal(const sptrsm_file_writer *w) {
  return unlink(w->journal_name) == 0 || errno == ENOENT ? SPTRSM_OK : spti_writer_system_failed(w->journal_name);
}

/* Refuses a partial solution of another run, or removes it with --force unless it is being written. A journal without a part was left
 * by a run that was killed before its part had its name, or after the part became OUT. */
static sptrsm_status clear_way(const sptrsm_file_writer *w) {
  if (spti_io_journal_busy(w->journal_name))
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: another process is writing it; wait for it, or choose another output", w->part);
  if (is_file(w->part) && !w->options.force)
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: a partial solution is there; continue it with --resume, or begin anew with --force",
                            w->part);
  if (is_file(w->part) && !is_file(w->journal_name))
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: has no journal beside it, so it may be something else; remove it, or choose another output",
                            w->part);
  if (spti_io_journal_foreign(w->journal_name))
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: is in the way and no journal; remove it, or choose another output", w->journal_name);
  if (unlink(w->part) != 0 && errno != ENOENT) return spti_writer_system_failed(w->part);
  return remove_journal(w);
}

static sptrsm_status watch_both(const sptrsm_file_writer *w) {
  SPTI_IO_TRY(spti_io_output_watch(w->journal_name, w->journal.fd));
  return spti_io_output_watch(w->part, w->fd);
}

static sptrsm_status create_journal(sptrsm_file_writer *w) {
  sigset_t old;
  spti_io_hold_signals(&old);
  sptrsm_status status = spti_io_journal_create(&w->journal, w->journal_new); /* where it fails, the file may be another process's */
  if (status == SPTRSM_OK) {
    status = spti_io_output_watch(w->journal_new, w->journal.fd);
    if (status != SPTRSM_OK) unlink(w->journal_new);
  }
  spti_io_release_signals(&old);
  return status;
}

static sptrsm_status take_journal_name(sptrsm_file_writer *w) {
  if (take_name(w->journal_new, w->journal_name) != 0) return spti_writer_system_failed(w->journal_name);
  char *path; /* for messages */
  SPTI_IO_TRY(spti_io_copy(&path, w->journal_name));
  free(w->journal.path);
  w->journal.path = path;
  return SPTRSM_OK;
}

/* The journal is complete before it gets its name, and the part gets its name last: so a file OUT.part can always be resumed. Until
 * both have their names, an interrupt removes both, under their old and new names. */
static sptrsm_status name_both(sptrsm_file_writer *w, const char *inputs) {
  char *part;
  SPTI_IO_TRY(create_journal(w));
  SPTI_IO_TRY(watch_both(w));
  SPTI_IO_TRY(spti_writer_record(w, inputs));
  SPTI_IO_TRY(take_journal_name(w));
  SPTI_IO_TRY(spti_io_copy(&part, w->part));
  if (take_name(w->out.temp, part) != 0) {
    free(part);
    return spti_writer_system_failed(w->part);
  }
  free(w->out.temp);
  w->out.temp = part;
  if (w->options.keep_partial) spti_io_output_unwatch();
  return SPTRSM_OK;
}

static sptrsm_status create_plain(sptrsm_file_writer *w, const char *inputs) {
  SPTI_IO_TRY(clear_way(w));
  SPTI_IO_TRY(spti_writer_make_skeleton(w));
  SPTI_IO_TRY(spti_writer_open_part(w));
  SPTI_IO_TRY(spti_writer_reserve(w));
  SPTI_IO_TRY(name_both(w, inputs));
  return spti_io_sync_path(w->out.folder, O_DIRECTORY);
}

/* ---- create and resume ---- */

static sptrsm_status check_shape(const sptrsm_block *X, const sptrsm_save_options *o) {
  if (X->n < 1 || X->nrhs < 1 || sptrsm_dtype_bytes(X->dtype) == 0 || (X->layout != SPTRSM_ROW_MAJOR && X->layout != SPTRSM_COL_MAJOR))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "a writer needs at least one row and one column, and a known dtype and layout");
  if (o->layout != SPTRSM_AS_STORED && o->layout != (int)X->layout)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "a writer writes columns in the order of the block; leave options.layout alone");
  if (spti_io_bytes(X->n, spti_io_bytes(X->nrhs, sptrsm_dtype_bytes(X->dtype))) > INT64_MAX / 2)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "a solution of %d x %lld is more than a file holds", X->n, (long long)X->nrhs);
  return SPTRSM_OK;
}

static sptrsm_status new_writer(sptrsm_file_writer **out, const char *path, const sptrsm_block *shape, bool has_berr,
                                const sptrsm_save_options *o) {
  if (path == NULL || shape == NULL || o == NULL)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "a writer needs a path, the shape of the solution and options");
  sptrsm_save_options taken;
  SPTI_IO_TRY(spti_io_take_save_options(&taken, &o));
  SPTI_IO_TRY(check_shape(shape, o));
  sptrsm_file_writer *w = NULL;
  SPTI_IO_TRY(spti_io_allocate(&w, path, sizeof *w));
  *w = (sptrsm_file_writer){.shape = *shape, .has_berr = has_berr, .options = *o, .fd = -1, .dataset = -1, .type = -1};
  w->out.id = -1;
  w->journal.fd = -1;
  w->options.report = NULL; /* given to sptrsm_file_writer_finish */
  w->options.berr = NULL;
  sptrsm_status status = spti_io_copy(&w->name, o->path != NULL ? o->path : "X");
  w->options.path = w->name;
  if (status == SPTRSM_OK) *out = w;
  else free(w);
  return status;
}

/* Makes the names of the part and its journals from the final name. */
static sptrsm_status name_parts(sptrsm_file_writer *w) {
  static const char *const ends[] = {".part", ".part.journal", ".part.journal.new"};
  char **const names[] = {&w->part, &w->journal_name, &w->journal_new};
  for (int k = 0; k < 3; k++) {
    size_t bytes = strlen(w->out.final) + strlen(ends[k]) + 1;
    SPTI_IO_TRY(spti_io_allocate(names[k], w->out.final, bytes));
    snprintf(*names[k], bytes, "%s%s", w->out.final, ends[k]);
  }
  return SPTRSM_OK;
}

sptrsm_status sptrsm_file_writer_create(sptrsm_file_writer **out, const char *path, const sptrsm_block *shape, int has_berr, int64_t step,
                                        const char *inputs, const sptrsm_save_options *o) {
  sptrsm_file_writer *w = NULL;
  if (out == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_writer_create: out is NULL");
  SPTI_IO_TRY(new_writer(&w, path, shape, has_berr, o));
  sptrsm_status status = spti_io_output_begin(&w->out, path, &w->options);
  if (status != SPTRSM_OK) w->out = (spti_io_output){.id = -1};
  else w->begun = true;
  w->plain = w->options.compress == 0 && !w->options.checksum;
  if (status == SPTRSM_OK) status = spti_io_value_type(&w->type, shape->dtype, path);
  if (status == SPTRSM_OK) status = name_parts(w);
  if (status == SPTRSM_OK) status = w->plain ? create_plain(w, inputs != NULL ? inputs : "") : create_filtered(w, step);
  if (status == SPTRSM_OK) *out = w;
  else sptrsm_file_writer_close(w);
  return status;
}

/* *lines: the digest of OUT, which the caller frees; NULL: there is none. STRUCTURE: OUT is another kind of file. */
static sptrsm_status read_digest(char **lines, const sptrsm_file_writer *w) {
  sptrsm_io_options o;
  spti_io_file f;
  spti_io_object root, X = {.id = -1};
  *lines = NULL;
  sptrsm_io_options_init(&o);
  SPTI_IO_TRY(spti_io_file_open(&f, w->out.final, &o));
  if (f.matrix_market) return spti_io_file_end(&f, SPTRSM_OK);
  sptrsm_status status = spti_io_object_open_path(&root, &f, NULL);
  if (status == SPTRSM_OK) status = spti_io_member_open(&X, &root, w->name);
  if (status == SPTRSM_OK) status = spti_io_attr_text(lines, &X, digest_name);
  spti_io_object_close(&X);
  spti_io_object_close(&root);
  return spti_io_file_end(&f, status);
}

/* Takes the digest of OUT in place of a journal; without one there are no records. An OUT that can't be read may be complete, so that is
 * an error. */
static sptrsm_status open_digest(sptrsm_file_writer *w) {
  char *lines;
  sptrsm_status status = read_digest(&lines, w);
  if (status == SPTRSM_OK || status == SPTRSM_ERR_STRUCTURE) status = spti_io_journal_of_lines(&w->journal, lines != NULL ? lines : "");
  free(lines);
  return status;
}

/* OUT has its name already: at most a journal is to be removed, which a kill has left. *absent: this is not the case. */
static sptrsm_status open_finished(sptrsm_file_writer *w, bool *absent) {
  *absent = true;
  if (!is_file(w->out.final)) return SPTRSM_OK;
  SPTI_IO_TRY(is_file(w->journal_name) ? spti_io_journal_open(&w->journal, w->journal_name) : open_digest(w));
  SPTI_IO_TRY(spti_writer_find_complete(w, &w->finished));
  *absent = !w->finished;
  return SPTRSM_OK;
}

static sptrsm_status open_partial(sptrsm_file_writer *w, bool *absent) {
  struct stat s;
  *absent = false;
  if (!is_file(w->part)) return open_finished(w, absent);
  if (!w->options.force && lstat(w->out.final, &s) == 0)
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: exists; use --force to replace it", w->out.final);
  if (!is_file(w->journal_name))
    return sptrsm_error_set(
        SPTRSM_ERR_IO, "%s: has no journal beside it and can't be continued; remove it, or begin anew (--force without --resume)", w->part);
  SPTI_IO_TRY(spti_io_copy(&w->out.temp, w->part));
  SPTI_IO_TRY(spti_io_journal_open(&w->journal, w->journal_name));
  SPTI_IO_TRY(spti_writer_open_part(w));
  SPTI_IO_TRY(spti_writer_restore(w));
  return w->options.keep_partial ? SPTRSM_OK : watch_both(w);
}

sptrsm_status sptrsm_file_writer_resume(sptrsm_file_writer **out, const char *path, const sptrsm_block *shape, int has_berr,
                                        const sptrsm_save_options *o) {
  sptrsm_file_writer *w = NULL;
  bool absent = false;
  if (out == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_writer_resume: out is NULL");
  SPTI_IO_TRY(new_writer(&w, path, shape, has_berr, o));
  sptrsm_save_options named = w->options;
  named.force = 1; /* an existing OUT may be this solution, finished */
  w->plain = true;
  sptrsm_status status = spti_io_output_names(&w->out, path, &named);
  if (status != SPTRSM_OK) w->out = (spti_io_output){.id = -1};
  else w->begun = true;
  w->out.force = w->options.force;
  if (status == SPTRSM_OK) status = name_parts(w);
  if (status == SPTRSM_OK) status = open_partial(w, &absent);
  *out = status == SPTRSM_OK && !absent ? w : NULL;
  if (*out == NULL) sptrsm_file_writer_close(w);
  return status;
}

/* ---- write and finish ---- */

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
  spti_io_span span = spti_writer_span(w), of_berr = spti_writer_berr_span(w);
  SPTI_IO_TRY(spti_io_span_write(&span, first, X->nrhs, X->data, w->part));
  spti_writer_note(w, first, X);
  return w->has_berr ? spti_io_span_write(&of_berr, first, X->nrhs, berr, w->part) : SPTRSM_OK;
}

sptrsm_status sptrsm_file_writer_checkpoint(sptrsm_file_writer *w, int64_t columns, const char *state) {
  if (w == NULL || state == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_writer_checkpoint: writer or state is NULL");
  SPTI_IO_TRY(check_open(w));
  if (columns < 0 || columns > w->shape.nrhs)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: %lld columns of %lld can't be done", w->part, (long long)columns,
                            (long long)w->shape.nrhs);
  if (!w->plain) return SPTRSM_OK;
  if (fdatasync(w->fd) != 0) return spti_writer_system_failed(w->part);
  bool whole = w->latest.first + w->latest.count <= columns;
  size_t bytes = strlen(state) + 96;
  char *text;
  SPTI_IO_TRY(spti_io_allocate(&text, w->part, bytes));
  snprintf(text, bytes, "%" PRId64 " %" PRId64 " %" PRId64 " %016" PRIx64 " %s", columns, w->latest.first, whole ? w->latest.count : 0,
           w->latest.sum, state);
  sptrsm_status status = spti_io_journal_append(&w->journal, "done", text);
  free(text);
  return status;
}

static sptrsm_status write_digest(sptrsm_file_writer *w) {
  char *lines;
  SPTI_IO_TRY(spti_writer_digest(&lines, w));
  sptrsm_status status = spti_io_write_text(w->dataset, digest_name, lines, w->out.final);
  free(lines);
  return status;
}

/* Lets HDF5 write the end: the report, for a plain file the digest of its journal, and for a filtered file the errors. */
static sptrsm_status write_end(sptrsm_file_writer *w, const char *report) {
  if (w->plain) {
    if (fdatasync(w->fd) != 0) return spti_writer_system_failed(w->part);
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
  if (w->finished) return remove_journal(w);
  SPTI_IO_TRY(write_end(w, report));
  w->begun = false; /* committed or discarded */
  SPTI_IO_TRY(spti_io_output_commit(&w->out));
  return w->plain ? remove_journal(w) : SPTRSM_OK;
}

void sptrsm_file_writer_close(sptrsm_file_writer *w) {
  if (w == NULL) return;
  if (w->dataset >= 0) H5Dclose(w->dataset);
  if (w->type >= 0) H5Tclose(w->type);
  if (w->begun) spti_io_output_discard(&w->out);
  if (w->fd >= 0) close(w->fd);
  spti_io_journal_close(&w->journal);
  free(w->berr);
  free(w->name);
  free(w->part);
  free(w->journal_name);
  free(w->journal_new);
  free(w);
}
