/* anndata.c -- recognises groups with data, indices and indptr: SciPy's csr and csc matrices, stored by AnnData or with h5py.
 *
 * Attribute encoding-type (AnnData >= 0.7) or h5sparse_format names csr or csc; files written by hand with h5py have an attribute or
 * dataset `format`, or neither. The shape is in attribute shape or h5sparse_shape, or in dataset shape. Without a format CSR is
 * assumed, without a shape a square matrix; the form's `rule` says so.
 */
#include "io/forms/form.h"

#include <stdlib.h>
#include <string.h>

typedef enum { STATES_NOTHING, STATES_CSR, STATES_CSC } stated_format;

static sptrsm_status parse_format(stated_format *out, const char *text, const char *where, const char *name) {
  if (strcmp(text, "csr_matrix") == 0 || strcmp(text, "csr") == 0 || strcmp(text, "csr_array") == 0) *out = STATES_CSR;
  else if (strcmp(text, "csc_matrix") == 0 || strcmp(text, "csc") == 0 || strcmp(text, "csc_array") == 0) *out = STATES_CSC;
  else
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: %s is \"%s\"; a group of data, indices, indptr is csr_matrix or csc_matrix", where,
                            name, text);
  return SPTRSM_OK;
}

static sptrsm_status read_format(stated_format *out, const spti_io_object *group) {
  static const char *const names[] = {"encoding-type", "h5sparse_format", "format"};
  *out = STATES_NOTHING;
  char *text = NULL;
  const char *name = "dataset format";
  for (size_t k = 0; k < sizeof names / sizeof names[0] && text == NULL; k++) {
    SPTI_IO_TRY(spti_io_attr_text(&text, group, names[k]));
    if (text != NULL) name = names[k];
  }
  if (text == NULL) SPTI_IO_TRY(spti_io_text_dataset(&text, group, "format"));
  if (text == NULL) return SPTRSM_OK;
  sptrsm_status status = parse_format(out, text, group->where, name);
  free(text);
  return status;
}

static sptrsm_status length_of_indptr(int64_t *out, const spti_io_object *group) {
  spti_io_dataset d;
  SPTI_IO_TRY(spti_io_dataset_open(&d, group, "indptr"));
  *out = d.count;
  sptrsm_status status =
      d.count > 0 ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is empty; pointers begin with a 0, even of no rows", d.where);
  spti_io_dataset_close(&d);
  return status;
}

sptrsm_status spti_io_match_anndata(spti_io_form *form, const spti_io_object *group) {
  if (!spti_io_has(group, "data") || !spti_io_has(group, "indices") || !spti_io_has(group, "indptr")) return SPTRSM_OK;
  stated_format format;
  bool has_shape, encoded;
  int64_t shape[2];
  SPTI_IO_TRY(spti_io_attr_exists(&encoded, group, "encoding-type"));
  SPTI_IO_TRY(read_format(&format, group));
  SPTI_IO_TRY(spti_io_read_shape(&has_shape, shape, group));
  if (!has_shape) {
    int64_t length;
    SPTI_IO_TRY(length_of_indptr(&length, group));
    shape[0] = shape[1] = length - 1;
  }
  form->kind = SPTI_COMPRESSED;
  form->format = format == STATES_CSC ? SPTRSM_CSC : SPTRSM_CSR;
  form->format_guessed = format == STATES_NOTHING;
  form->rows = shape[0];
  form->cols = shape[1];
  form->ptr = "indptr";
  form->idx = "indices";
  form->val = "data";
  if (encoded) form->rule = format == STATES_CSC ? "AnnData csc_matrix" : "AnnData csr_matrix";
  else if (format == STATES_NOTHING)
    form->rule = has_shape ? "h5py data/indices/indptr, no format said: taken as CSR"
                           : "h5py data/indices/indptr, nothing said: taken as square CSR";
  else if (!has_shape)
    form->rule = format == STATES_CSC ? "h5py CSC, no shape said: taken as square" : "h5py CSR, no shape said: taken as square";
  else form->rule = format == STATES_CSC ? "h5py CSC" : "h5py CSR";
  return SPTRSM_OK;
}
