/* fuzz.c -- some thousand files changed at random: each is refused, or the result is valid and equals the contents of the file.
 *
 * In Matrix Market files any byte changes, because this library reads all of them itself; in HDF5 files the parts that HDF5 does not
 * check: numbers, lengths, types, shapes, descriptions. A case follows from its number, which a failure names.
 */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <io/write/write.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(io_fuzz, .init = make_folder, .fini = remove_folder);

#if defined(__SANITIZE_ADDRESS__) /* slow; the fuzz targets run with it, too */
enum { SHARE = 4 };
#else
enum { SHARE = 1 };
#endif

static uint64_t state;

/* 0 <= result < below */
static uint64_t draw(uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 11) % below;
}

static void begin_case(int number) {
  state = 0x9e3779b97f4a7c15u * (uint64_t)(number + 1);
  for (int k = 0; k < 8; k++) draw(2);
}

/* ---- what is read ---- */

/* Everything that a solve relies on, and that the core agrees. */
static void check_sound(sptrsm_file_matrix *M, const sptrsm_io_options *o, const char *what, int number) {
  int64_t lines = M->format == SPTRSM_CSR ? M->rows : M->cols, limit = M->format == SPTRSM_CSR ? M->cols : M->rows;
  cr_assert(M->rows >= 0 && M->cols >= 0 && M->ptr[0] == 0, "%s, case %d", what, number);
  for (int64_t j = 0; j < lines; j++) {
    cr_assert(M->ptr[j] <= M->ptr[j + 1], "%s, case %d: line %lld", what, number, (long long)j);
    for (int64_t p = M->ptr[j]; p < M->ptr[j + 1]; p++)
      cr_assert(M->idx[p] >= 0 && M->idx[p] < limit && (p == M->ptr[j] || M->idx[p] > M->idx[p - 1]), "%s, case %d: entry %lld", what,
                number, (long long)p);
  }
  sptrsm_sparse T;
  if (sptrsm_file_matrix_triangle(&T, M, o) != SPTRSM_OK) return;
  sptrsm_context *context;
  sptrsm_matrix *matrix = NULL;
  cr_assert(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) == SPTRSM_OK);
  cr_assert(sptrsm_matrix_create(&matrix, context, &T, SPTRSM_BORROW) == SPTRSM_OK, "%s, case %d: %s", what, number, sptrsm_last_error());
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

static sptrsm_io_options options_of_case(void) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.memory_limit = (size_t)1 << 26;
  o.tidy = (int)draw(2);
  o.take_triangle = (int)draw(2);
  return o;
}

/* ---- Matrix Market ---- */

enum { TEXT_MAX = 4096 };

static size_t read_text(char *text, const char *path) {
  FILE *f = fopen(path, "rb");
  cr_assert(f != NULL);
  size_t length = fread(text, 1, TEXT_MAX / 2, f);
  fclose(f);
  return length;
}

static size_t change_text(char *text, size_t length) {
  static const char letters[] = "0123456789 .-+eE%\n\tnaif";
  static const char *const words[] = {"99999999999999999999 ", "2147483647 ", "-1 ", "nan ", "inf ", "1e999 ", "\n\n%\n", "0 ", "1 1 1\n"};
  size_t at = draw(length), count = 1 + draw(8);
  if (count > length - at) count = length - at;
  switch (draw(5)) {
  case 0: text[at] = (char)(text[at] ^ 1 << draw(8)); return length;
  case 1: text[at] = letters[draw(sizeof letters - 1)]; return length;
  case 2: memmove(text + at, text + at + count, length - at - count); return length - count;
  case 3: {
    const char *word = words[draw(sizeof words / sizeof *words)];
    if (length + strlen(word) > TEXT_MAX) return length;
    memmove(text + at + strlen(word), text + at, length - at);
    memcpy(text + at, word, strlen(word));
    return length + strlen(word);
  }
  default: return draw(8) == 0 ? at + 1 : length;
  }
}

static void write_text(const char *text, size_t length) {
  FILE *f = fopen(file, "wb");
  cr_assert(f != NULL && fwrite(text, 1, length, f) == length && fclose(f) == 0);
}

Test(io_fuzz, matrix_market) {
  static const char *const names[] = {DATA("general.mtx"), DATA("symmetric.mtx"), DATA("hermitian.mtx"), DATA("skew.mtx"),
                                      DATA("integer.mtx"), DATA("pattern.mtx"),   DATA("general.mtx.gz")};
  int read = 0, cases = 3500 / SHARE;
  for (int number = 0; number < cases; number++) {
    const char *name = names[number % 7];
    char text[TEXT_MAX];
    begin_case(number);
    size_t length = read_text(text, name);
    for (uint64_t edits = 1 + draw(3); edits > 0 && length > 0; edits--) length = change_text(text, length);
    write_text(text, length);
    sptrsm_io_options o = options_of_case();
    sptrsm_file_matrix *M;
    if (sptrsm_file_matrix_load(&M, file, &o) == SPTRSM_OK) {
      check_sound(M, &o, name, number);
      sptrsm_file_matrix_free(M);
      read++;
    } else cr_assert(strstr(sptrsm_last_error(), "out.h5") != NULL, "%s, case %d: \"%s\" names no file", name, number, sptrsm_last_error());
  }
  cr_assert(read > cases / 20 && read < cases * 19 / 20, "%d of %d were read: a test of one outcome only", read, cases);
}

/* ---- HDF5 ---- */

enum { N = 6, NNZ = 13, ROOM = NNZ + 1 };

typedef struct { /* a lower triangle in one of three forms, on its way to a file */
  const char *names[3];
  int64_t numbers[2][ROOM]; /* pointers and indices, or rows and columns */
  double values[ROOM];
  int64_t lengths[3], shape[2];
  hid_t types[2];
  char description[512];
} drawn_matrix;

static void write_array(hid_t group, const char *name, hid_t stored, hid_t memory, int64_t length, const void *data) {
  hsize_t dims[1] = {(hsize_t)length};
  hid_t space = H5Screate_simple(1, dims, NULL), d = H5Dcreate2(group, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  cr_assert(d >= 0 && (length == 0 || H5Dwrite(d, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0));
  H5Dclose(d);
  H5Sclose(space);
}

static void write_matrix(const drawn_matrix *m, int form) {
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), g = H5Gcreate2(f, "M", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  for (int k = 0; k < 2; k++) write_array(g, m->names[k], m->types[k], H5T_NATIVE_INT64, m->lengths[k], m->numbers[k]);
  write_array(g, m->names[2], H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, m->lengths[2], m->values);
  if (form == 2) cr_assert(spti_io_write_text(g, "binsparse", m->description, file) == SPTRSM_OK);
  else cr_assert(spti_io_write_integers(g, "shape", m->shape, 2, file) == SPTRSM_OK);
  if (form == 0) cr_assert(spti_io_write_text(g, "format", "csr", file) == SPTRSM_OK);
  H5Gclose(g);
  cr_assert(H5Fclose(f) >= 0);
}

/* form 0: data, indices, indptr; 1: row, col, data; 2: Binsparse CSR */
static drawn_matrix lower_triangle(int form) {
  static const char *const names[3][3] = {{"indptr", "indices", "data"}, {"row", "col", "data"}, {"pointers_to_1", "indices_1", "values"}};
  drawn_matrix m = {.shape = {N, N}, .types = {H5T_STD_I64LE, H5T_STD_I64LE}};
  int64_t count = 0;
  memcpy(m.names, names[form], sizeof m.names);
  for (int i = 0; i < N; i++) {
    for (int j = 0; j <= i; j++) {
      if (!(i == j || (i + 2 * j) % 3 == 0 || j == 0) || count >= NNZ) continue;
      m.numbers[1][count] = j;
      if (form == 1) m.numbers[0][count] = i;
      m.values[count++] = 1 + i + 0.5 * j;
    }
    if (form != 1) m.numbers[0][i + 1] = count;
  }
  cr_assert(count == NNZ);
  m.lengths[0] = form == 1 ? NNZ : N + 1, m.lengths[1] = m.lengths[2] = NNZ;
  return m;
}

static void change_matrix(drawn_matrix *m) {
  static const int64_t special[] = {-1,
                                    0,
                                    1,
                                    N - 1,
                                    N,
                                    NNZ,
                                    NNZ + 1,
                                    255,
                                    INT32_MAX,
                                    INT32_MIN,
                                    (int64_t)INT32_MAX + 1,
                                    (int64_t)1 << 32,
                                    ((int64_t)1 << 32) + 1,
                                    INT64_MAX,
                                    INT64_MIN};
  static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e308, 5e-324};
  const hid_t types[] = {H5T_STD_I32LE, H5T_STD_I64BE, H5T_STD_U64LE, H5T_STD_U8LE, H5T_STD_I16BE};
  int64_t any = draw(2) ? special[draw(sizeof special / sizeof *special)] : (int64_t)draw(NNZ + 1);
  int which = (int)draw(2);
  switch (draw(6)) {
  case 0:
  case 1: m->numbers[which][draw((uint64_t)m->lengths[which] + 1) % ROOM] = any; break;
  case 2: m->values[draw(NNZ)] = odd[draw(sizeof odd / sizeof *odd)]; break;
  case 3: which = (int)draw(3), m->lengths[which] = draw(4) == 0 ? 0 : m->lengths[which] + (draw(2) ? 1 : -1); break;
  case 4: m->types[which] = types[draw(sizeof types / sizeof *types)]; break;
  default: m->shape[which] = any; break;
  }
  for (int k = 0; k < 3; k++) m->lengths[k] = m->lengths[k] < 0 ? 0 : m->lengths[k] > ROOM ? ROOM : m->lengths[k];
}

static void describe(drawn_matrix *m) {
  snprintf(m->description, sizeof m->description,
           "{\"binsparse\":{\"version\":\"0.1\",\"format\":\"CSR\",\"shape\":[%lld,%lld],\"number_of_stored_values\":%lld,"
           "\"data_types\":{\"pointers_to_1\":\"int64\",\"indices_1\":\"int64\",\"values\":\"float64\"}}}",
           (long long)m->shape[0], (long long)m->shape[1], (long long)m->lengths[1]);
  for (uint64_t k = draw(8); k == 0; k = draw(2)) m->description[draw(strlen(m->description))] = (char)(32 + draw(95));
}

/* Is number p of the file what was drawn? What its type can't hold was clipped when it was written. */
static int is_stored(const drawn_matrix *m, int which, int64_t p, int64_t value) {
  return m->types[which] != H5T_STD_I64LE || m->numbers[which][p] == value;
}

/* Entry by entry, of the forms by rows, where nothing was sorted or dropped. */
static void check_content(const sptrsm_file_matrix *M, const drawn_matrix *m, int number) {
  cr_assert(M->ptr[M->rows] == m->lengths[1] && m->lengths[1] == m->lengths[2], "case %d", number);
  for (int64_t j = 0; j <= M->rows; j++) cr_assert(is_stored(m, 0, j, M->ptr[j]), "case %d: pointer %lld", number, (long long)j);
  for (int64_t p = 0; p < m->lengths[1]; p++) cr_assert(is_stored(m, 1, p, M->idx[p]), "case %d: index %lld", number, (long long)p);
  cr_assert(memcmp(M->val, m->values, (size_t)m->lengths[2] * sizeof *m->values) == 0, "case %d", number);
}

Test(io_fuzz, arrays) {
  static char where[80];
  int read = 0, cases = 1500 / SHARE;
  snprintf(where, sizeof where, "%s:/M", file);
  for (int number = 0; number < cases; number++) {
    int form = number % 3;
    begin_case(number);
    drawn_matrix m = lower_triangle(form);
    for (uint64_t edits = 1 + draw(2); edits > 0; edits--) change_matrix(&m);
    describe(&m);
    write_matrix(&m, form);
    sptrsm_io_options o = options_of_case();
    sptrsm_file_matrix *M;
    if (sptrsm_file_matrix_load(&M, where, &o) == SPTRSM_OK) {
      if (M->format == SPTRSM_CSR && form != 1 && !o.tidy) check_content(M, &m, number);
      check_sound(M, &o, m.names[0], number);
      sptrsm_file_matrix_free(M);
      read++;
    } else cr_assert(strstr(sptrsm_last_error(), "out.h5:/M") != NULL, "case %d: \"%s\" names no object", number, sptrsm_last_error());
  }
  cr_assert(read > cases / 20 && read < cases * 19 / 20, "%d of %d were read: a test of one outcome only", read, cases);
}
