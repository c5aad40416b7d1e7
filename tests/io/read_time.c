/* read_time.c -- seconds that a load takes, with HDF5 in a child process and in this one, in turns: minima of several.
 *
 * read_time FILE:/path [COUNT]: a sparse matrix, or where it is none, a dense block. Not a test; figures are in docs/benchmarks.md.
 */
#include <sptrsm_io.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of computing of this process and of its children that have ended. */
static double computing(void) {
  struct rusage self, children;
  getrusage(RUSAGE_SELF, &self);
  getrusage(RUSAGE_CHILDREN, &children);
  const struct timeval t[] = {self.ru_utime, self.ru_stime, children.ru_utime, children.ru_stime};
  double sum = 0;
  for (int k = 0; k < 4; k++) sum += (double)t[k].tv_sec + 1e-6 * (double)t[k].tv_usec;
  return sum;
}

static sptrsm_status load(const char *where, const sptrsm_io_options *o) {
  static int dense;
  sptrsm_file_matrix *M = NULL;
  sptrsm_file_block *X = NULL;
  sptrsm_status status = dense ? SPTRSM_ERR_STRUCTURE : sptrsm_file_matrix_load(&M, where, o);
  dense = status != SPTRSM_OK;
  if (dense) status = sptrsm_file_block_load(&X, where, -1, o);
  sptrsm_file_matrix_free(M);
  sptrsm_file_block_free(X);
  return status;
}

int main(int argc, char **argv) {
  int count = argc > 2 ? atoi(argv[2]) : 7;
  double least[2] = {1e9, 1e9}, cpu[2] = {1e9, 1e9};
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  for (int k = 0; argc > 1 && k < 2 * count + 2; k++) {
    o.in_process = k % 2;
    double begin = now(), cpu_begin = computing();
    if (load(argv[1], &o) != SPTRSM_OK) {
      fprintf(stderr, "%s\n", sptrsm_last_error());
      return 1;
    }
    double seconds = now() - begin, cpu_seconds = computing() - cpu_begin;
    if (k > 1 && seconds < least[k % 2]) least[k % 2] = seconds;
    if (k > 1 && cpu_seconds < cpu[k % 2]) cpu[k % 2] = cpu_seconds;
  }
  printf("%s: child %.6f s, in process %.6f s, ratio %.3f; computing %.6f s, %.6f s, ratio %.3f\n", argc > 1 ? argv[1] : "", least[0],
         least[1], least[0] / least[1], cpu[0], cpu[1], cpu[0] / cpu[1]);
  return 0;
}
