/* anndata.c -- groups data, indices, indptr as AnnData and hand-written h5py code store SciPy's csr and csc matrices.
 *
 * Attribute encoding-type (AnnData >= 0.7) or h5sparse_format says csr or csc; hand-written files say it in attribute or dataset
 * `format`, or not at all. Shape: attribute shape, h5sparse_shape, or dataset shape. Without a format CSR is taken; without
 * a shape the matrix is taken as square. `rule` says so.
 */
#include "io/forms/form.h"

#include <stdlib.h>
#include <string.h>

typedef enum { SAYS_NOTHING, SAYS_CSR, SAYS_CSC } said_format;

static sptrsm_status parse_format(said_format *out, const char *text, const char *where, const char *name) {
  if (strcmp(text, "csr_matrix") == 0 || strcmp(text, "csr") == 0 || strcmp(text, "csr_array") == 0) *out = SAYS_CSR;
  else if (strcmp(text, "csc_matrix") == 0 || strcmp(text, "csc") == 0 || strcmp(text, "csc_array") == 0) *out = SAYS_CSC;
  else
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: %s is \"%s\"; a group of data, indices, indptr is csr_matrix or csc_matrix", where,
                            name, text);
  return SPTRSM_OK;
}

static sptrsm_status read_format(said_format *out, const spti_io_object *group) {
  static const char *const names[] = {"encoding-type", "h5sparse_format", "format"};
  *out = SAYS_NOTHING;
  char *text = NULL;
  const char *name = "dataset format";
  for (size_t k = 0; k < sizeof names / sizeof names[0] && text == NULL; k++) {
    SPTI_IO_TRY(spti_io_attr_text(&text, group->id, names[k], group->where));
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
  said_format format;
  bool has_shape, encoded;
  int64_t shape[2];
  SPTI_IO_TRY(spti_io_attr_exists(&encoded, group->id, "encoding-type", group->where));
  SPTI_IO_TRY(read_format(&format, group));
  SPTI_IO_TRY(spti_io_read_shape(&has_shape, shape, group));
  if (!has_shape) {
    int64_t length;
    SPTI_IO_TRY(length_of_indptr(&length, group));
    shape[0] = shape[1] = length - 1;
  }
  form->kind = SPTI_COMPRESSED;
  form->format = format == SAYS_CSC ? SPTRSM_CSC : SPTRSM_CSR;
  form->format_guessed = format == SAYS_NOTHING;
  form->rows = shape[0];
  form->cols = shape[1];
  form->ptr = "indptr";
  form->idx = "indices";
  form->val = "data";
  if (encoded) form->rule = format == SAYS_CSC ? "AnnData csc_matrix" : "AnnData csr_matrix";
  else if (format == SAYS_NOTHING)
    form->rule = has_shape ? "h5py data/indices/indptr, no format said: taken as CSR"
                           : "h5py data/indices/indptr, nothing said: taken as square CSR";
  else if (!has_shape)
    form->rule = format == SAYS_CSC ? "h5py CSC, no shape said: taken as square" : "h5py CSR, no shape said: taken as square";
  else form->rule = format == SAYS_CSC ? "h5py CSC" : "h5py CSR";
  return SPTRSM_OK;
}
