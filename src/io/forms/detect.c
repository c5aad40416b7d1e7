/* detect.c -- finds the form of a group: Binsparse, MATLAB/PETSc, AnnData/h5py, COO, tried in this order.
 *
 * In addition to any form, attribute `sptrsm` may say which triangle the matrix is: {"uplo": "lower", "diag": "unit-implicit"}.
 */
#include "io/forms/form.h"

#include <stdlib.h>

static sptrsm_status read_own_attribute(spti_io_form *form, const spti_io_object *group) {
  char *text;
  SPTI_IO_TRY(spti_io_attr_text(&text, group, "sptrsm"));
  if (text == NULL) return SPTRSM_OK;
  json_t *root;
  sptrsm_status status = spti_io_parse_json(&root, text, group->where, "sptrsm");
  free(text);
  if (status != SPTRSM_OK) return status;
  status = spti_io_form_triangle(form, root, group->where);
  json_decref(root);
  return status;
}

sptrsm_status spti_io_detect(spti_io_form *form, const spti_io_object *group) {
  static sptrsm_status (*const matchers[])(spti_io_form *, const spti_io_object *) = {spti_io_match_binsparse, spti_io_match_matlab,
                                                                                      spti_io_match_anndata, spti_io_match_coo};
  *form = (spti_io_form){.kind = SPTI_NONE, .rows = -1, .cols = -1, .nnz = -1, .uplo = SPTRSM_AS_STORED, .diag = SPTRSM_AS_STORED};
  if (group->type != H5I_GROUP) return SPTRSM_OK;
  for (size_t k = 0; k < sizeof matchers / sizeof matchers[0] && form->kind == SPTI_NONE; k++) SPTI_IO_TRY(matchers[k](form, group));
  if (form->kind == SPTI_NONE) return SPTRSM_OK;
  bool has_shape = form->kind == SPTI_COMPRESSED || form->rows >= 0 || form->cols >= 0; /* COO may leave the shape to its indices */
  if (has_shape) SPTI_IO_TRY(spti_io_check_shape(form->rows, form->cols, group->where));
  return read_own_attribute(form, group);
}
