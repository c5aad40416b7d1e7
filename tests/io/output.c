/* output.c -- where an output file goes: names, links, and files that appear meanwhile. */
#include "test_folder.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <io/write/write.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char link_name[64];

/* The library's source of names for temporary files. With names_repeat the first two names are the same, and a signal handler runs
 * before the third is chosen. */
static int names_repeat;

ssize_t getrandom(void *out, size_t bytes, unsigned flags) {
  if (names_repeat == 0) return syscall(SYS_getrandom, out, bytes, flags);
  memset(out, names_repeat < 3 ? 0 : 1, bytes);
  if (names_repeat == 3) sptrsm_file_abandon();
  names_repeat++;
  return (ssize_t)bytes;
}

static int lacks_renameat2; /* as older systems do */

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
  if (!lacks_renameat2) return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
  errno = ENOSYS;
  return -1;
}

static void make_names(void) {
  make_folder();
  snprintf(link_name, sizeof link_name, "%s/link.h5", folder);
}

TestSuite(io_output, .init = make_names, .fini = remove_folder);

static void put(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  cr_assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static int holds(const char *path, const char *text) {
  char content[64] = "";
  FILE *f = fopen(path, "r");
  if (f == NULL) return 0;
  size_t got = fread(content, 1, sizeof content - 1, f);
  fclose(f);
  return got == strlen(text) && strcmp(content, text) == 0;
}

static sptrsm_status save(const char *path, int force) {
  double data[2] = {1, 2};
  sptrsm_block X = {.data = data, .ld = 1, .n = 2, .nrhs = 1, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_HOST};
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.force = force;
  return sptrsm_file_solution_save(path, &X, &o);
}

static void check_saved(const char *path) {
  sptrsm_file_block *X;
  cr_assert(sptrsm_file_block_load(&X, path, 2, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(((const double *)X->block.data)[1] == 2);
  sptrsm_file_block_free(X);
}

/* A file that appears between the first look and the rename. */
static sptrsm_status commit_onto_new_file(int force) {
  spti_io_output out;
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.force = force;
  cr_assert(spti_io_output_begin(&out, file, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  put(file, "precious");
  return spti_io_output_commit(&out);
}

Test(io_output, a_file_that_appears_meanwhile_is_not_replaced) {
  for (lacks_renameat2 = 0; lacks_renameat2 < 2; lacks_renameat2++) {
    cr_assert(commit_onto_new_file(0) == SPTRSM_ERR_IO);
    cr_assert(strstr(sptrsm_last_error(), "File exists; use --force") != NULL, "%s", sptrsm_last_error());
    cr_assert(holds(file, "precious") && count_files() == 1);
    cr_assert(remove(file) == 0);
  }
  lacks_renameat2 = 1;
  cr_assert(save(file, 0) == SPTRSM_OK, "%s", sptrsm_last_error());
  check_saved(file);
}

Test(io_output, with_force_it_is_replaced) {
  cr_assert(commit_onto_new_file(1) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(!holds(file, "precious") && count_files() == 1);
}

/* A file that has the name of a temporary file by chance belongs to somebody else, also for a signal handler. */
Test(io_output, a_file_with_the_name_of_the_temporary_one_is_not_removed) {
  char taken[80];
  snprintf(taken, sizeof taken, "%s/.%s.aaaaaa", folder, strrchr(file, '/') + 1);
  put(taken, "precious");
  names_repeat = 1;
  cr_assert(save(file, 0) == SPTRSM_OK && names_repeat == 4, "%s", sptrsm_last_error());
  cr_assert(holds(taken, "precious") && count_files() == 2);
  check_saved(file);
}

Test(io_output, the_longest_name_of_a_file) {
  char path[NAME_MAX + 64];
  int used = snprintf(path, sizeof path, "%s/", folder);
  memset(path + used, 'x', NAME_MAX);
  path[used + NAME_MAX] = '\0';
  cr_assert(save(path, 0) == SPTRSM_OK, "%s", sptrsm_last_error());
  check_saved(path);
  cr_assert(count_files() == 1);
  strcat(path, "x");
  cr_assert(save(path, 0) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "File name too long") != NULL, "%s", sptrsm_last_error());
  cr_assert(count_files() == 1);
}

Test(io_output, a_link_stays_and_its_target_is_replaced) {
  struct stat s;
  put(file, "old");
  cr_assert(chmod(file, 0640) == 0 && symlink("out.h5", link_name) == 0);
  cr_assert(save(link_name, 0) == SPTRSM_ERR_IO && holds(file, "old"));
  cr_assert(save(link_name, 1) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(lstat(link_name, &s) == 0 && S_ISLNK(s.st_mode));
  cr_assert(lstat(file, &s) == 0 && S_ISREG(s.st_mode) && (s.st_mode & 0777) == 0640);
  check_saved(file);
  cr_assert(count_files() == 2);
}

Test(io_output, a_link_to_nothing_is_refused_before_anything_is_written) {
  spti_io_output out;
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  cr_assert(symlink("absent.h5", link_name) == 0);
  for (o.force = 0; o.force <= 1; o.force++) {
    cr_assert(spti_io_output_begin(&out, link_name, &o) == SPTRSM_ERR_IO);
    cr_assert(strstr(sptrsm_last_error(), o.force ? "a symbolic link that leads to no file" : "exists") != NULL, "%s", sptrsm_last_error());
    cr_assert(count_files() == 1);
  }
}

Test(io_output, a_link_to_a_folder_is_refused) {
  cr_assert(symlink("/tmp", link_name) == 0);
  cr_assert(save(link_name, 1) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "not a regular file") != NULL, "%s", sptrsm_last_error());
}
