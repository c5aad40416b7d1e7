/* batch.c -- finds and loads the factor sets of a batch.
 *
 * A uniform batch is a factor set or a triangle some of whose arrays of values have an axis more; attribute `batch` may say how many items
 * there are. In a mixed batch each item is a group. Values are read after the patterns, and are not checked (values.c).
 */
#include "io/read/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  spti_io_file *file;
  sptrsm_batch_kind kind;
  spti_io_object group; /* the factor set, or the group of the items */
  int64_t count;
  bool stated;         /* attribute `batch` is there: what is wrong is said here */
  char counted[64];    /* of a uniform batch: what says so */
  spti_io_names names; /* of a mixed batch */
} batch_source;

/* ---- mixed: where the items are ---- */

static bool is_named_items(const char *where) {
  const char *slash = strrchr(where, '/');
  return slash != NULL && strcmp(slash, "/items") == 0;
}

static sptrsm_status open_below(spti_io_object *out, spti_io_file *f, size_t length) {
  f->path[length] = '\0'; /* cuts off the slash and the star */
  return spti_io_object_open_path(out, f, f->path);
}

sptrsm_status spti_io_items_open(spti_io_object *out, spti_io_object *object, spti_io_file *f) {
  const size_t length = f->path ? strlen(f->path) : 0;
  spti_io_form form;
  *out = *object = (spti_io_object){.id = -1, .file = f};
  if (length >= 2 && strcmp(f->path + length - 2, "/*") == 0) return open_below(out, f, length - 2);
  SPTI_IO_TRY(spti_io_object_open_path(object, f, f->path));
  if (object->type != H5I_GROUP) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_detect(&form, object));
  if (form.kind != SPTI_NONE || spti_io_has(object, "L") || spti_io_has(object, "U")) return SPTRSM_OK;
  if (is_named_items(object->where)) {
    *out = *object;
    *object = (spti_io_object){.id = -1, .file = f};
    return SPTRSM_OK;
  }
  if (!spti_io_has(object, "items")) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_object_open(out, object, "items"));
  if (out->type == H5I_GROUP) return SPTRSM_OK;
  spti_io_object_close(out);
  out->file = f;
  return SPTRSM_OK;
}

sptrsm_status spti_io_check_items(int64_t begin, int64_t *end, int64_t count, const char *where) {
  if (*end < 0) *end = count;
  if (begin >= 0 && begin <= *end && *end <= count) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: items %lld:%lld asked for, but it has %lld; choose within 0:%lld", where,
                          (long long)begin, (long long)*end, (long long)count, (long long)count);
}

/* ---- uniform: how many items ---- */

static void set_count(batch_source *s, int64_t count, const char *member, const char *array) {
  s->kind = SPTRSM_BATCH_UNIFORM;
  s->count = count;
  snprintf(s->counted, sizeof s->counted, "%.20s%s%.30s", member, member[0] && array[0] ? "/" : "", array);
}

/* Looks at the values of a matrix. One row counts as a vector. */
static sptrsm_status count_by_matrix(batch_source *s, const spti_io_object *group, const char *member) {
  spti_io_form form;
  spti_io_dataset d;
  SPTI_IO_TRY(spti_io_detect(&form, group));
  const char *indices = form.kind == SPTI_COMPRESSED ? form.idx : form.col;
  if (form.val == NULL || indices == NULL || (form.kind != SPTI_COMPRESSED && form.kind != SPTI_COORDINATE)) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_dataset_open(&d, group, indices));
  const int64_t length = form.iso ? 1 : d.count;
  spti_io_dataset_close(&d);
  SPTI_IO_TRY(spti_io_dataset_open(&d, group, form.val));
  if (d.rank == 2 && d.dims[0] != 1 && d.dims[1] == length * (form.pairs ? 2 : 1)) set_count(s, d.dims[0], member, form.val);
  spti_io_dataset_close(&d);
  return SPTRSM_OK;
}

static sptrsm_status count_by_triangle(batch_source *s, const char *member) {
  spti_io_object group;
  if (s->kind != SPTRSM_BATCH_NONE || !spti_io_has(&s->group, member)) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_object_open(&group, &s->group, member));
  sptrsm_status status = group.type == H5I_GROUP ? count_by_matrix(s, &group, member) : SPTRSM_OK;
  spti_io_object_close(&group);
  return status;
}

/* Looks at a vector of a factor set. A square D is a matrix. */
static sptrsm_status count_by_vector(batch_source *s, const char *name) {
  spti_io_object o;
  spti_io_dataset d;
  if (s->kind != SPTRSM_BATCH_NONE || !spti_io_has(&s->group, name)) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_object_open(&o, &s->group, name));
  if (o.type != H5I_DATASET) {
    spti_io_object_close(&o);
    return SPTRSM_OK;
  }
  SPTI_IO_TRY(spti_io_dataset_of(&d, &o));
  if (d.rank == 2 && !spti_io_is_vector(&d) && d.dims[0] != d.dims[1]) set_count(s, d.dims[0], name, "");
  spti_io_dataset_close(&d);
  return SPTRSM_OK;
}

static sptrsm_status count_uniform(batch_source *s) {
  static const char *const vectors[] = {"D", "D_sub", "scale_row", "Rs", "scale_col"};
  bool found;
  int64_t count;
  SPTI_IO_TRY(spti_io_attr_exists(&s->stated, &s->group, "batch"));
  SPTI_IO_TRY(spti_io_attr_integers(&found, &count, 1, &s->group, "batch"));
  if (found && count < 0)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: attribute batch is %lld, the number of items can't be negative", s->group.where,
                            (long long)count);
  if (found) set_count(s, count, "", "attribute batch");
  if (!found) SPTI_IO_TRY(count_by_matrix(s, &s->group, ""));
  SPTI_IO_TRY(count_by_triangle(s, "L"));
  SPTI_IO_TRY(count_by_triangle(s, "U"));
  for (size_t k = 0; k < sizeof vectors / sizeof vectors[0]; k++) SPTI_IO_TRY(count_by_vector(s, vectors[k]));
  return SPTRSM_OK;
}

/* ---- finding ---- */

static sptrsm_status find(batch_source *s, spti_io_file *f) {
  spti_io_object items;
  *s = (batch_source){.file = f, .group = {.id = -1, .file = f}};
  if (f->matrix_market) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_items_open(&items, &s->group, f));
  if (items.id < 0) return s->group.type == H5I_GROUP ? count_uniform(s) : SPTRSM_OK;
  spti_io_object_close(&s->group);
  s->group = items;
  s->kind = SPTRSM_BATCH_MIXED;
  if (items.type != H5I_GROUP) return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is a dataset, a group of items is needed", items.where);
  SPTI_IO_TRY(spti_io_names_of(&s->names, &s->group));
  s->count = (int64_t)s->names.count;
  return SPTRSM_OK;
}

static void source_free(batch_source *s) {
  spti_io_object_close(&s->group);
  spti_io_names_free(&s->names);
}

sptrsm_status sptrsm_file_batch_find(sptrsm_batch_kind *kind, int64_t *count, const char *where, const sptrsm_io_options *o) {
  sptrsm_io_options taken;
  spti_io_file f;
  batch_source s;
  if (kind == NULL || count == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_batch_find: kind or count is NULL");
  SPTI_IO_TRY(spti_io_take_options(&taken, &o));
  SPTI_IO_TRY(spti_io_file_open(&f, where, o));
  sptrsm_status status = find(&s, &f);
  const bool refused_by_load = s.kind == SPTRSM_BATCH_NONE && !s.stated; /* loading it as one system says what is wrong */
  if (status == SPTRSM_ERR_STRUCTURE && refused_by_load) status = SPTRSM_OK;
  source_free(&s);
  status = spti_io_file_end(&f, status);
  if (status != SPTRSM_OK) return status;
  *kind = s.kind;
  *count = s.count;
  return SPTRSM_OK;
}

/* ---- loading ---- */

static const void *unless_shared(const void *array, int64_t stride) { return stride > 0 ? array : NULL; }

static void take_strides(sptrsm_file_batch *b, const spti_io_batch_reader *r) {
  const sptrsm_factors *f = &b->items[0]->factors;
  sptrsm_batch_values *v = &b->values;
  *v = r->values;
  v->size = sizeof *v;
  v->first = 0;
  v->count = b->count;
  v->L = unless_shared(f->L->val, v->L_stride);
  v->U = f->U ? unless_shared(f->U->val, v->U_stride) : NULL;
  v->D = unless_shared(f->D, v->D_stride);
  v->D_sub = unless_shared(f->D_sub, v->D_sub_stride);
  v->scale_row = unless_shared(f->scale_row, v->scale_row_stride);
  v->scale_col = unless_shared(f->scale_col, v->scale_col_stride);
  b->A_stride = r->A_stride;
}

/* The factor set of an open group; *out is to be freed after a failure, too. */
static sptrsm_status load_set(sptrsm_file_factors **out, spti_io_batch_reader *b, spti_io_object *group, const sptrsm_io_options *o) {
  spti_io_factor_reader r = {.file = group->file, .group = group, .batch = b};
  SPTI_IO_TRY(spti_io_new_factors(&r, group->where));
  *out = r.F;
  SPTI_IO_TRY(spti_io_load_factors(&r, o));
  return spti_io_copy(&r.F->rule, r.rule);
}

static sptrsm_status load_uniform(sptrsm_file_batch *b, batch_source *s, const sptrsm_io_options *o) {
  spti_io_batch_reader r = {.uniform = true, .file_count = s->count, .counted = s->counted, .first = b->first, .count = b->count};
  SPTI_IO_TRY(load_set(&b->items[0], &r, &s->group, o));
  take_strides(b, &r);
  return SPTRSM_OK;
}

static sptrsm_status load_item(sptrsm_file_batch *b, int64_t i, spti_io_batch_reader *r, batch_source *s, const sptrsm_io_options *o) {
  spti_io_object group;
  if (b->names[i] == NULL) SPTI_IO_TRY(spti_io_copy(&b->names[i], s->names.names[b->first + i]));
  SPTI_IO_TRY(spti_io_object_open(&group, &s->group, b->names[i]));
  sptrsm_status status = group.type == H5I_GROUP
                             ? load_set(&b->items[i], r, &group, o)
                             : sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is a dataset, but each item is a group", group.where);
  spti_io_object_close(&group);
  return status;
}

static const char *shape_name(const sptrsm_file_factors *F) {
  return !F->single ? "a factor set" : F->L_tri.uplo == SPTRSM_LOWER ? "one lower triangle" : "one upper triangle";
}

static sptrsm_status check_alike(const sptrsm_file_batch *b, int64_t i) {
  const char *first = shape_name(b->items[0]), *other = shape_name(b->items[i]);
  if (strcmp(first, other) == 0) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: item %s is %s, but item %s is %s; solve them in two batches", b->where, b->names[i],
                          other, b->names[0], first);
}

static sptrsm_dtype wider(sptrsm_dtype a, sptrsm_dtype b) {
  bool is_double = a == SPTRSM_F64 || a == SPTRSM_C128 || b == SPTRSM_F64 || b == SPTRSM_C128;
  sptrsm_dtype real = is_double ? SPTRSM_F64 : SPTRSM_F32;
  return spti_is_complex(a) || spti_is_complex(b) ? spti_io_complex_of(real) : real;
}

/* Items of a type that is narrower than that of others are read again. */
static sptrsm_status load_mixed(sptrsm_file_batch *b, batch_source *s, const sptrsm_io_options *o) {
  spti_io_batch_reader r = {0};
  sptrsm_io_options common = *o;
  sptrsm_dtype widest = SPTRSM_F32;
  SPTI_IO_TRY(spti_io_allocate(&b->names, b->where, spti_io_bytes(b->count, sizeof *b->names)));
  for (int64_t i = 0; i < b->count; i++) b->names[i] = NULL;
  for (int64_t i = 0; i < b->count; i++) {
    SPTI_IO_TRY(load_item(b, i, &r, s, o));
    SPTI_IO_TRY(check_alike(b, i));
    widest = wider(widest, b->items[i]->L_tri.dtype);
  }
  common.dtype = (int)widest;
  for (int64_t i = 0; i < b->count; i++) {
    if (b->items[i]->L_tri.dtype == widest) continue;
    sptrsm_file_factors_free(b->items[i]);
    b->items[i] = NULL;
    SPTI_IO_TRY(load_item(b, i, &r, s, &common));
  }
  return SPTRSM_OK;
}

static sptrsm_status load(sptrsm_file_batch *b, batch_source *s, int64_t begin, int64_t end, const sptrsm_io_options *o) {
  if (s->kind == SPTRSM_BATCH_NONE)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: is no batch: no array of values has an axis of items, and there is no group `items`; "
                            "sptrsm_file_factors_load reads one factor set",
                            b->where);
  SPTI_IO_TRY(spti_io_check_items(begin, &end, s->count, s->group.where));
  b->kind = s->kind;
  b->first = begin;
  b->count = end - begin;
  b->file_count = s->count;
  const int64_t sets = b->kind == SPTRSM_BATCH_UNIFORM ? 1 : b->count;
  SPTI_IO_TRY(spti_io_allocate(&b->items, b->where, spti_io_bytes(sets, sizeof(void *))));
  for (int64_t i = 0; i < sets; i++) b->items[i] = NULL;
  s->file->positions = true;
  return b->kind == SPTRSM_BATCH_UNIFORM ? load_uniform(b, s, o) : load_mixed(b, s, o);
}

sptrsm_status sptrsm_file_batch_load(sptrsm_file_batch **out, const char *where, int64_t begin, int64_t end, const sptrsm_io_options *o) {
  sptrsm_io_options taken;
  spti_io_file f;
  batch_source s;
  sptrsm_file_batch *b = NULL;
  if (out == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_batch_load: out is NULL");
  SPTI_IO_TRY(spti_io_take_options(&taken, &o));
  SPTI_IO_TRY(spti_io_file_open(&f, where, o));
  sptrsm_status status = find(&s, &f);
  if (status == SPTRSM_OK) status = spti_io_allocate(&b, where, sizeof *b);
  if (status == SPTRSM_OK) {
    *b = (sptrsm_file_batch){0};
    sptrsm_batch_values_init(&b->values);
    status = spti_io_copy(&b->where, s.group.where != NULL ? s.group.where : where);
  } else b = NULL;
  if (status == SPTRSM_OK) status = load(b, &s, begin, end, o);
  source_free(&s);
  status = spti_io_file_end(&f, status);
  if (status == SPTRSM_OK) *out = b;
  else sptrsm_file_batch_free(b);
  return status;
}

void sptrsm_file_batch_free(sptrsm_file_batch *b) {
  if (b == NULL) return;
  const int64_t sets = b->items == NULL ? 0 : b->kind == SPTRSM_BATCH_UNIFORM ? 1 : b->count;
  for (int64_t i = 0; i < sets; i++) {
    sptrsm_file_factors_free(b->items[i]);
    if (b->names != NULL) free(b->names[i]);
  }
  free(b->items);
  free(b->names);
  free(b->where);
  free(b);
}
