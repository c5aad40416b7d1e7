/* values.c -- the values of a batch: those of all items, for a pattern that was loaded without values.
 *
 * A pattern is loaded with the place of each entry among the stored values in place of its value (spti_io_file.positions). So whatever the
 * load did to entries, such as sorting them or dropping some, is done to the values of each item by looking them up at these places. The
 * values are not checked: a bad one is a matter of its item alone, and of the solve.
 */
#include "io/read/read.h"

#include <stdlib.h>
#include <string.h>

/* Whether a dataset has a row of `length` numbers for each item. */
static bool has_axis(const spti_io_batch_reader *b, const spti_io_dataset *d, int64_t length) {
  return b != NULL && b->uniform && d->rank == 2 && d->dims[0] == b->file_count && d->dims[1] == length && d->dims[0] != 1;
}

/* Whether a dataset has `length` numbers that all items share. In a batch of several items, one row is one item that lost the others. */
static bool is_shared(const spti_io_batch_reader *b, const spti_io_dataset *d, int64_t length) {
  const bool one_row = b->uniform && b->file_count > 1 && d->rank == 2 && d->dims[0] == 1;
  return d->count == length && spti_io_is_vector(d) && !one_row;
}

sptrsm_status spti_io_check_axes(const spti_io_batch_reader *b, const spti_io_dataset *d, int64_t length) {
  char shape[72];
  if (has_axis(b, d, length) || is_shared(b, d, length)) return SPTRSM_OK;
  spti_io_shape_text(shape, d);
  if (b->uniform)
    return sptrsm_error_set(
        SPTRSM_ERR_STRUCTURE,
        "%s: is %s, but the batch has %lld items (%s): store %lld x %lld values, or %lld in one dimension for all items", d->where, shape,
        (long long)b->file_count, b->counted, (long long)b->file_count, (long long)length, (long long)length);
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is %s, but an item in a group of its own needs a vector of %lld values", d->where,
                          shape, (long long)length);
}

static sptrsm_status reserve(spti_io_batch_reader *b, const spti_io_dataset *d, void **out, int64_t items, size_t each) {
  size_t bytes = spti_io_bytes(items, each);
  b->bytes = spti_io_add(b->bytes, bytes);
  SPTI_IO_TRY(spti_io_check_memory(d->file->memory_limit, d->where, b->bytes, "take fewer items (--items) or raise the limit"));
  SPTI_IO_TRY(spti_io_allocate(out, d->where, bytes));
  memset(*out, 0, bytes);
  return SPTRSM_OK;
}

/* Items [first, first + count) of those that are asked for, `length` numbers each (complex ones stored as pairs count once). */
static sptrsm_status read_items(const spti_io_batch_reader *b, const spti_io_dataset *d, int64_t first, int64_t count, sptrsm_dtype dtype,
                                void *out) {
  const int64_t stored = d->dims[1], length = d->pairs ? stored / 2 : stored;
  const spti_io_slab rows = {{(hsize_t)(b->first + first), 0}, {1, 1}, {1, 1}, {(hsize_t)count, (hsize_t)stored}};
  return spti_io_read_values(d, &rows, count * length, dtype, out);
}

sptrsm_status spti_io_read_vectors(void **out, int64_t *stride, spti_io_batch_reader *b, const spti_io_dataset *d, int64_t room,
                                   sptrsm_dtype dtype) {
  const bool axis = has_axis(b, d, d->dims[1]);
  const int64_t items = axis ? b->count : 1;
  const size_t each = spti_io_bytes(room, sptrsm_dtype_bytes(dtype));
  SPTI_IO_TRY(reserve(b, d, out, items, each));
  *stride = axis ? room : 0;
  if (!axis) return spti_io_read_values(d, NULL, d->count, dtype, *out);
  if (d->dims[1] == room) return read_items(b, d, 0, items, dtype, *out);
  for (int64_t i = 0; i < items; i++) SPTI_IO_TRY(read_items(b, d, i, 1, dtype, (char *)*out + (size_t)i * each));
  return SPTRSM_OK;
}

/* ---- the values of a matrix ---- */

typedef struct {
  sptrsm_file_matrix *M; /* with places as values */
  spti_io_form form;
  spti_io_dataset d; /* its values; id -1: none are stored */
  int64_t stored, kept;
} value_source;

static sptrsm_status open_source(value_source *s, sptrsm_file_matrix *M, const spti_io_object *group) {
  *s = (value_source){.M = M, .d.id = -1};
  SPTI_IO_TRY(spti_io_detect(&s->form, group));
  const char *indices = s->form.kind == SPTI_COMPRESSED ? s->form.idx : s->form.col;
  s->kept = M->ptr[spti_io_major(M)];
  if (s->form.val == NULL || indices == NULL) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_vector_open(&s->d, group, indices));
  s->stored = s->d.count;
  spti_io_dataset_close(&s->d);
  SPTI_IO_TRY(spti_io_dataset_open(&s->d, group, s->form.val));
  s->d.pairs = s->form.pairs;
  return SPTRSM_OK;
}

static sptrsm_status check_source(const spti_io_batch_reader *b, const value_source *s) {
  SPTI_IO_TRY(spti_io_check_axes(b, &s->d, (s->form.iso ? 1 : s->stored) * (s->d.pairs ? 2 : 1)));
  if (s->d.pairs && s->d.number.is_complex)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: declared as complex[...] (pairs of reals), but stored as a compound", s->d.where);
  if (s->kept + s->M->dropped == s->stored) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "%s: has %lld duplicate entries, which are not summed in a batch; sum them before",
                          s->M->where, (long long)(s->stored - s->kept - s->M->dropped));
}

static bool in_stored_order(const value_source *s) {
  const double *place = s->M->val;
  int64_t p = 0;
  while (p < s->kept && place[p] == (double)p + 1) p++;
  return p == s->kept && s->kept == s->stored && !s->form.iso;
}

/* Reads the values of each item and takes those at the places of the entries. */
static sptrsm_status gather(void *out, const spti_io_batch_reader *b, const value_source *s, int64_t items, bool axis, sptrsm_dtype dtype) {
  const size_t each = sptrsm_dtype_bytes(dtype);
  const double *place = s->M->val;
  char *row, *to = out;
  sptrsm_status status = SPTRSM_OK;
  SPTI_IO_TRY(spti_io_allocate(&row, s->d.where, spti_io_bytes(s->stored > 0 ? s->stored : 1, each)));
  for (int64_t i = 0; i < items && status == SPTRSM_OK; i++) {
    status = axis ? read_items(b, &s->d, i, 1, dtype, row) : spti_io_read_values(&s->d, NULL, s->form.iso ? 1 : s->stored, dtype, row);
    for (int64_t p = 0; p < s->kept && status == SPTRSM_OK; p++, to += each) memcpy(to, row + ((size_t)place[p] - 1) * each, each);
  }
  free(row);
  return status;
}

static sptrsm_status read_source(void **out, int64_t *stride, spti_io_batch_reader *b, const value_source *s, sptrsm_dtype dtype) {
  const bool axis = has_axis(b, &s->d, s->d.dims[1]);
  const int64_t items = axis ? b->count : 1;
  SPTI_IO_TRY(reserve(b, &s->d, out, items, spti_io_bytes(s->kept, sptrsm_dtype_bytes(dtype))));
  *stride = axis ? s->kept : 0;
  if (!in_stored_order(s)) return gather(*out, b, s, items, axis, dtype);
  return axis ? read_items(b, &s->d, 0, items, dtype, *out) : spti_io_read_values(&s->d, NULL, s->stored, dtype, *out);
}

sptrsm_status spti_io_take_values(sptrsm_file_matrix *M, int64_t *stride, spti_io_batch_reader *b, const spti_io_object *group,
                                  sptrsm_dtype dtype) {
  value_source s;
  void *values = NULL;
  sptrsm_status status = open_source(&s, M, group);
  *stride = 0;
  if (status == SPTRSM_OK && s.d.id >= 0) status = check_source(b, &s);
  if (status == SPTRSM_OK && s.d.id >= 0) status = read_source(&values, stride, b, &s, dtype);
  else if (status == SPTRSM_OK) status = spti_io_allocate(&values, M->where, 0);
  spti_io_dataset_close(&s.d);
  if (status != SPTRSM_OK) {
    free(values);
    return status;
  }
  spti_io_replace_values(M, values);
  M->dtype = dtype;
  return SPTRSM_OK;
}

sptrsm_status spti_io_stored_type(sptrsm_dtype *out, const spti_io_object *group) {
  spti_io_form form;
  spti_io_dataset d;
  *out = SPTRSM_F64;
  SPTI_IO_TRY(spti_io_detect(&form, group));
  if (form.val == NULL) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_dataset_open(&d, group, form.val));
  *out = form.pairs ? spti_io_complex_of(d.number.dtype) : d.number.dtype;
  spti_io_dataset_close(&d);
  return SPTRSM_OK;
}
