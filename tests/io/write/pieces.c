/* pieces.c -- solutions in several files: what other programs read of them, what a merge keeps, and journals that name no good pieces. */
#include "io/fixture.h"
#include "io/test_folder.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 5, NRHS = 7, PIECES = 3 };
static sptrsm_layout layout;
static const char *dataset = "/run/X";

static double sample(int i, int k) { return 100.0 * k + i + 0.5; }

static void must(sptrsm_status status) { cr_assert(status == SPTRSM_OK, "%s", sptrsm_last_error()); }

static void refused(sptrsm_status status, sptrsm_status expected, const char *text) {
  cr_assert(status == expected, "%d: %s", (int)status, sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), text) != NULL, "%s", sptrsm_last_error());
}

TestSuite(io_pieces, .init = make_folder, .fini = remove_folder);

static sptrsm_block block_of(double *data, int64_t cols) {
  return (sptrsm_block){.data = data,
                        .ld = layout == SPTRSM_ROW_MAJOR ? cols : N,
                        .n = N,
                        .nrhs = cols,
                        .dtype = SPTRSM_F64,
                        .layout = layout,
                        .place = SPTRSM_HOST};
}

static sptrsm_status join(sptrsm_file_writer **w, int64_t pieces) {
  const sptrsm_block shape = block_of(NULL, NRHS);
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.pieces = pieces;
  o.path = dataset;
  return sptrsm_file_writer_join(w, file, &shape, 1, "inputs", &o);
}

static sptrsm_status write_columns(sptrsm_file_writer *w, int first, int end) {
  double data[N * NRHS], berr[NRHS];
  const int cols = end - first;
  const sptrsm_block X = block_of(data, cols);
  for (int k = 0; k < cols; k++) berr[k] = first + k + 0.25;
  for (int i = 0; i < N; i++)
    for (int k = 0; k < cols; k++) data[layout == SPTRSM_ROW_MAJOR ? i * cols + k : k * N + i] = sample(i, first + k);
  sptrsm_status status = sptrsm_file_writer_write(w, first, &X, berr);
  return status == SPTRSM_OK ? sptrsm_file_writer_checkpoint(w, &(sptrsm_file_columns){first, end, "state"}) : status;
}

/* Makes the solution by two writers, one of which has the middle piece. */
static void make(void) {
  sptrsm_file_writer *a, *b;
  int64_t first, end, left;
  must(join(&a, PIECES));
  must(join(&b, PIECES));
  cr_assert(sptrsm_file_writer_pieces(b) == PIECES);
  for (int k = 0; k < PIECES; k++) {
    sptrsm_file_writer_piece(a, k, &first, &end);
    must(write_columns(k == 1 ? b : a, (int)first, (int)end));
  }
  cr_assert(end == NRHS);
  sptrsm_file_writer_close(b);
  must(sptrsm_file_writer_left(a, &left));
  cr_assert(left == 0);
  must(sptrsm_file_writer_checkpoint(a, &(sptrsm_file_columns){0, NRHS, "all"}));
  must(sptrsm_file_writer_finish(a, "{}"));
  sptrsm_file_writer_close(a);
}

static sptrsm_status merge(int remove) {
  sptrsm_file_merged m = {0};
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.path = "/run/X";
  sptrsm_status status = sptrsm_file_solution_merge(&m, file, NULL, remove, &o);
  if (status == SPTRSM_OK) cr_assert(m.pieces == PIECES && m.n == N && m.nrhs == NRHS && m.dtype == SPTRSM_F64);
  return status;
}

static void check_whole(int allow_external) {
  sptrsm_file_block *X;
  sptrsm_io_options o;
  char where[80];
  sptrsm_io_options_init(&o);
  o.allow_external = allow_external;
  snprintf(where, sizeof where, "%s:/run/X", file);
  must(sptrsm_file_block_load(&X, where, N, &o));
  cr_assert(X->block.layout == layout);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < NRHS; k++) cr_assert(fixture_element(&X->block, i, k) == sample(i, k), "(%d,%d)", i, k);
  sptrsm_file_block_free(X);
  NOTHING_STAYS_OPEN(where);
}

static void in_both_orders(void (*test)(void)) {
  static const sptrsm_layout layouts[] = {SPTRSM_ROW_MAJOR, SPTRSM_COL_MAJOR};
  for (int k = 0; k < 2; k++) {
    layout = layouts[k];
    test();
    char command[96];
    snprintf(command, sizeof command, "rm -f %s/*", folder);
    cr_assert(system(command) == 0);
  }
}

/* ---- what a merge keeps ---- */

/* Adds what a user may: an attribute of each kind, a dataset beside X, a group. */
static void add_own(void) {
  const double pair[2] = {1.5, 2.5};
  const hsize_t two = 2;
  hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), X = H5Dopen2(f, "/run/X", H5P_DEFAULT), space = H5Screate_simple(1, &two, NULL);
  hid_t text = H5Tcopy(H5T_C_S1), one = H5Screate(H5S_SCALAR);
  H5Tset_size(text, 5);
  hid_t a = H5Acreate2(X, "units", text, one, H5P_DEFAULT, H5P_DEFAULT);
  hid_t b = H5Acreate2(X, "range", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
  hid_t c = H5Acreate2(f, "range", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
  hid_t d = H5Dcreate2(f, "/run/extra", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  cr_assert(H5Awrite(a, text, "m/s\0") >= 0 && H5Awrite(b, H5T_NATIVE_DOUBLE, pair) >= 0 && H5Awrite(c, H5T_NATIVE_DOUBLE, pair) >= 0);
  cr_assert(H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, pair) >= 0);
  H5Aclose(a), H5Aclose(b), H5Aclose(c), H5Dclose(d), H5Dclose(X), H5Sclose(one), H5Sclose(space), H5Tclose(text);
  cr_assert(H5Fclose(f) >= 0);
}

static void check_pair(hid_t attribute) {
  double pair[2] = {0, 0};
  cr_assert(H5Aread(attribute, H5T_NATIVE_DOUBLE, pair) >= 0 && pair[0] == 1.5 && pair[1] == 2.5);
  H5Aclose(attribute);
}

static void check_own(void) {
  double pair[2] = {0, 0}, berr[NRHS];
  char units[6] = "", *report = NULL;
  hid_t f = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT), X = H5Dopen2(f, "/run/X", H5P_DEFAULT);
  hid_t a = H5Aopen(X, "units", H5P_DEFAULT), d = H5Dopen2(f, "/run/extra", H5P_DEFAULT), r = H5Aopen(X, "sptrsm_report", H5P_DEFAULT);
  hid_t type = H5Aget_type(a), text = H5Aget_type(r), e = H5Dopen2(f, "/run/berr", H5P_DEFAULT), plist = H5Dget_create_plist(X);
  cr_assert(H5Aread(a, type, units) >= 0);
  cr_assert_str_eq(units, "m/s");
  check_pair(H5Aopen(X, "range", H5P_DEFAULT));
  check_pair(H5Aopen(f, "range", H5P_DEFAULT));
  cr_assert(H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, pair) >= 0 && pair[1] == 2.5);
  cr_assert(H5Aread(r, text, &report) >= 0);
  cr_assert_str_eq(report, "{}");
  free(report);
  cr_assert(H5Dread(e, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, berr) >= 0);
  for (int k = 0; k < NRHS; k++) cr_assert(berr[k] == k + 0.25);
  cr_assert(H5Pget_layout(plist) == H5D_CONTIGUOUS);
  H5Aclose(a), H5Aclose(r), H5Dclose(d), H5Dclose(e), H5Dclose(X), H5Tclose(type), H5Tclose(text), H5Pclose(plist), H5Fclose(f);
}

static void merged(void) {
  sptrsm_file_writer *w;
  make();
  check_whole(1);
  add_own();
  must(merge(0));
  cr_assert(count_files() == 1 + PIECES);
  check_whole(0);
  check_own();
  refused(merge(1), SPTRSM_ERR_STRUCTURE, "is no finished solution in pieces");
  must(join(&w, 0)); /* it is still known as this solution */
  cr_assert(sptrsm_file_writer_complete(w) && sptrsm_file_writer_pieces(w) == 0);
  sptrsm_file_writer_close(w);
}

Test(io_pieces, a_merge_keeps_all_else) { in_both_orders(merged); }

Test(io_pieces, a_merge_may_remove_the_pieces) {
  make();
  must(merge(1));
  cr_assert(count_files() == 1);
  check_whole(0);
}

/* Numbers of pieces are copied 16 MiB at a time. */
Test(io_pieces, a_merge_of_long_pieces) {
  enum { ROWS = 2100007, COLUMNS = 4, WIDTH = 2 };
  static float data[WIDTH * (int64_t)ROWS];
  sptrsm_block X = {.data = data, .ld = ROWS, .n = ROWS, .nrhs = COLUMNS, .layout = SPTRSM_COL_MAJOR, .place = SPTRSM_HOST};
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.pieces = COLUMNS / WIDTH;
  sptrsm_file_writer *w;
  must(sptrsm_file_writer_join(&w, file, &X, 0, "", &o));
  X.nrhs = WIDTH;
  for (int first = 0; first < COLUMNS; first += WIDTH) {
    for (int64_t q = 0; q < WIDTH * (int64_t)ROWS; q++) data[q] = (float)(first * (int64_t)ROWS + q);
    must(sptrsm_file_writer_write(w, first, &X, NULL));
  }
  must(sptrsm_file_writer_checkpoint(w, &(sptrsm_file_columns){0, COLUMNS, "all"}));
  must(sptrsm_file_writer_finish(w, "{}"));
  sptrsm_file_writer_close(w);
  must(sptrsm_file_solution_merge(&(sptrsm_file_merged){0}, file, NULL, 1, NULL));
  sptrsm_file_block *merged_X;
  must(sptrsm_file_block_load(&merged_X, file, ROWS, NULL));
  const float *found = merged_X->block.data;
  for (int64_t q = 0; q < COLUMNS * (int64_t)ROWS; q++) cr_assert(found[q] == (float)q, "number %d", (int)q);
  sptrsm_file_block_free(merged_X);
}

static const char *stuck; /* the end of the names that can't be removed; before it stands a random number, which may contain it too */

/* Takes the place of the C library's unlink. */
int unlink(const char *name) {
  const size_t end = stuck != NULL ? strlen(stuck) : 0, length = strlen(name);
  if (stuck == NULL || length < end || strcmp(name + length - end, stuck) != 0) return unlinkat(AT_FDCWD, name, 0);
  errno = EPERM;
  return -1;
}

Test(io_pieces, a_piece_that_cannot_be_removed_keeps_no_other) {
  make();
  stuck = "-1";
  refused(merge(1), SPTRSM_ERR_IO, "-1: Operation not permitted: remove it by hand");
  cr_assert(strstr(sptrsm_last_error(), "out.h5 is merged, but ") != NULL, "%s", sptrsm_last_error());
  stuck = NULL;
  cr_assert(count_files() == 2);
  check_whole(0);
}

/* Another name of X or berr would stay virtual. */
Test(io_pieces, a_merge_refuses_other_names) {
  static const char *const names[] = {"X", "berr"};
  make();
  for (int k = 0; k < 2; k++) {
    hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), run = H5Gopen2(f, "/run", H5P_DEFAULT);
    cr_assert(H5Lcreate_hard(run, names[k], f, "other", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Gclose(run), H5Fclose(f);
    refused(merge(1), SPTRSM_ERR_STRUCTURE, k == 0 ? "X has another name in the file" : "berr has another name in the file");
    f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT);
    cr_assert(H5Ldelete(f, "other", H5P_DEFAULT) >= 0);
    H5Fclose(f);
  }
  cr_assert(count_files() == 1 + PIECES);
  must(merge(1));
  check_whole(0);
}

/* ---- missing pieces ---- */

static void remove_piece(int number) {
  char command[120];
  snprintf(command, sizeof command, "rm %s/out.h5.piece-*-%d", folder, number);
  cr_assert(system(command) == 0);
}

/* HDF5 itself puts in fill values: NaN, which nobody takes for a solution. */
Test(io_pieces, a_missing_piece_is_nan_for_others) {
  double X[N][NRHS];
  layout = SPTRSM_ROW_MAJOR;
  make();
  remove_piece(1); /* columns 3:5 */
  hid_t f = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(f, "/run/X", H5P_DEFAULT);
  cr_assert(H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, X) >= 0);
  H5Dclose(d), H5Fclose(f);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < NRHS; k++) cr_assert(k == 3 || k == 4 ? isnan(X[i][k]) : X[i][k] == sample(i, k), "(%d,%d)", i, k);
}

Test(io_pieces, a_missing_piece_is_named) {
  sptrsm_file_writer *w;
  make();
  remove_piece(2);
  refused(merge(0), SPTRSM_ERR_IO, "-2: is missing, with columns 5:7 of");
  refused(join(&w, PIECES), SPTRSM_ERR_IO, "-2: is missing, with columns 5:7 of");
}

/* A piece whose columns count as done is not made again, as if they had been written. */
Test(io_pieces, a_piece_that_vanishes_is_not_made_again) {
  sptrsm_file_writer *w;
  must(join(&w, PIECES));
  must(write_columns(w, 0, 2));
  sptrsm_file_writer_close(w);
  must(join(&w, PIECES));
  remove_piece(0);
  for (int k = 0; k < 2; k++) refused(write_columns(w, 2, 3), SPTRSM_ERR_IO, "-0: is missing, with columns 0:3 of");
  sptrsm_file_writer_close(w);
}

Test(io_pieces, a_dataset_may_begin_with_blanks) {
  sptrsm_file_writer *w;
  dataset = "  X";
  must(join(&w, PIECES));
  must(write_columns(w, 0, 2));
  sptrsm_file_writer_close(w);
  must(join(&w, PIECES));
  must(write_columns(w, 2, 3));
  sptrsm_file_writer_close(w);
}

Test(io_pieces, only_datasets_in_pieces_may_have_no_percent_sign) {
  sptrsm_file_writer *w;
  dataset = "X%";
  refused(join(&w, PIECES), SPTRSM_ERR_ARGUMENT, "HDF5 takes % for a pattern");
  must(join(&w, 0));
  sptrsm_file_writer_close(w);
}

/* ---- wrong use, wrong journals ---- */

Test(io_pieces, wrong_use) {
  sptrsm_file_writer *w;
  sptrsm_file_merged m;
  sptrsm_save_options o;
  refused(join(&w, -1), SPTRSM_ERR_ARGUMENT, "-1 pieces");
  refused(join(&w, 1 << 20), SPTRSM_ERR_ARGUMENT, "1048576 pieces; there are at most 1000");
  must(join(&w, 100)); /* a piece has a column at least */
  cr_assert(sptrsm_file_writer_pieces(w) == NRHS);
  refused(write_columns(w, 0, 2), SPTRSM_ERR_ARGUMENT, "columns 0:2 lie in more than one piece");
  sptrsm_file_writer_close(w);
  sptrsm_save_options_init(&o);
  o.compress = 1;
  refused(sptrsm_file_solution_merge(&m, file, NULL, 0, &o), SPTRSM_ERR_ARGUMENT, "without compression");
  refused(sptrsm_file_solution_merge(NULL, file, NULL, 0, NULL), SPTRSM_ERR_ARGUMENT, "no result or path");
}

/* Replaces the record `pieces` in a journal, as an attacker would: with a checksum that fits. */
static void forge(const char *record) {
  char name[90], text[1 << 16], *at, *end;
  snprintf(name, sizeof name, "%s.part.journal", file);
  FILE *f = fopen(name, "r");
  size_t bytes = fread(text, 1, sizeof text - 1, f);
  text[bytes] = '\0';
  fclose(f);
  at = strstr(text, " pieces ") - 16, end = strchr(at, '\n');
  uint64_t h = 0xcbf29ce484222325u;
  for (const char *c = record; *c; c++) h = (h ^ (unsigned char)*c) * 0x100000001b3u;
  f = fopen(name, "w");
  fprintf(f, "%.*s%016llx %s%s", (int)(at - text), text, (unsigned long long)h, record, end);
  fclose(f);
}

Test(io_pieces, records_that_name_no_pieces) {
  static const char *const records[] = {"pieces",
                                        "pieces 0123abcd",
                                        "pieces 0123abc 3 out.h5",
                                        "pieces 0123abcd 0 out.h5",
                                        "pieces 0123abcd -3 out.h5",
                                        "pieces 0123abcd 8 out.h5",
                                        "pieces 0123abcd 99999999999 out.h5",
                                        "pieces 0123abcd 3 ",
                                        "pieces 0123abcd 3 ../out.h5"};
  for (size_t k = 0; k < sizeof records / sizeof records[0]; k++) {
    sptrsm_file_writer *w;
    must(join(&w, PIECES));
    must(write_columns(w, 0, 3));
    sptrsm_file_writer_close(w);
    forge(records[k]);
    const sptrsm_status status = join(&w, 0);
    if (k == 0) cr_assert(status != SPTRSM_OK); /* no such record: the places of X are not in the part */
    else refused(status, SPTRSM_ERR_STRUCTURE, "its record of pieces is damaged");
    char command[96];
    snprintf(command, sizeof command, "rm -f %s/*", folder);
    cr_assert(system(command) == 0);
  }
}
