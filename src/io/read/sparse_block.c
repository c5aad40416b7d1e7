/* sparse_block.c -- turns a sparse matrix into a dense block of right-hand sides: all its rows, or only the rows with entries. */
#include "io/read/read.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const sptrsm_file_matrix *M;
  int64_t begin, end;        /* columns */
  int32_t *at;               /* [M->rows] row of the block that receives this row of M, or -1 */
  const sptrsm_block *block; /* row-major */
} filler;

static sptrsm_status check_matrix(const sptrsm_file_matrix *M, int64_t *begin, int64_t *end, const sptrsm_io_options *o) {
  *begin = o->col_begin;
  *end = o->col_end < 0 ? M->cols : o->col_end;
  if (*begin < 0 || *begin > *end || *end > M->cols)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: columns %lld:%lld asked for, but it has %lld; choose within 0:%lld", M->where,
                            (long long)*begin, (long long)*end, (long long)M->cols, (long long)M->cols);
  if (M->symmetry == SPTRSM_GENERAL) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: stores one triangle for both; call sptrsm_file_matrix_mirror first", M->where);
}

/* Row i and column k of entry p, which lies in line `line` of M. */
static void place(int64_t *i, int64_t *k, const sptrsm_file_matrix *M, int64_t line, int64_t p) {
  *i = M->format == SPTRSM_CSR ? line : M->idx[p];
  *k = M->format == SPTRSM_CSR ? M->idx[p] : line;
}

/* Sets at to 0 for rows with an entry in these columns. */
static void mark_rows(const filler *f) {
  int64_t i, k;
  for (int64_t line = 0; line < spti_io_major(f->M); line++)
    for (int64_t p = f->M->ptr[line]; p < f->M->ptr[line + 1]; p++) {
      place(&i, &k, f->M, line, p);
      if (k >= f->begin && k < f->end) f->at[i] = 0;
    }
}

static void fill(const filler *f) {
  size_t each = sptrsm_dtype_bytes(f->block->dtype);
  int64_t i, k;
  for (int64_t line = 0; line < spti_io_major(f->M); line++)
    for (int64_t p = f->M->ptr[line]; p < f->M->ptr[line + 1]; p++) {
      place(&i, &k, f->M, line, p);
      if (k < f->begin || k >= f->end) continue;
      size_t to = (size_t)(f->at[i] * f->block->ld + k - f->begin);
      memcpy((char *)f->block->data + to * each, (const char *)f->M->val + (size_t)p * each, each);
    }
}

/* Fills at with the numbers of the rows in the block, and *rows with the inverse; rows NULL: all rows of M. */
static sptrsm_status number_rows(int32_t **rows, int64_t *count, const filler *f) {
  int64_t n = f->M->rows;
  *count = 0;
  for (int64_t i = 0; i < n; i++) f->at[i] = rows != NULL ? -1 : 0;
  if (rows != NULL) mark_rows(f);
  for (int64_t i = 0; i < n; i++)
    if (f->at[i] == 0) f->at[i] = (int32_t)(*count)++;
  if (rows == NULL) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_allocate(rows, f->M->where, spti_io_bytes(*count, sizeof **rows)));
  for (int64_t i = 0; i < n; i++)
    if (f->at[i] >= 0) (*rows)[f->at[i]] = (int32_t)i;
  return SPTRSM_OK;
}

static sptrsm_status make_block(sptrsm_file_block *X, int32_t **rows, filler *f, const char *path, const sptrsm_io_options *o) {
  const sptrsm_file_matrix *M = f->M;
  int64_t count, width = f->end - f->begin;
  SPTI_IO_TRY(spti_io_copy(&X->where, M->where));
  SPTI_IO_TRY(spti_io_copy(&X->path, path));
  SPTI_IO_TRY(number_rows(rows, &count, f));
  int64_t cells = width > 0 && count > INT64_MAX / width ? -1 : count * width; /* -1: the product overflows, which exceeds every limit */
  size_t bytes = spti_io_bytes(cells, sptrsm_dtype_bytes(M->dtype));
  SPTI_IO_TRY(spti_io_check_memory(spti_io_memory_limit(o), M->where, bytes, "load fewer columns (--cols) or raise the limit"));
  SPTI_IO_TRY(spti_io_allocate(&X->block.data, M->where, bytes));
  memset(X->block.data, 0, bytes);
  X->block.n = (int32_t)count;
  X->block.nrhs = width;
  X->block.ld = width > 0 ? width : 1;
  X->block.dtype = M->dtype;
  X->file_nrhs = M->cols;
  X->rule = M->rule;
  f->block = &X->block;
  fill(f);
  return SPTRSM_OK;
}

sptrsm_status sptrsm_file_block_of_matrix(sptrsm_file_block **out, int32_t **rows, const sptrsm_file_matrix *M, const char *path,
                                          const sptrsm_io_options *o) {
  sptrsm_io_options taken;
  filler f = {.M = M};
  sptrsm_file_block *X = NULL;
  int32_t *list = NULL;
  if (out == NULL || M == NULL || path == NULL)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_block_of_matrix: out, M or path is NULL");
  SPTI_IO_TRY(spti_io_take_options(&taken, &o));
  SPTI_IO_TRY(check_matrix(M, &f.begin, &f.end, o));
  SPTI_IO_TRY(spti_io_allocate(&f.at, M->where, spti_io_bytes(M->rows, sizeof *f.at)));
  sptrsm_status status = spti_io_allocate(&X, M->where, sizeof *X);
  if (status == SPTRSM_OK) {
    *X = (sptrsm_file_block){.rule = ""};
    status = make_block(X, rows != NULL ? &list : NULL, &f, path, o);
  } else X = NULL;
  free(f.at);
  if (status != SPTRSM_OK) {
    free(list);
    sptrsm_file_block_free(X);
    return status;
  }
  *out = X;
  if (rows != NULL) *rows = list;
  return SPTRSM_OK;
}
