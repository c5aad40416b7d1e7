/* matlab.c -- recognises sparse matrices of MATLAB v7.3 files, which PETSc writes too.
 *
 * A group with attribute MATLAB_sparse (the number of rows) holds CSC in jc (pointers), ir (row indices) and data, with 64-bit
 * unsigned indices; ir and data are absent if nothing is stored. The number of columns is the length of jc minus one.
 */
#include "io/forms/form.h"

sptrsm_status spti_io_match_matlab(spti_io_form *form, const spti_io_object *group) {
  bool found;
  int64_t rows = 0;
  SPTI_IO_TRY(spti_io_attr_integers(&found, &rows, 1, group, "MATLAB_sparse"));
  if (!found) return SPTRSM_OK;
  spti_io_dataset jc;
  SPTI_IO_TRY(spti_io_dataset_open(&jc, group, "jc"));
  form->kind = SPTI_COMPRESSED;
  form->rule = "MATLAB v7.3";
  form->format = SPTRSM_CSC;
  form->rows = rows;
  form->cols = jc.count - 1;
  form->ptr = "jc";
  bool empty = !spti_io_has(group, "ir") && !spti_io_has(group, "data");
  form->idx = empty ? NULL : "ir";
  form->val = empty ? NULL : "data";
  if (empty) form->nnz = 0;
  sptrsm_status status =
      jc.count > 0 ? SPTRSM_OK
                   : sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is empty; pointers begin with a 0, even of no columns", jc.where);
  spti_io_dataset_close(&jc);
  return status;
}
