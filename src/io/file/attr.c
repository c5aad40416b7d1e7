/* attr.c -- reads attributes (text, integers), text datasets and JSON, with limits on size and nesting depth. */
#include "io/file/child.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An attribute or a dataset that holds one string; both are read in the same way. */
typedef struct {
  hid_t id;
  bool is_attribute;
  const char *where, *name;
} text_source;

static hid_t source_type(const text_source *s) { return s->is_attribute ? H5Aget_type(s->id) : H5Dget_type(s->id); }

static hid_t source_space(const text_source *s) { return s->is_attribute ? H5Aget_space(s->id) : H5Dget_space(s->id); }

static herr_t source_read(const text_source *s, hid_t type, void *out) {
  return s->is_attribute ? H5Aread(s->id, type, out) : H5Dread(s->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
}

static sptrsm_status bad_text(const text_source *s, const char *what) {
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: %s %s %s; store it as one string", s->where, s->is_attribute ? "attribute" : "dataset",
                          s->name, what);
}

static sptrsm_status read_variable(char **out, const text_source *s, hid_t type) {
  char *text = NULL;
  if (source_read(s, type, &text) < 0) return bad_text(s, "can't be read");
  size_t length = text != NULL ? strnlen(text, SPTI_JSON_BYTES) : 0;
  sptrsm_status status = length < SPTI_JSON_BYTES ? spti_io_allocate(out, s->where, length + 1) : bad_text(s, "is longer than 1 MiB");
  if (status == SPTRSM_OK) {
    if (length > 0) memcpy(*out, text, length);
    (*out)[length] = '\0';
  }
  H5free_memory(text);
  return status;
}

static sptrsm_status read_fixed(char **out, const text_source *s, hid_t type) {
  size_t bytes = H5Tget_size(type);
  if (bytes == 0 || bytes >= SPTI_JSON_BYTES) return bad_text(s, "is longer than 1 MiB");
  char *text;
  SPTI_IO_TRY(spti_io_allocate(&text, s->where, bytes + 1));
  memset(text, 0, bytes + 1);
  if (source_read(s, type, text) < 0) {
    free(text);
    return bad_text(s, "can't be read");
  }
  if (H5Tget_strpad(type) == H5T_STR_SPACEPAD)
    for (size_t i = bytes; i > 0 && (text[i - 1] == ' ' || text[i - 1] == '\0'); i--) text[i - 1] = '\0';
  *out = text;
  return SPTRSM_OK;
}

static sptrsm_status read_text(char **out, const text_source *s) {
  hid_t type = source_type(s), space = source_space(s);
  sptrsm_status status;
  if (type < 0 || space < 0) status = bad_text(s, "can't be read");
  else if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1) status = bad_text(s, "is not a string");
  else status = H5Tis_variable_str(type) > 0 ? read_variable(out, s, type) : read_fixed(out, s, type);
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  return status;
}

/* ---- in the process that calls HDF5 ---- */

static sptrsm_status attr_exists(bool *found, const spti_io_object *o, const char *name) {
  htri_t exists = H5Aexists(o->id, name);
  *found = exists > 0;
  if (exists >= 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: attribute %s can't be looked up; the file is damaged", o->where, name);
}

static sptrsm_status attr_text(char **out, const spti_io_object *o, const char *name) {
  bool found;
  *out = NULL;
  SPTI_IO_TRY(attr_exists(&found, o, name));
  if (!found) return SPTRSM_OK;
  text_source s = {.id = H5Aopen(o->id, name, H5P_DEFAULT), .is_attribute = true, .where = o->where, .name = name};
  if (s.id < 0) return bad_text(&s, "can't be opened");
  sptrsm_status status = read_text(out, &s);
  H5Aclose(s.id);
  return status;
}

static sptrsm_status text_dataset(char **out, const spti_io_object *group, const char *name) {
  *out = NULL;
  if (!spti_io_has(group, name)) return SPTRSM_OK;
  spti_io_object o;
  spti_io_unpacked chunks;
  SPTI_IO_TRY(spti_io_object_open(&o, group, name));
  text_source s = {.id = o.id, .where = group->where, .name = name};
  sptrsm_status status =
      o.type == H5I_DATASET ? spti_io_dataset_guard(&chunks, group->file, o.id, o.where) : bad_text(&s, "is not a string");
  if (status == SPTRSM_OK) status = read_text(out, &s);
  spti_io_object_close(&o);
  return status;
}

static sptrsm_status attr_integers(bool *found, int64_t *out, int count, const spti_io_object *o, const char *name) {
  SPTI_IO_TRY(attr_exists(found, o, name));
  if (!*found) return SPTRSM_OK;
  *found = false;
  hid_t id = H5Aopen(o->id, name, H5P_DEFAULT);
  hid_t type = id >= 0 ? H5Aget_type(id) : -1, space = id >= 0 ? H5Aget_space(id) : -1;
  bool good = type >= 0 && space >= 0 && H5Tget_class(type) == H5T_INTEGER && H5Sget_simple_extent_npoints(space) == count;
  if (good && H5Aread(id, H5T_NATIVE_INT64, out) >= 0) *found = true;
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  if (id >= 0) H5Aclose(id);
  return *found ? SPTRSM_OK
                : sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: attribute %s must hold %d integer%s", o->where, name, count,
                                   count == 1 ? "" : "s");
}

/* ---- here or in the child ---- */

static sptrsm_status exists_job(spti_io_call *c, spti_io_file *f) {
  (void)f;
  return attr_exists(&c->found, &c->object, c->name);
}

static sptrsm_status integers_job(spti_io_call *c, spti_io_file *f) {
  (void)f;
  return attr_integers(&c->found, c->integers, (int)c->count, &c->object, c->name);
}

/* Text in a file is shorter than a window. */
static sptrsm_status give_text(spti_io_call *c, sptrsm_status status, char *text) {
  c->found = text != NULL;
  c->used = text != NULL ? strlen(text) : 0;
  if (text != NULL) memcpy(c->window, text, c->used);
  free(text);
  return status;
}

static sptrsm_status attr_text_job(spti_io_call *c, spti_io_file *f) {
  char *text = NULL;
  (void)f;
  sptrsm_status status = attr_text(&text, &c->object, c->name);
  return give_text(c, status, text);
}

static sptrsm_status text_dataset_job(spti_io_call *c, spti_io_file *f) {
  char *text = NULL;
  (void)f;
  sptrsm_status status = text_dataset(&text, &c->object, c->name);
  return give_text(c, status, text);
}

static sptrsm_status take_text(char **out, spti_io_call *c, spti_io_file *f) {
  *out = NULL;
  SPTI_IO_TRY(spti_io_call_run(c, f));
  if (!c->found) return SPTRSM_OK;
  size_t length = c->used < SPTI_JSON_BYTES ? c->used : SPTI_JSON_BYTES;
  SPTI_IO_TRY(spti_io_allocate(out, f->name, length + 1));
  memcpy(*out, spti_io_call_window(f, 0), length);
  (*out)[length] = '\0';
  return SPTRSM_OK;
}

sptrsm_status spti_io_attr_exists(bool *found, const spti_io_object *o, const char *name) {
  if (o->file->child == NULL) return attr_exists(found, o, name);
  spti_io_call *c = spti_io_call_object(o, name);
  c->job = exists_job;
  SPTI_IO_TRY(spti_io_call_run(c, o->file));
  *found = c->found;
  return SPTRSM_OK;
}

sptrsm_status spti_io_attr_text(char **out, const spti_io_object *o, const char *name) {
  if (o->file->child == NULL) return attr_text(out, o, name);
  spti_io_call *c = spti_io_call_object(o, name);
  c->job = attr_text_job;
  return take_text(out, c, o->file);
}

sptrsm_status spti_io_text_dataset(char **out, const spti_io_object *group, const char *name) {
  if (group->file->child == NULL) return text_dataset(out, group, name);
  spti_io_call *c = spti_io_call_object(group, name);
  c->job = text_dataset_job;
  return take_text(out, c, group->file);
}

sptrsm_status spti_io_attr_integers(bool *found, int64_t *out, int count, const spti_io_object *o, const char *name) {
  if (o->file->child == NULL) return attr_integers(found, out, count, o, name);
  spti_io_call *c = spti_io_call_object(o, name);
  c->job = integers_job;
  c->count = count;
  SPTI_IO_TRY(spti_io_call_run(c, o->file));
  *found = c->found;
  if (c->found) memcpy(out, c->integers, (size_t)count * sizeof *out);
  return SPTRSM_OK;
}

/* ---- JSON ---- */

/* The deepest nesting of braces and brackets outside of strings. */
static int json_depth(const char *text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (const char *c = text; *c != '\0'; c++) {
    if (in_string && *c == '\\' && c[1] != '\0') c++;
    else if (*c == '"') in_string = !in_string;
    else if (!in_string && (*c == '{' || *c == '[') && ++depth > deepest) deepest = depth;
    else if (!in_string && (*c == '}' || *c == ']')) depth--;
  }
  return deepest;
}

typedef struct {
  const char *next; /* the text that is still to be parsed */
  bool no_memory;
} json_source;

/* Gives Jansson one byte at a time. Its parser drops a character, without a word, where it has no memory to keep it; only errno tells,
 * until the parser sets it to 0 for the next number. So errno is looked at before each byte. */
static size_t next_byte(void *out, size_t room, void *data) {
  json_source *s = data;
  s->no_memory = s->no_memory || errno == ENOMEM;
  if (room == 0 || *s->next == '\0' || s->no_memory) return 0;
  *(char *)out = *s->next++;
  return 1;
}

sptrsm_status spti_io_parse_json(json_t **out, const char *text, const char *where, const char *attribute) {
  json_error_t error;
  if (json_depth(text) > SPTI_JSON_DEPTH)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: attribute %s nests deeper than %d levels; this is not the JSON of a matrix", where,
                            attribute, SPTI_JSON_DEPTH);
  json_source source = {.next = text};
  errno = 0;
  json_t *root = json_load_callback(next_byte, &source, JSON_REJECT_DUPLICATES, &error);
  if (source.no_memory || errno == ENOMEM) {
    json_decref(root);
    spti_io_note_lack();
    return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory to parse attribute %s; use a machine with more memory", where, attribute);
  }
  if (root == NULL)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: attribute %s is not valid JSON: %s (line %d, column %d)", where, attribute,
                            error.text, error.line, error.column);
  *out = root;
  return SPTRSM_OK;
}
