/* facts.c -- what sptrsm-info finds out about one file: its contents, its triangles with their level sets and tiles, and sizes. */
#include "info/info.h"

#include <stdlib.h>
#include <string.h>

double triangle_bytes(const sptrsm_sparse *T) {
  return (double)T->ptr[T->n] * (double)(sizeof(int32_t) + sptrsm_dtype_bytes(T->dtype)) + ((double)T->n + 1) * sizeof(int64_t);
}

double panel_bytes(const sptrsm_sparse *T) { return (double)T->n * PANEL_COLUMNS * (double)sptrsm_dtype_bytes(T->dtype); }

static void note_error(file_facts *f, sptrsm_status status) {
  f->code = cli_exit_code(status);
  snprintf(f->error, sizeof f->error, "%s", sptrsm_last_error());
}

/* Counts the rows of each level. */
static sptrsm_status count_levels(triangle_facts *t, const sptrsm_matrix *matrix) {
  const int32_t n = t->levels.n, count = t->levels.levels;
  int32_t *level = malloc((size_t)n * sizeof *level + 1);
  t->level_rows = (plot_levels){count, calloc((size_t)count + 1, sizeof *t->level_rows.rows)};
  sptrsm_status status = level && t->level_rows.rows ? sptrsm_matrix_row_levels(level, matrix, SPTRSM_N)
                                                     : sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for %d levels", t->name, count);
  for (int32_t i = 0; i < n && status == SPTRSM_OK; i++) t->level_rows.rows[level[i]]++;
  free(level);
  return status;
}

static sptrsm_status add_triangle(file_facts *f, sptrsm_context *context, const char *name, const sptrsm_file_matrix *M,
                                  const sptrsm_sparse *T) {
  triangle_facts *t = &f->triangles[f->triangle_count];
  sptrsm_matrix *matrix;
  *t = (triangle_facts){.name = name, .M = M, .T = *T, .levels.size = sizeof t->levels};
  sptrsm_status status = sptrsm_matrix_create(&matrix, context, T, SPTRSM_BORROW);
  if (status != SPTRSM_OK) return status;
  status = sptrsm_matrix_levels(&t->levels, matrix, SPTRSM_N);
  if (status == SPTRSM_OK) status = sptrsm_matrix_stencil(t->stencil, t->grid, matrix);
  if (status == SPTRSM_OK && f->plots->levels) status = count_levels(t, matrix);
  if (status == SPTRSM_OK && f->wants_tiles) {
    t->tiles.size = sizeof t->tiles;
    status = sptrsm_matrix_tiles(&t->tiles, matrix, SPTRSM_N);
  }
  sptrsm_matrix_destroy(matrix);
  if (status == SPTRSM_OK) f->triangle_count++;
  else free(t->level_rows.rows);
  return status;
}

static sptrsm_status load_factors(file_facts *f, sptrsm_context *context, const sptrsm_io_options *io) {
  sptrsm_status status = sptrsm_file_factors_load(&f->factors, f->where, io);
  if (status != SPTRSM_OK) return status;
  const sptrsm_file_factors *F = f->factors;
  if (!F->single && io->uplo != SPTRSM_AS_STORED) {
    f->code = CLI_USAGE;
    snprintf(f->error, sizeof f->error, "%s: --uplo is for single triangles, this is a factor set; leave it out", f->where);
    return SPTRSM_OK;
  }
  status = add_triangle(f, context, F->single ? "T" : "L", F->L, &F->L_tri);
  if (status == SPTRSM_OK && F->U) status = add_triangle(f, context, "U", F->U, &F->U_tri);
  return status;
}

static int count_kind(const sptrsm_file_listing *list, const char *kind) {
  int count = 0;
  for (int i = 0; i < list->count; i++) count += strcmp(list->entries[i].kind, kind) == 0;
  return count;
}

/* The file holds one valid matrix that is no triangle, and the user did not ask for a triangle: describing it is no error. A square one
 * with a NaN is not valid; others may be right-hand sides. */
static void load_general(file_facts *f, const sptrsm_io_options *io) {
  char value[BATCH_VALUE_TEXT];
  if (f->code != CLI_INPUT || f->listing.count != 1 || io->uplo != SPTRSM_AS_STORED) return;
  sptrsm_status status = sptrsm_file_matrix_load(&f->general, f->where, io);
  if (status == SPTRSM_ERR_MEMORY) note_error(f, status);
  if (status != SPTRSM_OK) return;
  if (f->general->rows != f->general->cols || !batch_odd_entry(value, f->general)) {
    f->code = CLI_OK;
    return;
  }
  snprintf(f->error, sizeof f->error, "%s; repair what wrote it", value);
  sptrsm_file_matrix_free(f->general);
  f->general = NULL;
}

static bool has_path(const sptrsm_file_listing *list, const char *path) {
  for (int e = 0; e < list->count; e++)
    if (strcmp(list->entries[e].path, path) == 0) return true;
  return false;
}

/* Loads the first group that claims to be a matrix but breaks its form, for the error message. */
static bool load_broken(file_facts *f, const sptrsm_io_options *io) {
  int e = 0;
  while (e < f->listing.count && strcmp(f->listing.entries[e].rule, "claims a known form, but breaks it") != 0) e++;
  if (e == f->listing.count) return false;
  char *file = cli_file_of(f->where), *where = NULL;
  sptrsm_file_matrix *M = NULL;
  if (file && asprintf(&where, "%s:%s", file, f->listing.entries[e].path) < 0) where = NULL;
  sptrsm_status status =
      where ? sptrsm_file_matrix_load(&M, where, io) : sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for a name", f->where);
  if (status != SPTRSM_OK) note_error(f, status);
  sptrsm_file_matrix_free(M);
  free(where);
  free(file);
  return status != SPTRSM_OK;
}

/* A path that ends with a star names what is below a group. */
static sptrsm_status list(file_facts *f, const sptrsm_io_options *io) {
  const size_t length = strlen(f->where);
  char *group = strdup(f->where);
  if (group == NULL) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for a name", f->where);
  if (length > 2 && strcmp(group + length - 2, "/*") == 0) group[length - (group[length - 3] == ':' ? 1 : 2)] = '\0';
  sptrsm_status status = sptrsm_file_list(&f->listing, group, io);
  free(group);
  return status;
}

void facts_load(file_facts *f, sptrsm_context *context, const sptrsm_io_options *io) {
  sptrsm_batch_kind kind = SPTRSM_BATCH_NONE;
  int64_t count;
  sptrsm_status status = list(f, io);
  if (status == SPTRSM_OK && f->lists) return;
  if (status == SPTRSM_OK) status = sptrsm_file_batch_find(&kind, &count, f->where, io);
  if (status == SPTRSM_OK && kind != SPTRSM_BATCH_NONE) status = batch_facts_load(f, context, io);
  if (status != SPTRSM_OK) {
    note_error(f, status);
    return;
  }
  if (kind != SPTRSM_BATCH_NONE) return;
  int matrices = count_kind(&f->listing, "matrix");
  if (matrices > 0) {
    status = load_factors(f, context, io);
    bool several = matrices > 1 && status == SPTRSM_ERR_STRUCTURE && !has_path(&f->listing, "/L"); /* the listing shows each by its path */
    if (status != SPTRSM_OK && !several) note_error(f, status);
    load_general(f, io);
  } else if (!load_broken(f, io) && f->listing.count == 1) {
    status = sptrsm_file_reader_open(&f->reader, f->where, -1, io); /* not loaded: a block may be larger than memory */
    if (status != SPTRSM_OK) note_error(f, status);
  }
}

void facts_free(file_facts *f) {
  for (int i = 0; i < f->triangle_count; i++) free(f->triangles[i].level_rows.rows);
  sptrsm_file_listing_free(&f->listing);
  sptrsm_file_factors_free(f->factors);
  sptrsm_file_batch_free(f->batch);
  sptrsm_file_matrix_free(f->general);
  sptrsm_file_reader_close(f->reader);
}
