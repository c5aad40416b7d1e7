/* cpus.h -- how many threads this process should use. */
#ifndef SPTI_CORE_CONTEXT_CPUS_H
#define SPTI_CORE_CONTEXT_CPUS_H

/* OMP_NUM_THREADS if it is set; else the processors that this process may run on, or fewer where the CPU quota of a cgroup (of a container,
 * a batch job) allows less. At least 1. */
int spti_cpus_usable(void);

/* Whole processors that the quotas of this process's cgroup and of those above it allow, at least 1; INT_MAX: no quota. The files are
 * ROOT/proc/self/cgroup and those below ROOT/sys/fs/cgroup; root "": those of the system. */
int spti_cpus_of_quota(const char *root);

#endif
