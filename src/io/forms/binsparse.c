/* binsparse.c -- recognises matrices and dense blocks of the Binsparse specification, version 0.1.
 *
 * Attribute `binsparse` of the group holds JSON: {"binsparse": {"version", "format", "shape", "number_of_stored_values",
 * "data_types", "structure"}}. A value type complex[T] means interleaved real and imaginary parts, so twice as many stored values;
 * iso[T] means one stored value for all entries. Sizes must be JSON integers: a real number is refused.
 */
#include "io/forms/form.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name, *rule;
  spti_io_kind kind;
  sptrsm_format format; /* of COMPRESSED */
  sptrsm_layout layout; /* of DENSE */
  bool vector;
} known_format;

static const known_format *find_format(const char *name) {
  static const known_format formats[] = {
      {"CSR", "Binsparse CSR", SPTI_COMPRESSED, SPTRSM_CSR, SPTRSM_ROW_MAJOR, false},
      {"CSC", "Binsparse CSC", SPTI_COMPRESSED, SPTRSM_CSC, SPTRSM_ROW_MAJOR, false},
      {"COO", "Binsparse COO", SPTI_COORDINATE, SPTRSM_CSR, SPTRSM_ROW_MAJOR, false},
      {"COOR", "Binsparse COOR", SPTI_COORDINATE, SPTRSM_CSR, SPTRSM_ROW_MAJOR, false},
      {"COOC", "Binsparse COOC", SPTI_COORDINATE, SPTRSM_CSR, SPTRSM_ROW_MAJOR, false},
      {"DMAT", "Binsparse DMAT", SPTI_DENSE, SPTRSM_CSR, SPTRSM_ROW_MAJOR, false},
      {"DMATR", "Binsparse DMATR", SPTI_DENSE, SPTRSM_CSR, SPTRSM_ROW_MAJOR, false},
      {"DMATC", "Binsparse DMATC", SPTI_DENSE, SPTRSM_CSR, SPTRSM_COL_MAJOR, false},
      {"DVEC", "Binsparse DVEC", SPTI_DENSE, SPTRSM_CSR, SPTRSM_COL_MAJOR, true},
  };
  for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++)
    if (strcmp(name, formats[k].name) == 0) return &formats[k];
  return NULL;
}

static sptrsm_status broken(const char *where, const char *key, const char *need) {
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: attribute binsparse: \"%s\" must be %s", where, key, need);
}

static sptrsm_status check_version(const json_t *b, const char *where) {
  const char *version = json_string_value(json_object_get(b, "version"));
  if (version == NULL) return broken(where, "version", "a string such as \"0.1\"");
  if (strcmp(version, "0.1") == 0 || strncmp(version, "0.1.", 4) == 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: Binsparse version \"%s\" is not known here; write version 0.1", where, version);
}

static sptrsm_status read_shape(spti_io_form *form, const json_t *b, bool vector, const char *where) {
  const json_t *shape = json_object_get(b, "shape"), *stored = json_object_get(b, "number_of_stored_values");
  size_t need = vector ? 1 : 2;
  if (!json_is_array(shape) || json_array_size(shape) != need)
    return broken(where, "shape", vector ? "an array of one integer" : "an array of two integers");
  for (size_t k = 0; k < need; k++)
    if (!json_is_integer(json_array_get(shape, k))) return broken(where, "shape", "made of integers");
  form->rows = json_integer_value(json_array_get(shape, 0));
  form->cols = vector ? 1 : json_integer_value(json_array_get(shape, 1));
  SPTI_IO_TRY(spti_io_check_shape(form->rows, form->cols, where));
  if (stored == NULL && form->kind == SPTI_DENSE) return SPTRSM_OK;
  if (!json_is_integer(stored) || json_integer_value(stored) < 0) return broken(where, "number_of_stored_values", "a non-negative integer");
  form->nnz = json_integer_value(stored);
  return SPTRSM_OK;
}

/* Reads a type such as "iso[complex[float64]]": removes the wrappers and sets iso and pairs. */
static sptrsm_status read_value_type(spti_io_form *form, const json_t *b, const char *where) {
  const char *type = json_string_value(json_object_get(json_object_get(b, "data_types"), "values"));
  if (type == NULL) return broken(where, "data_types.values", "a string such as \"float64\"");
  for (;;) {
    if (!form->iso && strncmp(type, "iso[", 4) == 0) form->iso = true, type += 4;
    else if (!form->pairs && strncmp(type, "complex[", 8) == 0) form->pairs = true, type += 8;
    else break;
  }
  if (strchr(type, '[') != NULL && strchr(type, '[') < type + strcspn(type, "]"))
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: Binsparse value type \"%s\" is not known here; use float64, complex[float64] or iso[float64]", where,
                            type);
  return SPTRSM_OK;
}

static sptrsm_status read_description(spti_io_form *form, const json_t *root, const char *where) {
  const json_t *b = json_object_get(root, "binsparse");
  if (!json_is_object(b)) return broken(where, "binsparse", "an object");
  SPTI_IO_TRY(check_version(b, where));
  const char *name = json_string_value(json_object_get(b, "format"));
  if (name == NULL) return broken(where, "format", "a string such as \"CSR\"");
  const known_format *known = find_format(name);
  if (known == NULL)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: Binsparse format \"%s\" is not read; write CSR, CSC, COO, DMATR or DMATC", where,
                            name);
  form->kind = known->kind;
  form->format = known->format;
  form->layout = known->layout;
  form->rule = known->rule;
  form->val = "values";
  if (known->kind == SPTI_COMPRESSED) form->ptr = "pointers_to_1", form->idx = "indices_1";
  if (known->kind == SPTI_COORDINATE) form->row = "indices_0", form->col = "indices_1";
  SPTI_IO_TRY(read_shape(form, b, known->vector, where));
  SPTI_IO_TRY(read_value_type(form, b, where));
  if (form->iso && form->kind == SPTI_DENSE)
    return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "%s: a dense block of one repeated value (iso) is not read; write it out", where);
  const json_t *structure = json_object_get(b, "structure");
  if (structure != NULL && !json_is_string(structure)) return broken(where, "structure", "a string such as \"symmetric_lower\"");
  if (structure != NULL) SPTI_IO_TRY(spti_io_set_structure(form, json_string_value(structure), where));
  const json_t *own = json_object_get(root, "sptrsm");
  return own != NULL ? spti_io_form_triangle(form, own, where) : SPTRSM_OK;
}

sptrsm_status spti_io_match_binsparse(spti_io_form *form, const spti_io_object *group) {
  char *text;
  SPTI_IO_TRY(spti_io_attr_text(&text, group, "binsparse"));
  if (text == NULL) return SPTRSM_OK;
  json_t *root;
  sptrsm_status status = spti_io_parse_json(&root, text, group->where, "binsparse");
  free(text);
  if (status != SPTRSM_OK) return status;
  status = read_description(form, root, group->where);
  json_decref(root);
  return status;
}
