/* open.c -- the beginning of a stream of columns to a file: a new part, one of an earlier run, or one that other processes write, too.
 *
 * Processes that share a part come and finish through a gate, the file OUT.part.lock, one at a time. The first one finds no part and
 * begins it, the others join it; of the journal they lock only what they change (journal.c).
 */
#include "io/write/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- filtered ---- */

static sptrsm_status create_filtered(sptrsm_file_writer *w, int64_t step) {
  spti_io_array array = spti_io_block_array(w->name, &w->shape, w->shape.layout, step > 0 ? step : 1);
  array.type = w->type;
  SPTI_IO_TRY(spti_io_create_array(&w->dataset, w->out.id, &array, &w->options, w->out.final));
  SPTI_IO_TRY(spti_io_write_text(w->dataset, "order", w->shape.layout == SPTRSM_ROW_MAJOR ? "C" : "F", w->out.final));
  return w->has_berr ? spti_io_allocate(&w->berr, w->out.final, spti_io_bytes(w->shape.nrhs, sizeof *w->berr)) : SPTRSM_OK;
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

/* Removes the pieces of a partial solution that makes way; a journal that can't be read names none. */
static sptrsm_status remove_old_pieces(sptrsm_file_writer *w) {
  if (!spti_writer_is_file(w->journal_name)) return SPTRSM_OK;
  sptrsm_status status = spti_io_journal_open(&w->journal, w->journal_name);
  if (status == SPTRSM_OK && spti_writer_take_pieces(w, SPTI_PIECES_MAX) == SPTRSM_OK) status = spti_writer_remove_pieces(w);
  spti_io_journal_close(&w->journal);
  free(w->piece.base);
  w->piece.base = NULL;
  w->piece.count = 0;
  return status == SPTRSM_ERR_STRUCTURE ? SPTRSM_OK : status;
}

/* Refuses a partial solution of another run, or removes it with --force unless it is being written. A journal without a part was left
 * by a run that was killed before its part had its name, or after the part became OUT. */
static sptrsm_status clear_way(sptrsm_file_writer *w) {
  if (spti_io_journal_busy(w->journal_name))
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: another process is writing it; wait for it, or choose another output", w->part);
  if (spti_writer_is_file(w->part) && !w->options.force)
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: a partial solution is there; continue it with --resume, or begin anew with --force",
                            w->part);
  if (spti_writer_is_file(w->part) && !spti_writer_is_file(w->journal_name))
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: has no journal beside it, so it may be something else; remove it, or choose another output",
                            w->part);
  SPTI_IO_TRY(spti_io_journal_not_foreign(w->journal_name));
  if (spti_writer_is_file(w->part)) SPTI_IO_TRY(remove_old_pieces(w));
  if (unlink(w->part) != 0 && errno != ENOENT) return spti_writer_system_failed(w->part);
  return spti_writer_remove_journal(w);
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
  if (w->options.pieces > 0) SPTI_IO_TRY(spti_writer_begin_pieces(w));
  SPTI_IO_TRY(w->piece.count > 0 ? spti_writer_make_virtual(w) : spti_writer_make_skeleton(w));
  SPTI_IO_TRY(spti_writer_open_part(w));
  SPTI_IO_TRY(spti_writer_reserve(w->fd, w->place.size, w->out.final));
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

static sptrsm_status check_pieces(const sptrsm_save_options *o) {
  if (o->pieces < 0 || o->pieces > SPTI_PIECES_MAX)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "save options: %lld pieces; there are at most %d", (long long)o->pieces, SPTI_PIECES_MAX);
  if (o->pieces > 0 && (o->compress > 0 || o->checksum))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "save options: pieces have neither compression nor checksums; leave these out");
  return SPTRSM_OK;
}

sptrsm_status spti_writer_new(sptrsm_file_writer **out, const char *path, const sptrsm_save_options *o) {
  sptrsm_file_writer *w = NULL;
  SPTI_IO_TRY(spti_io_allocate(&w, path, sizeof *w));
  *w = (sptrsm_file_writer){.options = *o, .fd = -1, .gate = -1, .dataset = -1, .type = -1};
  w->out.id = w->journal.fd = w->piece.fd = -1;
  w->piece.number = -1;
  w->options.report = NULL; /* given to sptrsm_file_writer_finish */
  w->options.berr = NULL;
  if (o->pieces > 0) w->options.keep_partial = 1; /* an interrupt removes a few files, not many */
  sptrsm_status status = spti_io_copy(&w->name, o->path != NULL ? o->path : "X");
  w->options.path = w->name;
  if (status == SPTRSM_OK) *out = w;
  else free(w);
  return status;
}

static sptrsm_status new_writer(sptrsm_file_writer **out, const char *path, const sptrsm_block *shape, bool has_berr,
                                const sptrsm_save_options *o) {
  if (path == NULL || shape == NULL || o == NULL)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "a writer needs a path, the shape of the solution and options");
  sptrsm_save_options taken;
  SPTI_IO_TRY(spti_io_take_save_options(&taken, &o));
  SPTI_IO_TRY(check_shape(shape, o));
  SPTI_IO_TRY(check_pieces(o));
  SPTI_IO_TRY(spti_writer_new(out, path, o));
  (*out)->shape = *shape;
  (*out)->has_berr = has_berr;
  return SPTRSM_OK;
}

/* Makes the names of the part and its journals from the final name. */
sptrsm_status spti_writer_name_parts(sptrsm_file_writer *w) {
  static const char *const ends[] = {".part", ".part.journal", ".part.journal.new", ".part.lock"};
  char **const names[] = {&w->part, &w->journal_name, &w->journal_new, &w->gate_name};
  for (int k = 0; k < 4; k++) {
    size_t bytes = strlen(w->out.final) + strlen(ends[k]) + 1;
    SPTI_IO_TRY(spti_io_allocate(names[k], w->out.final, bytes));
    snprintf(*names[k], bytes, "%s%s", w->out.final, ends[k]);
  }
  return SPTRSM_OK;
}

static sptrsm_status create(sptrsm_file_writer *w, const char *path, int64_t step, const char *inputs) {
  sptrsm_status status = spti_io_output_begin(&w->out, path, &w->options);
  if (status != SPTRSM_OK) w->out = (spti_io_output){.id = -1};
  else w->begun = true;
  if (status == SPTRSM_OK) status = spti_io_value_type(&w->type, w->shape.dtype, path);
  if (status == SPTRSM_OK && w->part == NULL) status = spti_writer_name_parts(w);
  if (status != SPTRSM_OK) return status;
  return w->plain ? create_plain(w, inputs != NULL ? inputs : "") : create_filtered(w, step);
}

sptrsm_status sptrsm_file_writer_create(sptrsm_file_writer **out, const char *path, const sptrsm_block *shape, int has_berr, int64_t step,
                                        const char *inputs, const sptrsm_save_options *o) {
  sptrsm_file_writer *w = NULL;
  if (out == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_writer_create: out is NULL");
  SPTI_IO_TRY(new_writer(&w, path, shape, has_berr, o));
  w->plain = w->options.compress == 0 && !w->options.checksum;
  sptrsm_status status = create(w, path, step, inputs);
  if (status == SPTRSM_OK) *out = w;
  else sptrsm_file_writer_close(w);
  return status;
}

sptrsm_status spti_writer_read_digest(char **lines, const sptrsm_file_writer *w) {
  sptrsm_io_options o;
  spti_io_file f;
  spti_io_object root, X = {.id = -1};
  sptrsm_io_options_init(&o);
  SPTI_IO_TRY(spti_io_file_open(&f, w->out.final, &o));
  if (f.matrix_market) return spti_io_file_end(&f, SPTRSM_OK);
  sptrsm_status status = spti_io_object_open_path(&root, &f, NULL);
  if (status == SPTRSM_OK) status = spti_io_member_open(&X, &root, w->name);
  if (status == SPTRSM_OK) status = spti_io_attr_text(lines, &X, spti_writer_digest_name);
  spti_io_object_close(&X);
  spti_io_object_close(&root);
  return spti_io_file_end(&f, status);
}

/* Takes the digest of OUT in place of a journal; without one there are no records. An OUT that can't be read may be complete, so that is
 * an error. */
static sptrsm_status open_digest(sptrsm_file_writer *w) {
  char *lines = NULL;
  sptrsm_status status = spti_writer_read_digest(&lines, w);
  if (status == SPTRSM_OK || status == SPTRSM_ERR_STRUCTURE) status = spti_io_journal_of_lines(&w->journal, lines != NULL ? lines : "");
  free(lines);
  return status;
}

/* OUT has its name already: at most a journal is to be removed, which a kill has left. *absent: this is not the case. */
static sptrsm_status open_finished(sptrsm_file_writer *w, bool *absent) {
  *absent = true;
  if (!spti_writer_is_file(w->out.final)) return SPTRSM_OK;
  SPTI_IO_TRY(spti_writer_is_file(w->journal_name) ? spti_io_journal_open(&w->journal, w->journal_name) : open_digest(w));
  SPTI_IO_TRY(spti_writer_find_complete(w, &w->finished));
  *absent = !w->finished;
  return SPTRSM_OK;
}

static sptrsm_status no_journal(const sptrsm_file_writer *w) {
  return sptrsm_error_set(
      SPTRSM_ERR_IO, "%s: has no journal beside it and can't be continued; remove it, or begin anew (--force without --resume or --part)",
      w->part);
}

/* Of a part that is there: whether OUT is free for it, and a journal beside it. */
static sptrsm_status check_part(const sptrsm_file_writer *w) {
  struct stat s;
  if (!w->options.force && lstat(w->out.final, &s) == 0)
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: exists; use --force to replace it", w->out.final);
  return spti_writer_is_file(w->journal_name) ? SPTRSM_OK : no_journal(w);
}

/* A part stays what it was begun as, so whoever asks for pieces must not get one file. */
static sptrsm_status check_split(const sptrsm_file_writer *w) {
  if (w->options.pieces == 0 || w->piece.count > 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                          "%s: was begun as one file; leave --split-files out, or begin anew (--force without --resume or --part)",
                          w->part);
}

static sptrsm_status open_partial(sptrsm_file_writer *w, bool *absent) {
  *absent = false;
  if (!spti_writer_is_file(w->part)) return open_finished(w, absent);
  SPTI_IO_TRY(check_part(w));
  SPTI_IO_TRY(spti_io_copy(&w->out.temp, w->part));
  SPTI_IO_TRY(spti_io_journal_open(&w->journal, w->journal_name));
  SPTI_IO_TRY(spti_writer_open_part(w));
  SPTI_IO_TRY(spti_writer_restore(w));
  SPTI_IO_TRY(check_split(w));
  return w->options.keep_partial || w->piece.count > 0 ? SPTRSM_OK : watch_both(w);
}

/* The names of OUT, which may be this solution, finished, and of its part. */
static sptrsm_status take_names(sptrsm_file_writer *w, const char *path) {
  sptrsm_save_options named = w->options;
  named.force = 1;
  w->plain = true;
  sptrsm_status status = spti_io_output_names(&w->out, path, &named);
  if (status != SPTRSM_OK) w->out = (spti_io_output){.id = -1};
  else w->begun = true;
  w->out.force = w->options.force;
  return status == SPTRSM_OK ? spti_writer_name_parts(w) : status;
}

sptrsm_status sptrsm_file_writer_resume(sptrsm_file_writer **out, const char *path, const sptrsm_block *shape, int has_berr,
                                        const sptrsm_save_options *o) {
  sptrsm_file_writer *w = NULL;
  bool absent = false;
  if (out == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_writer_resume: out is NULL");
  SPTI_IO_TRY(new_writer(&w, path, shape, has_berr, o));
  sptrsm_status status = take_names(w, path);
  if (status == SPTRSM_OK) status = open_partial(w, &absent);
  *out = status == SPTRSM_OK && !absent ? w : NULL;
  if (*out == NULL) sptrsm_file_writer_close(w);
  return status;
}

/* ---- join ---- */

/* The first of the processes that are at work puts the part back into the state of its journal. */
static sptrsm_status open_joined(sptrsm_file_writer *w) {
  bool alone;
  SPTI_IO_TRY(check_part(w));
  SPTI_IO_TRY(spti_io_copy(&w->out.temp, w->part));
  SPTI_IO_TRY(spti_io_journal_join(&w->journal, w->journal_name, &alone));
  sptrsm_status status = spti_writer_open_part(w);
  if (status == SPTRSM_OK) status = alone ? spti_writer_restore(w) : spti_writer_check_format(w);
  if (status == SPTRSM_OK) status = check_split(w);
  if (status == SPTRSM_OK) status = spti_writer_take_done(w);
  if (status == SPTRSM_OK && alone) status = spti_io_journal_share(&w->journal);
  spti_io_journal_unlock(&w->journal);
  return status;
}

static sptrsm_status join_finished(sptrsm_file_writer *w, bool *absent) {
  SPTI_IO_TRY(open_finished(w, absent));
  if (*absent) {
    spti_io_journal_close(&w->journal);
    return SPTRSM_OK;
  }
  if (w->journal.fd >= 0) close(w->journal.fd); /* others may look at the same time */
  w->journal.fd = -1;
  return spti_writer_remove_journal(w);
}

static sptrsm_status join_or_create(sptrsm_file_writer *w, const char *path, const char *inputs) {
  bool absent = true;
  if (spti_writer_is_file(w->part)) return open_joined(w);
  SPTI_IO_TRY(join_finished(w, &absent));
  if (!absent) return SPTRSM_OK;
  spti_io_output_discard(&w->out);
  w->begun = false;
  SPTI_IO_TRY(create(w, path, 1, inputs));
  SPTI_IO_TRY(spti_io_journal_reload(&w->journal));
  return spti_io_journal_share(&w->journal);
}

sptrsm_status sptrsm_file_writer_join(sptrsm_file_writer **out, const char *path, const sptrsm_block *shape, int has_berr,
                                      const char *inputs, const sptrsm_save_options *o) {
  sptrsm_file_writer *w = NULL;
  if (out == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_writer_join: out is NULL");
  SPTI_IO_TRY(new_writer(&w, path, shape, has_berr, o));
  w->options.keep_partial = 1;
  sptrsm_status status = w->options.compress > 0 || w->options.checksum
                             ? sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: processes can't share a file with compression or checksums", path)
                             : take_names(w, path);
  if (status == SPTRSM_OK) status = spti_io_gate_enter(&w->gate, w->gate_name);
  if (status == SPTRSM_OK) status = join_or_create(w, path, inputs);
  if (w->gate >= 0) spti_io_gate_leave(&w->gate, w->gate_name);
  if (status == SPTRSM_OK) *out = w;
  else sptrsm_file_writer_close(w);
  return status;
}
