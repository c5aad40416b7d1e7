/* sparse_rhs.c -- see sparse_rhs.h. */
#include "common/sparse_rhs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"

/* Past slashes, and past components that are a dot. */
static const char *next_name(const char *path) {
  while (*path == '/' || (*path == '.' && (path[1] == '/' || path[1] == '\0'))) path++;
  return path;
}

/* Whether two paths in a file are the same, with any number of slashes between names. */
static bool same_path(const char *a, const char *b) {
  size_t length = 1;
  while (length > 0) {
    a = next_name(a), b = next_name(b);
    length = strcspn(a, "/");
    if (length != strcspn(b, "/") || strncmp(a, b, length) != 0) return false;
    a += length, b += length;
  }
  return true;
}

/* The listed object that is the right-hand sides. path: the part of the name behind "FILE:", or "". */
static const sptrsm_file_entry *pick(const sptrsm_file_listing *list, const char *path) {
  for (int i = 0; i < list->count; i++) {
    const sptrsm_file_entry *e = &list->entries[i];
    bool whole_file = strcmp(e->path, "/") == 0 || e->path[0] != '/'; /* the root; a Matrix Market file has no paths inside */
    if (path[0] == '\0' ? whole_file || strcmp(e->path, "/B") == 0 : same_path(e->path, path)) return e;
  }
  return NULL;
}

sptrsm_status sparse_rhs_find(sparse_rhs *out, const char *where, const sptrsm_io_options *io) {
  sptrsm_file_listing list;
  *out = (sparse_rhs){0};
  sptrsm_status listed = sptrsm_file_list(&list, where, io);
  if (listed == SPTRSM_ERR_IO || listed == SPTRSM_ERR_STRUCTURE || listed == SPTRSM_ERR_MEMORY) return listed;
  if (listed != SPTRSM_OK) return SPTRSM_OK;
  char *file = cli_file_of(where);
  bool good = file != NULL;
  const sptrsm_file_entry *e = good ? pick(&list, where + strlen(file) + (where[strlen(file)] == ':')) : NULL;
  if (e && strcmp(e->kind, "matrix") == 0) {
    bool in_hdf5 = e->path[0] == '/';
    out->path = strdup(in_hdf5 ? e->path : "/B");
    if (!in_hdf5) out->where = strdup(where);
    else if (asprintf(&out->where, "%s:%s", file, e->path) < 0) out->where = NULL;
    good = out->where && out->path;
  }
  free(file);
  sptrsm_file_listing_free(&list);
  if (good) return SPTRSM_OK;
  sparse_rhs_free(out);
  return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for a name", where);
}

sptrsm_status sparse_rhs_load(sptrsm_file_block **out, int32_t **rows, const sparse_rhs *s, int32_t n, const sptrsm_io_options *io) {
  sptrsm_file_matrix *M = NULL;
  sptrsm_status status = sptrsm_file_matrix_load(&M, s->where, io);
  if (status == SPTRSM_OK) status = sptrsm_file_matrix_mirror(M);
  if (status == SPTRSM_OK && M->rows != n)
    status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has %lld rows (%s), the matrix has order %d; is this the right file?", M->where,
                              (long long)M->rows, M->rule, n);
  if (status == SPTRSM_OK) status = sptrsm_file_block_of_matrix(out, rows, M, s->path, io);
  sptrsm_file_matrix_free(M);
  return status;
}

void sparse_rhs_free(sparse_rhs *s) {
  free(s->where);
  free(s->path);
  *s = (sparse_rhs){0};
}
