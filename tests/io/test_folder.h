/* test_folder.h -- a folder of its own for each test that writes files. Included once per test program, before its TestSuite. */
#ifndef TESTS_IO_TEST_FOLDER_H
#define TESTS_IO_TEST_FOLDER_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/sptrsm_test_XXXXXX";
static char file[64]; /* out.h5 in it, not made yet */

static inline void make_folder(void) {
  cr_assert(mkdtemp(folder) != NULL);
  snprintf(file, sizeof file, "%s/out.h5", folder);
}

/* Ends the test, as a failed one, where one of its files is still open: Criterion does not count assertions here. */
static inline void remove_folder(void) {
  char command[160];
  snprintf(command, sizeof command, "! ls -l /proc/%d/fd | grep -F '%s' >&2 && rm -r '%s'", (int)getpid(), folder, folder);
  if (system(command) != 0) abort();
}

/* Files in it whose names begin so, hidden ones too. */
static inline int count_named(const char *begin) {
  DIR *d = opendir(folder);
  int count = 0;
  for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
    count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strncmp(e->d_name, begin, strlen(begin)) == 0;
  closedir(d);
  return count;
}

static inline int count_files(void) { return count_named(""); }

#endif
