/* save_factors.c -- writes a factor set that this library, SciPy/h5py, AnnData and Binsparse tools all read.
 *
 * A real matrix has datasets values, indices_1 and pointers_to_1 with the Binsparse attribute, hard-linked as data, indices and indptr
 * with AnnData's attributes. A complex matrix has h5py's compound {r,i} under the AnnData names only, because Binsparse requires
 * interleaved reals and one dataset can't be both. A symmetric A gets no AnnData attributes: SciPy would take its stored triangle for
 * the whole matrix.
 */
#include "core/base/sized.h"
#include "io/write/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {                              /* L, U or A, as it is written */
  const char *name, *uplo, *diag, *structure; /* NULL: not stated */
  sptrsm_format format;
  sptrsm_dtype dtype;
  int64_t rows, cols;
  const int64_t *ptr;
  const int32_t *idx;
  const void *val;
  const int64_t *stride; /* of a batch: between the values of two items; NULL: one set of values */
  int64_t count;         /* of a batch: items */
} outgoing;

static const char *dtype_name(sptrsm_dtype t) {
  static const char *const names[] = {"f32", "f64", "c64", "c128"};
  return names[t];
}

/* ---- the description ---- */

/* Adds text to an object; NULL is left out. */
static bool add_text(json_t *object, const char *key, const char *text) {
  return text == NULL || json_object_set_new(object, key, json_string(text)) == 0;
}

static json_t *own_description(const outgoing *m) {
  json_t *own = json_object();
  if (add_text(own, "uplo", m->uplo) && add_text(own, "diag", m->diag) && add_text(own, "structure", m->structure)) return own;
  json_decref(own);
  return NULL;
}

static json_t *binsparse_description(const outgoing *m, int64_t nnz) {
  json_t *types = json_pack("{s:s, s:s, s:s}", "pointers_to_1", "int64", "indices_1", "int32", "values",
                            m->dtype == SPTRSM_F32 ? "float32" : "float64");
  json_t *b = json_pack("{s:s, s:s, s:[I,I], s:I, s:o}", "version", "0.1", "format", m->format == SPTRSM_CSR ? "CSR" : "CSC", "shape",
                        (json_int_t)m->rows, (json_int_t)m->cols, "number_of_stored_values", (json_int_t)nnz, "data_types", types);
  if (add_text(b, "structure", m->structure)) return json_pack("{s:o, s:o}", "binsparse", b, "sptrsm", own_description(m));
  json_decref(b);
  return NULL;
}

static sptrsm_status write_description(hid_t group, const outgoing *m, int64_t nnz, const char *where) {
  bool real = !spti_is_complex(m->dtype) && m->stride == NULL; /* Binsparse and AnnData have no batches */
  json_t *root = real ? binsparse_description(m, nnz) : own_description(m);
  char *text = root != NULL ? json_dumps(root, JSON_COMPACT) : NULL;
  sptrsm_status status = text != NULL ? spti_io_write_text(group, real ? "binsparse" : "sptrsm", text, where)
                                      : sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for the description of %s", where, m->name);
  free(text);
  json_decref(root);
  if (status == SPTRSM_OK && m->stride != NULL) status = spti_io_write_integers(group, "shape", (int64_t[]){m->rows, m->cols}, 2, where);
  if (status == SPTRSM_OK && !real && (m->structure != NULL || m->stride != NULL)) /* without it the arrays would be read as CSR */
    return spti_io_write_text(group, "format", m->format == SPTRSM_CSR ? "csr" : "csc", where);
  if (status != SPTRSM_OK || m->structure != NULL) return status;
  int64_t shape[2] = {m->rows, m->cols};
  SPTI_IO_TRY(spti_io_write_text(group, "encoding-type", m->format == SPTRSM_CSR ? "csr_matrix" : "csc_matrix", where));
  SPTI_IO_TRY(spti_io_write_text(group, "encoding-version", "0.1.0", where));
  return spti_io_write_integers(group, "shape", shape, 2, where);
}

/* ---- the arrays ---- */

static sptrsm_status link_names(hid_t group, const char *where) {
  static const char *const pairs[][2] = {{"values", "data"}, {"indices_1", "indices"}, {"pointers_to_1", "indptr"}};
  for (int k = 0; k < 3; k++)
    if (H5Lcreate_hard(group, pairs[k][0], group, pairs[k][1], H5P_DEFAULT, H5P_DEFAULT) < 0)
      return spti_io_write_failed(where, pairs[k][1]);
  return SPTRSM_OK;
}

static sptrsm_status write_values(hid_t group, const char *name, hid_t type, const outgoing *m, int64_t nnz, const sptrsm_save_options *o,
                                  const char *where) {
  spti_io_array val = spti_io_vector(name, type, nnz);
  if (m->stride == NULL) return spti_io_write_array(group, &val, m->val, o, where);
  return spti_io_write_rows(group, name, type, &(spti_io_rows){m->count, nnz, *m->stride}, m->val, o, where);
}

static sptrsm_status write_contents(hid_t group, const outgoing *m, const sptrsm_save_options *o, const char *where) {
  bool real = !spti_is_complex(m->dtype) && m->stride == NULL;
  int64_t major = m->format == SPTRSM_CSR ? m->rows : m->cols, nnz = m->ptr[major];
  hid_t type;
  SPTI_IO_TRY(write_description(group, m, nnz, where));
  spti_io_array ptr = spti_io_vector(real ? "pointers_to_1" : "indptr", H5T_NATIVE_INT64, major + 1);
  spti_io_array idx = spti_io_vector(real ? "indices_1" : "indices", H5T_NATIVE_INT32, nnz);
  SPTI_IO_TRY(spti_io_write_array(group, &ptr, m->ptr, o, where));
  SPTI_IO_TRY(spti_io_write_array(group, &idx, m->idx, o, where));
  SPTI_IO_TRY(spti_io_value_type(&type, m->dtype, where));
  sptrsm_status status = write_values(group, real ? "values" : "data", type, m, nnz, o, where);
  H5Tclose(type);
  return status == SPTRSM_OK && real && m->structure == NULL ? link_names(group, where) : status;
}

static sptrsm_status write_matrix(spti_io_output *out, const outgoing *m, const sptrsm_save_options *o) {
  hid_t group = H5Gcreate2(out->id, m->name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (group < 0) return spti_io_write_failed(out->final, m->name);
  sptrsm_status status = write_contents(group, m, o, out->final);
  bool is_l = strcmp(m->name, "L") == 0;
  if (status == SPTRSM_OK && is_l && o->grid != NULL) status = spti_io_write_integers(group, "grid", o->grid, 3, out->final);
  if (status == SPTRSM_OK && is_l && o->stencil != NULL) status = spti_io_write_text(group, "stencil", o->stencil, out->final);
  if (H5Gclose(group) < 0 && status == SPTRSM_OK) status = spti_io_write_failed(out->final, m->name);
  return status;
}

static bool stores_diagonal(const sptrsm_sparse *T) {
  for (int64_t j = 0; j < T->n; j++)
    for (int64_t p = T->ptr[j]; p < T->ptr[j + 1]; p++)
      if (T->idx[p] == j) return true;
  return false;
}

static outgoing from_triangle(const sptrsm_sparse *T, const char *name) {
  outgoing m = {
      .name = name, .format = T->format, .dtype = T->dtype, .rows = T->n, .cols = T->n, .ptr = T->ptr, .idx = T->idx, .val = T->val};
  m.uplo = T->uplo == SPTRSM_LOWER ? "lower" : "upper";
  m.diag = T->diag == SPTRSM_NONUNIT ? "nonunit" : stores_diagonal(T) ? "unit" : "unit-implicit";
  return m;
}

static outgoing from_matrix(const sptrsm_file_matrix *A) {
  static const char *const structures[][2] = {{NULL, NULL},
                                              {"symmetric_lower", "symmetric_upper"},
                                              {"hermitian_lower", "hermitian_upper"},
                                              {"skew_symmetric_lower", "skew_symmetric_upper"}};
  outgoing m = {
      .name = "A", .format = A->format, .dtype = A->dtype, .rows = A->rows, .cols = A->cols, .ptr = A->ptr, .idx = A->idx, .val = A->val};
  m.structure = structures[A->symmetry][A->uplo == SPTRSM_UPPER];
  return m;
}

/* ---- the vectors ---- */

typedef struct {
  const char *name;
  hid_t type;
  const void *data;              /* [n] of the factors; NULL: nothing is written */
  const char *attribute, *value; /* says how the vector is meant; NULL: no attribute */
  int64_t count, stride;         /* of a batch: vectors; else zeros */
} outgoing_vector;

/* Takes the vectors of a batch, if it has some. */
static void take_part(outgoing_vector *v, const sptrsm_batch_values *values, const void *part, int64_t stride) {
  if (values == NULL || part == NULL || stride == 0) return;
  v->data = part;
  v->count = values->count;
  v->stride = stride;
}

static sptrsm_status write_vector(spti_io_output *out, const outgoing_vector *v, int64_t n, const sptrsm_save_options *o) {
  if (v->data == NULL) return SPTRSM_OK;
  spti_io_array array = spti_io_vector(v->name, v->type, n);
  const spti_io_rows rows = {v->count, n, v->stride};
  if (v->stride > 0) SPTI_IO_TRY(spti_io_write_rows(out->id, v->name, v->type, &rows, v->data, o, out->final));
  else SPTI_IO_TRY(spti_io_write_array(out->id, &array, v->data, o, out->final));
  if (v->attribute == NULL) return SPTRSM_OK;
  hid_t dataset = H5Oopen(out->id, v->name, H5P_DEFAULT);
  if (dataset < 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: dataset %s can't be opened again", out->final, v->name);
  sptrsm_status status = spti_io_write_text(dataset, v->attribute, v->value, out->final);
  H5Oclose(dataset);
  return status;
}

/* v->data are int32_t; the file holds 64-bit integers. */
static sptrsm_status write_permutation(spti_io_output *out, const outgoing_vector *v, int64_t n, const sptrsm_save_options *o) {
  const int32_t *perm = v->data;
  outgoing_vector stored = *v;
  int64_t *wide;
  if (perm == NULL) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_allocate(&wide, out->final, spti_io_bytes(n, sizeof *wide)));
  for (int64_t i = 0; i < n; i++) wide[i] = perm[i];
  stored.data = wide;
  sptrsm_status status = write_vector(out, &stored, n, o);
  free(wide);
  return status;
}

static const char *convention(sptrsm_convention c) { return c == SPTRSM_GATHER ? "gather" : "scatter"; }

static sptrsm_status write_permutations(spti_io_output *out, const sptrsm_factors *f, const sptrsm_save_options *o) {
  outgoing_vector row = {
      .name = "perm_row", .type = H5T_NATIVE_INT64, .data = f->perm_row, .attribute = "convention", .value = convention(f->row_convention)};
  outgoing_vector col = {
      .name = "perm_col", .type = H5T_NATIVE_INT64, .data = f->perm_col, .attribute = "convention", .value = convention(f->col_convention)};
  SPTI_IO_TRY(write_permutation(out, &row, f->L->n, o));
  return write_permutation(out, &col, f->L->n, o);
}

static const char *scaling(sptrsm_scale_op op) { return op == SPTRSM_MULTIPLY ? "multiply" : "divide"; }

static sptrsm_status write_scalings(spti_io_output *out, const sptrsm_factors *f, const sptrsm_batch_values *b,
                                    const sptrsm_save_options *o) {
  outgoing_vector row = {
      .name = "scale_row", .type = H5T_NATIVE_DOUBLE, .data = f->scale_row, .attribute = "op", .value = scaling(f->row_op)};
  outgoing_vector col = {
      .name = "scale_col", .type = H5T_NATIVE_DOUBLE, .data = f->scale_col, .attribute = "op", .value = scaling(f->col_op)};
  if (b) take_part(&row, b, b->scale_row, b->scale_row_stride);
  if (b) take_part(&col, b, b->scale_col, b->scale_col_stride);
  SPTI_IO_TRY(write_vector(out, &row, f->L->n, o));
  return write_vector(out, &col, f->L->n, o);
}

static sptrsm_status write_diagonal(spti_io_output *out, const sptrsm_factors *f, const sptrsm_batch_values *b,
                                    const sptrsm_save_options *o) {
  hid_t type;
  int64_t hermitian = 1;
  SPTI_IO_TRY(spti_io_value_type(&type, f->L->dtype, out->final));
  outgoing_vector D = {.name = "D", .type = type, .data = f->D}, D_sub = {.name = "D_sub", .type = type, .data = f->D_sub};
  if (b) take_part(&D, b, b->D, b->D_stride);
  if (b) take_part(&D_sub, b, b->D_sub, b->D_sub_stride);
  sptrsm_status status = write_vector(out, &D, f->L->n, o);
  if (status == SPTRSM_OK) status = write_vector(out, &D_sub, f->L->n, o);
  H5Tclose(type);
  if (status != SPTRSM_OK || f->D_sub == NULL || !f->D_hermitian) return status;
  hid_t dataset = H5Oopen(out->id, "D_sub", H5P_DEFAULT);
  if (dataset < 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: dataset D_sub can't be opened again", out->final);
  status = spti_io_write_integers(dataset, "hermitian", &hermitian, 1, out->final);
  H5Oclose(dataset);
  return status;
}

/* ---- everything ---- */

static sptrsm_status check_triangle(const sptrsm_sparse *T, const char *name) {
  if (T->place != SPTRSM_HOST) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: is in device memory; copy it to the host first", name);
  if (T->n < 0 || T->ptr == NULL || sptrsm_dtype_bytes(T->dtype) == 0)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: negative order, no pointers, or unknown dtype", name);
  for (int64_t j = 0; j <= T->n; j++)
    if (j == 0 ? T->ptr[j] != 0 : T->ptr[j] < T->ptr[j - 1])
      return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: ptr[%lld] = %lld: pointers begin with 0 and do not decrease", name, (long long)j,
                              (long long)T->ptr[j]);
  if (T->ptr[T->n] > 0 && (T->idx == NULL || T->val == NULL))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: has entries but no arrays", name);
  return SPTRSM_OK;
}

sptrsm_status spti_io_take_factors(sptrsm_factors *f, const sptrsm_factors *in, const sptrsm_file_matrix *A) {
  sptrsm_factors_init(f);
  if (in == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "factors: L is required");
  SPTI_IO_TRY(spti_sized_read(f, sizeof *f, in, SPTI_SIZE_UP_TO(sptrsm_factors, col_op), "sptrsm_factors"));
  if (f->L == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "factors: L is required");
  SPTI_IO_TRY(check_triangle(f->L, "L"));
  if (f->U != NULL) SPTI_IO_TRY(check_triangle(f->U, "U"));
  if (f->U != NULL && (f->U->n != f->L->n || f->U->dtype != f->L->dtype))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "factors: L and U differ in order or dtype");
  if (f->U != NULL && f->u_kind != SPTRSM_U_GIVEN)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "factors: U is given, but u_kind says it is a transpose of L");
  if (A != NULL && (A->rows != f->L->n || A->cols != f->L->n))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "factors: A and L differ in order");
  return SPTRSM_OK;
}

static sptrsm_status write_root(spti_io_output *out, const sptrsm_factors *f, const sptrsm_save_options *o) {
  char creator[64];
  int64_t n = f->L->n;
  const char *upper = f->U != NULL                  ? "given"
                      : f->u_kind == SPTRSM_U_IS_LT ? "transpose"
                      : f->u_kind == SPTRSM_U_IS_LH ? "conjugate-transpose"
                                                    : "none";
  snprintf(creator, sizeof creator, "libsptrsm %s", sptrsm_version());
  SPTI_IO_TRY(spti_io_write_text(out->id, "sptrsm_layout", "1", out->final));
  SPTI_IO_TRY(spti_io_write_text(out->id, "creator", creator, out->final));
  SPTI_IO_TRY(spti_io_write_text(out->id, "dtype", dtype_name(f->L->dtype), out->final));
  SPTI_IO_TRY(spti_io_write_text(out->id, "upper", upper, out->final));
  SPTI_IO_TRY(spti_io_write_integers(out->id, "n", &n, 1, out->final));
  return o->source != NULL ? spti_io_write_text(out->id, "source", o->source, out->final) : SPTRSM_OK;
}

/* A triangle with its values, or with those of all items of a batch. */
static sptrsm_status write_triangle(spti_io_output *out, const sptrsm_sparse *T, const char *name, const sptrsm_batch_values *b,
                                    const sptrsm_save_options *o) {
  outgoing m = from_triangle(T, name);
  const bool is_l = strcmp(name, "L") == 0;
  const void *part = b == NULL ? NULL : is_l ? b->L : b->U;
  if (part != NULL) {
    m.val = part;
    m.count = b->count;
    m.stride = is_l ? &b->L_stride : &b->U_stride;
  }
  return write_matrix(out, &m, o);
}

sptrsm_status spti_io_write_sparse(spti_io_output *out, const char *name, const sptrsm_file_matrix *M, const sptrsm_save_options *o) {
  outgoing m = from_matrix(M);
  m.name = name;
  return write_matrix(out, &m, o);
}

sptrsm_status spti_io_write_set(spti_io_output *out, const sptrsm_factors *f, const sptrsm_file_matrix *A, const sptrsm_batch_values *b,
                                const sptrsm_save_options *o) {
  SPTI_IO_TRY(write_root(out, f, o));
  SPTI_IO_TRY(write_triangle(out, f->L, "L", b, o));
  if (f->U != NULL) SPTI_IO_TRY(write_triangle(out, f->U, "U", b, o));
  if (A != NULL) SPTI_IO_TRY(spti_io_write_sparse(out, "A", A, o));
  SPTI_IO_TRY(write_diagonal(out, f, b, o));
  SPTI_IO_TRY(write_permutations(out, f, o));
  return write_scalings(out, f, b, o);
}

sptrsm_status sptrsm_file_factors_save(const char *path, const sptrsm_factors *factors, const sptrsm_file_matrix *A,
                                       const sptrsm_save_options *o) {
  sptrsm_save_options taken;
  sptrsm_factors f;
  spti_io_output out;
  SPTI_IO_TRY(spti_io_take_save_options(&taken, &o));
  SPTI_IO_TRY(spti_io_take_factors(&f, factors, A));
  SPTI_IO_TRY(spti_io_output_begin(&out, path, o));
  return spti_io_output_finish(&out, spti_io_write_set(&out, &f, A, NULL, o));
}
