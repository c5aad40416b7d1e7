/* child.c -- the process that reads a file answers at random, can't be started, or is waited for by others: the program stays whole.
 *
 * This program has functions of its own that the library calls in place of those of the system and of HDF5.
 */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <io/file/child.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAL(name) (*(void **)&real = dlsym(RTLD_NEXT, name))

/* ---- in place of the system's and HDF5's functions ---- */

static int forks;     /* since it was set to 0 */
static bool no_forks; /* none succeeds */

pid_t fork(void) {
  pid_t (*real)(void);
  REAL("fork");
  forks++;
  errno = EAGAIN;
  return no_forks ? -1 : real();
}

static bool crash_in_look_up;

htri_t H5Lexists(hid_t group, const char *name, hid_t access) {
  htri_t (*real)(hid_t, const char *, hid_t);
  REAL("H5Lexists");
  if (crash_in_look_up && strcmp(name, "B") == 0) raise(SIGSEGV);
  return real(group, name, access);
}

/* ---- files ---- */

static void prepare(void) {
  make_folder();
  forks = 0;
}

TestSuite(io_child, .init = prepare, .fini = remove_folder);

static void fails(sptrsm_status status, sptrsm_status expected, const char *words) {
  cr_assert_eq(status, expected, "status %d: %s", status, sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), words) != NULL, "%s", sptrsm_last_error());
}

static void write_numbers(const char *name, int rank, const hsize_t *dims, const hsize_t *chunk) {
  static const double data[64] = {1, 2, 3, 4};
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), plist = H5Pcreate(H5P_DATASET_CREATE);
  if (chunk != NULL) cr_assert(H5Pset_chunk(plist, rank, chunk) >= 0 && H5Pset_deflate(plist, 1) >= 0);
  hid_t space = H5Screate_simple(rank, dims, NULL), d = H5Dcreate2(f, name, H5T_IEEE_F64BE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  cr_assert(d >= 0 && H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(d), H5Sclose(space), H5Pclose(plist);
  cr_assert(H5Fclose(f) >= 0);
}

/* ---- a file is read once ---- */

/* A file that crashed HDF5 is not given to a second child. */
Test(io_child, a_crash_ends_the_reading) {
  sptrsm_file_block *X;
  write_numbers("C", 2, (hsize_t[]){4, 2}, NULL);
  OK(sptrsm_file_block_load(&X, file, -1, NULL)); /* found by a listing */
  sptrsm_file_block_free(X);
  cr_assert_eq(forks, 1);
  crash_in_look_up = true;
  fails(sptrsm_file_block_load(&X, file, -1, NULL), SPTRSM_ERR_IO, "crashed inside HDF5");
  cr_assert_eq(forks, 2);
}

/* ---- OUT that is there already ---- */

static sptrsm_status resume(sptrsm_file_writer **w, const char *path) {
  const sptrsm_block shape = {.n = 4, .nrhs = 2, .ld = 4, .dtype = SPTRSM_F64, .layout = SPTRSM_COL_MAJOR, .place = SPTRSM_HOST};
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.path = path;
  return sptrsm_file_writer_resume(w, file, &shape, 0, &o);
}

/* A complete solution that can't be read now is not computed again. */
Test(io_child, a_solution_that_cant_be_read_is_not_absent) {
  sptrsm_file_writer *w;
  double data[8] = {1};
  sptrsm_block X = {.data = data, .n = 4, .nrhs = 2, .ld = 4, .dtype = SPTRSM_F64, .layout = SPTRSM_COL_MAJOR, .place = SPTRSM_HOST};
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  OK(sptrsm_file_writer_create(&w, file, &X, 0, 2, "inputs", &o));
  OK(sptrsm_file_writer_write(w, 0, &X, NULL));
  OK(sptrsm_file_writer_checkpoint(w, 2, "all"));
  OK(sptrsm_file_writer_finish(w, NULL));
  sptrsm_file_writer_close(w);
  no_forks = true;
  fails(resume(&w, "X"), SPTRSM_ERR_IO, "no room for the process");
  no_forks = false;
  OK(resume(&w, "X"));
  cr_assert(w != NULL && sptrsm_file_writer_complete(w));
  sptrsm_file_writer_close(w);
}

Test(io_child, another_file_is_nothing_to_resume) {
  static const char *const paths[] = {"X", "/run/X", "B/X"};
  sptrsm_file_writer *w;
  write_numbers("C", 2, (hsize_t[]){4, 2}, NULL);
  for (int k = 0; k < 3; k++) {
    OK(resume(&w, paths[k]));
    cr_assert(w == NULL, "%s", paths[k]);
  }
  FILE *f = fopen(file, "w");
  cr_assert(f != NULL && fputs("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", f) >= 0 && fclose(f) == 0);
  OK(resume(&w, "X"));
  cr_assert(w == NULL);
}
