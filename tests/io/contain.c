/* contain.c -- whatever HDF5 does in the child that reads a file, this process gets an error, keeps nothing, and reads the next file.
 *
 * This program has a function H5Dread of its own, which the library calls in place of HDF5's: it misbehaves as a test asks for.
 */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <hdf5.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sanitizers reserve more addresses than any limit, and QEMU does not pass on limits of addresses. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(TEST_EMULATED)
enum { LIMITS_MEMORY = 0 };
#else
enum { LIMITS_MEMORY = 1 };
#endif

/* AddressSanitizer's allocator has no fork handler in gcc 12: a child that is forked while another thread allocates
 * inherits a locked allocator and waits for ever. The allocator of the C library has such a handler. */
#ifdef __SANITIZE_ADDRESS__
enum { FORKS_BESIDE_THREADS = 0 };
#else
enum { FORKS_BESIDE_THREADS = 1 };
#endif

typedef enum { BEHAVES, CRASHES, ABORTS, DIVIDES, OVERFLOWS, EXITS, LOOPS, WAITS, EATS_MEMORY, IS_KILLED, PRINTS, INTERRUPTS } misdeed;
static misdeed chosen;

static volatile int64_t depth, deepest = INT64_MAX;

/* Recursion without an end in sight. */
static int overflow(const volatile char *above) {
  volatile char frame[4096];
  frame[0] = above[0];
  return ++depth < deepest ? overflow(frame) + frame[0] : 0;
}

static void eat_memory(void) {
  for (;;) {
    volatile char *block = malloc((size_t)1 << 24);
    for (size_t k = 0; k < (size_t)1 << 24; k += 4096) block[k] = 1;
  }
}

static void misbehave(void) {
  switch (chosen) {
  case BEHAVES: return;
  case CRASHES: raise(SIGSEGV); return;
  case ABORTS: abort();
  case DIVIDES: raise(SIGFPE); return;
  case OVERFLOWS: overflow("a"); return;
  case EXITS: exit(1);
  case LOOPS:
    for (;;) depth++;
  case WAITS: pause(); return;
  case EATS_MEMORY: eat_memory(); return;
  case IS_KILLED: raise(SIGKILL); return;
  case PRINTS: fputs("HDF5 says something\n", stderr); return;
  case INTERRUPTS: kill(0, SIGINT); return;
  }
}

herr_t H5Dread(hid_t dataset, hid_t type, hid_t memory, hid_t stored, hid_t plist, void *out) {
  static herr_t (*real)(hid_t, hid_t, hid_t, hid_t, hid_t, void *);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "H5Dread");
  misbehave();
  return real(dataset, type, memory, stored, plist, out);
}

static void prepare(void) {
  make_folder();
  chosen = BEHAVES;
}

TestSuite(io_contain, .init = prepare, .fini = remove_folder);

/* ---- what a failed load leaves ---- */

static int count_entries(const char *path) {
  int count = 0;
  DIR *d = opendir(path);
  cr_assert(d != NULL);
  while (readdir(d) != NULL) count++;
  closedir(d);
  return count;
}

/* Mappings of several MiB: those of a child among them. */
static int count_large_mappings(void) {
  char line[512];
  int count = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  cr_assert(maps != NULL);
  while (fgets(line, sizeof line, maps) != NULL) count += strstr(line, "/dev/zero") != NULL;
  fclose(maps);
  return count;
}

/* Numbers that need a conversion go through H5Dread. */
static sptrsm_status load(void) {
  sptrsm_file_matrix *M = NULL;
  sptrsm_status status = sptrsm_file_matrix_load(&M, file, NULL);
  cr_assert((status == SPTRSM_OK) == (M != NULL));
  if (M != NULL) cr_assert(M->rows == 3 && ((double *)M->val)[2] == 12);
  sptrsm_file_matrix_free(M);
  return status;
}

static void write_vector(hid_t f, const char *name, hid_t stored, hid_t memory, hsize_t length, const void *data) {
  hid_t space = H5Screate_simple(1, &length, NULL), d = H5Dcreate2(f, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  cr_assert(d >= 0 && H5Dwrite(d, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(d);
  H5Sclose(space);
}

/* diag(10, 11, 12), which HDF5 has to convert. */
static void write_matrix(void) {
  static const int ptr[] = {0, 1, 2, 3}, idx[] = {0, 1, 2};
  static const double val[] = {10, 11, 12};
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  write_vector(f, "indptr", H5T_STD_I16BE, H5T_NATIVE_INT, 4, ptr);
  write_vector(f, "indices", H5T_STD_I16BE, H5T_NATIVE_INT, 3, idx);
  write_vector(f, "data", H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, 3, val);
  cr_assert(H5Fclose(f) >= 0);
}

static char trace[80];

static void leave_a_file(void) {
  FILE *f = fopen(trace, "w");
  if (f != NULL) fclose(f);
}

/* The load fails with this status and words; then everything is as before, and a sound load succeeds. */
static void fails_alone(misdeed what, sptrsm_status expected, const char *words) {
  write_matrix();
  OK(load());
  OK(load());
  int descriptors = count_entries("/proc/self/fd"), mappings = count_large_mappings();
  for (int k = 0; k < 2; k++) {
    chosen = what;
    sptrsm_status status = load();
    chosen = BEHAVES;
    cr_assert_eq(status, expected, "status %d: %s", status, sptrsm_last_error());
    cr_assert(strstr(sptrsm_last_error(), file) != NULL && strstr(sptrsm_last_error(), words) != NULL, "%s", sptrsm_last_error());
    cr_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child is left");
    cr_assert_eq(count_entries("/proc/self/fd"), descriptors);
    cr_assert_eq(count_large_mappings(), mappings);
    OK(load());
  }
}

Test(io_contain, a_crash) { fails_alone(CRASHES, SPTRSM_ERR_IO, "crashed inside HDF5 (signal 11"); }
Test(io_contain, an_abort) { fails_alone(ABORTS, SPTRSM_ERR_IO, "crashed inside HDF5 (signal 6"); }
Test(io_contain, a_division_by_zero) { fails_alone(DIVIDES, SPTRSM_ERR_IO, "crashed inside HDF5 (signal 8"); }
Test(io_contain, a_stack_overflow) { fails_alone(OVERFLOWS, SPTRSM_ERR_IO, "crashed inside HDF5 (signal 11"); }
Test(io_contain, a_kill) { fails_alone(IS_KILLED, SPTRSM_ERR_IO, "was ended (signal 9)"); }

/* HDF5 exits where it has no memory. The handlers of this process do not run in the child. */
Test(io_contain, an_exit) {
  snprintf(trace, sizeof trace, "%s/trace", folder);
  cr_assert(atexit(leave_a_file) == 0);
  fails_alone(EXITS, SPTRSM_ERR_MEMORY, "no memory");
  cr_assert(access(trace, F_OK) != 0, "a handler ran in the child");
}

Test(io_contain, an_endless_loop) {
  setenv("SPTRSM_READ_TIMEOUT", "0.3", 1);
  fails_alone(LOOPS, SPTRSM_ERR_IO, "hangs inside HDF5");
}

Test(io_contain, a_wait) {
  setenv("SPTRSM_READ_TIMEOUT", "0.1", 1);
  fails_alone(WAITS, SPTRSM_ERR_IO, "has waited");
}

Test(io_contain, all_memory) {
  if (!LIMITS_MEMORY) cr_skip_test("no limit of addresses holds here");
  fails_alone(EATS_MEMORY, SPTRSM_ERR_MEMORY, "no memory");
}

/* A limit that the user has set for another reason does not take the place of the child's own. */
Test(io_contain, all_memory_below_a_wide_limit_of_the_user) {
  struct rlimit own;
  struct rusage used;
  if (!LIMITS_MEMORY) cr_skip_test("no limit of addresses holds here");
  cr_assert(getrlimit(RLIMIT_AS, &own) == 0);
  own.rlim_cur = (rlim_t)3 << 30;
  cr_assert(setrlimit(RLIMIT_AS, &own) == 0);
  fails_alone(EATS_MEMORY, SPTRSM_ERR_MEMORY, "no memory");
  cr_assert(getrusage(RUSAGE_CHILDREN, &used) == 0 && used.ru_maxrss < 1 << 20, "%ld kB", used.ru_maxrss);
}

/* ---- the child and the program around it ---- */

Test(io_contain, the_child_prints_nothing) {
  char text[16] = "";
  int ends[2], kept = dup(2);
  write_matrix();
  cr_assert(pipe(ends) == 0 && dup2(ends[1], 2) == 2 && close(ends[1]) == 0);
  chosen = PRINTS;
  sptrsm_status status = load();
  dup2(kept, 2);
  cr_assert(status == SPTRSM_OK);
  if (LIMITS_MEMORY) cr_assert(read(ends[0], text, sizeof text) == 0, "%s", text);
}

static volatile sig_atomic_t interrupts;
static void count_interrupt(int number) { (void)number, interrupts++; }

/* An interrupt from a terminal reaches both processes. This one decides what it means. */
Test(io_contain, an_interrupt_is_for_the_program) {
  struct sigaction action = {.sa_handler = count_interrupt};
  write_matrix();
  if (getpgrp() != getpid()) cr_assert(setpgid(0, 0) == 0);
  cr_assert(sigaction(SIGINT, &action, NULL) == 0);
  chosen = INTERRUPTS;
  OK(load());
  cr_assert(interrupts > 0);
}

Test(io_contain, a_program_that_ignores_its_children) {
  write_matrix();
  signal(SIGCHLD, SIG_IGN);
  OK(load());
  chosen = CRASHES;
  cr_assert_eq(load(), SPTRSM_ERR_IO, "%s", sptrsm_last_error());
  signal(SIGCHLD, SIG_DFL);
}

static void *load_often(void *failures) {
  for (int k = 0; k < 20; k++) *(int *)failures += load() != SPTRSM_OK;
  return NULL;
}

Test(io_contain, several_threads) {
  enum { THREADS = 6 };
  pthread_t threads[THREADS];
  int failures[THREADS] = {0};
  if (!FORKS_BESIDE_THREADS) cr_skip_test("the sanitizer's allocator does not survive a fork beside other threads");
  write_matrix();
  for (int t = 0; t < THREADS; t++) cr_assert(pthread_create(&threads[t], NULL, load_often, &failures[t]) == 0);
  for (int t = 0; t < THREADS; t++) cr_assert(pthread_join(threads[t], NULL) == 0 && failures[t] == 0, "thread %d", t);
  cr_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child is left");
}

/* A reader's child ends with the reader, and the readers beside it go on. */
Test(io_contain, readers_side_by_side) {
  sptrsm_file_reader *a, *b;
  sptrsm_block to = {.data = (double[3]){0}, .n = 3, .nrhs = 1, .ld = 3, .layout = SPTRSM_COL_MAJOR, .place = SPTRSM_HOST};
  char where[80];
  write_matrix();
  snprintf(where, sizeof where, "%s:/data", file);
  to.dtype = SPTRSM_F64;
  OK(sptrsm_file_reader_open(&a, where, 3, NULL));
  OK(sptrsm_file_reader_open(&b, where, 3, NULL));
  OK(sptrsm_file_reader_read(a, 0, &to));
  sptrsm_file_reader_close(a);
  OK(sptrsm_file_reader_read(b, 0, &to));
  cr_assert(((double *)to.data)[2] == 12 && !sptrsm_file_reader_direct(b));
  sptrsm_file_reader_close(b);
  cr_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child is left");
}

/* ---- numbers that come in parts ---- */

enum { ROWS = 1100, COLS = 700 }; /* 6 MB: several windows */

typedef struct {
  hid_t type;
  hsize_t dims[2], chunk[2];
  int rank, deflate;
} layout;

static void write_block(const layout *l) {
  static double data[ROWS * COLS];
  for (int p = 0; p < ROWS * COLS; p++) data[p] = p % 1000003;
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), plist = H5Pcreate(H5P_DATASET_CREATE);
  if (l->chunk[0] > 0) H5Pset_chunk(plist, l->rank, l->chunk);
  if (l->deflate) H5Pset_deflate(plist, 1);
  hid_t space = H5Screate_simple(l->rank, l->dims, NULL), d = H5Dcreate2(f, "B", l->type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  cr_assert(d >= 0 && H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(d), H5Sclose(space), H5Pclose(plist);
  cr_assert(H5Fclose(f) >= 0);
}

/* All columns, and those from 3 on to the last but one, as several types. */
static void same_numbers(const layout *l) {
  static const int types[] = {SPTRSM_F64, SPTRSM_F32, SPTRSM_C128};
  write_block(l);
  for (int k = 0; k < 6; k++) {
    sptrsm_io_options o;
    sptrsm_file_block *X, *Y;
    sptrsm_io_options_init(&o);
    o.dtype = types[k % 3];
    o.memory_limit = 60 << 20; /* the cache is smaller than the largest chunk */
    if (k > 2 && l->rank == 2) o.col_begin = 3, o.col_end = (int64_t)l->dims[1] - 1;
    OK(sptrsm_file_block_load(&X, file, -1, &o));
    o.in_process = 1;
    OK(sptrsm_file_block_load(&Y, file, -1, &o));
    size_t bytes = (size_t)X->block.n * (size_t)X->block.nrhs * sptrsm_dtype_bytes(X->block.dtype);
    cr_assert(X->block.n == Y->block.n && X->block.nrhs == Y->block.nrhs && bytes > 0);
    cr_assert(fixture_value(X->block.dtype, X->block.data, 5) == (k > 2 && l->rank == 2 ? 8 : 5));
    cr_assert(memcmp(X->block.data, Y->block.data, bytes) == 0, "type %d, rank %d, chunk %d", k, l->rank, (int)l->chunk[0]);
    sptrsm_file_block_free(X);
    sptrsm_file_block_free(Y);
  }
}

Test(io_contain, blocks_in_parts) {
  const layout layouts[] = {
      {H5T_IEEE_F64LE, {ROWS, COLS}, {0, 0}, 2, 0},         {H5T_IEEE_F64BE, {ROWS, COLS}, {0, 0}, 2, 0},
      {H5T_IEEE_F64LE, {ROWS, COLS}, {100, 64}, 2, 0},      {H5T_IEEE_F64LE, {ROWS, COLS}, {ROWS, 1}, 2, 1},
      {H5T_IEEE_F64BE, {ROWS, COLS}, {37, COLS}, 2, 1},     {H5T_IEEE_F64LE, {ROWS, COLS}, {ROWS, COLS}, 2, 1},
      {H5T_IEEE_F64BE, {2, ROWS * COLS / 2}, {0, 0}, 2, 0}, {H5T_IEEE_F64BE, {ROWS * COLS, 0}, {999, 0}, 1, 1},
      {H5T_IEEE_F32LE, {ROWS * COLS, 0}, {0, 0}, 1, 0},
  };
  for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) same_numbers(&layouts[k]);
}

/* ---- ends of the program ---- */

/* A program that is killed while its reader is idle takes the child along, although children of other files were forked later, and
 * a process that lives on. The pipe that the children inherit ends only when they are gone. */
Test(io_contain, a_program_that_is_killed, .timeout = 100) {
  int ends[2], life[2];
  char byte, where[80];
  write_matrix();
  snprintf(where, sizeof where, "%s:/data", file);
  cr_assert(pipe(ends) == 0 && pipe(life) == 0);
  pid_t program = fork();
  if (program == 0) {
    sptrsm_file_reader *one, *two;
    close(ends[0]), close(life[1]);
    bool good = sptrsm_file_reader_open(&one, where, 3, NULL) == SPTRSM_OK && sptrsm_file_reader_open(&two, where, 3, NULL) == SPTRSM_OK;
    if (fork() == 0) {
      close(ends[1]);
      _exit(read(life[0], &byte, 1) == 0);
    }
    if (write(ends[1], good ? "y" : "n", 1) == 1) pause();
    _exit(1);
  }
  close(ends[1]), close(life[0]);
  cr_assert(read(ends[0], &byte, 1) == 1 && byte == 'y');
  kill(program, SIGKILL);
  cr_assert_eq(waitpid(program, NULL, 0), program);
  cr_assert_eq(read(ends[0], &byte, 1), 0);
  close(ends[0]), close(life[1]);
}
