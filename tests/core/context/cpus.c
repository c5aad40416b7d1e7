/* cpus.c -- how many threads a context has: OMP_NUM_THREADS, the processors of the process, the CPU quotas of its cgroups. The cgroups are
 * files in a folder of the test. */
#include <criterion/criterion.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sptrsm.h>

#include "core/context/cpus.h"

static char root[] = "/tmp/sptrsm-cpus-XXXXXX";

static void make_root(void) { cr_assert_not_null(mkdtemp(root)); }

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
  (void)status, (void)kind, (void)at;
  return remove(path);
}

static void remove_root(void) { nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

TestSuite(cpus, .init = make_root, .fini = remove_root);

/* Writes a file below the root, and the folders above it. */
static void put(const char *path, const char *text) {
  char full[256];
  snprintf(full, sizeof full, "%s%s", root, path);
  for (char *end = full + strlen(root) + 1; (end = strchr(end, '/')); *end++ = '/') {
    *end = '\0';
    mkdir(full, 0755);
  }
  FILE *file = fopen(full, "w");
  cr_assert_not_null(file, "%s", full);
  cr_assert(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void quota_is(int expected) {
  const int cpus = spti_cpus_of_quota(root);
  cr_assert_eq(cpus, expected, "%d processors, not %d", cpus, expected);
}

Test(cpus, version_2) {
  quota_is(INT_MAX);
  put("/proc/self/cgroup", "0::/jobs/mine\n");
  quota_is(INT_MAX);
  put("/sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n");
  quota_is(INT_MAX);
  put("/sys/fs/cgroup/jobs/mine/cpu.max", "350000 100000\n");
  quota_is(3);
  put("/sys/fs/cgroup/jobs/cpu.max", "200000 100000\n");
  quota_is(2);
  put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  quota_is(1);
}

/* A container sees its own cgroup as the root, whatever the name outside. */
Test(cpus, in_a_container) {
  put("/proc/self/cgroup", "0::/\n");
  put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  quota_is(4);
  put("/proc/self/cgroup", "0::/docker/0123456789\n");
  quota_is(4);
}

Test(cpus, version_1) {
  put("/proc/self/cgroup", "7:cpuset:/\n5:memory:/a\n3:cpu,cpuacct:/a/b\n0::/a\n");
  put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  quota_is(INT_MAX);
  put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  quota_is(2);
  put("/sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100000\n"); /* not the controller's folder */
  put("/sys/fs/cgroup/cpuset/cpu.cfs_period_us", "100000\n");
  quota_is(2);
}

Test(cpus, unreadable_files_are_no_quota) {
  put("/proc/self/cgroup", "no line of that file\n1:cpu\n0::/mine\n");
  put("/sys/fs/cgroup/mine/cpu.max", "rubbish\n");
  quota_is(INT_MAX);
  put("/sys/fs/cgroup/mine/cpu.max", "0 0\n");
  quota_is(INT_MAX);
  put("/sys/fs/cgroup/mine/cpu.max", "99999999999999999 1\n");
  quota_is(INT_MAX);
}

static void describes(sptrsm_context *context, const char *expected) {
  cr_assert_str_eq(sptrsm_context_describe(context), expected);
  sptrsm_context_destroy(context);
}

static sptrsm_context *new_context(void) {
  sptrsm_context *context;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  return context;
}

Test(cpus, the_environment_is_above_the_machine_and_set_threads_above_both) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
  unsetenv("OMP_NUM_THREADS");
  describes(new_context(), "host, 1 thread");
  setenv("OMP_NUM_THREADS", "rubbish", 1);
  describes(new_context(), "host, 1 thread");
  setenv("OMP_NUM_THREADS", "5,2", 1);
  describes(new_context(), "host, 5 threads");
  sptrsm_context *context = new_context();
  cr_assert_eq(sptrsm_context_set_threads(context, 3), SPTRSM_OK);
  cr_assert_str_eq(sptrsm_context_describe(context), "host, 3 threads");
  cr_assert_eq(sptrsm_context_set_threads(context, 0), SPTRSM_OK);
  describes(context, "host, 5 threads");
}

/* ---- processors that the system does not tell: the linker replaces sched_getaffinity (--wrap) ---- */

static size_t least_set; /* bytes: a smaller one is refused */

int __real_sched_getaffinity(pid_t, size_t, cpu_set_t *);
int __wrap_sched_getaffinity(pid_t, size_t, cpu_set_t *);

int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) {
  return bytes < least_set ? -1 : __real_sched_getaffinity(process, bytes, set);
}

Test(cpus, the_system_may_need_a_larger_set_or_tell_nothing) {
  unsetenv("OMP_NUM_THREADS");
  const int cpus = spti_cpus_usable();
  least_set = 8 * sizeof(cpu_set_t);
  cr_assert_eq(spti_cpus_usable(), cpus);
  least_set = SIZE_MAX;
  cr_assert_eq(spti_cpus_usable(), 1);
}
