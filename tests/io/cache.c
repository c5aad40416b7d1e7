/* cache.c -- files that stay open between loads: how often a file is opened, and what is not kept. */
#include "child_helpers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int forks; /* of this process */
static pid_t newest;

pid_t fork(void) {
  pid_t (*real)(void);
  REAL("fork");
  forks++;
  pid_t id = real();
  if (id > 0) newest = id;
  return id;
}

static sptrsm_io_options o;

static void prepare(void) {
  make_folder();
  sptrsm_io_options_init(&o);
  OK(sptrsm_file_cache_create(&o.cache));
}

static bool has_children(void) { return waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD; }

/* Whatever a test did, destroying the cache leaves no child. Criterion does not count assertions here. */
static void end(void) {
  sptrsm_file_cache_destroy(o.cache);
  if (has_children()) abort();
  remove_folder();
}

TestSuite(io_cache, .init = prepare, .fini = end);

static const char sets[] = DATA("sets.h5"), blocks[] = DATA("blocks.h5");

static void list(const char *where) {
  sptrsm_file_listing listing;
  OK(sptrsm_file_list(&listing, where, &o));
  sptrsm_file_listing_free(&listing);
}

/* Files with other options count as other files. */
static void list_within(size_t memory_limit) {
  o.memory_limit = memory_limit;
  list(blocks);
}

static void kill_newest(void) {
  cr_assert_eq(kill(newest, SIGKILL), 0);
  cr_assert_eq(waitid(P_PID, (id_t)newest, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
}

/* The status of loading B of `where`, which has the number `first` in its first row. */
static sptrsm_status load(const char *where, int32_t n, double first) {
  sptrsm_file_block *X = NULL;
  sptrsm_status status = sptrsm_file_block_load(&X, where, n, &o);
  if (status == SPTRSM_OK) cr_assert_eq(*(const double *)X->block.data, first);
  sptrsm_file_block_free(X);
  return status;
}

/* Writes other bytes in the place of the first ones of the file that are like `old`. */
static void replace(const void *old, size_t old_count, const void *new, size_t new_count) {
  static unsigned char bytes[1 << 14];
  const int fd = open(file, O_RDWR);
  const ssize_t count = read(fd, bytes, sizeof bytes);
  const unsigned char *at = count > 0 ? memmem(bytes, (size_t)count, old, old_count) : NULL;
  cr_assert(at != NULL && pwrite(fd, new, new_count, at - bytes) == (ssize_t)new_count);
  close(fd);
}

static void expect_forks(int count) {
  cr_assert_eq(forks, count, "%d forks, not %d", forks, count);
  forks = 0;
}

Test(io_cache, a_file_is_opened_once) {
  sptrsm_file_factors *F;
  sptrsm_batch_kind kind;
  int64_t count;
  OK(sptrsm_file_batch_find(&kind, &count, DATA("sets.h5:/scipy"), &o));
  OK(sptrsm_file_factors_load(&F, DATA("sets.h5:/scipy"), &o));
  cr_assert_str_eq(F->L->where, DATA("sets.h5:/scipy/L"));
  sptrsm_file_factors_free(F);
  list(sets);
  expect_forks(1);
  list(blocks); /* another file beside it */
  list(sets);
  list(blocks);
  expect_forks(1);
  sptrsm_file_cache_clear(o.cache);
  cr_assert(!has_children());
  list(sets);
  expect_forks(1);
}

/* A list begins at the path that it is asked for, whatever path the file was opened with. */
Test(io_cache, each_list_has_its_own_path) {
  static const char *const paths[] = {"/scipy/L", "/scipy/U", "/scipy/L", "/julia/Rs"};
  for (size_t k = 0; k < sizeof paths / sizeof paths[0]; k++) {
    char where[4096];
    sptrsm_file_listing listing;
    snprintf(where, sizeof where, "%s:%s", sets, paths[k]);
    OK(sptrsm_file_list(&listing, where, &o));
    cr_assert_eq(listing.count, 1);
    cr_assert_str_eq(listing.entries[0].path, paths[k]);
    sptrsm_file_listing_free(&listing);
  }
  expect_forks(1);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TIMES = 4 }; /* there a child has no limit of memory */
#else
enum { TIMES = 400 };
#endif

/* A list with paths of 1.2 MB: a child that kept each of them would be out of memory before the last one. */
Test(io_cache, a_child_forgets_what_it_has_listed) {
  enum { LINKS = 20, NAME = 60000 };
  static char name[NAME + 1];
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  const hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT);
  memset(name, 'a', NAME);
  for (int k = 0; k < LINKS; k++) {
    name[0] = (char)('a' + k);
    cr_assert(H5Lcreate_soft("B", f, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  }
  cr_assert(H5Fclose(f) >= 0);
  for (int k = 0; k < TIMES; k++) list(file);
  expect_forks(1);
}

Test(io_cache, other_options_need_another_child) {
  list(blocks);
  o.memory_limit = 1 << 20;
  list(blocks);
  o.allow_external = 1;
  list(blocks);
  expect_forks(3);
  list(blocks);
  o.allow_external = 0;
  list(blocks);
  expect_forks(0);
}

Test(io_cache, is_not_for_files_that_are_read_here) {
  list(blocks);
  o.in_process = 1;
  cr_assert_eq(kill(newest, SIGSTOP), 0); /* it would not answer */
  sptrsm_file_listing lists[2] = {0};
  const sptrsm_status first = sptrsm_file_list(&lists[0], blocks, &o), second = sptrsm_file_list(&lists[1], blocks, &o);
  cr_assert_eq(kill(newest, SIGCONT), 0); /* before a failed assertion could end this test, and leave it stopped */
  for (int k = 0; k < 2; k++) sptrsm_file_listing_free(&lists[k]);
  cr_assert(first == SPTRSM_OK && second == SPTRSM_OK);
  expect_forks(1);
  cr_assert_eq(fixture_all_open(), 0, "the file was kept in this process");
}

/* While a reader has the file, it is not in the cache; then it is, unless reading has failed. */
Test(io_cache, two_loads_share_no_child) {
  sptrsm_file_reader *r;
  OK(sptrsm_file_reader_open(&r, DATA("blocks.h5:/B"), -1, &o));
  list(blocks);
  expect_forks(2);
  sptrsm_file_reader_close(r);
  OK(sptrsm_file_reader_open(&r, DATA("blocks.h5:/B"), -1, &o));
  list(blocks);
  expect_forks(0);
  sptrsm_file_reader_close(r);
}

Test(io_cache, a_child_that_was_killed_hides_no_other) {
  sptrsm_file_reader *r[2];
  for (int k = 0; k < 2; k++) OK(sptrsm_file_reader_open(&r[k], DATA("blocks.h5:/B"), -1, &o));
  for (int k = 0; k < 2; k++) sptrsm_file_reader_close(r[k]);
  kill_newest();
  list(blocks);
  expect_forks(2);
}

Test(io_cache, eight_files_are_kept) {
  for (size_t k = 1; k <= 9; k++) list_within(k << 20);
  expect_forks(9);
  for (size_t k = 2; k <= 9; k++) list_within(k << 20);
  expect_forks(0);
  list_within(1 << 20);
  list_within(2 << 20);
  expect_forks(2);
  list_within(9 << 20);
  expect_forks(0);
}

Test(io_cache, a_failure_is_not_kept) {
  sptrsm_file_reader *r;
  for (int k = 1; k <= 2; k++) fails(load(DATA("not_hdf5.h5"), 4, 1), SPTRSM_ERR_STRUCTURE, "not an HDF5 file");
  expect_forks(2);
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  OK(load(file, 4, 1));
  expect_forks(1);
  fails(load(file, 5, 1), SPTRSM_ERR_STRUCTURE, "4 x 2");
  expect_forks(0);
  OK(load(file, 4, 1));
  expect_forks(1);
  fails(sptrsm_file_reader_open(&r, file, 5, &o), SPTRSM_ERR_STRUCTURE, "4 x 2");
  OK(load(file, 4, 1));
  expect_forks(1);
}

/* The chunk can't be unpacked, but its child can go on. */
Test(io_cache, a_failed_read_is_not_kept) {
  sptrsm_file_reader *r;
  double numbers[8];
  write_numbers("B", 2, (hsize_t[]){4, 2}, (hsize_t[]){4, 2});
  replace((unsigned char[]){0x78, 0x01}, 2, (unsigned char[]){0, 0}, 2); /* how zlib begins */
  list(file);
  OK(sptrsm_file_reader_open(&r, file, 4, &o));
  expect_forks(1);
  sptrsm_block X = sptrsm_file_reader_block(r)->block;
  X.data = numbers;
  fails(sptrsm_file_reader_read(r, 0, &X), SPTRSM_ERR_IO, "B");
  sptrsm_file_reader_close(r);
  list(file);
  expect_forks(1);
}

/* A reader whose child is killed while it reads: big-endian numbers come from the child. */
Test(io_cache, a_child_that_was_killed_is_not_used_again) {
  sptrsm_file_reader *r;
  double numbers[8];
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  OK(load(file, 4, 1));
  kill_newest();
  OK(load(file, 4, 1));
  expect_forks(2);
  OK(sptrsm_file_reader_open(&r, file, 4, &o));
  sptrsm_block X = sptrsm_file_reader_block(r)->block;
  X.data = numbers;
  cr_assert_eq(kill(newest, SIGKILL), 0);
  fails(sptrsm_file_reader_read(r, 0, &X), SPTRSM_ERR_IO, "was ended");
  sptrsm_file_reader_close(r);
  OK(load(file, 4, 1));
  expect_forks(1);
}

/* Keeps size and time of modification. The time of change may be counted in steps of some milliseconds. */
static void change_number(void) {
  struct stat before, now;
  cr_assert_eq(stat(file, &before), 0);
  replace((unsigned char[16]){0x3f, 0xf0, [8] = 0x40}, 16, (unsigned char[8]){0x40, 0x1c}, 8); /* 1, 2: 7, 2 */
  do {
    cr_assert(utimensat(AT_FDCWD, file, (struct timespec[]){before.st_atim, before.st_mtim}, 0) == 0 && stat(file, &now) == 0);
  } while (now.st_ctim.tv_sec == before.st_ctim.tv_sec && now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
}

Test(io_cache, a_file_that_changes) {
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  OK(load(file, 4, 1));
  cr_assert_eq(unlink(file), 0);
  fails(load(file, 4, 1), SPTRSM_ERR_IO, "No such file");
  write_numbers("B", 1, (hsize_t[]){3}, NULL); /* another file of that name */
  OK(load(file, 3, 1));
  OK(load(file, 3, 1));
  expect_forks(2);
  change_number();
  OK(load(file, 3, 7));
  expect_forks(1);
}

/* The process that a program forks opens its own file, and leaves the one of the program alone. */
Test(io_cache, belongs_to_one_process) {
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  OK(load(file, 4, 1));
  int status;
  const pid_t id = fork();
  if (id == 0) {
    forks = 0;
    const bool good = load(file, 4, 1) == SPTRSM_OK && forks == 1 && load(file, 4, 1) == SPTRSM_OK && forks == 1;
    sptrsm_file_cache_clear(o.cache);
    _exit(!good);
  }
  cr_assert(waitpid(id, &status, 0) == id && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  forks = 0;
  OK(load(file, 4, 1));
  expect_forks(0);
}

Test(io_cache, null) {
  cr_assert_eq(sptrsm_file_cache_create(NULL), SPTRSM_ERR_ARGUMENT);
  sptrsm_file_cache_clear(NULL);
  sptrsm_file_cache_destroy(NULL);
}
