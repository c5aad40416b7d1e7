/* stream.c -- solutions written in parts: the numbers are those of a whole save, and a kill at any step is resumed. */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <errno.h>
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

static int is_file(const char *path) { return access(path, F_OK) == 0; }

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
  spti_io_file here = {.child = NULL};
  OK(spti_io_attr_text(&text, &(spti_io_object){.id = d, .where = file, .file = &here}, "sptrsm_report"));
  cr_assert_str_eq(text, report);
  free(text);
  H5Dclose(d);
  H5Fclose(f);
  cr_assert(count_files() == 1);
}

static sptrsm_status checkpoint(sptrsm_file_writer *w, int64_t first, int64_t end, const char *state) {
  return sptrsm_file_writer_checkpoint(w, &(sptrsm_file_columns){first, end, state});
}

/* What is done, as "0:5 state, 7:8 other". */
static const char *done_text(sptrsm_file_writer *w) {
  static char text[400];
  const sptrsm_file_columns *done;
  int64_t count;
  int used = 0;
  OK(sptrsm_file_writer_done(w, &done, &count));
  text[0] = '\0';
  for (int64_t k = 0; k < count; k++)
    used +=
        snprintf(text + used, sizeof text - (size_t)used, "%s%d:%d %s", k ? ", " : "", (int)done[k].first, (int)done[k].end, done[k].state);
  return text;
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
    OK(checkpoint(w, 0, 10, "state"));
    OK(write_part(w, layout, 10));
    cr_assert(write_part(w, layout, -5) == SPTRSM_ERR_ARGUMENT && !is_file(file));
    cr_assert(sptrsm_file_writer_finish(NULL, "{}") == SPTRSM_ERR_ARGUMENT);
    OK(sptrsm_file_writer_finish(w, "{\"a\":1}"));
    cr_assert(sptrsm_file_writer_finish(w, "{}") == SPTRSM_ERR_ARGUMENT && strstr(sptrsm_last_error(), "finished already") != NULL);
    cr_assert(write_part(w, layout, 0) == SPTRSM_ERR_ARGUMENT && checkpoint(w, 0, 10, "") == SPTRSM_ERR_ARGUMENT);
    sptrsm_file_writer_close(w);
    check_written("{\"a\":1}");
    cr_assert(remove(file) == 0);
  }
}

/* Long pieces go past the page cache, as far as whole pages do: beginnings and ends at any byte of the file and of memory, beside bytes
 * that stay as they are. */
Test(io_stream, long_pieces_are_written_whole) {
  enum { ROWS = 800007, COLUMNS = 4, BEFORE = 2056, EACH = sizeof(float) };
  const size_t column = (size_t)ROWS * EACH, whole = BEFORE + COLUMNS * column;
  char *expected = malloc(whole), *found = malloc(whole), *memory;
  cr_assert_eq(posix_memalign((void **)&memory, 4096, COLUMNS * column + 64), 0);
  for (size_t k = 0; k < COLUMNS * column; k++) memory[k] = (char)(k * 2654435761u >> 24);
  for (size_t shift = 0; shift <= 8; shift += 4)
    for (int64_t first = 0; first < 2; first++) {
      const int64_t width = COLUMNS - 1 - first;
      const size_t begin = BEFORE + (size_t)first * column, bytes = (size_t)width * column;
      memset(expected, 'a', whole);
      FILE *f = fopen(file, "w+b");
      cr_assert(f && fwrite(expected, 1, whole, f) == whole && fflush(f) == 0);
      const spti_io_span span = {.fd = fileno(f), .at = BEFORE, .each = EACH, .rows = ROWS, .cols = COLUMNS, .layout = SPTRSM_COL_MAJOR};
      OK(spti_io_span_write(&span, first, width, memory + shift, file));
      memcpy(expected + begin, memory + shift, bytes);
      const bool same = pread(span.fd, found, whole, 0) == (ssize_t)whole && memcmp(found, expected, whole) == 0;
      cr_assert(same, "columns %d:%d, %zu bytes beyond a page", (int)first, (int)(first + width), shift);
      cr_assert_eq(fcntl(span.fd, F_GETFL) & O_DIRECT, 0);
      fclose(f);
    }
  free(expected);
  free(found);
  free(memory);
}

Test(io_stream, wrong_writes_are_refused) {
  sptrsm_save_options o = writer_options();
  sptrsm_block shape = shape_of(SPTRSM_COL_MAJOR), X = shape;
  sptrsm_file_writer *w = NULL;
  cr_assert(sptrsm_file_writer_create(NULL, file, &shape, 1, STEP, "inputs", &o) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_writer_resume(NULL, file, &shape, 1, &o) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_writer_create(&w, file, NULL, 1, STEP, "inputs", &o) == SPTRSM_ERR_ARGUMENT && w == NULL);
  const sptrsm_block wrong_shapes[] = {{.n = 0, .nrhs = 1},
                                       {.n = 1, .nrhs = 0},
                                       {.n = 1, .nrhs = 1, .dtype = (sptrsm_dtype)4},
                                       {.n = 1, .nrhs = 1, .layout = (sptrsm_layout)2},
                                       {.n = INT32_MAX, .nrhs = INT64_MAX / 8}};
  for (size_t k = 0; k < sizeof wrong_shapes / sizeof *wrong_shapes; k++)
    cr_assert(sptrsm_file_writer_create(&w, file, &wrong_shapes[k], 1, STEP, "inputs", &o) == SPTRSM_ERR_ARGUMENT && w == NULL, "%zu", k);
  sptrsm_save_options other_layout = o;
  other_layout.layout = SPTRSM_ROW_MAJOR;
  cr_assert(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &other_layout) == SPTRSM_ERR_ARGUMENT && w == NULL);
  OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  double berr[NRHS] = {0};
  X.ld = N;
  cr_assert(sptrsm_file_writer_write(w, INT64_MAX, &X, berr) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_writer_write(w, 0, &X, NULL) == SPTRSM_ERR_ARGUMENT);
  const sptrsm_block wrong_blocks[] = {{X.data, N, N - 1, NRHS, X.dtype, X.layout, SPTRSM_HOST},
                                       {X.data, N, N, NRHS, SPTRSM_F32, X.layout, SPTRSM_HOST},
                                       {X.data, NRHS, N, NRHS, X.dtype, SPTRSM_ROW_MAJOR, SPTRSM_HOST},
                                       {X.data, N, N, NRHS, X.dtype, X.layout, SPTRSM_CUDA},
                                       {X.data, N + 1, N, NRHS, X.dtype, X.layout, SPTRSM_HOST}};
  for (size_t k = 0; k < sizeof wrong_blocks / sizeof *wrong_blocks; k++) {
    cr_assert(sptrsm_file_writer_write(w, 0, &wrong_blocks[k], berr) == SPTRSM_ERR_ARGUMENT, "%zu", k);
    cr_assert(strstr(sptrsm_last_error(), "dense host blocks") != NULL, "%s", sptrsm_last_error());
  }
  const int wrong_ranges[][2] = {{-1, 3}, {3, 3}, {5, 3}, {0, NRHS + 1}};
  for (int k = 0; k < 4; k++)
    cr_assert(checkpoint(w, wrong_ranges[k][0], wrong_ranges[k][1], "") == SPTRSM_ERR_ARGUMENT && strstr(sptrsm_last_error(), "can't be"));
  int64_t left;
  cr_assert(sptrsm_file_writer_claim(w, 0, 1) == SPTRSM_ERR_ARGUMENT && sptrsm_file_writer_left(w, &left) == SPTRSM_ERR_ARGUMENT);
  cr_assert_str_eq(done_text(w), "");
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
    OK(checkpoint(w, first, first + STEP < NRHS ? first + STEP : NRHS, state));
  }
  die_while_finishing();
  _exit(0);
}

/* Returns the number of columns that the resumed run finds done. */
static int64_t resume_and_finish(sptrsm_layout layout) {
  static const char *const want[] = {"", "0:5 state 0", "0:5 state 0, 5:10 state 5", "0:5 state 0, 5:10 state 5, 10:12 state 10"};
  sptrsm_block shape = shape_of(layout);
  sptrsm_save_options o = writer_options();
  sptrsm_file_writer *w;
  OK(sptrsm_file_writer_resume(&w, file, &shape, 1, &o));
  const sptrsm_file_columns *ranges;
  int64_t count = 0;
  if (w == NULL) OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "inputs", &o));
  else cr_assert_str_eq(sptrsm_file_writer_inputs(w), "inputs");
  OK(sptrsm_file_writer_done(w, &ranges, &count));
  cr_assert(count <= 3);
  cr_assert_str_eq(done_text(w), want[count]);
  int64_t done = count == 3 ? NRHS : count * STEP;
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
  OK(checkpoint(w, 0, 5, "five"));
  OK(write_part(w, SPTRSM_COL_MAJOR, 5));
  OK(checkpoint(w, 5, 10, "ten"));
  sptrsm_file_writer_close(w);
}

/* -1: refused with STRUCTURE. */
static int64_t resumed_columns(void) {
  sptrsm_block shape = shape_of(SPTRSM_COL_MAJOR);
  sptrsm_save_options o = writer_options();
  sptrsm_file_writer *w;
  o.keep_partial = 1;
  sptrsm_status status = sptrsm_file_writer_resume(&w, file, &shape, 1, &o);
  cr_assert(status == SPTRSM_OK || (status == SPTRSM_ERR_STRUCTURE && w == NULL), "status %d: %s", status, sptrsm_last_error());
  if (status != SPTRSM_OK) return -1;
  cr_assert(w != NULL);
  const char *text = done_text(w);
  int64_t done = strcmp(text, "0:5 five, 5:10 ten") == 0 ? 10 : strcmp(text, "0:5 five") == 0 ? 5 : 0;
  cr_assert(done > 0 || text[0] == '\0', "%s", text);
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

/* ---- names ---- */

static const char *appears; /* a file that another process makes where this one looks for a hard link; the file system has none */

/* Takes the place of the C library's link. */
int link(const char *from, const char *to) {
  if (appears == NULL) return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
  if (strcmp(to, appears) == 0) close(open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  errno = EPERM;
  return -1;
}

Test(io_stream, without_hard_links_a_part_that_appears_is_not_replaced) {
  sptrsm_save_options o = writer_options();
  sptrsm_block shape = shape_of(SPTRSM_COL_MAJOR);
  sptrsm_file_writer *w;
  appears = part;
  cr_assert(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "", &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "out.h5.part: File exists") != NULL, "%s", sptrsm_last_error());
  cr_assert(is_file(part) && remove(part) == 0);
  appears = "";
  OK(sptrsm_file_writer_create(&w, file, &shape, 1, STEP, "", &o));
  for (int first = 0; first < NRHS; first += STEP) OK(write_part(w, SPTRSM_COL_MAJOR, first));
  OK(sptrsm_file_writer_finish(w, "{}"));
  sptrsm_file_writer_close(w);
  check_written("{}");
}

Test(io_stream, a_journal_is_locked_where_standard_input_is_closed) {
  spti_io_journal j;
  close(STDIN_FILENO);
  OK(spti_io_journal_create(&j, journal));
  cr_assert(j.fd == STDIN_FILENO && spti_io_journal_busy(journal));
  spti_io_journal_close(&j);
}
