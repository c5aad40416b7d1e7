/* gpu_main.c -- main of tests that need a CUDA device: 77, which ctest reports as skipped, where there is none. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sptrsm.h>

/* Asked in a child: a process that has started CUDA must not fork, and the tests run in forks. */
static bool device_present(void) {
  pid_t child = fork();
  if (child == 0) _exit(sptrsm_device_count() > 0 ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv) {
  if (!device_present()) {
    puts("skipped: no CUDA device");
    return 77;
  }
  struct criterion_test_set *tests = criterion_initialize();
  int result = criterion_handle_args(argc, argv, true) && !criterion_run_all_tests(tests);
  criterion_finalize(tests);
  return result;
}
