/* cgroup.h -- the cgroups of this process: those of containers, batch jobs and services, which limit processors and memory. Header only,
 * since the file library uses it, too. */
#ifndef SPTI_CORE_BASE_CGROUP_H
#define SPTI_CORE_BASE_CGROUP_H

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Looks into the folder of a cgroup for what it limits. */
typedef void spti_cgroup_visit(const char *folder, void *argument);

enum { SPTI_CGROUP_BYTES = 1 << 14 }; /* of a file: what is beyond is not read */

/* Reads folder followed by name into text, without an allocation -> is it there? */
static inline bool spti_cgroup_read(char text[SPTI_CGROUP_BYTES], const char *folder, const char *name) {
  char path[2 * PATH_MAX];
  if (snprintf(path, sizeof path, "%s%s", folder, name) >= (int)sizeof path) return false;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t bytes = 0, room = SPTI_CGROUP_BYTES - 1;
  if (fd < 0) return false;
  for (ssize_t got; bytes < room && (got = read(fd, text + bytes, room - bytes)) > 0;) bytes += (size_t)got;
  close(fd);
  text[bytes] = '\0';
  return true;
}

/* The first `count` numbers in a file -> are they there? */
static inline bool spti_cgroup_numbers(long long *out, int count, const char *folder, const char *name) {
  char text[SPTI_CGROUP_BYTES], *at = text, *end;
  int found = 0;
  if (!spti_cgroup_read(text, folder, name)) return false;
  for (; found < count; found++, at = end) {
    out[found] = strtoll(at, &end, 10);
    if (end == at) break;
  }
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
  char text[SPTI_CGROUP_BYTES];
  if (!spti_cgroup_read(text, root, "/proc/self/cgroup")) return;
  for (char *line = text, *next; *line; line = next) {
    next = line + strcspn(line, "\n");
    if (*next) *next++ = '\0';
    spti_cgroup_walk_line(line, root, controller, visit, argument);
  }
}

#endif
