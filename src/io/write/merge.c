/* merge.c -- makes one file of a finished solution in pieces (pieces.c).
 *
 * The new file begins as a copy of OUT, which has no numbers of X, so that all else in it is kept: other objects, groups, attributes.
 * In the copy plain datasets take the places of the virtual ones, with their attributes, and the numbers go to their places without
 * HDF5. The digest of the journal is written anew, so that the solution is recognised as before.
 */
#include "io/write/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 16 << 20 };

/* ---- the solution in pieces ---- */

static sptrsm_status take_solution(sptrsm_file_writer *w) {
  spti_writer_format f;
  SPTI_IO_TRY(spti_writer_read_format(&f, w));
  w->shape = f.shape;
  w->has_berr = f.berr != 0;
  if (f.shape.n < 1 || f.shape.nrhs < 1 || sptrsm_dtype_bytes(f.shape.dtype) == 0 ||
      (f.shape.layout != SPTRSM_ROW_MAJOR && f.shape.layout != SPTRSM_COL_MAJOR))
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: attribute %s of %s is damaged", w->out.final, spti_writer_digest_name, w->name);
  free(w->name);
  w->name = NULL;
  SPTI_IO_TRY(spti_io_copy(&w->name, f.name)); /* as the solution was asked for: it is recognised by that, too */
  SPTI_IO_TRY(spti_writer_take_pieces(w, w->shape.nrhs));
  return spti_io_value_type(&w->type, w->shape.dtype, w->out.final);
}

/* Opens the solution as a writer that is finished, and checks all its pieces. */
static sptrsm_status open_solution(sptrsm_file_writer *w, const char *path) {
  sptrsm_save_options named = w->options;
  char *lines = NULL;
  named.force = 1; /* it is there */
  sptrsm_status status = spti_io_output_names(&w->out, path, &named);
  if (status != SPTRSM_OK) return w->out = (spti_io_output){.id = -1}, status;
  w->begun = true;
  SPTI_IO_TRY(spti_writer_name_parts(w));
  SPTI_IO_TRY(spti_writer_read_digest(&lines, w));
  const bool in_pieces = lines != NULL && strstr(lines, " pieces ") != NULL;
  status = in_pieces ? spti_io_journal_of_lines(&w->journal, lines) : SPTRSM_OK;
  free(lines);
  if (status != SPTRSM_OK) return status;
  if (in_pieces) SPTI_IO_TRY(take_solution(w));
  if (!in_pieces || w->piece.count == 0)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: its %s is no finished solution in pieces (--split-files); there is nothing to merge",
                            w->out.final, w->name);
  return spti_writer_check_pieces(w, true);
}

/* ---- the copy ---- */

/* Makes the file `to` have the bytes of `from`. */
static sptrsm_status copy_bytes(const char *from, const char *to) {
  char *data = NULL;
  int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_TRUNC | O_CLOEXEC);
  struct stat size;
  sptrsm_status status = in < 0 || fstat(in, &size) != 0 ? spti_writer_system_failed(from)
                         : out < 0                       ? spti_writer_system_failed(to)
                                                         : SPTRSM_OK;
  if (status == SPTRSM_OK) status = spti_io_allocate(&data, to, BUFFER);
  for (off_t at = 0, count; status == SPTRSM_OK && at < size.st_size; at += count) {
    count = size.st_size - at < BUFFER ? size.st_size - at : BUFFER;
    status = spti_io_bytes_read(in, at, (size_t)count, data, from);
    const spti_io_span bytes = {.fd = out, .at = at, .each = 1, .rows = count, .cols = 1, .layout = SPTRSM_COL_MAJOR};
    if (status == SPTRSM_OK) status = spti_io_span_write(&bytes, 0, 1, data, to);
  }
  free(data);
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  return status;
}

/* Copies an attribute to another object; the digest is written anew. */
static herr_t copy_attribute(hid_t from, const char *name, const H5A_info_t *info, void *to) {
  (void)info;
  if (strcmp(name, spti_writer_digest_name) == 0 || H5Aexists(*(hid_t *)to, name) > 0) return 0;
  hid_t old = H5Aopen(from, name, H5P_DEFAULT), type = H5Aget_type(old), space = H5Aget_space(old), copy = -1;
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  void *data = points >= 0 ? calloc((size_t)points + 1, H5Tget_size(type) + 1) : NULL;
  if (points >= 0 && data == NULL) spti_io_note_lack();
  bool good = data != NULL && H5Aread(old, type, data) >= 0;
  if (good) copy = H5Acreate2(*(hid_t *)to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  const bool copied = copy >= 0 && H5Awrite(copy, type, data) >= 0;
  if (good) H5Dvlen_reclaim(type, space, H5P_DEFAULT, data);
  free(data);
  if (copy >= 0) H5Aclose(copy);
  if (space >= 0) H5Sclose(space);
  if (type >= 0) H5Tclose(type);
  if (old >= 0) H5Aclose(old);
  return copied ? 0 : -1;
}

/* Takes a virtual dataset out of the file. Another name of it would stay virtual, without numbers once the pieces are gone. */
static sptrsm_status take_out(hid_t *dataset, const spti_io_output *out, const char *name) {
  H5L_info_t link;
  H5O_info_t object;
  *dataset = H5Dopen2(out->id, name, H5P_DEFAULT);
  if (*dataset < 0 || H5Lget_info(out->id, name, &link, H5P_DEFAULT) < 0 || H5Oget_info2(*dataset, &object, H5O_INFO_BASIC) < 0)
    return spti_io_write_failed(out->final, name);
  if (link.type != H5L_TYPE_HARD || object.rc > 1)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: %s has another name in the file, which would stay without numbers; remove the links to it, then merge",
                            out->final, name);
  return H5Ldelete(out->id, name, H5P_DEFAULT) >= 0 ? SPTRSM_OK : spti_io_write_failed(out->final, name);
}

static bool give_attributes(hid_t old, const spti_io_output *out, const char *name) {
  hid_t new = old >= 0 ? H5Dopen2(out->id, name, H5P_DEFAULT) : -1;
  const bool good = new >= 0 && H5Aiterate2(old, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_attribute, &new) >= 0;
  if (new >= 0) H5Dclose(new);
  return good;
}

/* Puts plain datasets in the places of the virtual ones. */
static sptrsm_status replace_datasets(sptrsm_file_writer *w, spti_io_output *out) {
  char *berr;
  SPTI_IO_TRY(spti_io_beside(&berr, w->name, "berr", out->final));
  hid_t old_X = -1, old_berr = -1;
  sptrsm_status status = take_out(&old_X, out, w->name);
  if (status == SPTRSM_OK && w->has_berr) status = take_out(&old_berr, out, berr);
  if (status == SPTRSM_OK) status = spti_writer_place_arrays(w, out, w->shape.nrhs, &w->place.X, &w->place.berr);
  if (status == SPTRSM_OK && (!give_attributes(old_X, out, w->name) || (w->has_berr && !give_attributes(old_berr, out, berr))))
    status = spti_io_write_failed(out->final, "an attribute");
  if (old_X >= 0) H5Dclose(old_X);
  if (old_berr >= 0) H5Dclose(old_berr);
  free(berr);
  return status;
}

/* ---- the numbers ---- */

/* Copies all columns of a span to those of another one from column `first` on: some rows at a time in C order, else some columns. */
static sptrsm_status copy_span(const spti_io_span *from, const spti_io_span *to, int64_t first, const char *names[2]) {
  const bool rows = from->layout == SPTRSM_ROW_MAJOR;
  const int64_t line = (rows ? from->cols : from->rows) * (int64_t)from->each, lines = rows ? from->rows : from->cols;
  const int64_t step = line < BUFFER ? BUFFER / line : 1;
  char *data;
  SPTI_IO_TRY(spti_io_allocate(&data, names[1], (size_t)(step < lines ? step : lines) * (size_t)line));
  sptrsm_status status = SPTRSM_OK;
  for (int64_t at = 0; at < lines && status == SPTRSM_OK; at += step) {
    const int64_t count = lines - at < step ? lines - at : step;
    spti_io_span in = *from, out = *to;
    if (rows) in.rows = out.rows = count, in.at += (off_t)(at * line), out.at += (off_t)(at * to->cols * (int64_t)to->each);
    status = spti_io_span_read(&in, rows ? 0 : at, rows ? in.cols : count, data, names[0]);
    if (status == SPTRSM_OK) status = spti_io_span_write(&out, rows ? first : first + at, rows ? in.cols : count, data, names[1]);
  }
  free(data);
  return status;
}

static sptrsm_status copy_numbers(sptrsm_file_writer *w, int fd, const char *where) {
  spti_io_span X = {.fd = fd,
                    .at = w->place.X,
                    .each = sptrsm_dtype_bytes(w->shape.dtype),
                    .rows = w->shape.n,
                    .cols = w->shape.nrhs,
                    .layout = w->shape.layout};
  spti_io_span berr = {.fd = fd, .at = w->place.berr, .each = sizeof(double), .rows = 1, .cols = w->shape.nrhs, .layout = SPTRSM_COL_MAJOR};
  SPTI_IO_TRY(spti_writer_reserve(fd, w->place.size, where));
  for (int64_t k = 0; k < w->piece.count; k++) {
    SPTI_IO_TRY(spti_writer_open_piece(w, k, false));
    const char *names[] = {spti_writer_data_name(w), where};
    const spti_io_span from = spti_writer_span(w), berr_from = spti_writer_berr_span(w);
    SPTI_IO_TRY(copy_span(&from, &X, w->piece.first, names));
    if (w->has_berr) SPTI_IO_TRY(copy_span(&berr_from, &berr, w->piece.first, names));
  }
  return SPTRSM_OK;
}

static sptrsm_status fill(sptrsm_file_writer *w, const spti_io_output *out) {
  int fd = open(out->temp, O_RDWR | O_CLOEXEC);
  if (fd < 0) return spti_writer_system_failed(out->temp);
  w->place.size = lseek(fd, 0, SEEK_END);
  sptrsm_status status = copy_numbers(w, fd, out->final);
  close(fd);
  return status;
}

/* ---- the end ---- */

/* The records by which the one file is recognised. */
static sptrsm_status merged_digest(char **out, sptrsm_file_writer *w) {
  char *format;
  SPTI_IO_TRY(spti_writer_format_text(&format, w));
  const char *const texts[DIGEST_WORDS] = {[DIGEST_FORMAT] = format,
                                           [DIGEST_INPUTS] = spti_io_journal_next(&w->journal, "inputs", NULL),
                                           [DIGEST_DONE] = spti_io_journal_next(&w->journal, "done", NULL)};
  sptrsm_status status = spti_writer_digest_of(out, texts, w->out.final);
  free(format);
  return status;
}

static sptrsm_status write_merged_digest(sptrsm_file_writer *w, const spti_io_output *out) {
  char *lines;
  SPTI_IO_TRY(merged_digest(&lines, w));
  hid_t dataset = H5Dopen2(out->id, w->name, H5P_DEFAULT);
  sptrsm_status status =
      dataset >= 0 ? spti_io_write_text(dataset, spti_writer_digest_name, lines, out->final) : spti_io_write_failed(out->final, w->name);
  if (dataset >= 0) H5Dclose(dataset);
  free(lines);
  return status;
}

static sptrsm_status reopen(spti_io_output *out) {
  out->id = spti_io_driver_open(out->temp);
  return out->id >= 0 ? SPTRSM_OK : spti_io_write_failed(out->final, "its begin");
}

static sptrsm_status write_merged(sptrsm_file_writer *w, spti_io_output *out) {
  SPTI_IO_TRY(spti_io_output_close(out));
  SPTI_IO_TRY(copy_bytes(w->out.final, out->temp));
  SPTI_IO_TRY(reopen(out));
  SPTI_IO_TRY(replace_datasets(w, out));
  SPTI_IO_TRY(spti_io_output_close(out));
  SPTI_IO_TRY(fill(w, out));
  SPTI_IO_TRY(reopen(out));
  return write_merged_digest(w, out);
}

static sptrsm_status merge(sptrsm_file_writer *w, const char *path, const char *to, bool force) {
  sptrsm_save_options o = w->options;
  spti_io_output out;
  SPTI_IO_TRY(open_solution(w, path));
  if (to != NULL) SPTI_IO_TRY(spti_writer_refuse_piece(w, to));
  o.force = to == NULL || force;
  SPTI_IO_TRY(spti_io_output_begin(&out, to != NULL ? to : w->out.final, &o));
  return spti_io_output_finish(&out, write_merged(w, &out));
}

static sptrsm_status remove_merged(const sptrsm_file_writer *w, const char *whole) {
  char why[512];
  sptrsm_status status = spti_writer_remove_pieces(w);
  if (status == SPTRSM_OK) return SPTRSM_OK;
  snprintf(why, sizeof why, "%s", sptrsm_last_error());
  return sptrsm_error_set(status, "%s is merged, but %s: remove it by hand", whole, why);
}

sptrsm_status sptrsm_file_solution_merge(sptrsm_file_merged *merged, const char *path, const char *to, int remove_pieces,
                                         const sptrsm_save_options *o) {
  sptrsm_save_options taken;
  sptrsm_file_writer *w;
  if (merged == NULL || path == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_solution_merge: no result or path");
  SPTI_IO_TRY(spti_io_take_save_options(&taken, &o));
  if (o->compress > 0 || o->checksum)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: pieces are merged without compression and checksums; h5repack adds them", path);
  SPTI_IO_TRY(spti_writer_new(&w, path, o));
  sptrsm_status status = merge(w, path, to, o->force);
  if (status == SPTRSM_OK) {
    *merged = (sptrsm_file_merged){.pieces = w->piece.count, .nrhs = w->shape.nrhs, .n = w->shape.n, .dtype = w->shape.dtype};
    if (remove_pieces) status = remove_merged(w, to != NULL ? to : path);
  }
  sptrsm_file_writer_close(w);
  return status;
}
