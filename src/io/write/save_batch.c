/* save_batch.c -- writes batches: uniform and mixed factor sets, and the solutions of all items in one file. */
#include "core/base/sized.h"
#include "io/write/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- factor sets ---- */

static sptrsm_status check_part(const void *part, int64_t stride, int64_t length, const char *name) {
  if (part == NULL || stride == 0 || stride >= length) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "values: %s_stride = %lld is less than the %lld elements of an item", name,
                          (long long)stride, (long long)length);
}

/* v = the caller's values, checked. Parts with stride 0 replace those of the factor set; L, U: copies of its triangles. */
static sptrsm_status take_values(sptrsm_batch_values *v, sptrsm_factors *f, sptrsm_sparse *L, sptrsm_sparse *U,
                                 const sptrsm_batch_values *in) {
  sptrsm_batch_values_init(v);
  if (in == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "values: NULL");
  SPTI_IO_TRY(spti_sized_read(v, sizeof *v, in, SPTI_SIZE_UP_TO(sptrsm_batch_values, scale_col_stride), "sptrsm_batch_values"));
  if (v->count < 0) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "values: count = %lld is negative", (long long)v->count);
  const int64_t n = f->L->n;
  SPTI_IO_TRY(check_part(v->L, v->L_stride, f->L->ptr[n], "L"));
  if (f->U != NULL) SPTI_IO_TRY(check_part(v->U, v->U_stride, f->U->ptr[n], "U"));
  SPTI_IO_TRY(check_part(v->D, v->D_stride, n, "D"));
  SPTI_IO_TRY(check_part(v->D_sub, v->D_sub_stride, n, "D_sub"));
  SPTI_IO_TRY(check_part(v->scale_row, v->scale_row_stride, n, "scale_row"));
  SPTI_IO_TRY(check_part(v->scale_col, v->scale_col_stride, n, "scale_col"));
  *L = *f->L;
  f->L = L;
  if (f->U != NULL) *U = *f->U, f->U = U;
  if (v->L != NULL && v->L_stride == 0) L->val = v->L, v->L = NULL;
  if (v->U != NULL && v->U_stride == 0) U->val = v->U, v->U = NULL;
  if (v->D != NULL && v->D_stride == 0) f->D = v->D;
  if (v->D_sub != NULL && v->D_sub_stride == 0) f->D_sub = v->D_sub;
  if (v->scale_row != NULL && v->scale_row_stride == 0) f->scale_row = v->scale_row;
  if (v->scale_col != NULL && v->scale_col_stride == 0) f->scale_col = v->scale_col;
  return SPTRSM_OK;
}

sptrsm_status sptrsm_file_batch_save_uniform(const char *path, const sptrsm_factors *pattern, const sptrsm_batch_values *values,
                                             const sptrsm_save_options *o) {
  sptrsm_save_options taken;
  sptrsm_factors f;
  sptrsm_sparse L, U = {0};
  sptrsm_batch_values v;
  spti_io_output out;
  SPTI_IO_TRY(spti_io_take_save_options(&taken, &o));
  SPTI_IO_TRY(spti_io_take_factors(&f, pattern, NULL));
  SPTI_IO_TRY(take_values(&v, &f, &L, &U, values));
  SPTI_IO_TRY(spti_io_output_begin(&out, path, o));
  sptrsm_status status = spti_io_write_set(&out, &f, NULL, &v, o);
  if (status == SPTRSM_OK) status = spti_io_write_integers(out.id, "batch", &v.count, 1, out.final);
  return spti_io_output_finish(&out, status);
}

/* ---- mixed ---- */

static sptrsm_status write_item(spti_io_output *out, hid_t items, const char *name, const sptrsm_factors *factors,
                                const sptrsm_file_matrix *A, const sptrsm_file_matrix *B, const sptrsm_save_options *o) {
  sptrsm_factors f;
  spti_io_output inside = *out;
  SPTI_IO_TRY(spti_io_take_factors(&f, factors, A));
  inside.id = H5Gcreate2(items, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (inside.id < 0) return spti_io_write_failed(out->final, name);
  sptrsm_status status = spti_io_write_set(&inside, &f, A, NULL, o);
  if (status == SPTRSM_OK && B != NULL) status = spti_io_write_sparse(&inside, "B", B, o);
  if (H5Gclose(inside.id) < 0 && status == SPTRSM_OK) status = spti_io_write_failed(out->final, name);
  return status;
}

sptrsm_status sptrsm_file_batch_save_mixed(const char *path, int64_t count, const char *const names[], const sptrsm_factors *const items[],
                                           const sptrsm_file_matrix *const A[], const sptrsm_file_matrix *const B[],
                                           const sptrsm_save_options *o) {
  sptrsm_save_options taken;
  spti_io_output out;
  SPTI_IO_TRY(spti_io_take_save_options(&taken, &o));
  if (count < 0 || (count > 0 && (names == NULL || items == NULL)))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_batch_save_mixed: no names or no items");
  for (int64_t i = 0; i < count; i++)
    if (names[i] == NULL || names[i][0] == '\0' || strchr(names[i], '/') != NULL)
      return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_batch_save_mixed: item %lld needs a name without a slash", (long long)i);
  SPTI_IO_TRY(spti_io_output_begin(&out, path, o));
  hid_t group = H5Gcreate2(out.id, "items", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  sptrsm_status status = group >= 0 ? SPTRSM_OK : spti_io_write_failed(out.final, "items");
  for (int64_t i = 0; i < count && status == SPTRSM_OK; i++)
    status = write_item(&out, group, names[i], items[i], A ? A[i] : NULL, B ? B[i] : NULL, o);
  if (group >= 0 && H5Gclose(group) < 0 && status == SPTRSM_OK) status = spti_io_write_failed(out.final, "items");
  return spti_io_output_finish(&out, status);
}

/* ---- solutions ---- */

static sptrsm_block block_of(const sptrsm_batch_block *X, int32_t n, int64_t i) {
  sptrsm_block out = {.ld = X->ld_of ? X->ld_of[i] : X->ld,
                      .n = n,
                      .nrhs = X->nrhs_of ? X->nrhs_of[i] : X->nrhs,
                      .dtype = X->dtype,
                      .layout = X->layout,
                      .place = X->place};
  if (X->data_of) out.data = X->data_of[i];
  else if (X->data) out.data = (char *)X->data + i * X->stride * (int64_t)sptrsm_dtype_bytes(X->dtype);
  return out;
}

static sptrsm_status check_item(const sptrsm_batch_block *X, int32_t n, int64_t i) {
  char name[32];
  const sptrsm_block b = block_of(X, n, i);
  snprintf(name, sizeof name, "item %lld", (long long)i);
  return spti_io_check_block(&b, name);
}

/* Blocks of one shape that lie one behind the other. */
static sptrsm_status check_dense(const sptrsm_batch_block *X, int64_t count, int32_t n) {
  const int64_t ld = X->layout == SPTRSM_ROW_MAJOR ? X->nrhs : n;
  if (count > 0) SPTI_IO_TRY(check_item(X, n, 0));
  if (!X->data_of && !X->nrhs_of && !X->ld_of && (count == 0 || (X->stride == n * X->nrhs && X->ld == (ld > 0 ? ld : 1)))) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "an array takes blocks of one shape that lie one behind the other, with the smallest ld");
}

/* The rows of the blocks of an array; without items those that the stride leaves room for, so that the shape is that of the others. */
static int32_t rows_of(const sptrsm_file_batch_solution *s) {
  if (s->count > 0) return s->n[0];
  const int64_t rows = s->X->nrhs > 0 && s->X->stride > 0 ? s->X->stride / s->X->nrhs : 0;
  return rows <= INT32_MAX ? (int32_t)rows : 0;
}

static sptrsm_status check_solution(const sptrsm_file_batch_solution *s) {
  if (s->count < 0 || s->X == NULL || (s->count > 0 && s->n == NULL))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_batch_solution: a negative count, or no orders or blocks");
  if (s->paths == NULL) {
    SPTI_IO_TRY(check_dense(s->X, s->count, rows_of(s)));
    for (int64_t i = 1; i < s->count; i++)
      if (s->n[i] != s->n[0])
        return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "item %lld has order %d, item 0 has %d; an array takes blocks of one shape",
                                (long long)i, s->n[i], s->n[0]);
    return SPTRSM_OK;
  }
  for (int64_t i = 0; i < s->count; i++) {
    SPTI_IO_TRY(check_item(s->X, s->n[i], i));
    if (s->paths[i] == NULL || s->paths[i][0] == '\0') return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "item %lld has no path", (long long)i);
  }
  return SPTRSM_OK;
}

/* Chunks of at most 2 MB of f64. */
static spti_io_array array_of(const sptrsm_batch_block *X, int64_t count, int32_t order, const char *name, const sptrsm_save_options *o) {
  enum { CHUNK = 262144 };
  const bool rows = X->layout == SPTRSM_ROW_MAJOR;
  const hsize_t n = (hsize_t)order, nrhs = (hsize_t)X->nrhs;
  spti_io_array a = {.name = name, .type = -1, .rank = 3, .dims = {(hsize_t)count, rows ? n : nrhs, rows ? nrhs : n}};
  if ((o->compress == 0 && !o->checksum) || n == 0 || nrhs == 0 || count == 0) return a;
  a.chunk[2] = a.dims[2] < CHUNK ? a.dims[2] : CHUNK;
  a.chunk[1] = a.dims[1] < CHUNK / a.chunk[2] ? a.dims[1] : CHUNK / a.chunk[2];
  a.chunk[0] = CHUNK / (a.chunk[1] * a.chunk[2]);
  if (a.chunk[0] > a.dims[0]) a.chunk[0] = a.dims[0];
  return a;
}

/* Writes blocks that lie one behind the other as one array, with its order and the report, if there is one. */
static sptrsm_status write_array(spti_io_output *out, const char *name, const sptrsm_batch_block *X, int64_t count, int32_t n,
                                 const sptrsm_save_options *o) {
  hid_t dataset;
  spti_io_array a = array_of(X, count, n, name, o);
  SPTI_IO_TRY(spti_io_value_type(&a.type, X->dtype, out->final));
  sptrsm_status status = spti_io_create_array(&dataset, out->id, &a, o, out->final);
  if (status == SPTRSM_OK) {
    const bool empty = a.dims[0] == 0 || a.dims[1] == 0 || a.dims[2] == 0;
    if (!empty && H5Dwrite(dataset, a.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, X->data) < 0) status = spti_io_write_failed(out->final, name);
    if (status == SPTRSM_OK) status = spti_io_write_text(dataset, "order", X->layout == SPTRSM_ROW_MAJOR ? "C" : "F", out->final);
    if (status == SPTRSM_OK && o->report != NULL) status = spti_io_write_text(dataset, "sptrsm_report", o->report, out->final);
    if (H5Dclose(dataset) < 0 && status == SPTRSM_OK) status = spti_io_write_failed(out->final, name);
  }
  H5Tclose(a.type);
  return status;
}

/* Datasets beside the array. */
static sptrsm_status write_beside(spti_io_output *out, const char *path, const sptrsm_file_batch_solution *s,
                                  const sptrsm_save_options *o) {
  int32_t *numbers;
  const spti_io_array items = spti_io_vector("item", H5T_NATIVE_INT64, s->count);
  const spti_io_array status = spti_io_vector("status", H5T_NATIVE_INT32, s->count),
                      row = spti_io_vector("row", H5T_NATIVE_INT32, s->count);
  const spti_io_array berr = {.name = "berr", .type = H5T_NATIVE_DOUBLE, .rank = 2, .dims = {(hsize_t)s->count, (hsize_t)s->X->nrhs}};
  SPTI_IO_TRY(spti_io_allocate(&numbers, out->final, spti_io_bytes(s->count, sizeof(int64_t))));
  for (int64_t i = 0; i < s->count; i++) ((int64_t *)(void *)numbers)[i] = s->first + i;
  sptrsm_status result = spti_io_write_beside(out, path, &items, numbers, o);
  for (int64_t i = 0; i < s->count && s->status; i++) numbers[i] = s->status[i].status;
  if (result == SPTRSM_OK && s->status) result = spti_io_write_beside(out, path, &status, numbers, o);
  for (int64_t i = 0; i < s->count && s->status; i++) numbers[i] = s->status[i].row;
  if (result == SPTRSM_OK && s->status) result = spti_io_write_beside(out, path, &row, numbers, o);
  free(numbers);
  if (result != SPTRSM_OK || s->berr == NULL) return result;
  sptrsm_save_options plain = *o; /* few numbers: no chunks */
  plain.compress = plain.checksum = 0;
  return spti_io_write_beside(out, path, &berr, s->berr, &plain);
}

static sptrsm_status mark_item(const spti_io_output *out, const char *path, const sptrsm_item_status *status) {
  const int64_t numbers[2] = {status->status, status->row};
  hid_t dataset = H5Oopen(out->id, path, H5P_DEFAULT);
  if (dataset < 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: dataset %s can't be opened again", out->final, path);
  sptrsm_status result = spti_io_write_integers(dataset, "status", &numbers[0], 1, out->final);
  if (result == SPTRSM_OK) result = spti_io_write_integers(dataset, "row", &numbers[1], 1, out->final);
  H5Oclose(dataset);
  return result;
}

/* berr goes beside X where X is a member of the item's group. */
static sptrsm_status write_groups(spti_io_output *out, const sptrsm_file_batch_solution *s, const sptrsm_save_options *o) {
  const double *berr = s->berr;
  for (int64_t i = 0; i < s->count; i++) {
    const sptrsm_block X = block_of(s->X, s->n[i], i);
    const spti_io_array vector = spti_io_vector("berr", H5T_NATIVE_DOUBLE, X.nrhs);
    const char *last = strrchr(s->paths[i], '/');
    SPTI_IO_TRY(spti_io_write_block(out, s->paths[i], &X, o, i == 0 ? o->report : NULL));
    if (s->status) SPTI_IO_TRY(mark_item(out, s->paths[i], &s->status[i]));
    if (berr && last && strcmp(last, "/X") == 0) SPTI_IO_TRY(spti_io_write_beside(out, s->paths[i], &vector, berr, o));
    if (berr) berr += X.nrhs;
  }
  return SPTRSM_OK;
}

sptrsm_status sptrsm_file_batch_solution_save(const char *path, const sptrsm_file_batch_solution *s, const sptrsm_save_options *o) {
  sptrsm_save_options taken;
  sptrsm_file_batch_solution in = {0};
  spti_io_output out;
  SPTI_IO_TRY(spti_io_take_save_options(&taken, &o));
  if (s == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_batch_solution_save: the solution is NULL");
  SPTI_IO_TRY(spti_sized_read(&in, sizeof in, s, SPTI_SIZE_UP_TO(sptrsm_file_batch_solution, berr), "sptrsm_file_batch_solution"));
  SPTI_IO_TRY(check_solution(&in));
  SPTI_IO_TRY(spti_io_output_begin(&out, path, o));
  sptrsm_status status = SPTRSM_OK;
  const char *name = o->path != NULL ? o->path : "X";
  if (in.paths != NULL) status = write_groups(&out, &in, o);
  else status = write_array(&out, name, in.X, in.count, rows_of(&in), o);
  if (status == SPTRSM_OK && in.paths == NULL) status = write_beside(&out, name, &in, o);
  return spti_io_output_finish(&out, status);
}

sptrsm_status sptrsm_file_batch_blocks_save(const char *path, int64_t items, int32_t n, int count, const char *const names[],
                                            const sptrsm_batch_block *const blocks[], const sptrsm_save_options *o) {
  sptrsm_save_options taken;
  spti_io_output out;
  SPTI_IO_TRY(spti_io_take_save_options(&taken, &o));
  if (count < 0 || items < 0 || (count > 0 && (names == NULL || blocks == NULL)))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_batch_blocks_save: a negative count, no names or no blocks");
  for (int k = 0; k < count; k++) {
    if (names[k] == NULL || names[k][0] == '\0' || blocks[k] == NULL)
      return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_batch_blocks_save: block %d is NULL or has no name", k);
    SPTI_IO_TRY(check_dense(blocks[k], items, n));
  }
  SPTI_IO_TRY(spti_io_output_begin(&out, path, o));
  sptrsm_status status = SPTRSM_OK;
  for (int k = 0; k < count && status == SPTRSM_OK; k++) status = write_array(&out, names[k], blocks[k], items, n, o);
  return spti_io_output_finish(&out, status);
}
