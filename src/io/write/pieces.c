/* pieces.c -- X in several files, so that two machines never write one page of a network file system.
 *
 * The columns are divided evenly among the pieces, files OUT.piece-ID-K; ID is random, so pieces of two runs have different names. A piece
 * holds its columns under the names that X and berr have in OUT, where virtual datasets show all of them. The process that first writes
 * columns of a piece makes it: HDF5 writes its skeleton before it gets its name and never again, so a kill can't damage it. The part
 * OUT.part has no numbers, only the virtual datasets, and the journal is about all pieces together.
 */
#include "io/write/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID_DIGITS = 8 };
static const char mark_name[] = "sptrsm_piece"; /* attribute of the root of a piece: which one it is */

/* ---- numbers and names ---- */

int64_t sptrsm_file_writer_pieces(const sptrsm_file_writer *w) { return w != NULL ? w->piece.count : 0; }

void sptrsm_file_writer_piece(const sptrsm_file_writer *w, int64_t number, int64_t *first, int64_t *end) {
  const int64_t count = w->piece.count > 0 ? w->piece.count : 1, each = w->shape.nrhs / count, more = w->shape.nrhs % count;
  *first = number * each + (number < more ? number : more); /* the first `more` pieces have one column more */
  *end = *first + each + (number < more);
}

static int64_t piece_of(const sptrsm_file_writer *w, int64_t column) {
  const int64_t each = w->shape.nrhs / w->piece.count, more = w->shape.nrhs % w->piece.count, wide = more * (each + 1);
  return column < wide ? column / (each + 1) : more + (column - wide) / each;
}

static sptrsm_status piece_name(char **out, const sptrsm_file_writer *w, int64_t number) {
  char own[ID_DIGITS + 40];
  snprintf(own, sizeof own, ".piece-%s-%" PRId64, w->piece.id, number);
  const size_t bytes = strlen(w->piece.base) + strlen(own) + 1;
  char *name;
  SPTI_IO_TRY(spti_io_allocate(&name, w->out.final, bytes));
  snprintf(name, bytes, "%s%s", w->piece.base, own);
  sptrsm_status status = spti_io_beside(out, w->out.final, name, w->out.final);
  free(name);
  return status;
}

static const char *base_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

sptrsm_status spti_writer_begin_pieces(sptrsm_file_writer *w) {
  uint32_t noise;
  if (strchr(base_of(w->out.final), '%') != NULL || strchr(w->name, '%') != NULL)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: in names of pieces HDF5 takes %% for a pattern; choose a name without it",
                            w->out.final);
  if (getrandom(&noise, sizeof noise, 0) != (ssize_t)sizeof noise) return spti_writer_system_failed(w->part);
  w->piece.count = w->options.pieces < w->shape.nrhs ? w->options.pieces : w->shape.nrhs;
  snprintf(w->piece.id, sizeof w->piece.id, "%08" PRIx32, noise);
  return spti_io_copy(&w->piece.base, base_of(w->out.final));
}

sptrsm_status spti_writer_record_pieces(sptrsm_file_writer *w) {
  char *text;
  if (w->piece.count == 0) return SPTRSM_OK;
  const size_t bytes = strlen(w->piece.base) + ID_DIGITS + 40;
  SPTI_IO_TRY(spti_io_allocate(&text, w->part, bytes));
  snprintf(text, bytes, "%s %" PRId64 " %s", w->piece.id, w->piece.count, w->piece.base);
  sptrsm_status status = spti_io_journal_append(&w->journal, "pieces", text);
  free(text);
  return status;
}

/* Where the name begins in a record, which may itself begin with blanks; NULL: the record is damaged. */
static const char *read_record(sptrsm_file_writer *w, const char *text, int64_t most) {
  int end = 0;
  if (sscanf(text, "%8[0-9a-f] %" SCNd64 "%n", w->piece.id, &w->piece.count, &end) != 2 || text[end] != ' ') return NULL;
  const char *base = text + end + 1;
  const bool good = strlen(w->piece.id) == ID_DIGITS && w->piece.count > 0 && w->piece.count <= SPTI_PIECES_MAX && w->piece.count <= most &&
                    *base != '\0' && strchr(base, '/') == NULL;
  return good ? base : NULL;
}

sptrsm_status spti_writer_take_pieces(sptrsm_file_writer *w, int64_t most) {
  const char *text = spti_io_journal_next(&w->journal, "pieces", NULL), *base = text != NULL ? read_record(w, text, most) : NULL;
  free(w->piece.base);
  w->piece.base = NULL;
  if (base != NULL) return spti_io_copy(&w->piece.base, base);
  w->piece.count = 0;
  if (text == NULL) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: its record of pieces is damaged; begin anew (--force without --resume or --part)",
                          w->journal_name);
}

sptrsm_status spti_writer_remove_pieces(const sptrsm_file_writer *w) {
  sptrsm_status first = SPTRSM_OK;
  for (int64_t k = 0; k < w->piece.count; k++) {
    char *name;
    SPTI_IO_TRY(piece_name(&name, w, k));
    const int code = unlink(name) != 0 ? errno : 0;
    if (code != 0 && first == SPTRSM_OK && spti_writer_is_file(name))
      first = sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", name, strerror(code));
    free(name);
  }
  return first;
}

sptrsm_status spti_writer_refuse_piece(const sptrsm_file_writer *w, const char *path) {
  struct stat given, own;
  if (stat(path, &given) != 0) return SPTRSM_OK;
  for (int64_t k = 0; k < w->piece.count; k++) {
    char *name;
    SPTI_IO_TRY(piece_name(&name, w, k));
    const bool same = stat(name, &own) == 0 && own.st_dev == given.st_dev && own.st_ino == given.st_ino;
    free(name);
    if (same)
      return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: is a piece of %s, which is to be merged; choose another output", path,
                              w->out.final);
  }
  return SPTRSM_OK;
}

/* ---- the virtual datasets ---- */

/* Maps the pieces to an array of all columns, of which `axis` is the dimension. */
static bool map_pieces(hid_t plist, const sptrsm_file_writer *w, const spti_io_array *array, int axis) {
  hid_t all = H5Screate_simple(array->rank, array->dims, NULL);
  bool good = all >= 0;
  for (int64_t k = 0; k < w->piece.count && good; k++) {
    int64_t first, end;
    hsize_t start[3] = {0}, count[3] = {array->dims[0], array->dims[1], array->dims[2]};
    char *name;
    sptrsm_file_writer_piece(w, k, &first, &end);
    start[axis] = (hsize_t)first;
    count[axis] = (hsize_t)(end - first);
    if (piece_name(&name, w, k) != SPTRSM_OK) good = false;
    hid_t own = good ? H5Screate_simple(array->rank, count, NULL) : -1;
    good = own >= 0 && H5Sselect_hyperslab(all, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
           H5Pset_virtual(plist, all, base_of(name), array->name, own) >= 0;
    if (own >= 0) H5Sclose(own);
    free(name);
  }
  if (all >= 0) H5Sclose(all);
  return good;
}

/* Where a piece is missing, programs that do not look for it read NaN, not zeros. */
static bool fill_with_nan(hid_t plist, hid_t type, sptrsm_dtype dtype) {
  const float singles[2] = {NAN, NAN};
  const double doubles[2] = {NAN, NAN};
  return H5Pset_fill_value(plist, type, spti_is_single(dtype) ? (const void *)singles : doubles) >= 0;
}

static sptrsm_status create_virtual(const sptrsm_file_writer *w, spti_io_array *array, sptrsm_dtype dtype, const char *order) {
  hid_t plist = H5Pcreate(H5P_DATASET_CREATE), dataset = -1;
  sptrsm_status status = SPTRSM_OK;
  array->sources = plist;
  if (plist < 0 || !fill_with_nan(plist, array->type, dtype) ||
      !map_pieces(plist, w, array, array->rank == 2 && w->shape.layout == SPTRSM_ROW_MAJOR ? 1 : 0))
    status = sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for the sources of %s", w->out.final, array->name);
  if (status == SPTRSM_OK) status = spti_io_create_array(&dataset, w->out.id, array, &w->options, w->out.final);
  if (status == SPTRSM_OK && order != NULL) status = spti_io_write_text(dataset, "order", order, w->out.final);
  if (dataset >= 0) H5Dclose(dataset);
  if (plist >= 0) H5Pclose(plist);
  return status;
}

sptrsm_status spti_writer_make_virtual(sptrsm_file_writer *w) {
  spti_io_array X = spti_io_block_array(w->name, &w->shape, w->shape.layout, w->shape.nrhs);
  char *name;
  X.type = w->type;
  SPTI_IO_TRY(create_virtual(w, &X, w->shape.dtype, w->shape.layout == SPTRSM_ROW_MAJOR ? "C" : "F"));
  if (!w->has_berr) return spti_io_output_close(&w->out);
  SPTI_IO_TRY(spti_io_beside(&name, w->name, "berr", w->out.final));
  spti_io_array berr = spti_io_vector(name, H5T_NATIVE_DOUBLE, w->shape.nrhs);
  sptrsm_status status = create_virtual(w, &berr, SPTRSM_F64, NULL);
  free(name);
  return status == SPTRSM_OK ? spti_io_output_close(&w->out) : status;
}

/* ---- one piece ---- */

typedef struct {
  int64_t number, first, cols;
  char *name;
  off_t X, berr;
} piece;

static void mark_text(char text[200], const sptrsm_file_writer *w, const piece *p) {
  snprintf(text, 200, "%s-%" PRId64 " columns %" PRId64 ":%" PRId64 " of %d x %" PRId64, w->piece.id, p->number, p->first,
           p->first + p->cols, w->shape.n, w->shape.nrhs);
}

/* A piece may be read by whom the part may be read by, which keeps the mode of an OUT that it replaces. */
static sptrsm_status take_mode(const sptrsm_file_writer *w, const spti_io_output *out) {
  struct stat s;
  if (fstat(w->fd, &s) != 0) return spti_writer_system_failed(w->part);
  return chmod(out->temp, s.st_mode & 07777) == 0 ? SPTRSM_OK : spti_writer_system_failed(out->temp);
}

static sptrsm_status create_piece(sptrsm_file_writer *w, piece *p) {
  sptrsm_save_options o = w->options;
  spti_io_output out;
  char mark[200];
  if (w->type < 0) SPTI_IO_TRY(spti_io_value_type(&w->type, w->shape.dtype, w->out.final));
  o.force = 0;
  mark_text(mark, w, p);
  SPTI_IO_TRY(spti_io_output_begin(&out, p->name, &o));
  sptrsm_status status = take_mode(w, &out);
  if (status == SPTRSM_OK) status = spti_writer_place_arrays(w, &out, p->cols, &p->X, &p->berr);
  if (status == SPTRSM_OK) status = spti_io_write_text(out.id, mark_name, mark, p->name);
  return spti_io_output_finish(&out, status);
}

static sptrsm_status foreign(const sptrsm_file_writer *w, const piece *p) {
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                          "%s: is not the piece of %s with columns %lld:%lld, but of another run or shape; put the right one in its place",
                          p->name, w->out.final, (long long)p->first, (long long)(p->first + p->cols));
}

static sptrsm_status find_places(const sptrsm_file_writer *w, piece *p, spti_io_file *f) {
  const bool rows = w->shape.layout == SPTRSM_ROW_MAJOR;
  const int64_t X_dims[] = {rows ? w->shape.n : p->cols, rows ? p->cols : w->shape.n}, berr_dims[] = {p->cols, 1};
  char expected[200], *mark = NULL, *berr;
  spti_io_object root;
  mark_text(expected, w, p);
  if (f->matrix_market) return foreign(w, p);
  SPTI_IO_TRY(spti_io_object_open_path(&root, f, NULL));
  sptrsm_status status = spti_io_attr_text(&mark, &root, mark_name);
  spti_io_object_close(&root);
  const bool is_it = mark != NULL && strcmp(mark, expected) == 0;
  free(mark);
  if (status == SPTRSM_OK && !is_it) status = foreign(w, p);
  if (status != SPTRSM_OK) return status;
  p->X = spti_writer_place_of(f, w->name, w->shape.dtype, X_dims);
  SPTI_IO_TRY(spti_io_beside(&berr, w->name, "berr", p->name));
  p->berr = w->has_berr ? spti_writer_place_of(f, berr, SPTRSM_F64, berr_dims) : 0;
  free(berr);
  return p->X >= 0 && p->berr >= 0 ? SPTRSM_OK : foreign(w, p);
}

/* Checks that a piece is the one of these columns, and finds its numbers. */
static sptrsm_status check_piece(const sptrsm_file_writer *w, piece *p) {
  sptrsm_io_options o;
  spti_io_file f;
  sptrsm_io_options_init(&o);
  if (!spti_writer_is_file(p->name))
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: is missing, with columns %lld:%lld of %s; put it back beside that file", p->name,
                            (long long)p->first, (long long)(p->first + p->cols), w->out.final);
  SPTI_IO_TRY(spti_io_file_open(&f, p->name, &o));
  return spti_io_file_end(&f, find_places(w, p, &f));
}

static sptrsm_status name_piece(piece *p, const sptrsm_file_writer *w, int64_t number) {
  int64_t end;
  *p = (piece){.number = number};
  sptrsm_file_writer_piece(w, number, &p->first, &end);
  p->cols = end - p->first;
  return piece_name(&p->name, w, number);
}

sptrsm_status spti_writer_check_pieces(const sptrsm_file_writer *w, bool all) {
  for (int64_t k = 0; k < w->piece.count; k++) {
    piece p;
    SPTI_IO_TRY(name_piece(&p, w, k));
    sptrsm_status status = all || spti_writer_any_done(w, p.first, p.first + p.cols) ? check_piece(w, &p) : SPTRSM_OK;
    free(p.name);
    if (status != SPTRSM_OK) return status;
  }
  return SPTRSM_OK;
}

void spti_writer_close_piece(sptrsm_file_writer *w) {
  if (w->piece.fd >= 0) close(w->piece.fd);
  free(w->piece.name);
  w->piece.name = NULL;
  w->piece.fd = -1;
  w->piece.number = -1;
}

/* The piece is there, or can be made: none of its columns counts as done. */
static sptrsm_status find_or_create(sptrsm_file_writer *w, piece *p, bool writing, bool *is_new) {
  spti_io_report old;
  *is_new = writing && !spti_writer_is_file(p->name) && !spti_writer_any_done(w, p->first, p->first + p->cols);
  if (!*is_new) return check_piece(w, p);
  spti_io_lock_hdf5(&old);
  sptrsm_status status = create_piece(w, p);
  spti_io_unlock_hdf5(&old);
  return status;
}

static sptrsm_status open_file(sptrsm_file_writer *w, const piece *p, bool writing, bool is_new) {
  struct stat s;
  w->piece.fd = open(p->name, (writing ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);
  if (w->piece.fd < 0 || fstat(w->piece.fd, &s) != 0) return spti_writer_system_failed(p->name);
  return is_new ? spti_writer_reserve(w->piece.fd, s.st_size, p->name) : SPTRSM_OK;
}

sptrsm_status spti_writer_open_piece(sptrsm_file_writer *w, int64_t number, bool writing) {
  piece p;
  bool is_new = false;
  if (w->piece.number == number && (w->piece.writable || !writing)) return SPTRSM_OK;
  SPTI_IO_TRY(spti_writer_sync(w));
  spti_writer_close_piece(w);
  SPTI_IO_TRY(name_piece(&p, w, number));
  sptrsm_status status = find_or_create(w, &p, writing, &is_new);
  if (status == SPTRSM_OK) status = open_file(w, &p, writing, is_new);
  w->piece.name = p.name;
  w->piece.number = status == SPTRSM_OK ? number : -1;
  w->piece.writable = writing;
  w->piece.first = p.first;
  w->piece.cols = p.cols;
  w->piece.X = p.X;
  w->piece.berr = p.berr;
  return status;
}

sptrsm_status spti_writer_locate(sptrsm_file_writer *w, int64_t *first, int64_t count, bool writing) {
  if (w->piece.count == 0) return SPTRSM_OK;
  const int64_t number = piece_of(w, *first);
  if (number != piece_of(w, *first + count - 1))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: columns %lld:%lld lie in more than one piece; write those of each alone",
                            w->out.final, (long long)*first, (long long)(*first + count));
  SPTI_IO_TRY(spti_writer_open_piece(w, number, writing));
  *first -= w->piece.first;
  return SPTRSM_OK;
}
