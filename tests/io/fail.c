/* fail.c -- every write, fsync, rename, open and allocation of a save and a load fails once, or a signal comes before it.
 *
 * After each failure: a clean status, no temporary file, the old output untouched; when nothing fails any more, the new output is
 * whole. After a signal the output is whole, old or new. Needs fail_once.c preloaded (ctest does it); without it the tests are
 * skipped. Under AddressSanitizer the allocations are left out, because it brings its own malloc.
 */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FAILS_MALLOC = 0 };
#else
enum { FAILS_MALLOC = 1 };
#endif

static void (*arm)(long);
static int (*was_hit)(void);

static void prepare(void) {
  *(void **)&arm = dlsym(RTLD_DEFAULT, "fail_once_arm");
  *(void **)&was_hit = dlsym(RTLD_DEFAULT, "fail_once_hit");
  cr_assert((arm != NULL && was_hit != NULL) || getenv("LD_PRELOAD") == NULL, "the preloaded fail_once lacks its functions");
  if (arm == NULL) cr_skip_test("fail_once is not preloaded");
  make_folder();
}

static void clean_up(void) {
  if (arm != NULL) remove_folder();
}

TestSuite(io_fail, .init = prepare, .fini = clean_up);

/* ---- saving ---- */

static sptrsm_file_factors *factors;

static sptrsm_status save_block(double marker) {
  static double data[3000];
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  for (int q = 0; q < 3000; q++) data[q] = marker + q;
  sptrsm_block X = {.data = data, .ld = 30, .n = 100, .nrhs = 30, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_HOST};
  o.force = 1;
  o.compress = 1;
  o.report = "{}";
  return sptrsm_file_solution_save(file, &X, &o);
}

static sptrsm_status save_factors(double marker) {
  char source[32];
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.force = 1;
  snprintf(source, sizeof source, "marker %g", marker);
  o.source = source;
  return sptrsm_file_factors_save(file, &factors->factors, factors->A, &o);
}

/* The same numbers as save_block's, in three parts. */
static sptrsm_status save_parts(double marker) {
  static double part[1000];
  sptrsm_file_writer *w = NULL;
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.force = 1;
  sptrsm_block X = {.ld = 100, .n = 100, .nrhs = 30, .dtype = SPTRSM_F64, .layout = SPTRSM_COL_MAJOR, .place = SPTRSM_HOST};
  sptrsm_status status = sptrsm_file_writer_create(&w, file, &X, 0, 10, "inputs", &o);
  X.data = part;
  X.nrhs = 10;
  for (int first = 0; first < 30 && status == SPTRSM_OK; first += 10) {
    for (int q = 0; q < 1000; q++) part[q] = marker + 100 * first + q;
    status = sptrsm_file_writer_write(w, first, &X, NULL);
    if (status == SPTRSM_OK) status = sptrsm_file_writer_checkpoint(w, &(sptrsm_file_columns){first, first + 10, "state"});
  }
  if (status == SPTRSM_OK) status = sptrsm_file_writer_finish(w, "{}");
  sptrsm_file_writer_close(w);
  return status;
}

/* Which marker the file holds; asserts that it is whole. */
static double marker_of_block(void) {
  sptrsm_file_block *X;
  cr_assert(sptrsm_file_block_load(&X, file, 100, NULL) == SPTRSM_OK, "the output is broken: %s", sptrsm_last_error());
  const double *data = X->block.data;
  double marker = data[0];
  cr_assert(X->block.nrhs == 30);
  for (int q = 0; q < 3000; q++) cr_assert(data[q] == marker + q, "the output is mixed at %d", q);
  sptrsm_file_block_free(X);
  return marker;
}

static double marker_of_factors(void) {
  sptrsm_file_factors *F;
  double marker = -1;
  cr_assert(sptrsm_file_factors_load(&F, file, NULL) == SPTRSM_OK, "the output is broken: %s", sptrsm_last_error());
  cr_assert(F->A != NULL && F->factors.perm_col != NULL && sscanf(F->source, "marker %lf", &marker) == 1);
  sptrsm_file_factors_free(F);
  return marker;
}

/* fsync of the folder comes after the rename: then the new file is in place although an error is reported. */
static void fail_each(const char *call, const char *error, sptrsm_status (*save)(double), double (*marker)(void), int stays) {
  long k;
  cr_assert(setenv("FAIL_CALL", call, 1) == 0 && setenv("FAIL_ERRNO", error, 1) == 0);
  cr_assert(save(1) == SPTRSM_OK, "%s", sptrsm_last_error());
  double before = 1;
  for (k = 1; k < 20000; k++) {
    double next = (double)k + 1;
    arm(stays ? -k : k);
    sptrsm_status status = save(next);
    int hit = was_hit();
    arm(0);
    cr_assert(count_files() == 1, "%s %ld: %d files are left", call, k, count_files());
    double after = marker();
    int survivable = strcmp(call, "malloc") == 0 || strcmp(call, "open") == 0; /* HDF5 tries these again */
    cr_assert(!hit || survivable || status == SPTRSM_ERR_IO, "%s %ld failed unnoticed", call, k);
    if (status == SPTRSM_OK) {
      cr_assert(after == next, "%s %ld: success reported, but the old file is there", call, k);
    } else {
      cr_assert(status == SPTRSM_ERR_IO || status == SPTRSM_ERR_MEMORY, "%s %ld: status %d: %s", call, k, status, sptrsm_last_error());
      cr_assert(sptrsm_last_error()[0] != '\0');
      cr_assert(after == before || (strcmp(call, "fsync") == 0 && after == next), "%s %ld: %g", call, k, after);
    }
    before = after;
    if (!hit) break;
  }
  cr_assert(k > 1 && k < 20000, "%s: %ld calls", call, k);
}

static void load_factors(void) {
  cr_assert(sptrsm_file_factors_load(&factors, DATA("sets.h5:/own"), NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
}

Test(io_fail, writes) {
  load_factors();
  fail_each("write", "EIO", save_block, marker_of_block, 0);
  fail_each("write", "EIO", save_factors, marker_of_factors, 0);
  sptrsm_file_factors_free(factors);
}

Test(io_fail, full_disk) {
  load_factors();
  cr_assert(setenv("FAIL_CALL", "write", 1) == 0 && setenv("FAIL_ERRNO", "ENOSPC", 1) == 0);
  arm(-1);
  cr_assert(save_block(1) == SPTRSM_ERR_IO);
  arm(0);
  cr_assert(strstr(sptrsm_last_error(), "No space left on device") != NULL, "%s", sptrsm_last_error());
  cr_assert(count_files() == 0);
  fail_each("write", "ENOSPC", save_block, marker_of_block, 1);
  fail_each("write", "ENOSPC", save_factors, marker_of_factors, 1);
  sptrsm_file_factors_free(factors);
}

Test(io_fail, parts) {
  fail_each("write", "EIO", save_parts, marker_of_block, 0);
  fail_each("write", "ENOSPC", save_parts, marker_of_block, 1);
  fail_each("fsync", "EIO", save_parts, marker_of_block, 0);
  fail_each("rename", "EIO", save_parts, marker_of_block, 0);
  fail_each("open", "EIO", save_parts, marker_of_block, 0);
}

Test(io_fail, allocations_of_parts) {
  if (!FAILS_MALLOC) cr_skip_test("the sanitizer owns malloc");
  fail_each("malloc", "ENOMEM", save_parts, marker_of_block, 0);
}

Test(io_fail, fsync) { fail_each("fsync", "EIO", save_block, marker_of_block, 0); }
Test(io_fail, rename) { fail_each("rename", "EIO", save_block, marker_of_block, 0); }
Test(io_fail, open) { fail_each("open", "EIO", save_block, marker_of_block, 0); }

Test(io_fail, allocations_of_a_save) {
  if (!FAILS_MALLOC) cr_skip_test("the sanitizer owns malloc");
  load_factors();
  fail_each("malloc", "ENOMEM", save_block, marker_of_block, 0);
  fail_each("malloc", "ENOMEM", save_factors, marker_of_factors, 0);
  sptrsm_file_factors_free(factors);
}

/* ---- interrupts and kills ---- */

static void interrupted(int signal_number) {
  (void)signal_number;
  sptrsm_file_abandon();
  _exit(130);
}

/* Saves in a child process, which gets the signal before its k-th call. Returns the status of waitpid. */
static int save_and_signal(sptrsm_status (*save)(double), double marker, long k) {
  int result = 0;
  pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, interrupted);
    arm(k);
    _exit(save(marker) == SPTRSM_OK ? 0 : 1);
  }
  cr_assert(child > 0 && waitpid(child, &result, 0) == child);
  return result;
}

/* A signal before each open, write, fsync and rename of a save: the old or the new file is there, and whole. */
static void signal_each(const char *name, sptrsm_status (*save)(double), int leaves_files) {
  static const char *const calls[] = {"open", "write", "fsync", "rename"};
  cr_assert(save(1) == SPTRSM_OK, "%s", sptrsm_last_error());
  for (int c = 0; c < 4; c++) {
    long k;
    double before = marker_of_block();
    cr_assert(setenv("FAIL_CALL", calls[c], 1) == 0 && setenv("FAIL_ERRNO", name, 1) == 0);
    for (k = 1; k < 20000; k++) {
      double next = before + 1;
      int result = save_and_signal(save, next, k), ended = WIFEXITED(result) && WEXITSTATUS(result) == 0;
      if (strcmp(name, "SIGINT") == 0)
        cr_assert(ended || (WIFEXITED(result) && WEXITSTATUS(result) == 130), "%s %ld: %d", calls[c], k, result);
      else cr_assert(ended || (WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL), "%s %ld: %d", calls[c], k, result);
      cr_assert(leaves_files || count_files() == 1, "%s %ld: %d files are left", calls[c], k, count_files());
      double after = marker_of_block();
      cr_assert(after == next || (after == before && !ended), "%s %ld: %g", calls[c], k, after);
      before = after;
      if (ended) break;
    }
    cr_assert(k > 1 && k < 20000, "%s: %ld calls", calls[c], k);
  }
}

Test(io_fail, an_interrupt_leaves_no_temporary_file) { signal_each("SIGINT", save_block, 0); }
Test(io_fail, an_interrupt_of_a_stream_leaves_no_file) { signal_each("SIGINT", save_parts, 0); }
Test(io_fail, a_kill_leaves_the_old_or_the_new_file_whole) { signal_each("SIGKILL", save_block, 1); }

/* ---- loading ---- */

static int is_clean(sptrsm_status status) {
  return status == SPTRSM_ERR_MEMORY || status == SPTRSM_ERR_IO || status == SPTRSM_ERR_STRUCTURE;
}

/* HDF5 survives some failed allocations; then the result must be the true one. */
Test(io_fail, allocations_of_a_load) {
  if (!FAILS_MALLOC) cr_skip_test("the sanitizer owns malloc");
  long k;
  int hit = 1;
  load_factors();
  cr_assert(setenv("FAIL_CALL", "malloc", 1) == 0);
  for (k = 1; k < 20000 && hit; k++) {
    sptrsm_file_factors *F = NULL;
    arm(k);
    sptrsm_status status = sptrsm_file_factors_load(&F, DATA("sets.h5:/own"), NULL);
    hit = was_hit();
    arm(0);
    cr_assert((status == SPTRSM_OK) == (F != NULL) && (status == SPTRSM_OK || is_clean(status)), "malloc %ld: status %d", k, status);
    if (status == SPTRSM_OK) {
      cr_assert_str_eq(F->rule, factors->rule);
      cr_assert(memcmp(F->factors.perm_row, factors->factors.perm_row, FIXTURE_N * sizeof(int32_t)) == 0, "malloc %ld", k);
      cr_assert(memcmp(F->factors.scale_col, factors->factors.scale_col, FIXTURE_N * sizeof(double)) == 0, "malloc %ld", k);
      cr_assert(F->factors.row_op == factors->factors.row_op && F->A != NULL, "malloc %ld", k);
    }
    sptrsm_file_factors_free(F);
  }
  cr_assert(k > 10 && !hit);
  sptrsm_file_factors_free(factors);
}

Test(io_fail, allocations_of_a_block_and_a_listing) {
  if (!FAILS_MALLOC) cr_skip_test("the sanitizer owns malloc");
  long k;
  int hit = 1;
  cr_assert(setenv("FAIL_CALL", "malloc", 1) == 0);
  for (k = 1; k < 20000 && hit; k++) {
    sptrsm_file_block *X = NULL;
    sptrsm_file_listing list = {0};
    arm(k);
    sptrsm_status status = sptrsm_file_block_load(&X, DATA("only_block.h5"), FIXTURE_N, NULL);
    hit = was_hit();
    arm(k);
    sptrsm_status listed = sptrsm_file_list(&list, DATA("general.mtx.gz"), NULL);
    hit = hit || was_hit();
    arm(0);
    cr_assert(status == SPTRSM_OK || is_clean(status), "malloc %ld: status %d", k, status);
    if (status == SPTRSM_OK) cr_assert(fixture_element(&X->block, 2, 1) == creal(fixture_block(2, 1)), "malloc %ld", k);
    cr_assert(listed == SPTRSM_OK || is_clean(listed), "malloc %ld: status %d", k, listed);
    cr_assert(listed != SPTRSM_OK || list.count == 1, "malloc %ld", k);
    sptrsm_file_block_free(X);
    sptrsm_file_listing_free(&list);
  }
  cr_assert(k > 10 && !hit);
}

/* A mixed batch with a sparse B in each group, and a uniform one with an array: two items of order 2. */
static void save_batches(const char *mixed, const char *uniform, const char *array) {
  static const int64_t ptr[3] = {0, 1, 2};
  static const int32_t idx[2] = {0, 1};
  static const double val[4] = {1, 2, 3, 4};
  static const char *const names[2] = {"a", "b"}, *const blocks[1] = {"B"};
  const sptrsm_sparse L = {.n = 2, .dtype = SPTRSM_F64, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_file_matrix B = {.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .rows = 2, .cols = 2, .ptr = (int64_t *)ptr, .idx = (int32_t *)idx};
  sptrsm_factors f;
  sptrsm_batch_values v;
  sptrsm_batch_block X;
  B.val = (double *)val;
  sptrsm_factors_init(&f);
  sptrsm_batch_values_init(&v);
  sptrsm_batch_block_init(&X);
  f.L = &L, f.u_kind = SPTRSM_U_IS_LT, f.D = val;
  v.count = 2, v.L = val, v.L_stride = 2;
  X.data = (double *)val, X.stride = 2, X.nrhs = X.ld = 1;
  const sptrsm_factors *const items[2] = {&f, &f};
  const sptrsm_file_matrix *const B_of[2] = {&B, &B};
  const sptrsm_batch_block *const X_of[1] = {&X};
  OK(sptrsm_file_batch_save_mixed(mixed, 2, names, items, NULL, B_of, NULL));
  OK(sptrsm_file_batch_save_uniform(uniform, &f, &v, NULL));
  OK(sptrsm_file_batch_blocks_save(array, 2, 2, 1, blocks, X_of, NULL));
}

/* Every failure is clean, and gives either nothing or the whole. One in the child of the file is seen by its status alone. */
static void fail_batch(const char *where, const char *rhs) {
  long k;
  int hit = 1;
  for (k = 1; k < 20000 && hit; k++) {
    sptrsm_file_batch *b = NULL;
    sptrsm_file_blocks *B = NULL;
    arm(k);
    sptrsm_status status = sptrsm_file_batch_load(&b, where, 0, -1, NULL);
    if (status == SPTRSM_OK) status = sptrsm_file_blocks_load(&B, rhs, "B", b, NULL);
    hit = was_hit() || status != SPTRSM_OK;
    arm(0);
    cr_assert((status == SPTRSM_OK) == (B != NULL) && (status == SPTRSM_OK || is_clean(status)), "malloc %ld: status %d", k, status);
    if (B != NULL) cr_assert(b->count == 2 && B->count == 2 && ((const double *)b->items[0]->L_tri.val)[1] == 2, "malloc %ld", k);
    sptrsm_file_blocks_free(B);
    sptrsm_file_batch_free(b);
  }
  cr_assert(k > 10 && !hit);
}

Test(io_fail, allocations_of_a_batch) {
  char uniform[80], array[80];
  if (!FAILS_MALLOC) cr_skip_test("the sanitizer owns malloc");
  snprintf(uniform, sizeof uniform, "%s/uniform.h5", folder);
  snprintf(array, sizeof array, "%s/array.h5", folder);
  save_batches(file, uniform, array);
  cr_assert(setenv("FAIL_CALL", "malloc", 1) == 0);
  fail_batch(file, file);
  fail_batch(uniform, array);
}

Test(io_fail, allocations_of_a_sparse_block) {
  if (!FAILS_MALLOC) cr_skip_test("the sanitizer owns malloc");
  long k;
  int hit = 1;
  sptrsm_file_matrix *M = NULL;
  cr_assert(sptrsm_file_matrix_load(&M, DATA("general.mtx.gz"), NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(setenv("FAIL_CALL", "malloc", 1) == 0);
  for (k = 1; k < 100 && hit; k++) {
    sptrsm_file_block *X = NULL;
    int32_t *rows = NULL;
    arm(k);
    sptrsm_status status = sptrsm_file_block_of_matrix(&X, &rows, M, "/B", NULL);
    hit = was_hit();
    arm(0);
    cr_assert_eq(status, hit ? SPTRSM_ERR_MEMORY : SPTRSM_OK, "malloc %ld", k);
    cr_assert((X != NULL) == !hit && (rows != NULL) == !hit, "malloc %ld", k);
    free(rows);
    sptrsm_file_block_free(X);
  }
  cr_assert(k > 4 && !hit);
  sptrsm_file_matrix_free(M);
}

Test(io_fail, allocations_of_a_mirror_image) {
  if (!FAILS_MALLOC) cr_skip_test("the sanitizer owns malloc");
  long k;
  int hit = 1;
  sptrsm_file_matrix *M = NULL;
  cr_assert(sptrsm_file_matrix_load(&M, DATA("symmetric.mtx"), NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(setenv("FAIL_CALL", "malloc", 1) == 0);
  for (k = 1; k < 100 && hit; k++) {
    arm(k);
    sptrsm_status status = sptrsm_file_matrix_mirror(M);
    hit = was_hit();
    arm(0);
    cr_assert_eq(status, hit ? SPTRSM_ERR_MEMORY : SPTRSM_OK, "malloc %ld", k);
    cr_assert((M->symmetry == SPTRSM_GENERAL) == !hit, "malloc %ld", k);
  }
  cr_assert(k > 6 && !hit);
  sptrsm_file_matrix_free(M);
}
