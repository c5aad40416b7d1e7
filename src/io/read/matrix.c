/* matrix.c -- loads a sparse matrix: reads the arrays that its form names, and checks them.
 *
 * CSR and CSC: ptr starts at 0, never decreases, and ends at nnz, the number of indices and of values; indices lie in range and are
 * sorted and unique within each row or column (option `tidy` makes them so). COO: entries in any order.
 */
#include "io/read/read.h"

#include <stdlib.h>
#include <string.h>

typedef struct { /* the state of one load */
  const spti_io_object *group;
  const spti_io_form *form;
  const sptrsm_io_options *options;
  sptrsm_file_matrix *M;
  spti_io_dataset a, b, val; /* a and b: ptr and idx (CSR, CSC), or row and col (COO) */
} matrix_reader;

/* ---- values ---- */

static sptrsm_status open_values(matrix_reader *r) {
  if (r->group->file->positions) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_dataset_open(&r->val, r->group, r->form->val));
  r->val.pairs = r->form->pairs;
  return SPTRSM_OK;
}

static sptrsm_status check_stored_count(const matrix_reader *r, int64_t nnz) {
  if (r->form->nnz >= 0 && r->form->nnz != nnz)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: declares %lld stored values, but %s has %lld; correct number_of_stored_values",
                            r->group->where, (long long)r->form->nnz, r->b.where, (long long)nnz);
  if (r->group->file->positions) return SPTRSM_OK;
  int64_t need = r->form->iso ? 1 : nnz;
  if (r->val.pairs) need *= 2;
  if (!spti_io_is_vector(&r->val)) {
    char shape[72];
    spti_io_shape_text(shape, &r->val);
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is %s, but one matrix with the entries of %s needs a vector of %lld values%s",
                            r->val.where, shape, r->b.where, (long long)need, spti_io_batch_hint(&r->val, need));
  }
  if (r->val.count != need)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has %lld values, but %s has %lld entries, which need %lld", r->val.where,
                            (long long)r->val.count, r->b.where, (long long)nnz, (long long)need);
  if (r->val.pairs && r->val.number.is_complex)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: declared as complex[...] (pairs of reals), but stored as a compound; drop complex[] or store pairs",
                            r->val.where);
  return SPTRSM_OK;
}

const char *spti_io_batch_hint(const spti_io_dataset *d, int64_t length) {
  return d->rank == 2 && d->dims[1] == length
             ? "; these are the values of a batch, one item in each row: store those of one item, or solve "
               "the whole batch (sptrsm-solve, sptrsm_file_batch_load)"
             : "; store it in one dimension, or a batch as count x values of an item";
}

static sptrsm_status choose_value_type(matrix_reader *r) {
  r->M->dtype = SPTRSM_F64;
  if (r->group->file->positions) return SPTRSM_OK;
  sptrsm_dtype stored = r->val.number.dtype;
  if (r->val.pairs) stored = spti_io_complex_of(stored);
  return spti_io_choose_dtype(&r->M->dtype, stored, r->options->dtype, r->val.where);
}

static sptrsm_status read_matrix_values(matrix_reader *r, void **out, int64_t nnz) {
  size_t each = sptrsm_dtype_bytes(r->M->dtype);
  SPTI_IO_TRY(spti_io_allocate(out, r->val.where, spti_io_bytes(nnz > 0 ? nnz : 1, each)));
  if (nnz == 0) return SPTRSM_OK;
  for (int64_t p = 0; r->group->file->positions && p < nnz; p++) ((double *)*out)[p] = r->form->iso ? 1 : (double)p + 1;
  if (r->group->file->positions) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_read_values(&r->val, NULL, r->form->iso ? 1 : nnz, r->M->dtype, *out));
  for (int64_t p = 1; r->form->iso && p < nnz; p++) memcpy((char *)*out + (size_t)p * each, *out, each);
  return SPTRSM_OK;
}

/* ---- compressed ---- */

static sptrsm_status check_pointers(const matrix_reader *r, int64_t major, int64_t nnz) {
  const int64_t *ptr = r->M->ptr;
  if (ptr[0] != 0)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: [0] is %lld, must be 0; 1-based pointers must be made 0-based", r->a.where,
                            (long long)ptr[0]);
  for (int64_t j = 0; j < major; j++) {
    if (ptr[j + 1] < ptr[j])
      return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: [%lld] is %lld, less than [%lld] = %lld; pointers must not decrease", r->a.where,
                              (long long)j + 1, (long long)ptr[j + 1], (long long)j, (long long)ptr[j]);
    if (ptr[j + 1] > nnz)
      return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: [%lld] is %lld, but there are only %lld indices", r->a.where, (long long)j + 1,
                              (long long)ptr[j + 1], (long long)nnz);
  }
  if (ptr[major] != nnz)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: the last one, [%lld], is %lld, must be the number of indices, %lld", r->a.where,
                            (long long)major, (long long)ptr[major], (long long)nnz);
  return SPTRSM_OK;
}

static sptrsm_status check_range(const spti_io_dataset *d, const int32_t *idx, int64_t p, int64_t count, int64_t limit) {
  while (p < count && idx[p] >= 0 && idx[p] < limit) p++;
  if (p == count) return SPTRSM_OK;
  char stored[24];
  spti_io_stored_integer(stored, d, p);
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: [%lld] is %s, outside [0, %lld); indices are 0-based and must fit the shape", d->where,
                          (long long)p, stored, (long long)limit);
}

static sptrsm_status read_indices(const matrix_reader *r, int64_t minor, int64_t nnz) {
  sptrsm_file_matrix *M = r->M;
  if (M->idx == NULL) {
    SPTI_IO_TRY(spti_io_allocate(&M->idx, M->where, spti_io_bytes(nnz, sizeof *M->idx)));
    if (nnz > 0) SPTI_IO_TRY(spti_io_read_i32(&r->b, M->idx));
  }
  for (int64_t p = 0, end; p < nnz; p = end) {
    end = nnz - p < SPTI_MAP_WINDOW ? nnz : p + SPTI_MAP_WINDOW;
    SPTI_IO_TRY(check_range(&r->b, M->idx, p, end, minor));
    spti_io_passed(M, p, end);
  }
  return SPTRSM_OK;
}

/* Memory that the arrays take, but for those that are mapped. */
static sptrsm_status check_array_memory(const matrix_reader *r, int64_t major, int64_t nnz) {
  const sptrsm_file_matrix *M = r->M;
  size_t each = (M->idx ? 0 : sizeof *M->idx) + (M->val ? 0 : sptrsm_dtype_bytes(M->dtype));
  size_t bytes = spti_io_add(spti_io_bytes(major + 1, sizeof *M->ptr), spti_io_bytes(nnz, each));
  return spti_io_check_memory(r->group->file->memory_limit, M->where, bytes, "raise the limit");
}

static sptrsm_status read_compressed(matrix_reader *r) {
  const spti_io_form *form = r->form;
  sptrsm_file_matrix *M = r->M;
  SPTI_IO_TRY(spti_io_vector_open(&r->a, r->group, form->ptr));
  if (form->idx != NULL) SPTI_IO_TRY(spti_io_vector_open(&r->b, r->group, form->idx));
  if (form->val != NULL) SPTI_IO_TRY(open_values(r));
  M->rows = form->rows;
  M->cols = form->cols;
  int64_t major = spti_io_major(M), minor = M->format == SPTRSM_CSR ? M->cols : M->rows, nnz = form->idx != NULL ? r->b.count : 0;
  if (r->a.count != major + 1)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has %lld pointers, but shape %lld x %lld needs %lld", r->a.where,
                            (long long)r->a.count, (long long)M->rows, (long long)M->cols, (long long)major + 1);
  if (form->val != NULL) {
    SPTI_IO_TRY(check_stored_count(r, nnz));
    SPTI_IO_TRY(choose_value_type(r));
  } else {
    SPTI_IO_TRY(spti_io_choose_dtype(&M->dtype, SPTRSM_F64, r->options->dtype, M->where));
  }
  const bool maps = r->options->map && !r->group->file->positions && nnz > 0;
  if (maps) spti_io_map_entries(M, &r->b, form->val != NULL && !form->iso ? &r->val : NULL);
  SPTI_IO_TRY(check_array_memory(r, major, nnz));
  SPTI_IO_TRY(spti_io_allocate(&M->ptr, M->where, spti_io_bytes(major + 1, sizeof *M->ptr)));
  SPTI_IO_TRY(spti_io_read_i64(&r->a, M->ptr));
  SPTI_IO_TRY(check_pointers(r, major, nnz));
  SPTI_IO_TRY(read_indices(r, minor, nnz));
  return M->val ? SPTRSM_OK : read_matrix_values(r, &M->val, nnz);
}

/* ---- coordinate ---- */

static sptrsm_status check_triplet_memory(const matrix_reader *r, int64_t rows, int64_t cols, int64_t nnz) {
  size_t bytes = spti_io_triplets_bytes(rows, cols, nnz, r->M->dtype);
  return spti_io_check_memory(r->group->file->memory_limit, r->M->where, bytes, "raise the limit");
}

static sptrsm_status read_triplets(matrix_reader *r, spti_io_triplets *t) {
  const char *where = r->M->where;
  SPTI_IO_TRY(spti_io_allocate(&t->row, where, spti_io_bytes(t->nnz, sizeof *t->row)));
  SPTI_IO_TRY(spti_io_allocate(&t->col, where, spti_io_bytes(t->nnz, sizeof *t->col)));
  SPTI_IO_TRY(spti_io_read_i32(&r->a, t->row));
  SPTI_IO_TRY(spti_io_read_i32(&r->b, t->col));
  int64_t largest = -1;
  for (int64_t p = 0; p < t->nnz; p++) {
    if (t->row[p] > largest) largest = t->row[p];
    if (t->col[p] > largest) largest = t->col[p];
  }
  r->M->rows = r->form->rows >= 0 ? r->form->rows : largest + 1;
  r->M->cols = r->form->cols >= 0 ? r->form->cols : largest + 1;
  SPTI_IO_TRY(spti_io_check_shape(r->M->rows, r->M->cols, where));
  SPTI_IO_TRY(spti_io_check_order_and_count(r->M, t->nnz, r->options));
  SPTI_IO_TRY(check_triplet_memory(r, r->M->rows, r->M->cols, t->nnz));
  SPTI_IO_TRY(check_range(&r->a, t->row, 0, t->nnz, r->M->rows));
  SPTI_IO_TRY(check_range(&r->b, t->col, 0, t->nnz, r->M->cols));
  return read_matrix_values(r, &t->val, t->nnz);
}

static sptrsm_status read_coordinate(matrix_reader *r) {
  SPTI_IO_TRY(spti_io_vector_open(&r->a, r->group, r->form->row));
  SPTI_IO_TRY(spti_io_vector_open(&r->b, r->group, r->form->col));
  SPTI_IO_TRY(open_values(r));
  if (r->a.count != r->b.count)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has %lld indices, but %s has %lld", r->a.where, (long long)r->a.count, r->b.where,
                            (long long)r->b.count);
  SPTI_IO_TRY(check_stored_count(r, r->b.count));
  SPTI_IO_TRY(choose_value_type(r));
  spti_io_triplets t = {.nnz = r->b.count};
  SPTI_IO_TRY(check_triplet_memory(r, r->form->rows, r->form->cols, t.nnz));
  sptrsm_status status = read_triplets(r, &t);
  if (status == SPTRSM_OK) status = spti_io_compress(r->M, &t);
  spti_io_triplets_free(&t);
  return status;
}

/* ---- everything ---- */

static sptrsm_status read_extras(matrix_reader *r) {
  bool found;
  char *stencil;
  SPTI_IO_TRY(spti_io_attr_integers(&found, r->M->grid, 3, r->group, "grid"));
  SPTI_IO_TRY(spti_io_attr_text(&stencil, r->group, "stencil"));
  if (stencil != NULL) strncpy(r->M->stencil, stencil, sizeof r->M->stencil - 1);
  free(stencil);
  return SPTRSM_OK;
}

static sptrsm_status load_form(matrix_reader *r) {
  sptrsm_file_matrix *M = r->M;
  M->format = r->form->format;
  M->rule = r->form->rule;
  M->symmetry = r->form->symmetry;
  M->uplo = r->form->uplo;
  M->diag = r->form->diag;
  M->format_guessed = r->form->format_guessed;
  SPTI_IO_TRY(r->form->kind == SPTI_COMPRESSED ? read_compressed(r) : read_coordinate(r));
  SPTI_IO_TRY(spti_io_finish_matrix(M, r->options));
  return read_extras(r);
}

sptrsm_status spti_io_matrix_load(sptrsm_file_matrix **out, const spti_io_object *group, const sptrsm_io_options *o) {
  spti_io_form form;
  SPTI_IO_TRY(spti_io_detect(&form, group));
  if (form.kind == SPTI_DENSE)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is a dense block (%s), a sparse matrix is needed", group->where, form.rule);
  if (form.kind == SPTI_NONE) {
    char candidates[400];
    SPTI_IO_TRY(spti_io_name_candidates(candidates, group, false));
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: not a sparse matrix in a known form (Binsparse, MATLAB v7.3, data/indices/indptr, row/col/data)%s",
                            group->where, candidates[0] != '\0' ? candidates : "; name it as FILE:/path, see sptrsm-info");
  }
  matrix_reader r = {.group = group, .form = &form, .options = o, .a.id = -1, .b.id = -1, .val.id = -1};
  SPTI_IO_TRY(spti_io_matrix_new(&r.M, group->where));
  sptrsm_status status = load_form(&r);
  spti_io_dataset_close(&r.a);
  spti_io_dataset_close(&r.b);
  spti_io_dataset_close(&r.val);
  if (status == SPTRSM_OK) *out = r.M;
  else sptrsm_file_matrix_free(r.M);
  return status;
}

sptrsm_status sptrsm_file_matrix_load(sptrsm_file_matrix **out, const char *where, const sptrsm_io_options *o) {
  sptrsm_io_options taken;
  spti_io_file f;
  spti_io_object group;
  sptrsm_file_matrix *M = NULL;
  if (out == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_matrix_load: out is NULL");
  SPTI_IO_TRY(spti_io_take_options(&taken, &o));
  SPTI_IO_TRY(spti_io_file_open(&f, where, o));
  sptrsm_status status;
  if (f.matrix_market) {
    status = spti_io_mtx_load(&M, &f, o);
  } else {
    status = spti_io_object_open_path(&group, &f, f.path);
    if (status == SPTRSM_OK) status = spti_io_matrix_load(&M, &group, o);
    spti_io_object_close(&group);
  }
  status = spti_io_file_end(&f, status);
  if (status == SPTRSM_OK) *out = M;
  else sptrsm_file_matrix_free(M);
  return status;
}
