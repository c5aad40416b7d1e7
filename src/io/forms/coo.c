/* coo.c -- recognises groups with row, col and data: SciPy's coo matrices, stored with h5py.
 *
 * The shape is in attribute or dataset `shape`; without it the matrix is square and as large as its largest index requires.
 */
#include "io/forms/form.h"

sptrsm_status spti_io_match_coo(spti_io_form *form, const spti_io_object *group) {
  if (!spti_io_has(group, "row") || !spti_io_has(group, "col") || !spti_io_has(group, "data")) return SPTRSM_OK;
  bool found;
  int64_t shape[2] = {-1, -1};
  SPTI_IO_TRY(spti_io_read_shape(&found, shape, group));
  if (found) SPTI_IO_TRY(spti_io_check_shape(shape[0], shape[1], group->where));
  form->kind = SPTI_COORDINATE;
  form->rule = found ? "COO row/col/data" : "COO row/col/data, no shape said: square, as large as the largest index";
  form->format = SPTRSM_CSR;
  form->rows = shape[0];
  form->cols = shape[1];
  form->row = "row";
  form->col = "col";
  form->val = "data";
  return SPTRSM_OK;
}
