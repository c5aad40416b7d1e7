/* resume.c -- the records in the journal of a partial solution: written, read back and compared with the part.
 *
 * The records, in this order:
 *   format   version, size of the file, byte offsets of X and berr, shape, dataset
 *   pieces   where X is in several files (pieces.c): what is in their names, and their number; both byte
 *            offsets are then the size of the file
 *   bytes    offset and hex digits of the skeleton, that is of everything but X and berr; none counts behind `inputs`
 *   inputs   the caller's text about what the solution depends on
 *   done     columns on the disk, first and end; first, count and checksum of the last ones written; the caller's state of these
            columns (done.c)
 *   end      from here on HDF5 changes the skeleton, because it adds the report
 * A part is recognised by its skeleton, compared byte by byte (before `end`), and by the checksum of its last columns; nothing is
 * changed before that. Then the skeleton is written back, which undoes a kill while HDF5 added the report.
 *
 * The complete file keeps `format`, `pieces`, `inputs` and the last `done` as an attribute, its digest, by which it is recognised when the
 * same solution is asked for again.
 */
#include "io/write/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JOURNAL_VERSION = 3 };
enum { SKELETON_MAX = 1 << 20, PIECE = 16384 }; /* bytes: between two arrays at most, and in one `bytes` record */
enum { NOTED_BYTES = 1 << 20 };                 /* the checksum covers as many of the last columns as fit into this, but at least one */

static sptrsm_status failed(const sptrsm_file_writer *w) {
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", w->part, errno != 0 ? strerror(errno) : "it is shorter than its journal says");
}

/* ---- writing ---- */

sptrsm_status spti_writer_format_text(char **out, const sptrsm_file_writer *w) {
  size_t bytes = strlen(w->name) + 256;
  SPTI_IO_TRY(spti_io_allocate(out, w->part, bytes));
  snprintf(*out, bytes, "%d size %" PRId64 " X %" PRId64 " berr %" PRId64 " n %d nrhs %" PRId64 " dtype %d layout %d name %s",
           JOURNAL_VERSION, (int64_t)w->place.size, (int64_t)w->place.X, (int64_t)(w->has_berr ? w->place.berr : 0), w->shape.n,
           w->shape.nrhs, (int)w->shape.dtype, (int)w->shape.layout, w->name);
  return SPTRSM_OK;
}

static sptrsm_status record_format(sptrsm_file_writer *w) {
  char *text;
  SPTI_IO_TRY(spti_writer_format_text(&text, w));
  sptrsm_status status = spti_io_journal_append(&w->journal, "format", text);
  free(text);
  return status == SPTRSM_OK ? spti_writer_record_pieces(w) : status;
}

static sptrsm_status record_piece(sptrsm_file_writer *w, off_t at, size_t length) {
  unsigned char piece[PIECE];
  char text[2 * PIECE + 32];
  errno = 0;
  if (pread(w->fd, piece, length, at) != (ssize_t)length) return failed(w);
  int used = snprintf(text, sizeof text, "%" PRId64 " ", (int64_t)at);
  for (size_t k = 0; k < length; k++) used += snprintf(text + used, sizeof text - (size_t)used, "%02x", piece[k]);
  return spti_io_journal_append(&w->journal, "bytes", text);
}

/* Records the bytes of the skeleton from begin to end. That of a part with pieces has their names, of any length. */
static sptrsm_status record_gap(sptrsm_file_writer *w, off_t begin, off_t end) {
  if (w->piece.count == 0 && end - begin > SKELETON_MAX)
    return sptrsm_error_set(SPTRSM_ERR_INTERNAL, "%s: HDF5 left %lld bytes between data", w->part, (long long)(end - begin));
  for (off_t at = begin; at < end; at += PIECE) SPTI_IO_TRY(record_piece(w, at, (size_t)(end - at < PIECE ? end - at : PIECE)));
  return SPTRSM_OK;
}

sptrsm_status spti_writer_record(sptrsm_file_writer *w, const char *inputs) {
  off_t X = w->place.X, berr = w->has_berr ? w->place.berr : w->place.size;
  off_t X_end = X + (off_t)((size_t)w->shape.n * (size_t)w->shape.nrhs * sptrsm_dtype_bytes(w->shape.dtype));
  off_t berr_end = w->has_berr ? berr + (off_t)((size_t)w->shape.nrhs * sizeof(double)) : berr;
  SPTI_IO_TRY(record_format(w));
  SPTI_IO_TRY(record_gap(w, 0, X < berr ? X : berr));
  SPTI_IO_TRY(record_gap(w, X < berr ? X_end : berr_end, X < berr ? berr : X));
  SPTI_IO_TRY(record_gap(w, X < berr ? berr_end : X_end, w->place.size));
  return spti_io_journal_append(&w->journal, "inputs", inputs);
}

/* A checksum over 4-byte words. All types are multiples of them, so the numbers may come in pieces of any length. */
static uint64_t mix(uint64_t h, const char *data, size_t bytes) {
  for (size_t k = 0; k < bytes; k += sizeof(uint32_t)) {
    uint32_t word;
    memcpy(&word, data + k, sizeof word);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h;
}

void spti_writer_note(sptrsm_file_writer *w, int64_t first, const sptrsm_block *X) {
  size_t each = sptrsm_dtype_bytes(X->dtype);
  int64_t count = (int64_t)(NOTED_BYTES / ((size_t)X->n * each));
  count = count < 1 ? 1 : count > X->nrhs ? X->nrhs : count;
  int64_t pieces = X->layout == SPTRSM_ROW_MAJOR ? X->n : count, length = X->layout == SPTRSM_ROW_MAJOR ? count : X->n;
  int64_t skip = X->layout == SPTRSM_ROW_MAJOR ? X->nrhs - count : (X->nrhs - count) * X->ld;
  w->latest.first = first + X->nrhs - count;
  w->latest.count = count;
  w->latest.sum = 0;
  for (int64_t i = 0; i < pieces; i++)
    w->latest.sum = mix(w->latest.sum, (const char *)X->data + (size_t)(skip + i * X->ld) * each, (size_t)length * each);
}

/* ---- reading ---- */

sptrsm_status spti_writer_read_format(spti_writer_format *f, const sptrsm_file_writer *w) {
  int64_t size, X, berr;
  int version = 0, dtype, layout, end = 0;
  *f = (spti_writer_format){.shape = w->shape};
  const char *text = spti_io_journal_next(&w->journal, "format", NULL);
  if (text == NULL ||
      sscanf(text, "%d size %" SCNd64 " X %" SCNd64 " berr %" SCNd64 " n %d nrhs %" SCNd64 " dtype %d layout %d name%n", &version, &size,
             &X, &berr, &f->shape.n, &f->shape.nrhs, &dtype, &layout, &end) != 8 ||
      end == 0 || text[end] != ' ' || version != JOURNAL_VERSION)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: not a journal of this version; remove it and its part, or begin anew (--force without --resume or --part)",
                            w->journal_name);
  f->shape.dtype = (sptrsm_dtype)dtype;
  f->shape.layout = (sptrsm_layout)layout;
  f->X = (off_t)X;
  f->berr = (off_t)berr;
  f->size = (off_t)size;
  f->name = text + end + 1; /* may itself begin with blanks */
  return SPTRSM_OK;
}

sptrsm_status spti_writer_check_format(sptrsm_file_writer *w) {
  spti_writer_format f;
  SPTI_IO_TRY(spti_writer_read_format(&f, w));
  const sptrsm_block *s = &w->shape, *then = &f.shape;
  if (then->n != s->n || then->nrhs != s->nrhs || then->dtype != s->dtype || then->layout != s->layout || strcmp(f.name, w->name) != 0 ||
      (f.berr != 0) != w->has_berr)
    return sptrsm_error_set(
        SPTRSM_ERR_STRUCTURE,
        "%s: was begun as %s of %d x %lld%s, now it is %s of %d x %lld%s, or another type or order; give the same input "
        "and options, or remove it and its journal, or begin anew (--force without --resume or --part)",
        w->part, f.name, then->n, (long long)then->nrhs, f.berr != 0 ? " with berr" : "", w->name, s->n, (long long)s->nrhs,
        w->has_berr ? " with berr" : "");
  w->place.X = f.X;
  w->place.berr = f.berr;
  w->place.size = f.size;
  return spti_writer_take_pieces(w, w->shape.nrhs);
}

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* Decodes the piece of a `bytes` record and its offset; returns its length. */
static size_t read_piece(unsigned char piece[PIECE], off_t *at, const char *text) {
  char *hex;
  size_t length = 0;
  *at = (off_t)strtoll(text, &hex, 10);
  if (*hex == ' ') hex++;
  for (; length < PIECE && digit(hex[0]) >= 0 && digit(hex[1]) >= 0; hex += 2)
    piece[length++] = (unsigned char)(16 * digit(hex[0]) + digit(hex[1]));
  return length;
}

/* The `bytes` record after another one, or the first. What stands behind `inputs` is no part of the skeleton. */
static const char *next_piece(const spti_io_journal *j, const char *after) {
  const char *text = spti_io_journal_next(j, "bytes", after), *inputs = spti_io_journal_next(j, "inputs", NULL);
  return text != NULL && inputs != NULL && text > inputs ? NULL : text;
}

static sptrsm_status restore_piece(const sptrsm_file_writer *w, const char *text) {
  unsigned char piece[PIECE];
  off_t at;
  size_t length = read_piece(piece, &at, text);
  return spti_io_bytes_write(w->fd, at, length, piece, w->part);
}

static sptrsm_status misfit(const sptrsm_file_writer *w) {
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                          "%s: does not fit its journal; remove both, or begin anew (--force without --resume or --part)", w->part);
}

/* Compares the skeleton in the part with the journal. */
static sptrsm_status check_skeleton(const sptrsm_file_writer *w, off_t size) {
  unsigned char piece[PIECE], stored[PIECE];
  if (size != w->place.size) return misfit(w);
  for (const char *text = NULL; (text = next_piece(&w->journal, text)) != NULL;) {
    off_t at;
    size_t length = read_piece(piece, &at, text);
    errno = 0;
    if (pread(w->fd, stored, length, at) != (ssize_t)length) return failed(w);
    if (memcmp(stored, piece, length) != 0) return misfit(w);
  }
  return SPTRSM_OK;
}

/* Compares the checksum of the last columns with the file, and keeps it for the records to come. */
static sptrsm_status check_columns(sptrsm_file_writer *w) {
  const spti_writer_done *d = &w->noted;
  int64_t first = d->noted_first;
  char *data;
  if (d->noted_count == 0) return SPTRSM_OK;
  SPTI_IO_TRY(spti_writer_locate(w, &first, d->noted_count, false));
  spti_io_span span = spti_writer_span(w);
  size_t bytes = (size_t)w->shape.n * (size_t)d->noted_count * span.each;
  SPTI_IO_TRY(spti_io_allocate(&data, w->part, bytes));
  sptrsm_status status = spti_io_span_read(&span, first, d->noted_count, data, spti_writer_data_name(w));
  uint64_t sum = status == SPTRSM_OK ? mix(0, data, bytes) : 0;
  free(data);
  if (status != SPTRSM_OK) return status;
  w->latest.first = d->noted_first;
  w->latest.count = d->noted_count;
  w->latest.sum = d->sum;
  if (sum == d->sum) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                          "%s: columns %lld:%lld are not those that its journal is about; remove both, or begin anew (--force without "
                          "--resume or --part)",
                          w->part, (long long)d->noted_first, (long long)(d->noted_first + d->noted_count));
}

/* Asks HDF5 whether the datasets lie in the part, or in OUT, where the journal says. */
static sptrsm_status check_places(const sptrsm_file_writer *w, const char *path) {
  sptrsm_io_options o;
  spti_io_file f;
  char *berr;
  if (w->piece.count > 0) return spti_writer_check_pieces(w, false);
  sptrsm_io_options_init(&o);
  SPTI_IO_TRY(spti_io_beside(&berr, w->name, "berr", path));
  sptrsm_status status = spti_io_file_open(&f, path, &o);
  if (status == SPTRSM_OK) {
    bool good = spti_writer_place_of(&f, w->name, w->shape.dtype, NULL) == w->place.X &&
                (!w->has_berr || spti_writer_place_of(&f, berr, SPTRSM_F64, NULL) == w->place.berr);
    status = spti_io_file_end(&f, SPTRSM_OK);
    if (status == SPTRSM_OK && !good) status = misfit(w);
  }
  free(berr);
  return status;
}

sptrsm_status spti_writer_restore(sptrsm_file_writer *w) {
  static const unsigned char hdf5[] = "\211HDF\r\n\032\n";
  unsigned char begin[8];
  off_t size = w->place.size;
  SPTI_IO_TRY(spti_writer_check_format(w));
  if (size < w->place.size)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: is shorter than its journal says; remove both, or begin anew (--force without --resume or --part)",
                            w->part);
  if (pread(w->fd, begin, sizeof begin, 0) != (ssize_t)sizeof begin || memcmp(begin, hdf5, sizeof begin) != 0)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: not an HDF5 file; remove it and its journal, or begin anew (--force without --resume or --part)", w->part);
  SPTI_IO_TRY(spti_writer_take_done(w));
  bool ended = spti_writer_columns_left(w) == 0 || spti_io_journal_next(&w->journal, "end", NULL) != NULL;
  if (!ended) SPTI_IO_TRY(check_skeleton(w, size));
  SPTI_IO_TRY(check_columns(w));
  if (ftruncate(w->fd, w->place.size) != 0) return failed(w);
  for (const char *text = NULL; (text = next_piece(&w->journal, text)) != NULL;) SPTI_IO_TRY(restore_piece(w, text));
  return check_places(w, w->part);
}

/* ---- a complete file ---- */

static const char *const digest_words[DIGEST_WORDS] = {
    [DIGEST_FORMAT] = "format", [DIGEST_PIECES] = "pieces", [DIGEST_INPUTS] = "inputs", [DIGEST_DONE] = "done"};

sptrsm_status spti_writer_digest_of(char **out, const char *const texts[DIGEST_WORDS], const char *where) {
  char *lines[DIGEST_WORDS] = {NULL};
  size_t bytes = 1;
  sptrsm_status status = SPTRSM_OK;
  for (int k = 0; k < DIGEST_WORDS && status == SPTRSM_OK; k++) {
    if (texts[k] == NULL && k == DIGEST_PIECES) continue; /* there is one file */
    status = spti_io_journal_line(&lines[k], digest_words[k], texts[k] != NULL ? texts[k] : "", where);
    if (status == SPTRSM_OK) bytes += strlen(lines[k]);
  }
  if (status == SPTRSM_OK) status = spti_io_allocate(out, where, bytes);
  if (status == SPTRSM_OK) **out = '\0';
  for (int k = 0; k < DIGEST_WORDS; k++) {
    if (status == SPTRSM_OK && lines[k] != NULL) strcat(*out, lines[k]);
    free(lines[k]);
  }
  return status;
}

sptrsm_status spti_writer_digest(char **out, sptrsm_file_writer *w) {
  const char *texts[DIGEST_WORDS] = {NULL};
  SPTI_IO_TRY(spti_io_journal_reload(&w->journal));
  for (int k = 0; k < DIGEST_WORDS; k++)
    for (const char *next = NULL; (next = spti_io_journal_next(&w->journal, digest_words[k], next)) != NULL;) texts[k] = next;
  return spti_writer_digest_of(out, texts, w->part);
}

static sptrsm_status compare_with_file(sptrsm_file_writer *w, bool *complete) {
  SPTI_IO_TRY(spti_writer_check_format(w));
  SPTI_IO_TRY(spti_writer_take_done(w));
  if (spti_writer_columns_left(w) > 0) return SPTRSM_OK;
  SPTI_IO_TRY(check_places(w, w->out.final));
  w->fd = open(w->out.final, O_RDONLY | O_CLOEXEC);
  if (w->fd < 0) return spti_writer_system_failed(w->out.final);
  SPTI_IO_TRY(check_columns(w));
  *complete = true;
  return SPTRSM_OK;
}

sptrsm_status spti_writer_find_complete(sptrsm_file_writer *w, bool *complete) {
  *complete = false;
  sptrsm_status status = spti_io_settle(compare_with_file(w, complete), w->out.final);
  return status == SPTRSM_ERR_STRUCTURE && w->piece.count == 0 ? SPTRSM_OK : status;
}

/* ---- what a caller may ask ---- */

int sptrsm_file_writer_complete(const sptrsm_file_writer *w) { return w != NULL && w->finished; }

const char *sptrsm_file_writer_inputs(const sptrsm_file_writer *w) {
  const char *text = w != NULL && w->journal.text != NULL ? spti_io_journal_next(&w->journal, "inputs", NULL) : NULL;
  return text != NULL ? text : "";
}
