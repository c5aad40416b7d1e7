/* schur_input.c -- B and C of sptrsm-solve --schur: one sparse matrix or dense block for all items, or one in the group of each item. */
#include <stdlib.h>
#include <string.h>

#include "common/sparse_rhs.h"
#include "solve/schur.h"

/* ---- names ---- */

/* *out: "FILE:/items" followed by a star and "/B" where `where` names the groups of a batch; NULL: it names one object. The caller frees
 * it. */
static int groups_of(char **out, const char *where, const sptrsm_io_options *io) {
  char *file = cli_file_of(where);
  sptrsm_batch_kind kind = SPTRSM_BATCH_NONE;
  int64_t count;
  *out = NULL;
  if (file == NULL) return cli_no_memory("a file name");
  const char *path = where + strlen(file), *star = strrchr(path, '*'), *last = strrchr(path, '/');
  const int code = star ? CLI_OK : cli_fail(sptrsm_file_batch_find(&kind, &count, where, io));
  const bool grouped = code == CLI_OK && (star || kind == SPTRSM_BATCH_MIXED);
  const bool is_items = last && strcmp(last, "/items") == 0, ends = last && last[1] == '\0';
  const char *rest = star ? (star[1] == '\0' ? "/B" : "") : is_items ? "/*/B" : ends ? "items/*/B" : path[0] ? "/items/*/B" : ":/items/*/B";
  if (grouped && asprintf(out, "%s%s", where, rest) < 0) *out = NULL;
  free(file);
  return grouped && *out == NULL ? cli_no_memory("a name") : code;
}

/* ---- one side ---- */

/* By columns: compressed rows are transposed. */
static bool by_columns(sptrsm_file_matrix *M) {
  const size_t each = sptrsm_dtype_bytes(M->dtype);
  if (M->format == SPTRSM_CSC) return true;
  int64_t *ptr = calloc((size_t)M->cols + 2, sizeof *ptr);
  int32_t *idx = malloc(((size_t)M->ptr[M->rows] + 1) * sizeof *idx);
  char *val = malloc(((size_t)M->ptr[M->rows] + 1) * each);
  const bool good = ptr && idx && val;
  for (int64_t p = 0; good && p < M->ptr[M->rows]; p++) ptr[M->idx[p] + 2]++;
  for (int64_t k = 0; good && k < M->cols; k++) ptr[k + 2] += ptr[k + 1];
  for (int64_t i = 0; good && i < M->rows; i++)
    for (int64_t p = M->ptr[i]; p < M->ptr[i + 1]; p++) {
      const int64_t to = ptr[M->idx[p] + 1]++; /* ascends to the begin of the next column */
      idx[to] = (int32_t)i;
      memcpy(val + (size_t)to * each, (const char *)M->val + (size_t)p * each, each);
    }
  if (!good) {
    free(ptr), free(idx), free(val);
    return false;
  }
  free(M->ptr), free(M->idx), free(M->val);
  M->ptr = ptr, M->idx = idx, M->val = val;
  M->format = SPTRSM_CSC;
  return true;
}

static void side_free(schur_side *s) {
  sptrsm_file_block_free(s->block);
  sptrsm_file_matrix_free(s->matrix);
  *s = (schur_side){0};
}

static sptrsm_status load_matrix(schur_side *s, const char *where, const sptrsm_io_options *io) {
  sptrsm_status status = sptrsm_file_matrix_load(&s->matrix, where, io);
  if (status == SPTRSM_OK) status = sptrsm_file_matrix_mirror(s->matrix);
  if (status == SPTRSM_OK && !by_columns(s->matrix)) status = sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for its columns", where);
  return status;
}

/* dtype: SPTRSM_AS_STORED or the type to read. */
static sptrsm_status load_side(schur_side *s, const char *where, int32_t n, const sptrsm_io_options *given, int dtype) {
  sptrsm_io_options io = *given;
  sparse_rhs sparse;
  io.dtype = dtype;
  sptrsm_status status = sparse_rhs_find(&sparse, where, &io);
  side_free(s);
  if (status == SPTRSM_OK) status = sparse.where ? load_matrix(s, sparse.where, &io) : sptrsm_file_block_load(&s->block, where, n, &io);
  sparse_rhs_free(&sparse);
  return status;
}

static sptrsm_dtype side_dtype(const schur_side *s) { return s->matrix ? s->matrix->dtype : s->block->block.dtype; }

static int check_rows(const schur_side *s, const schur_input *in, int32_t n) {
  const int64_t rows = s->matrix ? s->matrix->rows : s->block->block.n;
  if (rows == n) return CLI_OK;
  cli_error("%s: has %lld rows, the factors have order %d; %s", s->matrix ? s->matrix->where : s->block->where, (long long)rows, n,
            strcmp(in->option, "--schur") == 0 ? "is this the right file?"
                                               : "--schur-rows takes the rows of C as columns: store C transposed");
  return CLI_INPUT;
}

/* Types: that of the factors, which must hold the numbers. */
static int settle_type(schur_side *s, const char *where, int32_t n, const sptrsm_io_options *io, sptrsm_dtype dtype) {
  const sptrsm_dtype stored = side_dtype(s), both = problem_wider(stored, dtype);
  if (stored == dtype) return CLI_OK;
  if (both == dtype) return cli_fail(load_side(s, where, n, io, (int)dtype));
  cli_error("%s: is %s, the factors are %s; add --dtype %s", where, cli_dtypes[stored], cli_dtypes[dtype], cli_dtypes[both]);
  return CLI_USAGE;
}

static int take_side(schur_side *s, const schur_input *in, const char *where, int32_t n, const sptrsm_io_options *io, sptrsm_dtype dtype) {
  int code = cli_fail(load_side(s, where, n, io, io->dtype));
  if (code == CLI_OK) code = check_rows(s, in, n);
  if (code == CLI_OK) code = settle_type(s, where, n, io, dtype);
  if (code != CLI_OK) return code;
  sptrsm_schur_columns_init(&s->columns);
  if (s->block) s->columns.dense = &s->block->block;
  if (s->matrix == NULL) return CLI_OK;
  s->columns.count = s->matrix->cols;
  s->columns.ptr = s->matrix->ptr;
  s->columns.idx = s->matrix->idx;
  s->columns.val = s->matrix->val;
  return CLI_OK;
}

int64_t schur_side_count(const schur_side *s) { return s->block ? s->block->block.nrhs : s->columns.count; }

/* ---- all items ---- */

static void note_side(schur_input *in, const schur_side *s) {
  const int64_t count = schur_side_count(s);
  if (s == in->sides || count < in->least) in->least = count;
  if (count > in->most) in->most = count;
  if (s->matrix) in->entries += s->matrix->ptr[s->matrix->cols];
}

/* A shared side is for items of one order. */
static int check_orders(const schur_input *in, const schur_run *r) {
  for (int64_t i = 1; r->is_batch && i < r->batch->count; i++)
    if (r->in.n[i] != r->in.n[0]) {
      cli_error("%s: is one matrix for all items, but they have orders %d and %d; store one in the group of each item", in->where,
                r->in.n[0], r->in.n[i]);
      return CLI_INPUT;
    }
  return CLI_OK;
}

/* Side i of a batch in groups: the star stands for the name of the item. */
static int load_group(schur_input *in, const char *pattern, const schur_run *r, int64_t i) {
  const sptrsm_file_factors *F = r->batch->items[i];
  const char *star = strrchr(pattern, '*'); /* the name of a file may have one, too */
  char *where;
  if (asprintf(&where, "%.*s%s%s", (int)(star - pattern), pattern, r->batch->names[i], star + 1) < 0) return cli_no_memory("a name");
  int code = take_side(&in->sides[i], in, where, F->L_tri.n, &r->set->problem.io, F->L_tri.dtype);
  free(where);
  return code;
}

static int load_sides(schur_input *in, const char *pattern, const schur_run *r) {
  const sptrsm_file_batch *b = r->batch;
  in->grouped = pattern != NULL;
  if (in->grouped && b->names == NULL) {
    cli_error("%s: has a matrix for each item of a mixed batch, but %s is %s; name one as FILE:/path", in->where, b->where,
              r->is_batch ? "a uniform batch" : "one factor set");
    return CLI_INPUT;
  }
  in->count = in->grouped ? b->count : 1;
  in->sides = calloc((size_t)in->count + 1, sizeof *in->sides);
  if (in->sides == NULL) return cli_no_memory("the columns");
  int code = in->grouped ? CLI_OK : check_orders(in, r);
  const sptrsm_file_factors *F = b->kind == SPTRSM_BATCH_UNIFORM || b->count > 0 ? b->items[0] : NULL;
  if (code == CLI_OK && !in->grouped && F) code = take_side(&in->sides[0], in, in->where, F->L_tri.n, &r->set->problem.io, F->L_tri.dtype);
  for (int64_t i = 0; code == CLI_OK && in->grouped && i < in->count; i++) code = load_group(in, pattern, r, i);
  for (int64_t i = 0; code == CLI_OK && i < in->count; i++) note_side(in, &in->sides[i]);
  return code;
}

int schur_input_load(schur_input *in, const schur_run *r) {
  char *pattern;
  if (in->where == NULL) return CLI_OK;
  int code = groups_of(&pattern, in->where, &r->set->problem.io);
  if (code == CLI_OK) code = load_sides(in, pattern, r);
  free(pattern);
  return code;
}

const schur_side *schur_side_of(const schur_input *in, int64_t i) { return &in->sides[in->grouped ? i : 0]; }

void schur_input_free(schur_input *in) {
  for (int64_t i = 0; in->sides && i < in->count; i++) side_free(&in->sides[i]);
  free(in->sides);
  in->sides = NULL;
}
