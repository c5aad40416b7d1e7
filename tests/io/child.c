/* child.c -- the process that reads a file can't be started, ends early, is slow, or is waited for by others.
 *
 * This program has functions of its own that the library calls in place of those of the system and of HDF5.
 */
#include "child_helpers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

static bool no_proc; /* the folder is empty */

int open(const char *path, int flags, ...) {
  int (*real)(const char *, int, ...);
  REAL("open");
  va_list values;
  va_start(values, flags);
  mode_t mode = (flags & O_CREAT) != 0 ? va_arg(values, mode_t) : 0;
  va_end(values);
  errno = ENOENT;
  return no_proc && strncmp(path, "/proc/", 6) == 0 ? -1 : real(path, flags, mode);
}

static int kills; /* by number */

int kill(pid_t id, int signal_number) {
  int (*real)(pid_t, int);
  REAL("kill");
  kills++;
  return real(id, signal_number);
}

static bool no_filters; /* HDF5 was built without them */

htri_t H5Zfilter_avail(H5Z_filter_t id) {
  htri_t (*real)(H5Z_filter_t);
  REAL("H5Zfilter_avail");
  return no_filters ? 0 : real(id);
}

static bool crash_in_look_up, lacks_in_look_up; /* HDF5 goes on without memory that it lacked */

htri_t H5Lexists(hid_t group, const char *name, hid_t access) {
  htri_t (*real)(hid_t, const char *, hid_t);
  REAL("H5Lexists");
  if (crash_in_look_up && strcmp(name, "B") == 0) raise(SIGSEGV);
  const htri_t exists = real(group, name, access);
  if (lacks_in_look_up) errno = ENOMEM;
  return exists;
}

static bool fail_once_in_handler; /* setting one */

herr_t H5Eset_auto2(hid_t stack, H5E_auto2_t handler, void *data) {
  herr_t (*real)(hid_t, H5E_auto2_t, void *);
  REAL("H5Eset_auto2");
  bool fails = fail_once_in_handler;
  fail_once_in_handler = false;
  return fails ? -1 : real(stack, handler, data);
}

static pid_t program;

/* ---- what a child tells the test, in shared memory ---- */

static struct {
  int sources, idle; /* opened; without progress since the one before */
  unsigned progress;
  hssize_t most; /* numbers read at once */
  int unpacked;  /* chunks */
  int gone;      /* objects that were closed again */
} * told;

static bool crash_in_close;

herr_t H5Oclose(hid_t object) {
  herr_t (*real)(hid_t);
  REAL("H5Oclose");
  if (crash_in_close) raise(SIGSEGV);
  if (getpid() != program) told->gone += H5Iis_valid(object) <= 0;
  return real(object);
}

/* zlib's, which HDF5 calls for each chunk. */
__attribute__((visibility("default"))) int inflateInit_(void *stream, const char *version, int bytes);
int inflateInit_(void *stream, const char *version, int bytes) {
  int (*real)(void *, const char *, int);
  REAL("inflateInit_");
  if (getpid() != program) told->unpacked++;
  return real(stream, version, bytes);
}

hid_t H5Dopen2(hid_t group, const char *name, hid_t access) {
  hid_t (*real)(hid_t, const char *, hid_t);
  REAL("H5Dopen2");
  if (getpid() != program) {
    unsigned progress = find_shared()->progress;
    told->idle += told->sources++ > 0 && progress == told->progress;
    told->progress = progress;
  }
  return real(group, name, access);
}

static volatile bool loop_in_read;
static bool killed_in_read, fails_in_read;

herr_t H5Dread(hid_t dataset, hid_t type, hid_t memory, hid_t stored, hid_t plist, void *out) {
  herr_t (*real)(hid_t, hid_t, hid_t, hid_t, hid_t, void *);
  REAL("H5Dread");
  while (loop_in_read) continue;
  if (killed_in_read) raise(SIGKILL);
  if (fails_in_read) return -1;
  hssize_t count = H5Sget_select_npoints(memory);
  if (getpid() != program && told->most < count) told->most = count;
  return real(dataset, type, memory, stored, plist, out);
}

/* ---- files ---- */

static void prepare(void) {
  make_folder();
  forks = 0;
  program = getpid();
  told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  cr_assert(told != MAP_FAILED);
}

TestSuite(io_child, .init = prepare, .fini = remove_folder);

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

Test(io_child, a_filter_is_missing) {
  sptrsm_file_block *X;
  write_numbers("B", 2, (hsize_t[]){4, 2}, (hsize_t[]){2, 2});
  no_filters = true;
  fails(sptrsm_file_block_load(&X, file, 4, NULL), SPTRSM_ERR_UNSUPPORTED, "was built without filter 1 (deflate)");
}

Test(io_child, the_longest_name) {
  static char where[64 + SPTI_IO_TEXT];
  sptrsm_file_block *X;
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  const int begin = snprintf(where, sizeof where, "%s:/", file);
  memset(where + begin, 'x', SPTI_IO_TEXT - 1);
  fails(sptrsm_file_block_load(&X, where, 4, NULL), SPTRSM_ERR_IO, "xxx"); /* the end of the message does not fit */
  where[begin + SPTI_IO_TEXT - 1] = 'x';
  fails(sptrsm_file_block_load(&X, where, 4, NULL), SPTRSM_ERR_UNSUPPORTED, "a name in it is longer than 4095 bytes");
}

/* A child that fails while objects are closed does not hide why they are closed; where nothing was wrong before, it is the error. */
Test(io_child, the_first_failure_is_reported) {
  sptrsm_file_block *X;
  char where[80];
  snprintf(where, sizeof where, "%s:/B", file);
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  crash_in_close = true;
  fails(sptrsm_file_block_load(&X, where, 5, NULL), SPTRSM_ERR_STRUCTURE, "is 4 x 2, neither side is the order of the matrix, 5");
  fails(sptrsm_file_block_load(&X, where, 4, NULL), SPTRSM_ERR_IO, "crashed inside HDF5");
}

/* Also when the program closes the file. */
Test(io_child, no_call_is_made_again) {
  sptrsm_file_block *X;
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  OK(sptrsm_file_block_load(&X, file, 4, NULL));
  sptrsm_file_block_free(X);
  cr_assert_eq(told->gone, 0, "%d objects were closed again", told->gone);
}

/* What HDF5 could not remember for want of memory may be missing in a later call. */
Test(io_child, memory_was_lacking_in_an_earlier_call) {
  sptrsm_file_block *X;
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  fails_in_read = true;
  for (int lacks = 0; lacks < 2; lacks++) {
    lacks_in_look_up = lacks == 1;
    fails(sptrsm_file_block_load(&X, file, 4, NULL), lacks ? SPTRSM_ERR_MEMORY : SPTRSM_ERR_IO, lacks ? "no memory" : "can't be read");
  }
}

static herr_t own_handler(hid_t stack, void *data) { return (void)stack, (void)data, 0; }

/* The program's handler of HDF5's errors stays: a child does not touch it, and HDF5 in this process may refuse to change it. */
Test(io_child, the_handler_of_the_program_stays) {
  sptrsm_file_block *X;
  sptrsm_io_options o;
  H5E_auto2_t handler = NULL;
  void *data = NULL;
  sptrsm_io_options_init(&o);
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  for (int k = 0; k < 2; k++) {
    cr_assert(H5Eset_auto2(H5E_DEFAULT, own_handler, NULL) >= 0);
    o.in_process = fail_once_in_handler = k == 1;
    const sptrsm_status status = sptrsm_file_block_load(&X, file, -1, &o);
    cr_assert_eq(status, k == 0 ? SPTRSM_OK : SPTRSM_ERR_MEMORY, "%s", sptrsm_last_error());
    if (status == SPTRSM_OK) sptrsm_file_block_free(X);
    cr_assert(!fail_once_in_handler && H5Eget_auto2(H5E_DEFAULT, &handler, &data) >= 0 && handler == own_handler);
  }
}

/* ---- progress ---- */

/* Each number is a chunk of its own. A slow disk may take minutes for a part of all of them, which would count as a hang. */
Test(io_child, a_part_has_few_chunks) {
  static const hsize_t dims[][2] = {{4096, 1}, {1, 4096}, {64, 64}};
  sptrsm_file_block *X;
  for (int k = 0; k < 3; k++) {
    write_numbers("B", 2, dims[k], (hsize_t[]){1, 1});
    told->most = 0;
    OK(sptrsm_file_block_load(&X, file, -1, NULL));
    cr_assert(((double *)X->block.data)[3] == 4 && ((double *)X->block.data)[4095] == 0);
    sptrsm_file_block_free(X);
    cr_assert(told->most > 256 && told->most <= 1024, "%lld numbers at once", (long long)told->most);
  }
}

/* A chunk of 2 MiB that is to be unpacked, as stored and as numbers, may take a quarter of a second more. */
Test(io_child, a_hang_is_reported_with_its_time) {
  const hsize_t dims[] = {1 << 18, 1};
  sptrsm_file_block *X;
  setenv("SPTRSM_READ_TIMEOUT", "0.5", 1);
  write_numbers("B", 2, dims, dims);
  loop_in_read = true;
  fails(sptrsm_file_block_load(&X, file, -1, NULL), SPTRSM_ERR_IO, "in 0.75 s of computing without progress");
}

enum { SOURCES = 3 };

/* A virtual dataset B that maps a dataset of `each` numbers three times. */
static void write_virtual(hsize_t each, const hsize_t *chunk) {
  const hsize_t all = SOURCES * each;
  write_numbers("C", 1, &each, chunk);
  hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), plist = H5Pcreate(H5P_DATASET_CREATE);
  hid_t space = H5Screate_simple(1, &all, NULL), from = H5Screate_simple(1, &each, NULL);
  for (hsize_t at = 0; at < all; at += each) {
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &each, NULL);
    cr_assert(H5Pset_virtual(plist, space, ".", "/C", from) >= 0);
  }
  H5Sselect_all(space);
  hid_t d = H5Dcreate2(f, "B", H5T_IEEE_F64BE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  cr_assert(d >= 0);
  H5Dclose(d), H5Sclose(space), H5Sclose(from), H5Pclose(plist), H5Fclose(f);
}

static void load_virtual(size_t memory_limit, hsize_t each) {
  sptrsm_io_options o;
  sptrsm_file_block *X;
  sptrsm_io_options_init(&o);
  o.allow_external = 1;
  o.memory_limit = memory_limit;
  OK(sptrsm_file_block_load(&X, file, -1, &o));
  for (hsize_t at = 0; at < SOURCES * each; at += each) cr_assert(((double *)X->block.data)[at] == 1);
  sptrsm_file_block_free(X);
}

/* A chunk of 2 MiB is read in two parts. Its cache has an eighth of the limit unless it is made larger. */
Test(io_child, chunks_of_sources_are_unpacked_once) {
  const hsize_t each = 1 << 18;
  write_virtual(each, &each);
  load_virtual((size_t)15 << 20, each);
  cr_assert_eq(told->unpacked, 1, "%d times", told->unpacked); /* the three sources are one dataset */
}

Test(io_child, each_source_is_progress) {
  write_virtual(1, NULL);
  load_virtual(0, 1);
  cr_assert(told->sources >= SOURCES && told->idle == 0, "%d of %d without progress", told->idle, told->sources);
}

/* ---- a program that takes the status of any child ---- */

static void take_any(int number) {
  int code = errno;
  (void)number;
  while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  errno = code;
}

static bool has_descriptors(void) {
#ifdef SYS_pidfd_open
  int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (fd >= 0) close(fd);
  return fd >= 0;
#else
  return false;
#endif
}

/* The number of a child that ended means nothing then, or another process. */
Test(io_child, others_take_the_status) {
  struct sigaction action = {.sa_handler = take_any, .sa_flags = SA_RESTART};
  sptrsm_file_block *X;
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  cr_assert(sigaction(SIGCHLD, &action, NULL) == 0);
  OK(sptrsm_file_block_load(&X, file, -1, NULL));
  sptrsm_file_block_free(X);
  killed_in_read = true;
  fails(sptrsm_file_block_load(&X, file, -1, NULL), SPTRSM_ERR_IO, "the process that read it was ended");
  cr_assert(strstr(sptrsm_last_error(), "signal 0") == NULL, "%s", sptrsm_last_error());
  killed_in_read = false;
  loop_in_read = true;
  setenv("SPTRSM_READ_TIMEOUT", "0.5", 1);
  kills = 0;
  fails(sptrsm_file_block_load(&X, file, -1, NULL), SPTRSM_ERR_IO, "hangs inside HDF5");
  cr_assert(kills == 0 || !has_descriptors(), "killed by number");
}

/* ---- OUT that is there already ---- */

static sptrsm_status resume(sptrsm_file_writer **w, const char *path) {
  const sptrsm_block shape = {.n = 4, .nrhs = 2, .ld = 4, .dtype = SPTRSM_F64, .layout = SPTRSM_COL_MAJOR, .place = SPTRSM_HOST};
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.path = path;
  return sptrsm_file_writer_resume(w, file, &shape, 0, &o);
}

/* Writes a solution, of which a part or the whole is there then. */
static void write_solution(bool whole) {
  sptrsm_file_writer *w;
  double data[8] = {1};
  sptrsm_block X = {.data = data, .n = 4, .nrhs = 2, .ld = 4, .dtype = SPTRSM_F64, .layout = SPTRSM_COL_MAJOR, .place = SPTRSM_HOST};
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.keep_partial = 1;
  OK(sptrsm_file_writer_create(&w, file, &X, 0, 2, "inputs", &o));
  OK(sptrsm_file_writer_write(w, 0, &X, NULL));
  OK(sptrsm_file_writer_checkpoint(w, &(sptrsm_file_columns){0, 2, "all"}));
  if (whole) OK(sptrsm_file_writer_finish(w, NULL));
  sptrsm_file_writer_close(w);
}

/* Without /proc the program can't open the file of the child once more, but knows where its numbers lie. */
Test(io_child, resumption_without_proc) {
  sptrsm_file_writer *w;
  for (int whole = 0; whole < 2; whole++) {
    no_proc = false;
    write_solution(whole);
    no_proc = true;
    OK(resume(&w, "X"));
    const sptrsm_file_columns *done;
    int64_t count;
    cr_assert(w != NULL && sptrsm_file_writer_complete(w) == whole);
    OK(sptrsm_file_writer_done(w, &done, &count));
    cr_assert(count == 1 && done[0].first == 0 && done[0].end == 2);
    if (!whole) OK(sptrsm_file_writer_finish(w, NULL));
    sptrsm_file_writer_close(w);
    sptrsm_file_block *X;
    OK(sptrsm_file_block_load(&X, file, 4, NULL));
    cr_assert(((double *)X->block.data)[0] == 1);
    sptrsm_file_block_free(X);
    cr_assert(remove(file) == 0);
  }
}

/* A complete solution that can't be read now is not computed again. */
Test(io_child, a_solution_that_cant_be_read_is_not_absent) {
  sptrsm_file_writer *w;
  write_solution(true);
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
