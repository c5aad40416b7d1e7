/* share.c -- a solution that several processes write: ranges of columns in any order, claims, kills, and who finishes the file. */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char part[72], journal[80];

static void make_names(void) {
  make_folder();
  snprintf(part, sizeof part, "%s.part", file);
  snprintf(journal, sizeof journal, "%s.journal", part);
}

/* In a process that a test has forked, a failure ends that process alone. */
static bool is_fork;
static void must(sptrsm_status status) {
  if (is_fork && status != SPTRSM_OK) {
    fprintf(stderr, "%s\n", sptrsm_last_error());
    _exit(1);
  }
  cr_assert(status == SPTRSM_OK, "%s", sptrsm_last_error());
}

TestSuite(io_share, .init = make_names, .fini = remove_folder);

enum { N = 50, NRHS = 12, PROCESSES = 6 };

static double sample(int i, int k) { return 1000.0 * k + i + 0.25; }

static sptrsm_file_writer *join(const char *inputs) {
  sptrsm_file_writer *w;
  sptrsm_block shape = {.ld = NRHS, .n = N, .nrhs = NRHS, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_HOST};
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  must(sptrsm_file_writer_join(&w, file, &shape, 0, inputs, &o));
  return w;
}

/* Writes columns and notes them as done; the state is their range. */
static void solve(sptrsm_file_writer *w, int first, int end) {
  double data[N * NRHS];
  char state[32];
  sptrsm_block X = {data, end - first, N, end - first, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  for (int i = 0; i < N; i++)
    for (int k = first; k < end; k++) data[i * (end - first) + k - first] = sample(i, k);
  must(sptrsm_file_writer_write(w, first, &X, NULL));
  snprintf(state, sizeof state, "[%d,%d)", first, end);
  must(sptrsm_file_writer_checkpoint(w, &(sptrsm_file_columns){first, end, state}));
}

/* The states of what is done. */
static const char *done_text(sptrsm_file_writer *w) {
  static char text[400];
  const sptrsm_file_columns *done;
  int64_t count;
  int used = 0;
  must(sptrsm_file_writer_done(w, &done, &count));
  text[0] = '\0';
  for (int64_t k = 0; k < count; k++) used += snprintf(text + used, sizeof text - (size_t)used, "%s", done[k].state);
  return text;
}

static int64_t left(sptrsm_file_writer *w) {
  int64_t columns;
  must(sptrsm_file_writer_left(w, &columns));
  return columns;
}

static void finish(sptrsm_file_writer *w) {
  must(sptrsm_file_writer_checkpoint(w, &(sptrsm_file_columns){0, NRHS, "all"}));
  must(sptrsm_file_writer_finish(w, "{}"));
  sptrsm_file_writer_close(w);
}

static void check_whole(void) {
  sptrsm_file_block *X;
  char where[80];
  snprintf(where, sizeof where, "%s:/X", file);
  must(sptrsm_file_block_load(&X, where, N, NULL));
  for (int i = 0; i < N; i++)
    for (int k = 0; k < NRHS; k++) cr_assert(fixture_element(&X->block, i, k) == sample(i, k), "(%d,%d)", i, k);
  sptrsm_file_block_free(X);
  cr_assert(count_files() == 1, "%d files", count_files());
}

Test(io_share, ranges_in_any_order_make_the_whole) {
  sptrsm_file_writer *w = join("inputs");
  solve(w, 7, 9);
  solve(w, 0, 2);
  solve(w, 4, 7);
  cr_assert_str_eq(done_text(w), "[0,2)[4,7)[7,9)");
  cr_assert(left(w) == 5);
  solve(w, 4, 9); /* the place of two is taken */
  cr_assert_str_eq(done_text(w), "[0,2)[4,9)");
  solve(w, 1, 3); /* a part of a range that is done: this does not count */
  solve(w, 5, 6);
  cr_assert_str_eq(done_text(w), "[0,2)[4,9)");
  sptrsm_file_writer_close(w);
  w = join("others"); /* alone, as after a kill */
  cr_assert_str_eq(sptrsm_file_writer_inputs(w), "inputs");
  cr_assert_str_eq(done_text(w), "[0,2)[4,9)");
  solve(w, 9, 12);
  solve(w, 2, 4);
  cr_assert(left(w) == 0 && !sptrsm_file_writer_complete(w));
  finish(w);
  check_whole();
  w = join("inputs");
  cr_assert(sptrsm_file_writer_complete(w) && left(w) == 0);
  cr_assert_str_eq(done_text(w), "all");
  must(sptrsm_file_writer_finish(w, "{}"));
  sptrsm_file_writer_close(w);
  check_whole();
}

Test(io_share, columns_belong_to_one_process) {
  sptrsm_file_writer *a = join("inputs"), *b = join("inputs"), *alone;
  sptrsm_block shape = {.ld = NRHS, .n = N, .nrhs = NRHS, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_HOST};
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  must(sptrsm_file_writer_claim(a, 0, 6));
  cr_assert(sptrsm_file_writer_claim(b, 5, 8) == SPTRSM_ERR_IO && strstr(sptrsm_last_error(), "columns 5:8"), "%s", sptrsm_last_error());
  must(sptrsm_file_writer_claim(b, 6, 12));
  must(sptrsm_file_writer_claim(b, 3, 3));
  cr_assert(sptrsm_file_writer_claim(b, 6, NRHS + 1) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_writer_resume(&alone, file, &shape, 0, &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "another process is at work") != NULL, "%s", sptrsm_last_error());
  o.force = 1;
  cr_assert(sptrsm_file_writer_create(&alone, file, &shape, 0, 1, "inputs", &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "another process is writing it") != NULL, "%s", sptrsm_last_error());
  solve(b, 6, 12);
  cr_assert(left(b) == 6);
  sptrsm_file_writer_close(b); /* and leaves the part */
  solve(a, 0, 6);
  cr_assert_str_eq(done_text(a), "[0,6)[6,12)");
  cr_assert(left(a) == 0);
  finish(a);
  check_whole();
}

Test(io_share, alone_and_joined_exclude_each_other) {
  sptrsm_block shape = {.ld = NRHS, .n = N, .nrhs = NRHS, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_HOST};
  sptrsm_block other = shape;
  sptrsm_file_writer *w, *joined;
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.compress = 1;
  cr_assert(sptrsm_file_writer_join(&w, file, &shape, 0, "inputs", &o) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_writer_join(NULL, file, &shape, 0, "inputs", &o) == SPTRSM_ERR_ARGUMENT);
  o.compress = 0, o.keep_partial = 1;
  must(sptrsm_file_writer_create(&w, file, &shape, 0, 1, "inputs", &o));
  cr_assert(sptrsm_file_writer_join(&joined, file, &shape, 0, "inputs", &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "another process is at work") != NULL, "%s", sptrsm_last_error());
  sptrsm_file_writer_close(w);
  other.dtype = SPTRSM_C64;
  cr_assert(sptrsm_file_writer_join(&joined, file, &other, 0, "inputs", &o) == SPTRSM_ERR_STRUCTURE);
  joined = join("inputs");
  solve(joined, 0, NRHS);
  sptrsm_file_writer_close(joined); /* killed before it finished */
  must(sptrsm_file_writer_resume(&w, file, &shape, 0, &o));
  cr_assert_str_eq(done_text(w), "[0,12)");
  must(sptrsm_file_writer_finish(w, "{}"));
  sptrsm_file_writer_close(w);
  check_whole();
}

Test(io_share, a_torn_record_of_a_killed_process_harms_nobody) {
  sptrsm_file_writer *w = join("inputs");
  solve(w, 0, 3);
  FILE *f = fopen(journal, "a");
  cr_assert(f != NULL && fputs("0123456789abcdef done 3 8 3", f) >= 0 && fclose(f) == 0);
  solve(w, 8, 12);
  cr_assert_str_eq(done_text(w), "[0,3)[8,12)");
  sptrsm_file_writer_close(w);
  w = join("inputs");
  cr_assert_str_eq(done_text(w), "[0,3)[8,12)");
  sptrsm_file_writer_close(w);
}

Test(io_share, columns_of_a_killed_process_are_free) {
  int how = 0, ready[2];
  char byte;
  sptrsm_file_writer *w = join("inputs");
  cr_assert(pipe(ready) == 0);
  pid_t child = fork();
  if (child == 0) {
    is_fork = true;
    sptrsm_file_writer *own = join("inputs");
    must(sptrsm_file_writer_claim(own, 2, 9));
    solve(own, 2, 4);
    if (write(ready[1], "!", 1) == 1) pause();
    _exit(1);
  }
  cr_assert(read(ready[0], &byte, 1) == 1);
  cr_assert(sptrsm_file_writer_claim(w, 8, 10) == SPTRSM_ERR_IO);
  cr_assert(kill(child, SIGKILL) == 0 && waitpid(child, &how, 0) == child);
  must(sptrsm_file_writer_claim(w, 0, NRHS));
  cr_assert_str_eq(done_text(w), "[2,4)");
  solve(w, 0, 2);
  solve(w, 4, NRHS);
  cr_assert(left(w) == 0);
  finish(w);
  check_whole();
}

/* Takes the place of the system's function, and counts. */
static int syncs;
int fdatasync(int fd) {
  syncs++;
  return (int)syscall(SYS_fdatasync, fd);
}

/* The ranges of one checkpoint need a sync of the journal each, and one of the part together. */
Test(io_share, ranges_are_synced_together) {
  sptrsm_file_writer *w = join("inputs");
  double data[N] = {0};
  sptrsm_block X = {data, 1, N, 1, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  for (int round = 0; round < 2; round++) {
    for (int k = 0; k < 6; k += 2) must(sptrsm_file_writer_write(w, 6 * round + k, &X, NULL));
    syncs = 0;
    for (int64_t k = 6 * round; k < 6 * round + 6; k += 2) must(sptrsm_file_writer_checkpoint(w, &(sptrsm_file_columns){k, k + 1, "one"}));
    cr_assert(syncs == 3 + 1, "%d", syncs);
  }
  sptrsm_file_writer_close(w);
}

/* Another job finishes the file after one has failed, or was killed, at any moment of that. */
Test(io_share, a_file_that_was_finished_by_half) {
  sptrsm_file_writer *a = join("inputs"), *b = join("inputs");
  solve(a, 0, NRHS);
  cr_assert(left(a) == 0);
  FILE *f = fopen(file, "w"); /* the name is taken, so the end is written, but the file stays the part */
  cr_assert(f != NULL && fclose(f) == 0);
  must(sptrsm_file_writer_checkpoint(a, &(sptrsm_file_columns){0, NRHS, "all"}));
  cr_assert(sptrsm_file_writer_finish(a, "{}") == SPTRSM_ERR_IO && strstr(sptrsm_last_error(), "final name"), "%s", sptrsm_last_error());
  sptrsm_file_writer_close(a);
  cr_assert(remove(file) == 0);
  f = fopen(part, "r+"); /* what HDF5 had to write may be there by half */
  cr_assert(f != NULL && fseek(f, 40, SEEK_SET) == 0 && fputs("torn", f) >= 0 && fclose(f) == 0);
  cr_assert(left(b) == 0 && !sptrsm_file_writer_complete(b));
  finish(b);
  check_whole();
}

/* One was killed between giving the file its name and removing the journal. */
Test(io_share, a_journal_that_is_left_of_a_finished_file) {
  char kept[80];
  sptrsm_file_writer *a = join("inputs"), *b = join("inputs");
  snprintf(kept, sizeof kept, "%s.kept", file);
  solve(a, 0, NRHS);
  cr_assert(left(a) == 0 && link(journal, kept) == 0);
  finish(a);
  cr_assert(rename(kept, journal) == 0);
  cr_assert(left(b) == 0 && sptrsm_file_writer_complete(b));
  finish(b);
  check_whole();
}

static void work_on_share(int k) {
  is_fork = true;
  sptrsm_file_writer *w = join("inputs");
  must(sptrsm_file_writer_claim(w, 2 * k, 2 * k + 2));
  if (!sptrsm_file_writer_complete(w)) solve(w, 2 * k, 2 * k + 1), solve(w, 2 * k + 1, 2 * k + 2);
  if (left(w) == 0 && !sptrsm_file_writer_complete(w)) finish(w);
  else sptrsm_file_writer_close(w);
  _exit(0);
}

/* A process that was killed at the gate leaves an empty file, which holds nobody up and goes in the end; another file stays. */
Test(io_share, a_gate_that_is_left) {
  char gate[80];
  sptrsm_file_writer *w;
  sptrsm_block shape = {.ld = NRHS, .n = N, .nrhs = NRHS, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_HOST};
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  snprintf(gate, sizeof gate, "%s.lock", part);
  FILE *f = fopen(gate, "w");
  cr_assert(f != NULL && fputs("precious", f) >= 0 && fclose(f) == 0);
  cr_assert(sptrsm_file_writer_join(&w, file, &shape, 0, "inputs", &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "is in the way") != NULL && count_files() == 1, "%s", sptrsm_last_error());
  cr_assert(truncate(gate, 0) == 0);
  w = join("inputs");
  solve(w, 0, NRHS);
  sptrsm_file_writer_close(w);
  f = fopen(gate, "w");
  cr_assert(f != NULL && fclose(f) == 0);
  must(sptrsm_file_writer_resume(&w, file, &shape, 0, &o));
  must(sptrsm_file_writer_finish(w, "{}"));
  sptrsm_file_writer_close(w);
  check_whole();
}

/* All begin, join and finish at the same time: one begins the output, one finishes it. */
Test(io_share, processes_at_the_same_time, .timeout = 100) {
  for (int round = 0; round < 20; round++) {
    for (int k = 0; k < PROCESSES; k++)
      if (fork() == 0) work_on_share(k);
    for (int k = 0, how; k < PROCESSES; k++) cr_assert(wait(&how) > 0 && WIFEXITED(how) && WEXITSTATUS(how) == 0, "round %d", round);
    check_whole();
    cr_assert(remove(file) == 0);
  }
}
