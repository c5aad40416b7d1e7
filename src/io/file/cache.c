/* cache.c -- files that stay open from one load to the next, each with its child.
 *
 * A file in the cache belongs to the cache alone; while a load uses it, it belongs to that load and is not in the cache. So no two loads
 * share a child, and a file that two loads have open at a time is opened twice. The child has copies of the options with which the file
 * was opened, so a load with others opens it anew, as does one that finds another file of that name, or a change in it. A program may set
 * the time of a modification (st_mtim) back, but not that of a change (st_ctim).
 */
#include "io/file/child.h"

#include <stdlib.h>
#include <string.h>

typedef struct kept {
  spti_io_file file;
  struct kept *next;
} kept;

struct sptrsm_file_cache {
  kept *first; /* the one that came last */
};

enum { KEPT = 8 }; /* at most; the header names it */

static void close_kept(kept *k) {
  spti_io_child_end(&k->file);
  free(k->file.name);
  free(k);
}

static void close_from(kept **at) {
  while (*at != NULL) {
    kept *k = *at;
    *at = k->next;
    close_kept(k);
  }
}

static bool is_asked_for(const spti_io_file *k, const spti_io_file *f) {
  return strcmp(k->name, f->name) == 0 && k->memory_limit == f->memory_limit && k->allow_external == f->allow_external;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b) { return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec; }

static bool is_unchanged(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && is_same_time(&a->st_mtim, &b->st_mtim) &&
         is_same_time(&a->st_ctim, &b->st_ctim);
}

bool spti_io_cache_take(spti_io_file *f) {
  kept **at = f->cache != NULL ? &f->cache->first : NULL;
  while (f->child == NULL && at != NULL && *at != NULL) {
    kept *k = *at;
    if (!is_asked_for(&k->file, f)) {
      at = &k->next;
      continue;
    }
    *at = k->next;
    if (is_unchanged(&k->file.seen, &f->seen) && spti_io_child_idle(&k->file)) {
      f->child = k->file.child;
      f->id = k->file.id;
      k->file.child = NULL;
    }
    close_kept(k);
  }
  return f->child != NULL;
}

void spti_io_cache_give_back(spti_io_file *f) {
  if (f->cache == NULL || !spti_io_child_idle(f)) return;
  kept *k = malloc(sizeof *k);
  if (k == NULL) return; /* the file is closed instead */
  *k = (kept){.file = {.child = f->child, .id = f->id, .name = f->name, .seen = f->seen}, .next = f->cache->first};
  k->file.memory_limit = f->memory_limit;
  k->file.allow_external = f->allow_external;
  f->cache->first = k;
  f->child = NULL;
  f->id = -1;
  f->name = NULL;
  kept **at = &f->cache->first;
  for (int count = 0; *at != NULL && count < KEPT; count++) at = &(*at)->next;
  close_from(at);
}

sptrsm_status sptrsm_file_cache_create(sptrsm_file_cache **out) {
  if (out == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_cache_create: out is NULL");
  SPTI_IO_TRY(spti_io_allocate(out, "a cache of open files", sizeof **out));
  **out = (sptrsm_file_cache){0};
  return SPTRSM_OK;
}

void sptrsm_file_cache_clear(sptrsm_file_cache *cache) {
  if (cache != NULL) close_from(&cache->first);
}

void sptrsm_file_cache_destroy(sptrsm_file_cache *cache) {
  sptrsm_file_cache_clear(cache);
  free(cache);
}
