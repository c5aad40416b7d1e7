/* block.c -- dense blocks: the order in which they are stored, and reading a range of columns.
 *
 * The order of a 2-D dataset is decided by, in this sequence: the caller's wish; attribute MATLAB_class (MATLAB stores dimensions
 * reversed); attribute `order` (C: dimensions n, nrhs; F: dimensions nrhs, n); the shape compared with n. An n x n dataset without
 * any of these is taken as C, and `rule` says so. The block in memory keeps the order of the file: nothing is transposed.
 */
#include "io/read/read.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- order ---- */

static sptrsm_status order_attribute(int *out, const spti_io_dataset *d) {
  const spti_io_object o = spti_io_object_of(d);
  char *text;
  *out = SPTRSM_AS_STORED;
  SPTI_IO_TRY(spti_io_attr_text(&text, &o, "order"));
  if (text == NULL) return SPTRSM_OK;
  sptrsm_status status = SPTRSM_OK;
  if (strcmp(text, "C") == 0) *out = SPTRSM_ROW_MAJOR;
  else if (strcmp(text, "F") == 0) *out = SPTRSM_COL_MAJOR;
  else
    status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: attribute order is \"%s\"; use C (rows first) or F (dimensions reversed)",
                              d->where, text);
  free(text);
  return status;
}

static sptrsm_status by_shape(spti_io_block_source *s, int32_t n) {
  const int64_t *dims = s->d.dims;
  s->layout = SPTRSM_ROW_MAJOR;
  if (n < 0) s->rule = "2-D dataset, C order (taken, nothing known)";
  else if (dims[0] == n && dims[1] == n) s->rule = "2-D dataset, n x n without a hint: C order taken; --rhs-order overrides";
  else if (dims[0] == n) s->rule = "2-D dataset, C order (shape)";
  else if (dims[1] == n) s->layout = SPTRSM_COL_MAJOR, s->rule = "2-D dataset, F order (shape)";
  else
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: is %lld x %lld, neither side is the order of the matrix, %d; is this the right file?", s->d.where,
                            (long long)dims[0], (long long)dims[1], n);
  return SPTRSM_OK;
}

static sptrsm_status is_of_matlab(bool *out, const spti_io_dataset *d) {
  const spti_io_object o = spti_io_object_of(d);
  return spti_io_attr_exists(out, &o, "MATLAB_class");
}

sptrsm_status spti_io_block_hint(int *out, const spti_io_dataset *d) {
  bool is_matlab;
  *out = SPTRSM_COL_MAJOR;
  SPTI_IO_TRY(is_of_matlab(&is_matlab, d));
  return is_matlab ? SPTRSM_OK : order_attribute(out, d);
}

sptrsm_status spti_io_block_order(spti_io_block_source *s, int32_t n, int wish) {
  int attribute;
  bool is_matlab;
  SPTI_IO_TRY(is_of_matlab(&is_matlab, &s->d));
  if (wish != SPTRSM_AS_STORED) {
    s->layout = (sptrsm_layout)wish;
    s->rule = wish == SPTRSM_ROW_MAJOR ? "2-D dataset, C order (asked for)" : "2-D dataset, F order (asked for)";
  } else if (is_matlab) {
    s->layout = SPTRSM_COL_MAJOR;
    s->rule = "MATLAB v7.3 dense, dimensions reversed";
  } else {
    SPTI_IO_TRY(order_attribute(&attribute, &s->d));
    if (attribute == SPTRSM_AS_STORED) SPTI_IO_TRY(by_shape(s, n));
    else
      s->layout = (sptrsm_layout)attribute,
      s->rule = attribute == SPTRSM_ROW_MAJOR ? "2-D dataset, C order (attribute)" : "2-D dataset, F order (attribute)";
  }
  s->rows = s->layout == SPTRSM_ROW_MAJOR ? s->d.dims[0] : s->d.dims[1];
  s->cols = s->layout == SPTRSM_ROW_MAJOR ? s->d.dims[1] : s->d.dims[0];
  return SPTRSM_OK;
}

/* ---- forms ---- */

static sptrsm_status open_binsparse(spti_io_block_source *s, const spti_io_form *form, const spti_io_object *group) {
  SPTI_IO_TRY(spti_io_dataset_open(&s->d, group, form->val));
  s->flat = true;
  s->d.pairs = form->pairs;
  s->rows = form->rows;
  s->cols = form->cols;
  s->layout = form->layout;
  s->rule = form->rule;
  size_t need = spti_io_bytes(s->rows, (size_t)s->cols);
  if (s->d.pairs) need = spti_io_bytes(need > INT64_MAX ? -1 : (int64_t)need, 2);
  if ((size_t)s->d.count != need || s->d.rank != 1)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has %lld values, but shape %lld x %lld needs %zu in one dimension", s->d.where,
                            (long long)s->d.count, (long long)s->rows, (long long)s->cols, need);
  if (s->d.pairs && s->d.number.is_complex)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: declared as complex[...] (pairs of reals), but stored as a compound; drop complex[] or store pairs",
                            s->d.where);
  return SPTRSM_OK;
}

/* Fills the source. A dataset's object belongs to the source afterwards. */
static sptrsm_status open_source(spti_io_block_source *s, spti_io_object *o, int32_t n, const sptrsm_io_options *options) {
  if (o->type == H5I_GROUP) {
    spti_io_form form;
    SPTI_IO_TRY(spti_io_detect(&form, o));
    if (form.kind == SPTI_DENSE) return open_binsparse(s, &form, o);
    if (form.kind != SPTI_NONE)
      return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is a sparse matrix (%s), a dense block is needed", o->where, form.rule);
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is a group, a dense block is needed; name it as FILE:/path", o->where);
  }
  spti_io_object taken = *o;
  *o = (spti_io_object){.id = -1};
  SPTI_IO_TRY(spti_io_dataset_of(&s->d, &taken));
  if (s->d.rank == 3) {
    char shape[72];
    spti_io_shape_text(shape, &s->d);
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: is %s, the blocks of a batch, but one block of two dimensions is needed; store the block of one item, or "
                            "give a batch of factors",
                            s->d.where, shape);
  }
  if (s->d.rank == 2) return spti_io_block_order(s, n, options->order);
  s->rows = s->d.count;
  s->cols = 1;
  s->layout = SPTRSM_COL_MAJOR;
  s->rule = "1-D dataset, one right-hand side";
  return SPTRSM_OK;
}

/* ---- reading ---- */

sptrsm_status spti_io_block_columns(const spti_io_block_source *s, const sptrsm_io_options *o, int64_t *begin, int64_t *end) {
  *begin = o->col_begin;
  *end = o->col_end < 0 ? s->cols : o->col_end;
  if (*begin >= 0 && *begin <= *end && *end <= s->cols) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: columns %lld:%lld asked for, but it has %lld; choose within 0:%lld", s->d.where,
                          (long long)*begin, (long long)*end, (long long)s->cols, (long long)s->cols);
}

static spti_io_slab columns_slab(const spti_io_block_source *s, int64_t begin, int64_t width) {
  hsize_t n = (hsize_t)s->rows, from = (hsize_t)begin, w = (hsize_t)width, each = s->d.pairs ? 2 : 1;
  if (s->flat && s->layout == SPTRSM_ROW_MAJOR)
    return (spti_io_slab){{from * each, 0}, {(hsize_t)s->cols * each, 1}, {n, 1}, {w * each, 1}};
  if (s->flat) return (spti_io_slab){{from * n * each, 0}, {1, 1}, {1, 1}, {w * n * each, 1}};
  if (s->d.rank == 1) return (spti_io_slab){{0, 0}, {1, 1}, {1, 1}, {n, 1}};
  if (s->layout == SPTRSM_ROW_MAJOR) return (spti_io_slab){{0, from}, {1, 1}, {1, 1}, {n, w}};
  return (spti_io_slab){{from, 0}, {1, 1}, {1, 1}, {w, n}};
}

sptrsm_status spti_io_block_read(const spti_io_block_source *s, int64_t begin, int64_t width, sptrsm_dtype dtype, void *out) {
  if (s->direct) return spti_io_span_read(&s->span, begin, width, out, s->d.where);
  spti_io_slab slab = columns_slab(s, begin, width);
  return spti_io_read_values(&s->d, &slab, s->rows * width, dtype, out);
}

/* Fills X except for its data. */
static sptrsm_status describe(sptrsm_file_block *X, spti_io_block_source *s, const sptrsm_io_options *o) {
  int64_t end;
  SPTI_IO_TRY(spti_io_block_columns(s, o, &s->begin, &end));
  sptrsm_dtype stored = s->d.pairs ? spti_io_complex_of(s->d.number.dtype) : s->d.number.dtype, dtype;
  SPTI_IO_TRY(spti_io_choose_dtype(&dtype, stored, o->dtype, s->d.where));
  X->block = (sptrsm_block){.n = (int32_t)s->rows, .nrhs = end - s->begin, .dtype = dtype, .layout = s->layout, .place = SPTRSM_HOST};
  X->block.ld = s->layout == SPTRSM_ROW_MAJOR ? X->block.nrhs : s->rows;
  if (X->block.ld == 0) X->block.ld = 1;
  X->file_nrhs = s->cols;
  X->rule = s->rule;
  spti_io_find_place(&s->place, &s->d, (int)dtype);
  s->span = (spti_io_span){.fd = s->place.fd, .at = s->place.at, .each = sptrsm_dtype_bytes(dtype), .rows = s->rows, .cols = s->cols};
  s->span.layout = s->layout;
  s->direct = s->place.fd >= 0 && s->place.at >= 0;
  return SPTRSM_OK;
}

static sptrsm_status open_block(spti_io_block_source *s, sptrsm_file_block *X, spti_io_object *o, int32_t n,
                                const sptrsm_io_options *options) {
  SPTI_IO_TRY(spti_io_copy(&X->where, o->where));
  SPTI_IO_TRY(spti_io_copy(&X->path, o->where + strlen(s->file->name) + 1)); /* behind "FILE:" */
  SPTI_IO_TRY(open_source(s, o, n, options));
  SPTI_IO_TRY(spti_io_check_shape(s->rows, 0, X->where));
  if (n >= 0 && s->rows != n)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: has %lld rows (%s), the matrix has order %d; is this the right file, or is --rhs-order needed?", X->where,
                            (long long)s->rows, s->rule, n);
  return describe(X, s, options);
}

/* ---- which object ---- */

/* Opens the block of a file named without a path: the root if it is a block itself, else B, else the only block of the file. */
static sptrsm_status open_default(spti_io_object *o, spti_io_file *f) {
  spti_io_form form;
  SPTI_IO_TRY(spti_io_object_open_path(o, f, NULL));
  sptrsm_status status = spti_io_detect(&form, o);
  if (status != SPTRSM_OK || form.kind == SPTI_DENSE) return status;
  bool has_b = spti_io_has(o, "B");
  spti_io_object_close(o);
  if (has_b) return spti_io_object_open_path(o, f, "B");
  sptrsm_file_listing list;
  SPTI_IO_TRY(spti_io_list(&list, f));
  const char *only = NULL;
  int blocks = 0;
  for (int k = 0; k < list.count; k++)
    if (strcmp(list.entries[k].kind, "block") == 0 || strcmp(list.entries[k].kind, "vector") == 0) only = list.entries[k].path, blocks++;
  if (blocks == 1) status = spti_io_object_open_path(o, f, only);
  else
    status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: holds no B and %s; name one as FILE:/path", f->name,
                              blocks == 0 ? "no other block" : "several blocks");
  sptrsm_file_listing_free(&list);
  return status;
}

sptrsm_status spti_io_block_open(spti_io_block_source *s, sptrsm_file_block *X, spti_io_file *f, int32_t n, const sptrsm_io_options *o) {
  spti_io_object object = {.id = -1};
  *s = (spti_io_block_source){.file = f, .d.id = -1, .place.fd = -1};
  if (f->matrix_market)
    return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "%s: dense blocks are read from HDF5, not from Matrix Market", f->name);
  sptrsm_status status = f->path != NULL ? spti_io_object_open_path(&object, f, f->path) : open_default(&object, f);
  if (status == SPTRSM_OK) status = open_block(s, X, &object, n, o);
  spti_io_object_close(&object);
  return status;
}

void spti_io_block_close(spti_io_block_source *s) {
  if (s->place.fd >= 0) close(s->place.fd);
  spti_io_dataset_close(&s->d);
}

sptrsm_status spti_io_block_new(sptrsm_file_block **out, const char *where) {
  SPTI_IO_TRY(spti_io_allocate(out, where, sizeof **out));
  **out = (sptrsm_file_block){.rule = ""};
  return SPTRSM_OK;
}

sptrsm_status spti_io_block_load(sptrsm_file_block *X, spti_io_file *f, int32_t n, const sptrsm_io_options *o) {
  spti_io_block_source s;
  sptrsm_status status = spti_io_block_open(&s, X, f, n, o);
  if (status == SPTRSM_OK) {
    int64_t count = s.rows * X->block.nrhs; /* no overflow: at most the size of the dataset, which was checked */
    size_t bytes = spti_io_bytes(count, sptrsm_dtype_bytes(X->block.dtype));
    status = spti_io_check_memory(f->memory_limit, X->where, bytes, "load fewer columns (--cols) or raise the limit");
    if (status == SPTRSM_OK) status = spti_io_allocate(&X->block.data, X->where, bytes);
    if (status == SPTRSM_OK) status = spti_io_block_read(&s, s.begin, X->block.nrhs, X->block.dtype, X->block.data);
  }
  spti_io_block_close(&s);
  return status;
}

sptrsm_status sptrsm_file_block_load(sptrsm_file_block **out, const char *where, int32_t n, const sptrsm_io_options *o) {
  sptrsm_io_options taken;
  spti_io_file f;
  sptrsm_file_block *X = NULL;
  if (out == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_block_load: out is NULL");
  SPTI_IO_TRY(spti_io_take_options(&taken, &o));
  SPTI_IO_TRY(spti_io_file_open(&f, where, o));
  sptrsm_status status = spti_io_block_new(&X, where);
  if (status == SPTRSM_OK) status = spti_io_block_load(X, &f, n, o);
  status = spti_io_file_end(&f, status);
  if (status == SPTRSM_OK) *out = X;
  else sptrsm_file_block_free(X);
  return status;
}

void sptrsm_file_block_free(sptrsm_file_block *X) {
  if (X == NULL) return;
  free(X->block.data);
  free(X->where);
  free(X->path);
  free(X);
}
