/* cpus.c -- see cpus.h. A quota is a time that all threads together may run in each period. More threads than that would run in parallel
 * for a part of the period and all stand still for the rest, so a quota of 1.5 processors counts as one. */
#include "core/context/cpus.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"

static int least(int a, int b) { return a < b ? a : b; }

/* ---- cgroups ---- */

static int whole_cpus(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return INT_MAX; /* -1: no quota */
  const long long cpus = quota / period;
  return cpus < 1 ? 1 : cpus < INT_MAX ? (int)cpus : INT_MAX;
}

/* folder followed by name, opened to be read; NULL: there is none. */
static FILE *open_in(const char *folder, const char *name) {
  char path[2 * PATH_MAX];
  return snprintf(path, sizeof path, "%s%s", folder, name) < (int)sizeof path ? fopen(path, "re") : NULL;
}

/* The first `count` numbers in a file -> are they there? */
static bool read_numbers(long long *out, int count, const char *folder, const char *name) {
  FILE *file = open_in(folder, name);
  int found = 0;
  if (!file) return false;
  while (found < count && fscanf(file, "%lld", &out[found]) == 1) found++;
  fclose(file);
  return found == count;
}

/* Version 2: cpu.max holds "QUOTA PERIOD", or "max PERIOD", which does not begin with a number. Version 1: a file each. */
static int quota_in(const char *folder) {
  long long quota[2];
  if (read_numbers(quota, 2, folder, "/cpu.max")) return whole_cpus(quota[0], quota[1]);
  if (!read_numbers(&quota[0], 1, folder, "/cpu.cfs_quota_us")) return INT_MAX;
  return read_numbers(&quota[1], 1, folder, "/cpu.cfs_period_us") ? whole_cpus(quota[0], quota[1]) : INT_MAX;
}

/* The least quota of a cgroup and of those above it. Inside a container the first folders may not be there. */
static int quota_up_from(const char *mount, char *cgroup) {
  char folder[2 * PATH_MAX];
  int cpus = INT_MAX;
  for (char *end = cgroup + strlen(cgroup); end;) {
    *end = '\0';
    snprintf(folder, sizeof folder, "%s%s", mount, cgroup);
    cpus = least(cpus, quota_in(folder));
    end = strrchr(cgroup, '/');
  }
  return cpus;
}

/* Is "cpu" one of the comma-separated controllers? */
static bool has_cpu(const char *controllers) {
  for (const char *at = controllers; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strcspn(at, ",") == strlen("cpu") && strncmp(at, "cpu", strlen("cpu")) == 0) return true;
  return false;
}

/* A line is HIERARCHY:CONTROLLERS:CGROUP. Version 2 has hierarchy 0 without controllers. */
static int quota_of_line(const char *root, char *line) {
  char mount[PATH_MAX];
  line[strcspn(line, "\n")] = '\0';
  char *controllers = strchr(line, ':'), *cgroup = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!cgroup) return INT_MAX;
  *controllers++ = *cgroup++ = '\0';
  if (*controllers && !has_cpu(controllers)) return INT_MAX;
  snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, *controllers ? "/" : "", controllers);
  return quota_up_from(mount, cgroup);
}

int spti_cpus_of_quota(const char *root) {
  char line[PATH_MAX + 128];
  int cpus = INT_MAX;
  FILE *file = open_in(root, "/proc/self/cgroup");
  if (!file) return INT_MAX;
  while (fgets(line, sizeof line, file)) cpus = least(cpus, quota_of_line(root, line));
  fclose(file);
  return cpus;
}

/* ---- affinity ---- */

static int allowed_cpus(void) {
  for (int most = CPU_SETSIZE; most <= CPU_SETSIZE << 8; most *= 2) { /* the system refuses a set that is smaller than its own */
    cpu_set_t *set = CPU_ALLOC(most);
    if (!set) break;
    const bool known = sched_getaffinity(0, CPU_ALLOC_SIZE(most), set) == 0;
    const int cpus = known ? CPU_COUNT_S(CPU_ALLOC_SIZE(most), set) : 0;
    CPU_FREE(set);
    if (known) return cpus;
  }
  return 1;
}

int spti_cpus_usable(void) {
  const char *asked = getenv("OMP_NUM_THREADS"); /* may be a list, one number for each level of nesting */
  const long threads = asked ? strtol(asked, NULL, 10) : 0;
  if (threads > 0) return threads < SPTI_THREADS_MAX ? (int)threads : SPTI_THREADS_MAX;
  const int cpus = least(least(allowed_cpus(), spti_cpus_of_quota("")), SPTI_THREADS_MAX);
  return cpus < 1 ? 1 : cpus;
}
