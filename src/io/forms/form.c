/* form.c -- what the matchers share: the shape of a matrix, and the words for symmetry, triangle and diagonal. */
#include "io/forms/form.h"

#include <string.h>

sptrsm_status spti_io_check_shape(int64_t rows, int64_t cols, const char *where) {
  if (rows < 0 || cols < 0)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: shape %lld x %lld is negative; correct the shape", where, (long long)rows,
                            (long long)cols);
  if (rows > INT32_MAX || cols > INT32_MAX)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: shape %lld x %lld: at most %d rows and columns are supported", where,
                            (long long)rows, (long long)cols, INT32_MAX);
  return SPTRSM_OK;
}

sptrsm_status spti_io_read_shape(bool *found, int64_t shape[2], const spti_io_object *group) {
  SPTI_IO_TRY(spti_io_attr_integers(found, shape, 2, group, "shape"));
  if (!*found) SPTI_IO_TRY(spti_io_attr_integers(found, shape, 2, group, "h5sparse_shape"));
  if (*found || !spti_io_has(group, "shape")) return SPTRSM_OK;
  spti_io_dataset d;
  SPTI_IO_TRY(spti_io_dataset_open(&d, group, "shape"));
  sptrsm_status status =
      d.count == 2 ? spti_io_read_i64(&d, shape) : sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: must hold two integers", d.where);
  *found = status == SPTRSM_OK;
  spti_io_dataset_close(&d);
  return status;
}

sptrsm_status spti_io_set_structure(spti_io_form *form, const char *structure, const char *where) {
  static const struct {
    const char *name;
    sptrsm_symmetry symmetry;
    sptrsm_uplo uplo;
  } known[] = {
      {"symmetric_lower", SPTRSM_SYMMETRIC, SPTRSM_LOWER}, {"symmetric_upper", SPTRSM_SYMMETRIC, SPTRSM_UPPER},
      {"hermitian_lower", SPTRSM_HERMITIAN, SPTRSM_LOWER}, {"hermitian_upper", SPTRSM_HERMITIAN, SPTRSM_UPPER},
      {"skew_symmetric_lower", SPTRSM_SKEW, SPTRSM_LOWER}, {"skew_symmetric_upper", SPTRSM_SKEW, SPTRSM_UPPER},
  };
  if (strcmp(structure, "general") == 0) return SPTRSM_OK;
  for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
    if (strcmp(structure, known[k].name) == 0) {
      form->symmetry = known[k].symmetry;
      form->uplo = (int)known[k].uplo;
      return SPTRSM_OK;
    }
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: unknown structure \"%s\"; leave it out or use symmetric_lower, hermitian_lower, ...",
                          where, structure);
}

/* *out NULL: the key is absent. A value that is no string is an error, not the same as an absent key. */
static sptrsm_status read_member(const char **out, const json_t *object, const char *key, const char *where) {
  const json_t *value = json_object_get(object, key);
  *out = json_string_value(value);
  if (json_is_object(object) && (value == NULL || json_is_string(value))) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: sptrsm must be a JSON object, and %s in it a string", where, key);
}

sptrsm_status spti_io_form_triangle(spti_io_form *form, const json_t *object, const char *where) {
  const char *uplo, *diag, *structure;
  SPTI_IO_TRY(read_member(&uplo, object, "uplo", where));
  SPTI_IO_TRY(read_member(&diag, object, "diag", where));
  SPTI_IO_TRY(read_member(&structure, object, "structure", where));
  if (uplo != NULL && strcmp(uplo, "lower") == 0) form->uplo = SPTRSM_LOWER;
  else if (uplo != NULL && strcmp(uplo, "upper") == 0) form->uplo = SPTRSM_UPPER;
  else if (uplo != NULL) return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: uplo is \"%s\"; use \"lower\" or \"upper\"", where, uplo);
  if (diag != NULL && strcmp(diag, "nonunit") == 0) form->diag = SPTRSM_NONUNIT;
  else if (diag != NULL && (strcmp(diag, "unit") == 0 || strcmp(diag, "unit-implicit") == 0)) form->diag = SPTRSM_UNIT;
  else if (diag != NULL)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: diag is \"%s\"; use \"nonunit\", \"unit\" or \"unit-implicit\"", where, diag);
  return structure != NULL ? spti_io_set_structure(form, structure, where) : SPTRSM_OK;
}
