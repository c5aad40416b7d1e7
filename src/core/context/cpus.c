/* cpus.c -- see cpus.h. A quota is a time that all threads together may run in each period. More threads than that would run in parallel
 * for a part of the period and all stand still for the rest, so a quota of 1.5 processors counts as one. */
#include "core/context/cpus.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>

#include "core/base/cgroup.h"
#include "core/context/context.h"

static int least(int a, int b) { return a < b ? a : b; }

/* ---- cgroups ---- */

static int whole_cpus(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return INT_MAX; /* -1: no quota */
  const long long cpus = quota / period;
  return cpus < 1 ? 1 : cpus < INT_MAX ? (int)cpus : INT_MAX;
}

/* Version 2: cpu.max holds "QUOTA PERIOD", or "max PERIOD", which does not begin with a number. Version 1: a file each. */
static int quota_in(const char *folder) {
  long long quota[2];
  if (spti_cgroup_numbers(quota, 2, folder, "/cpu.max")) return whole_cpus(quota[0], quota[1]);
  if (!spti_cgroup_numbers(&quota[0], 1, folder, "/cpu.cfs_quota_us")) return INT_MAX;
  return spti_cgroup_numbers(&quota[1], 1, folder, "/cpu.cfs_period_us") ? whole_cpus(quota[0], quota[1]) : INT_MAX;
}

static void take_quota(const char *folder, void *cpus) { *(int *)cpus = least(*(int *)cpus, quota_in(folder)); }

int spti_cpus_of_quota(const char *root) {
  int cpus = INT_MAX;
  spti_cgroup_walk(root, "cpu", take_quota, &cpus);
  return cpus;
}

/* ---- affinity ---- */

static int allowed_cpus(void) {
  for (int most = CPU_SETSIZE; most <= CPU_SETSIZE << 8; most *= 2) { /* the system refuses a set that is smaller than its own */
    cpu_set_t *set = CPU_ALLOC(most);
    if (!set) break;
    const int cpus = sched_getaffinity(0, CPU_ALLOC_SIZE(most), set) == 0 ? CPU_COUNT_S(CPU_ALLOC_SIZE(most), set) : 0;
    CPU_FREE(set);
    if (cpus > 0) return cpus;
  }
  return 1;
}

int spti_cpus_usable(void) {
  const char *asked = getenv("OMP_NUM_THREADS"); /* may be a list, one number for each level of nesting */
  const long threads = asked ? strtol(asked, NULL, 10) : 0;
  if (threads > 0) return threads < SPTI_THREADS_MAX ? (int)threads : SPTI_THREADS_MAX;
  return least(least(allowed_cpus(), spti_cpus_of_quota("")), SPTI_THREADS_MAX);
}
