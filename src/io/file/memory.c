/* memory.c -- sizes of arrays without overflow, the memory limit, and memory for arrays, lists and text. */
#include "io/file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/cgroup.h"

enum { HUGE_PAGE = 2 << 20 };

size_t spti_io_bytes(int64_t count, size_t each) {
  size_t bytes;
  if (count < 0 || __builtin_mul_overflow((size_t)count, each, &bytes)) return SIZE_MAX;
  return bytes;
}

size_t spti_io_add(size_t a, size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }

/* Version 2 of cgroups: memory.max holds bytes, or "max". Version 1: a number near the largest one is no limit. */
static void take_memory_of_cgroup(const char *folder, void *least) {
  long long bytes;
  if (!spti_cgroup_numbers(&bytes, 1, folder, "/memory.max") && !spti_cgroup_numbers(&bytes, 1, folder, "/memory.limit_in_bytes")) return;
  if (bytes >= 0 && (size_t)bytes < *(size_t *)least) *(size_t *)least = (size_t)bytes;
}

size_t spti_io_memory_of(const char *root, size_t physical) {
  spti_cgroup_walk(root, "memory", take_memory_of_cgroup, &physical);
  return physical;
}

size_t sptrsm_file_memory_limit(void) {
  long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  size_t physical = pages > 0 && bytes > 0 ? spti_io_bytes(pages, (size_t)bytes) : (size_t)1 << 34;
  return spti_io_memory_of("", physical) / 4 * 3;
}

size_t spti_io_memory_limit(const sptrsm_io_options *o) { return o->memory_limit > 0 ? o->memory_limit : sptrsm_file_memory_limit(); }

size_t spti_io_cache_bytes(const spti_io_file *f) {
  return f->memory_limit / 8 < SPTI_IO_CHUNK_CACHE ? f->memory_limit / 8 : SPTI_IO_CHUNK_CACHE;
}

void spti_io_size_text(char out[24], size_t bytes) {
  static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
  double x = (double)bytes;
  int k = 0;
  for (; x >= 999.5 && k < 6; k++) x /= 1000;
  snprintf(out, 24, "%.3g %s", x, units[k]);
}

sptrsm_status spti_io_check_memory(size_t limit, const char *where, size_t bytes, const char *way_out) {
  char need[24], most[24];
  if (bytes <= limit) return SPTRSM_OK;
  spti_io_size_text(need, bytes);
  spti_io_size_text(most, limit);
  return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: needs %s of memory and the limit is %s; %s (--memory-limit)", where, need, most, way_out);
}

/* Large arrays get huge pages, since otherwise page faults take much of the time in which they are filled. */
static void *new_memory(size_t bytes) {
  if (bytes < HUGE_PAGE) return malloc(bytes > 0 ? bytes : 1);
  void *p = NULL;
  if (posix_memalign(&p, HUGE_PAGE, bytes) != 0) return NULL;
  (void)madvise(p, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
  return p;
}

sptrsm_status spti_io_allocate(void *out, const char *where, size_t bytes) {
  void *p = bytes == SIZE_MAX ? NULL : new_memory(bytes);
  if (p == NULL) {
    char need[24];
    spti_io_size_text(need, bytes);
    spti_io_note_lack();
    return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for %s; use a machine with more memory", where, need);
  }
  memcpy(out, &p, sizeof p);
  return SPTRSM_OK;
}

sptrsm_status spti_io_grow(void *array, size_t *room, size_t count, size_t each, const char *where) {
  void *old, *bigger;
  if (count < *room) return SPTRSM_OK;
  size_t wanted = *room == 0 ? 16 : 2 * *room;
  memcpy(&old, array, sizeof old);
  bigger = realloc(old, wanted * each);
  if (bigger == NULL) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for a list of %zu objects", where, wanted);
  memcpy(array, &bigger, sizeof bigger);
  *room = wanted;
  return SPTRSM_OK;
}

sptrsm_status spti_io_copy(char **out, const char *text) {
  SPTI_IO_TRY(spti_io_allocate(out, text, strlen(text) + 1));
  strcpy(*out, text);
  return SPTRSM_OK;
}

sptrsm_status spti_io_join(char **out, const char *where, const char *name) {
  size_t length = strlen(where), bytes = length + strlen(name) + 2;
  SPTI_IO_TRY(spti_io_allocate(out, where, bytes));
  memcpy(*out, where, length + 1);
  if (length > 0 && where[length - 1] != '/') strcat(*out, "/");
  strcat(*out, name[0] == '/' ? name + 1 : name);
  return SPTRSM_OK;
}
