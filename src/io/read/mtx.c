/* mtx.c -- loads Matrix Market coordinate files, plain or gzip-compressed.
 *
 * A file has the banner "%%MatrixMarket matrix coordinate real|integer|complex|pattern general|symmetric|hermitian|skew-symmetric",
 * comments, "rows cols nnz", and one entry per text line with 1-based indices. Memory grows with the entries read, not with the
 * number that the file promises. The other triangle of a symmetric file is not added (sptrsm_file_matrix_mirror does that).
 */
#include "io/read/read.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

typedef enum { FIELD_REAL, FIELD_INTEGER, FIELD_COMPLEX, FIELD_PATTERN } mtx_field;

typedef struct {
  const char *name;
  gzFile z;
  locale_t c_locale;         /* numbers have a decimal point whatever the user's locale */
  int64_t line_number, idle; /* idle: bytes of comments and blank lines so far */
  char line[1024];
  mtx_field field;
  sptrsm_symmetry symmetry;
  int64_t rows, cols, nnz, room;
} mtx_reader;

enum { IDLE_MAX = 16 << 20 }; /* a small compressed file may hold gigabytes of blank lines */

static sptrsm_status broken(const mtx_reader *r, const char *what) {
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: line %lld: %s", r->name, (long long)r->line_number, what);
}

/* Decides what the end of the input means: damaged, truncated, or, with `ended`, the regular end. */
static sptrsm_status end_of_file(const mtx_reader *r, bool *ended) {
  int code;
  gzerror(r->z, &code);
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) /* Z_BUF_ERROR: the stream ends too early */
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: the compressed data are damaged; fetch the file again", r->name);
  if (ended == NULL || code == Z_BUF_ERROR)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: ends after line %lld; the file is truncated", r->name, (long long)r->line_number);
  *ended = true;
  return SPTRSM_OK;
}

/* The last text line must end with a newline: where a file was cut off, its last number may have lost digits. */
static sptrsm_status unfinished_line(const mtx_reader *r) {
  bool ended;
  SPTI_IO_TRY(end_of_file(r, &ended));
  return broken(r, "the last line does not end: is the file cut? add a newline");
}

/* Reads the next text line that is neither empty nor a comment. ended NULL: the end of the file is an error. */
static sptrsm_status next_line(mtx_reader *r, bool comments, bool *ended) {
  for (;;) {
    const z_off_t begin = gztell(r->z);
    if (gzgets(r->z, r->line, sizeof r->line) == NULL) return end_of_file(r, ended);
    r->line_number++;
    size_t length = strlen(r->line);
    if (gztell(r->z) - begin != (z_off_t)length) return broken(r, "has a zero byte; the file is damaged, or no text");
    bool comment = r->line[0] == '%' && comments;
    if (length + 1 == sizeof r->line && r->line[length - 1] != '\n') {
      if (!comment) return broken(r, "longer than 1022 characters");
      for (int c = 0; c != '\n' && c != -1 && gztell(r->z) - begin <= IDLE_MAX;) c = gzgetc(r->z);
    }
    if (!comment && strspn(r->line, " \t\r\n") < length) return r->line[length - 1] == '\n' ? SPTRSM_OK : unfinished_line(r);
    r->idle += gztell(r->z) - begin;
    if (r->idle > IDLE_MAX) return broken(r, "after 16 MiB of comments and blank lines; remove them if the file is sound");
  }
}

static int find(const char *word, const char *const names[], int count) {
  for (int k = 0; k < count; k++)
    if (strcasecmp(word, names[k]) == 0) return k;
  return -1;
}

static sptrsm_status read_banner(mtx_reader *r) {
  static const char *const fields[] = {"real", "integer", "complex", "pattern"};
  static const char *const symmetries[] = {"general", "symmetric", "hermitian", "skew-symmetric"};
  char object[32], format[32], field[32], symmetry[32];
  SPTI_IO_TRY(next_line(r, false, NULL));
  if (sscanf(r->line, "%*s %31s %31s %31s %31s", object, format, field, symmetry) != 4)
    return broken(r, "the banner needs four words after %%MatrixMarket");
  if (strcasecmp(object, "matrix") != 0) return broken(r, "only the object \"matrix\" is read");
  if (strcasecmp(format, "coordinate") != 0)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: format \"%s\" is not read; write coordinate, or dense blocks as HDF5", r->name,
                            format);
  int f = strcasecmp(field, "double") == 0 ? FIELD_REAL : find(field, fields, 4), s = find(symmetry, symmetries, 4);
  if (f < 0) return broken(r, "the field must be real, integer, complex or pattern");
  if (s < 0) return broken(r, "the symmetry must be general, symmetric, hermitian or skew-symmetric");
  r->field = (mtx_field)f;
  r->symmetry = (sptrsm_symmetry)s;
  return SPTRSM_OK;
}

static bool parse_integer(char **at, int64_t *out) {
  char *end;
  errno = 0;
  *out = strtoll(*at, &end, 10);
  bool good = end != *at && errno == 0;
  *at = end;
  return good;
}

static bool parse_real(const mtx_reader *r, char **at, double *out) {
  char *end;
  *out = strtod_l(*at, &end, r->c_locale);
  bool good = end != *at;
  *at = end;
  return good;
}

static sptrsm_status read_sizes(mtx_reader *r, bool tidy) {
  SPTI_IO_TRY(next_line(r, true, NULL));
  char *at = r->line;
  if (!parse_integer(&at, &r->rows) || !parse_integer(&at, &r->cols) || !parse_integer(&at, &r->nnz) || r->nnz < 0)
    return broken(r, "needs three sizes: rows, columns, entries");
  SPTI_IO_TRY(spti_io_check_shape(r->rows, r->cols, r->name));
  if (r->symmetry != SPTRSM_GENERAL && r->rows != r->cols) return broken(r, "a symmetric matrix must be square");
  if (!tidy && r->nnz > r->rows * r->cols) /* with tidy, duplicates are summed */
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: line %lld: promises %lld entries, but a %lld x %lld matrix holds at most %lld",
                            r->name, (long long)r->line_number, (long long)r->nnz, (long long)r->rows, (long long)r->cols,
                            (long long)(r->rows * r->cols));
  return SPTRSM_OK;
}

static sptrsm_status make_room(mtx_reader *r, spti_io_triplets *t, size_t each) {
  if (t->nnz < r->room) return SPTRSM_OK;
  int64_t room = r->room == 0 ? 4096 : 2 * r->room;
  if (room > r->nnz) room = r->nnz;
  int32_t *row = realloc(t->row, spti_io_bytes(room, sizeof *row));
  if (row != NULL) t->row = row;
  int32_t *col = realloc(t->col, spti_io_bytes(room, sizeof *col));
  if (col != NULL) t->col = col;
  void *val = realloc(t->val, spti_io_bytes(room, each));
  if (val != NULL) t->val = val;
  if (row == NULL || col == NULL || val == NULL)
    return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for %lld entries", r->name, (long long)room);
  r->room = room;
  return SPTRSM_OK;
}

static void store(void *val, int64_t p, sptrsm_dtype dtype, const double z[2]) {
  switch (dtype) {
  case SPTRSM_F32: ((float *)val)[p] = (float)z[0]; break;
  case SPTRSM_F64: ((double *)val)[p] = z[0]; break;
  case SPTRSM_C64: ((float *)val)[2 * p] = (float)z[0], ((float *)val)[2 * p + 1] = (float)z[1]; break;
  case SPTRSM_C128: ((double *)val)[2 * p] = z[0], ((double *)val)[2 * p + 1] = z[1]; break;
  }
}

static sptrsm_status read_entry(mtx_reader *r, spti_io_triplets *t, sptrsm_dtype dtype) {
  int64_t i, j;
  double z[2] = {1, 0};
  SPTI_IO_TRY(next_line(r, true, NULL));
  char *at = r->line;
  if (!parse_integer(&at, &i) || !parse_integer(&at, &j)) return broken(r, "needs a row and a column");
  if (i < 1 || i > r->rows || j < 1 || j > r->cols)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: line %lld: entry (%lld,%lld) lies outside the %lld x %lld matrix; indices are 1-based", r->name,
                            (long long)r->line_number, (long long)i, (long long)j, (long long)r->rows, (long long)r->cols);
  if (r->field != FIELD_PATTERN && !parse_real(r, &at, &z[0])) return broken(r, "needs a value");
  if (r->field == FIELD_COMPLEX && !parse_real(r, &at, &z[1])) return broken(r, "needs a real and an imaginary part");
  if (at[strspn(at, " \t\r\n")] != '\0') return broken(r, "has more on it than an entry");
  SPTI_IO_TRY(make_room(r, t, sptrsm_dtype_bytes(dtype)));
  t->row[t->nnz] = (int32_t)(i - 1);
  t->col[t->nnz] = (int32_t)(j - 1);
  store(t->val, t->nnz++, dtype, z);
  return SPTRSM_OK;
}

/* A symmetric file stores one triangle. Its first entry off the diagonal decides which one; *uplo receives the side. */
static sptrsm_status check_one_triangle(const mtx_reader *r, const spti_io_triplets *t, int *uplo) {
  *uplo = SPTRSM_AS_STORED;
  for (int64_t p = 0; p < t->nnz && r->symmetry != SPTRSM_GENERAL; p++) {
    if (t->row[p] == t->col[p]) continue;
    int side = t->row[p] > t->col[p] ? SPTRSM_LOWER : SPTRSM_UPPER;
    if (*uplo == SPTRSM_AS_STORED) *uplo = side;
    if (*uplo != side)
      return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: entry (%d,%d): a symmetric file must store one triangle only", r->name,
                              t->row[p] + 1, t->col[p] + 1);
  }
  if (r->symmetry != SPTRSM_GENERAL && *uplo == SPTRSM_AS_STORED) *uplo = SPTRSM_LOWER;
  return SPTRSM_OK;
}

static sptrsm_status read_body(sptrsm_file_matrix *M, mtx_reader *r, spti_io_triplets *t, const spti_io_file *f,
                               const sptrsm_io_options *o) {
  bool ended = false;
  SPTI_IO_TRY(read_banner(r));
  SPTI_IO_TRY(read_sizes(r, o->tidy));
  SPTI_IO_TRY(spti_io_choose_dtype(&M->dtype, r->field == FIELD_COMPLEX ? SPTRSM_C128 : SPTRSM_F64, o->dtype, r->name));
  M->rows = r->rows;
  M->cols = r->cols;
  M->symmetry = r->symmetry;
  M->rule = "Matrix Market";
  SPTI_IO_TRY(spti_io_check_order_and_count(M, r->nnz, o));
  size_t bytes = spti_io_triplets_bytes(r->rows, r->cols, r->nnz, M->dtype);
  SPTI_IO_TRY(spti_io_check_memory(f->memory_limit, r->name, bytes, "raise the limit"));
  for (int64_t p = 0; p < r->nnz; p++) SPTI_IO_TRY(read_entry(r, t, M->dtype));
  SPTI_IO_TRY(next_line(r, true, &ended));
  if (!ended) return broken(r, "more entries than the size line promises");
  SPTI_IO_TRY(check_one_triangle(r, t, &M->uplo));
  return spti_io_compress(M, t);
}

sptrsm_status spti_io_mtx_load(sptrsm_file_matrix **out, const spti_io_file *f, const sptrsm_io_options *o) {
  sptrsm_file_matrix *M;
  spti_io_triplets t = {0};
  mtx_reader r = {.name = f->name};
  if (f->path != NULL)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: a Matrix Market file holds no %s; leave the path out", f->name, f->path);
  SPTI_IO_TRY(spti_io_matrix_new(&M, f->name));
  r.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  r.z = gzopen(f->name, "rb");
  sptrsm_status status = r.z == NULL || r.c_locale == (locale_t)0 ? sptrsm_error_set(SPTRSM_ERR_IO, "%s: can't be opened", f->name)
                                                                  : read_body(M, &r, &t, f, o);
  if (r.z != NULL && gzclose(r.z) != Z_OK && status == SPTRSM_OK)
    status = sptrsm_error_set(SPTRSM_ERR_IO, "%s: does not end as it should; is it truncated?", f->name);
  if (r.c_locale != (locale_t)0) freelocale(r.c_locale);
  spti_io_triplets_free(&t);
  if (status == SPTRSM_OK) status = spti_io_finish_matrix(M, o);
  if (status == SPTRSM_OK) *out = M;
  else sptrsm_file_matrix_free(M);
  return status;
}
