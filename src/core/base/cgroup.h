/* cgroup.h -- the cgroups of this process: those of containers, batch jobs and services, which limit processors and memory. Header only,
 * since the file library uses it, too. */
#ifndef SPTI_CORE_BASE_CGROUP_H
#define SPTI_CORE_BASE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Looks into the folder of a cgroup for what it limits. */
typedef void spti_cgroup_visit(const char *folder, void *argument);

/* folder followed by name, opened to be read; NULL: there is none. */
static inline FILE *spti_cgroup_open(const char *folder, const char *name) {
  char path[2 * PATH_MAX];
  return snprintf(path, sizeof path, "%s%s", folder, name) < (int)sizeof path ? fopen(path, "re") : NULL;
}

/* The first `count` numbers in a file -> are they there? */
static inline bool spti_cgroup_numbers(long long *out, int count, const char *folder, const char *name) {
  FILE *file = spti_cgroup_open(folder, name);
  int found = 0;
  if (!file) return false;
  while (found < count && fscanf(file, "%lld", &out[found]) == 1) found++;
  fclose(file);
  return found == count;
}

/* Is the controller one of the comma-separated ones? */
static inline bool spti_cgroup_has(const char *controllers, const char *controller) {
  for (const char *at = controllers; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strcspn(at, ",") == strlen(controller) && strncmp(at, controller, strlen(controller)) == 0) return true;
  return false;
}

/* A line is HIERARCHY:CONTROLLERS:CGROUP. Version 2 has hierarchy 0 without controllers. Inside a container the first folders of CGROUP
 * may not be there. */
static inline void spti_cgroup_walk_line(char *line, const char *root, const char *controller, spti_cgroup_visit *visit, void *argument) {
  char mount[PATH_MAX], folder[2 * PATH_MAX];
  line[strcspn(line, "\n")] = '\0';
  char *controllers = strchr(line, ':'), *cgroup = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!cgroup) return;
  *controllers++ = *cgroup++ = '\0';
  if (*controllers && !spti_cgroup_has(controllers, controller)) return;
  snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, *controllers ? "/" : "", controllers);
  for (char *end = cgroup + strlen(cgroup); end; end = strrchr(cgroup, '/')) {
    *end = '\0';
    snprintf(folder, sizeof folder, "%s%s", mount, cgroup);
    visit(folder, argument);
  }
}

/* Visits each cgroup of this process that has the controller ("cpu", "memory"), and those above it. The files are ROOT/proc/self/cgroup
 * and those below ROOT/sys/fs/cgroup; root "": those of the system. */
static inline void spti_cgroup_walk(const char *root, const char *controller, spti_cgroup_visit *visit, void *argument) {
  char line[PATH_MAX + 128];
  FILE *file = spti_cgroup_open(root, "/proc/self/cgroup");
  if (!file) return;
  while (fgets(line, sizeof line, file)) spti_cgroup_walk_line(line, root, controller, visit, argument);
  fclose(file);
}

#endif
