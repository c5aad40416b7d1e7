/* stream.c -- blocks read and written in parts: the numbers equal those of a whole load or save, and a kill at any step is resumed. */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <io/write/write.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char part[72], journal[80];

static void make_names(void) {
  make_folder();
  snprintf(part, sizeof part, "%s.part", file);
  snprintf(journal, sizeof journal, "%s.journal", part);
}

TestSuite(io_stream, .init = make_names, .fini = remove_folder);

#define OK(call)                                                                                                                           \
  do {                                                                                                                                     \
    sptrsm_status s_ = (call);                                                                                                             \
    cr_assert(s_ == SPTRSM_OK, "%s", sptrsm_last_error());                                                                                 \
  } while (0)

static int is_file(const char *path) { return access(path, F_OK) == 0; }

/* ---- reading ---- */

/* Reads every range of columns and compares it with the block loaded whole; returns whether HDF5 was bypassed. */
static int check_reader(const char *where, int32_t n, const sptrsm_io_options *o) {
  sptrsm_file_block *whole;
  sptrsm_file_reader *r;
  OK(sptrsm_file_block_load(&whole, where, n, o));
  OK(sptrsm_file_reader_open(&r, where, n, o));
  const sptrsm_file_block *told = sptrsm_file_reader_block(r);
  cr_assert(told->block.data == NULL && told->block.n == whole->block.n && told->block.nrhs == whole->block.nrhs);
  cr_assert(told->block.dtype == whole->block.dtype && told->block.layout == whole->block.layout && told->file_nrhs == whole->file_nrhs);
  cr_assert(strcmp(told->where, whole->where) == 0 && strcmp(told->rule, whole->rule) == 0);
  for (int64_t begin = 0; begin <= told->block.nrhs; begin++)
    for (int64_t end = begin; end <= told->block.nrhs; end++) {
      double complex room[256];
      sptrsm_block X = told->block;
      X.data = room;
      X.nrhs = end - begin;
      X.ld = X.layout == SPTRSM_ROW_MAJOR ? X.nrhs : X.n;
      OK(sptrsm_file_reader_read(r, begin, &X));
      for (int32_t i = 0; i < X.n; i++)
        for (int64_t k = 0; k < X.nrhs; k++)
          cr_assert(fixture_element(&X, i, k) == fixture_element(&whole->block, i, begin + k), "%s: (%d,%lld)", where, i, (long long)k);
    }
  int direct = sptrsm_file_reader_direct(r);
  sptrsm_file_reader_close(r);
  sptrsm_file_block_free(whole);
  return direct;
}

Test(io_stream, columns_of_every_form) {
  static const struct {
    const char *where;
    int direct;
  } rows[] = {
      {DATA("blocks.h5"), 1},
      {DATA("blocks.h5:/reversed"), 1},
      {DATA("blocks.h5:/said_F"), 1},
      {DATA("blocks.h5:/vector"), 1},
      {DATA("blocks.h5:/column"), 1},
      {DATA("blocks.h5:/int16"), 0},
      {DATA("blocks.h5:/f32"), 0},
      {DATA("blocks.h5:/complex"), 1},
      {DATA("blocks.h5:/gzip"), 0},
      {DATA("blocks.h5:/dmat"), 1},
      {DATA("blocks.h5:/dmatr"), 1},
      {DATA("blocks.h5:/dmatc"), 1},
      {DATA("blocks.h5:/dvec"), 1},
      {DATA("matlab.mat:/B"), 1},
      {DATA("blocks.h5:/dmatr_complex"), 1},
      {DATA("blocks.h5:/dmatc_complex"), 1},
  };
  sptrsm_io_options o;
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
    sptrsm_io_options_init(&o);
    cr_assert(check_reader(rows[k].where, FIXTURE_N, &o) == rows[k].direct, "%s: direct is not %d", rows[k].where, rows[k].direct);
    o.dtype = SPTRSM_C128; /* most need a conversion now */
    check_reader(rows[k].where, FIXTURE_N, &o);
    o.col_end = 1;
    check_reader(rows[k].where, FIXTURE_N, &o);
  }
}

/* A file with B of 5 x 4, made with these properties. */
static void make_block(hid_t type, hsize_t userblock, int external, int late) {
  double data[20];
  hsize_t dims[2] = {5, 4};
  for (int q = 0; q < 20; q++) data[q] = q + 0.5;
  hid_t creation = H5Pcreate(H5P_FILE_CREATE), plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, dims, NULL);
  cr_assert(H5Pset_userblock(creation, userblock) >= 0);
  char raw[80];
  snprintf(raw, sizeof raw, "%s/raw.bin", folder);
  if (external) cr_assert(H5Pset_external(plist, raw, 0, sizeof data) >= 0);
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, creation, H5P_DEFAULT);
  hid_t d = H5Dcreate2(f, "B", type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  cr_assert(d >= 0 && (late || H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0));
  cr_assert(H5Dclose(d) >= 0 && H5Fclose(f) >= 0 && H5Sclose(space) >= 0 && H5Pclose(plist) >= 0 && H5Pclose(creation) >= 0);
}

Test(io_stream, what_bypasses_hdf5) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  make_block(H5T_IEEE_F64LE, 0, 0, 0);
  cr_assert(check_reader(file, 5, &o));
  make_block(H5T_IEEE_F64LE, 1024, 0, 0);
  cr_assert(check_reader(file, 5, &o), "a user block moves the data, no more");
  make_block(H5T_IEEE_F64BE, 0, 0, 0);
  cr_assert(!check_reader(file, 5, &o), "the other byte order");
  make_block(H5T_IEEE_F32LE, 0, 0, 0);
  o.dtype = SPTRSM_F64;
  cr_assert(!check_reader(file, 5, &o), "a conversion");
  o.dtype = SPTRSM_AS_STORED;
  make_block(H5T_IEEE_F64LE, 0, 0, 1);
  cr_assert(!check_reader(file, 5, &o), "nothing was ever written: zeros, and no place in the file");
  o.allow_external = 1;
  make_block(H5T_IEEE_F64LE, 0, 1, 0);
  cr_assert(!check_reader(file, 5, &o), "in another file");
}

Test(io_stream, complex_numbers_of_two_widths_take_the_wider) {
  for (int wide = 0; wide < 2; wide++) {
    sptrsm_file_block *X;
    hid_t type = H5Tcreate(H5T_COMPOUND, 12);
    cr_assert(H5Tinsert(type, "r", 0, wide ? H5T_IEEE_F32LE : H5T_IEEE_F64LE) >= 0);
    cr_assert(H5Tinsert(type, "i", wide ? 4 : 8, wide ? H5T_IEEE_F64LE : H5T_IEEE_F32LE) >= 0);
    make_block(type, 0, 0, 1);
    OK(sptrsm_file_block_load(&X, file, 5, NULL));
    cr_assert(X->block.dtype == SPTRSM_C128);
    sptrsm_file_block_free(X);
    cr_assert(H5Tclose(type) >= 0);
  }
}

static int is_external(const char *where) {
  sptrsm_io_options o;
  sptrsm_file_reader *r;
  sptrsm_io_options_init(&o);
  o.allow_external = 1;
  OK(sptrsm_file_reader_open(&r, where, 5, &o));
  int external = sptrsm_file_reader_external(r);
  sptrsm_file_reader_close(r);
  return external;
}

/* Makes a second file that links to B. It is larger than the first, so the byte offset of the numbers exists in both. */
static void link_to_block(const char *from) {
  double zeros[2000] = {0};
  hsize_t dims[2] = {5, 400};
  hid_t f = H5Fcreate(from, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(2, dims, NULL);
  hid_t d = H5Dcreate2(f, "other", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  cr_assert(H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
  cr_assert(H5Lcreate_external(file, "/B", f, "B", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  cr_assert(H5Dclose(d) >= 0 && H5Sclose(space) >= 0 && H5Fclose(f) >= 0);
}

Test(io_stream, what_lies_in_another_file) {
  sptrsm_io_options o;
  char from[80], where[84];
  make_block(H5T_IEEE_F64LE, 0, 0, 0);
  cr_assert(!is_external(file));
  snprintf(from, sizeof from, "%s/from.h5", folder);
  snprintf(where, sizeof where, "%s:/B", from);
  link_to_block(from);
  cr_assert(is_external(where), "behind a link");
  sptrsm_io_options_init(&o);
  o.allow_external = 1;
  check_reader(where, 5, &o);
  make_block(H5T_IEEE_F64LE, 0, 1, 0);
  cr_assert(is_external(file), "external storage");
}

/* HDF5 would return zeros. */
Test(io_stream, a_file_that_is_cut_while_it_is_read_is_refused) {
  struct stat s;
  double data[20];
  sptrsm_file_reader *r;
  sptrsm_block X = {.data = data, .ld = 4, .n = 5, .nrhs = 4, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_HOST};
  make_block(H5T_IEEE_F64BE, 0, 0, 0);
  OK(sptrsm_file_reader_open(&r, file, 5, NULL));
  cr_assert(!sptrsm_file_reader_direct(r));
  cr_assert(stat(file, &s) == 0 && truncate(file, s.st_size - 1) == 0);
  cr_assert(sptrsm_file_reader_read(r, 0, &X) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "became shorter") != NULL, "%s", sptrsm_last_error());
  sptrsm_file_reader_close(r);
}

Test(io_stream, wrong_requests_are_refused) {
  sptrsm_file_reader *r;
  double data[20];
  sptrsm_block X = {.data = data, .ld = 2, .n = 5, .nrhs = 2, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_HOST};
  make_block(H5T_IEEE_F64LE, 0, 0, 0);
  OK(sptrsm_file_reader_open(&r, file, 5, NULL));
  OK(sptrsm_file_reader_read(r, 2, &X));
  cr_assert(sptrsm_file_reader_read(r, 3, &X) == SPTRSM_ERR_ARGUMENT && sptrsm_file_reader_read(r, -1, &X) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_reader_read(r, INT64_MAX, &X) == SPTRSM_ERR_ARGUMENT);
  X.ld = 3;
  cr_assert(sptrsm_file_reader_read(r, 0, &X) == SPTRSM_ERR_ARGUMENT);
  X.ld = 2, X.dtype = SPTRSM_F32;
  cr_assert(sptrsm_file_reader_read(r, 0, &X) == SPTRSM_ERR_ARGUMENT);
  X.dtype = SPTRSM_F64;
  cr_assert(truncate(file, 2048) == 0); /* the data are gone */
  cr_assert(sptrsm_file_reader_read(r, 0, &X) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "became shorter") != NULL, "%s", sptrsm_last_error());
  sptrsm_file_reader_close(r);
  cr_assert(sptrsm_file_reader_open(&r, DATA("none.h5"), 5, NULL) == SPTRSM_ERR_IO);
  cr_assert(sptrsm_file_reader_open(&r, DATA("blocks.h5"), 7, NULL) == SPTRSM_ERR_STRUCTURE);
}

/* ---- writing ---- */

enum { N = 50, NRHS = 12, STEP = 5 };

static double sample(int i, int k) { return 1000.0 * k + i + 0.25; }

static sptrsm_block shape_of(sptrsm_layout layout) {
  return (sptrsm_block){
      .ld = layout == SPTRSM_ROW_MAJOR ? NRHS : N, .n = N, .nrhs = NRHS, .dtype = SPTRSM_F64, .layout = layout, .place = SPTRSM_HOST};
}

static sptrsm_status write_part(sptrsm_file_writer *w, sptrsm_layout layout, int first) {
  double data[N * STEP], berr[STEP];
  int width = NRHS - first < STEP ? NRHS - first : STEP;
  sptrsm_block X = shape_of(layout);
  X.data = data;
  X.nrhs = width;
  if (layout == SPTRSM_ROW_MAJOR) X.ld = width;
  for (int k = 0; k < width; k++) {
    berr[k] = first + k;
    for (int i = 0; i < N; i++) data[layout == SPTRSM_ROW_MAJOR ? i * width + k : i + k * N] = sample(i, first + k);
  }
  return sptrsm_file_writer_write(w, first, &X, berr);
}

static void check_written(const char *report) {
  sptrsm_file_block *X, *berr;
  char where[80];
  snprintf(where, sizeof where, "%s:/run/X", file);
  OK(sptrsm_file_block_load(&X, where, N, NULL));
  for (int i = 0; i < N; i++)
    for (int k = 0; k < NRHS; k++) cr_assert(fixture_element(&X->block, i, k) == sample(i, k), "(%d,%d)", i, k);
  cr_assert(strstr(X->rule, "attribute") != NULL, "%s", X->rule);
  sptrsm_file_block_free(X);
  snprintf(where, sizeof where, "%s:/run/berr", file);
  OK(sptrsm_file_block_load(&berr, where, NRHS, NULL));
  for (int k = 0; k < NRHS; k++) cr_assert(((double *)berr->block.data)[k] == k);
  sptrsm_file_block_free(berr);
  hid_t f = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(f, "/run/X", H5P_DEFAULT);
  char *text;
  OK(spti_io_attr_text(&text, d, "sptrsm_report", file));
  cr_assert_str_eq(text, report);
  free(text);
  H5Dclose(d);
  H5Fclose(f);
  cr_assert(count_files() == 1);
}

static sptrsm_save_options writer_options(void) {
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.path = "/run/X";
  return o;
}

Test(io_stream, parts_make_the_whole) {
  for (int variant = 0; variant < 8; variant++) {
    sptrsm_layout layout = variant & 1 ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR;
    sptrsm_save_options o = writer_options();
    sptrsm_block shape = shape_of(layout);
    sptrsm_file_writer *w;
    o.compress = variant & 2 ? 4 : 0;
    o.checksum = (variant & 4) != 0;
    OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
    cr_assert(sptrsm_file_writer_direct(w) == (variant < 2) && is_file(part) == (variant < 2));
    OK(write_part(w, layout, 5));
    OK(write_part(w, layout, 0));
    OK(sptrsm_file_writer_checkpoint(w, 10, "state"));
    OK(write_part(w, layout, 10));
    cr_assert(write_part(w, layout, -5) == SPTRSM_ERR_ARGUMENT && !is_file(file));
    OK(sptrsm_file_writer_finish(w, "{\"a\":1}"));
    cr_assert(sptrsm_file_writer_finish(w, "{}") == SPTRSM_ERR_ARGUMENT && strstr(sptrsm_last_error(), "finished already") != NULL);
    cr_assert(write_part(w, layout, 0) == SPTRSM_ERR_ARGUMENT && sptrsm_file_writer_checkpoint(w, 10, "") == SPTRSM_ERR_ARGUMENT);
    sptrsm_file_writer_close(w);
    check_written("{\"a\":1}");
    cr_assert(remove(file) == 0);
  }
}

Test(io_stream, wrong_writes_are_refused) {
  sptrsm_save_options o = writer_options();
  sptrsm_block shape = shape_of(SPTRSM_COL_MAJOR), X = shape;
  sptrsm_file_writer *w = NULL;
  cr_assert(sptrsm_file_writer_create(NULL, file, &shape, 1, STEP, "inputs", &o) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_writer_resume(NULL, file, &shape, 1, &o) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_writer_create(&w, file, NULL, 1, STEP, "inputs", &o) == SPTRSM_ERR_ARGUMENT && w == NULL);
  OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  X.ld = N;
  cr_assert(sptrsm_file_writer_write(w, INT64_MAX, &X, NULL) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_writer_checkpoint(w, -1, "") == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_writer_checkpoint(w, NRHS + 1, "") == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_writer_resumed(w, NULL) == 0);
  sptrsm_file_writer_close(w);
  cr_assert(count_files() == 0);
}

Test(io_stream, what_is_closed_unfinished_is_removed_or_kept) {
  sptrsm_block shape = shape_of(SPTRSM_COL_MAJOR);
  sptrsm_save_options o = writer_options();
  sptrsm_file_writer *w, *other;
  OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  cr_assert(count_files() == 2 && is_file(part) && is_file(journal));
  sptrsm_file_writer_close(w);
  cr_assert(count_files() == 0);
  o.keep_partial = 1;
  OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  cr_assert(sptrsm_file_writer_resume(&other, file, &shape, 1, &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "another process is at work") != NULL, "%s", sptrsm_last_error());
  o.force = 1;
  cr_assert(sptrsm_file_writer_create(&other, file, &shape, 1, STEP, "inputs", &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "another process is writing it") != NULL, "%s", sptrsm_last_error());
  sptrsm_file_writer_close(w);
  cr_assert(count_files() == 2);
  o.force = 0;
  cr_assert(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "a partial solution is there") != NULL && count_files() == 2, "%s", sptrsm_last_error());
  o.force = 1, o.keep_partial = 0;
  OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  sptrsm_file_writer_close(w);
  cr_assert(count_files() == 0);
}

/* ---- kills ---- */

enum { LAST_STEP = 11 };
static int step, last_step;

static void maybe_die(void) {
  if (++step == last_step) raise(SIGKILL);
}

/* The steps of sptrsm_file_writer_finish up to the rename, with a kill between any two. */
static void die_while_finishing(void) {
  hid_t f = spti_io_driver_open(part), d = f >= 0 ? H5Dopen2(f, "/run/X", H5P_DEFAULT) : -1;
  cr_assert(d >= 0 && spti_io_write_text(d, "sptrsm_report", "{\"half\":true}", file) == SPTRSM_OK);
  maybe_die();
  H5Fflush(f, H5F_SCOPE_GLOBAL);
  maybe_die();
  H5Dclose(d);
  H5Fclose(f);
  maybe_die();
  cr_assert(rename(part, file) == 0); /* only the removal of the journal is left */
  maybe_die();
}

static void run_and_die(sptrsm_layout layout, int at) {
  sptrsm_block shape = shape_of(layout);
  sptrsm_save_options o = writer_options();
  sptrsm_file_writer *w;
  last_step = at;
  maybe_die();
  OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  for (int first = 0; first < NRHS; first += STEP) {
    char state[32];
    maybe_die();
    OK(write_part(w, layout, first));
    maybe_die();
    snprintf(state, sizeof state, "state %d", first);
    OK(sptrsm_file_writer_checkpoint(w, first + STEP < NRHS ? first + STEP : NRHS, state));
  }
  die_while_finishing();
  _exit(0);
}

/* Returns the number of columns that the resumed run finds done. */
static int64_t resume_and_finish(sptrsm_layout layout) {
  sptrsm_block shape = shape_of(layout);
  sptrsm_save_options o = writer_options();
  sptrsm_file_writer *w;
  const char *state = "";
  char want[32] = "";
  OK(sptrsm_file_writer_resume(&w, file, &shape, 1, &o));
  int64_t done = w != NULL ? sptrsm_file_writer_resumed(w, &state) : 0;
  if (w == NULL) OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  else cr_assert_str_eq(sptrsm_file_writer_inputs(w), "inputs");
  if (done > 0) snprintf(want, sizeof want, "state %d", (int)(done - 1) / STEP * STEP);
  cr_assert_str_eq(state, want);
  for (int first = (int)done; first < NRHS; first += STEP) OK(write_part(w, layout, first));
  OK(sptrsm_file_writer_finish(w, "{\"resumed\":true}"));
  sptrsm_file_writer_close(w);
  return done;
}

Test(io_stream, a_kill_at_every_step_is_resumed) {
  for (int layout = SPTRSM_ROW_MAJOR; layout <= SPTRSM_COL_MAJOR; layout++) {
    int64_t before = 0;
    for (int at = 1; at <= LAST_STEP; at++) {
      int how = 0;
      pid_t child = fork();
      if (child == 0) run_and_die((sptrsm_layout)layout, at);
      cr_assert(waitpid(child, &how, 0) == child && WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL, "step %d", at);
      int64_t done = resume_and_finish((sptrsm_layout)layout);
      cr_assert(done >= before && (at > 2 || done == 0) && (at < 8 || done == NRHS), "step %d: %lld columns", at, (long long)done);
      before = done;
      check_written(at < LAST_STEP ? "{\"resumed\":true}" : "{\"half\":true}");
      cr_assert(remove(file) == 0);
    }
  }
}

/* ---- damage ---- */

static void leave_partial(void) {
  sptrsm_block shape = shape_of(SPTRSM_COL_MAJOR);
  sptrsm_save_options o = writer_options();
  sptrsm_file_writer *w;
  o.keep_partial = o.force = 1;
  OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  OK(write_part(w, SPTRSM_COL_MAJOR, 0));
  OK(sptrsm_file_writer_checkpoint(w, 5, "five"));
  OK(write_part(w, SPTRSM_COL_MAJOR, 5));
  OK(sptrsm_file_writer_checkpoint(w, 10, "ten"));
  sptrsm_file_writer_close(w);
}

/* -1: refused with STRUCTURE. */
static int64_t resumed_columns(void) {
  sptrsm_block shape = shape_of(SPTRSM_COL_MAJOR);
  sptrsm_save_options o = writer_options();
  sptrsm_file_writer *w;
  const char *state;
  o.keep_partial = 1;
  sptrsm_status status = sptrsm_file_writer_resume(&w, file, &shape, 1, &o);
  cr_assert(status == SPTRSM_OK || (status == SPTRSM_ERR_STRUCTURE && w == NULL), "status %d: %s", status, sptrsm_last_error());
  if (status != SPTRSM_OK) return -1;
  cr_assert(w != NULL);
  int64_t done = sptrsm_file_writer_resumed(w, &state);
  cr_assert_str_eq(state, done == 10 ? "ten" : done == 5 ? "five" : "");
  sptrsm_file_writer_close(w);
  return done;
}

Test(io_stream, a_torn_journal_counts_as_far_as_it_is_whole) {
  struct stat s;
  leave_partial();
  cr_assert(stat(journal, &s) == 0 && resumed_columns() == 10);
  cr_assert(truncate(journal, s.st_size - 1) == 0 && resumed_columns() == 5); /* and the incomplete record is cut off: */
  FILE *f = fopen(journal, "a");
  cr_assert(f != NULL && fputs("0123456789abcdef done 99 no\nmore", f) >= 0 && fclose(f) == 0);
  cr_assert(resumed_columns() == 5);
  cr_assert(truncate(journal, 40) == 0 && resumed_columns() == -1);
  cr_assert(strstr(sptrsm_last_error(), "not a journal of this version") != NULL, "%s", sptrsm_last_error());
}

Test(io_stream, every_flipped_byte_of_a_journal_is_found) {
  struct stat s;
  leave_partial();
  cr_assert(stat(journal, &s) == 0);
  char *good = malloc((size_t)s.st_size);
  int fd = open(journal, O_RDWR);
  cr_assert(fd >= 0 && good != NULL && pread(fd, good, (size_t)s.st_size, 0) == s.st_size);
  for (off_t at = 0; at < s.st_size; at += at < 300 || at > s.st_size - 120 ? 1 : 211) {
    char odd = (char)(good[at] ^ 4);
    cr_assert(pwrite(fd, &odd, 1, at) == 1);
    int64_t done = resumed_columns();
    cr_assert(done < 10, "byte %lld: %lld columns", (long long)at, (long long)done);
    cr_assert(pwrite(fd, good, (size_t)s.st_size, 0) == s.st_size);
  }
  cr_assert(resumed_columns() == 10);
  close(fd);
  free(good);
}

Test(io_stream, a_part_that_does_not_fit_is_refused) {
  sptrsm_block shape = shape_of(SPTRSM_ROW_MAJOR);
  sptrsm_save_options o = writer_options();
  sptrsm_file_writer *w;
  leave_partial();
  cr_assert(sptrsm_file_writer_resume(&w, file, &shape, 1, &o) == SPTRSM_ERR_STRUCTURE && w == NULL, "another order");
  cr_assert(strstr(sptrsm_last_error(), "was begun as /run/X of 50 x 12 with berr") != NULL, "%s", sptrsm_last_error());
  FILE *f = fopen(part, "r+");
  cr_assert(f != NULL && fputs("precious", f) >= 0 && fclose(f) == 0 && resumed_columns() == -1);
  cr_assert(strstr(sptrsm_last_error(), "not an HDF5 file") != NULL, "%s", sptrsm_last_error());
  cr_assert(truncate(part, 1000) == 0 && resumed_columns() == -1);
  cr_assert(strstr(sptrsm_last_error(), "is shorter than its journal says") != NULL, "%s", sptrsm_last_error());
  cr_assert(rename(journal, file) == 0 && sptrsm_file_writer_resume(&w, file, &shape, 1, &o) == SPTRSM_ERR_IO);
  o.force = 1;
  cr_assert(sptrsm_file_writer_resume(&w, file, &shape, 1, &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "has no journal beside it") != NULL, "%s", sptrsm_last_error());
  cr_assert(rename(file, journal) == 0 && remove(part) == 0);
  o.keep_partial = 1;
  OK(sptrsm_file_writer_resume(&w, file, &shape, 1, &o));
  cr_assert(w == NULL, "a journal alone is nothing to resume");
  OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  sptrsm_file_writer_close(w);
}

static void put(const char *path, long at, const char *text) {
  FILE *f = fopen(path, "r+");
  cr_assert(f != NULL && fseek(f, at, SEEK_SET) == 0 && fputs(text, f) >= 0 && fclose(f) == 0);
}

Test(io_stream, another_part_is_refused_untouched) {
  int64_t size, X;
  leave_partial();
  FILE *f = fopen(journal, "r");
  cr_assert(f != NULL && fscanf(f, "%*s format %*d size %" SCNd64 " X %" SCNd64, &size, &X) == 2 && fclose(f) == 0);
  put(part, (long)X + 8 * N * 9, "another");
  cr_assert(resumed_columns() == -1 && strstr(sptrsm_last_error(), "columns 5:10 are not those") != NULL, "%s", sptrsm_last_error());
  leave_partial();
  put(part, (long)X + 8 * N * 10, "another"); /* behind the last checkpoint */
  cr_assert(resumed_columns() == 10);
  put(part, 96, "another");
  cr_assert(resumed_columns() == -1 && strstr(sptrsm_last_error(), "does not fit its journal") != NULL, "%s", sptrsm_last_error());
  cr_assert(resumed_columns() == -1, "and has not been mended");
}

Test(io_stream, an_interrupt_removes_what_is_not_to_be_kept) {
  sptrsm_block shape = shape_of(SPTRSM_COL_MAJOR);
  sptrsm_save_options o = writer_options();
  sptrsm_file_writer *w;
  OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  sptrsm_file_abandon();
  cr_assert(count_files() == 0);
  sptrsm_file_writer_close(w);
  o.keep_partial = 1;
  OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  sptrsm_file_abandon();
  cr_assert(count_files() == 2);
  sptrsm_file_writer_close(w);
}
