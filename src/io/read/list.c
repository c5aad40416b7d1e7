/* list.c -- lists what is in a file: matrices, blocks and vectors with their form, found by a walk through the groups.
 *
 * A group that is itself a matrix is one entry and is not entered. Each group is entered once (recognised by its address), so a cycle
 * of links ends the walk; depth and number of entries are limited in addition. A walk is one job of the file's child, because it makes
 * some ten calls for each object; the list comes back in parts.
 */
#include "io/file/child.h"
#include "io/read/read.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_DEPTH = 16, LIST_ENTRIES = 100000 };

#if H5_VERSION_GE(1, 12, 0)
typedef H5O_info1_t object_info;
#else
typedef H5O_info_t object_info;
#endif

typedef struct {
  unsigned long file;
  haddr_t address;
} group_place;

typedef struct {
  spti_io_file *file;
  sptrsm_file_listing list;
  size_t room;
  void *seen; /* group_place of the groups entered, as tsearch keeps them */
} walker;

static int compare_places(const void *a, const void *b) {
  const group_place *p = a, *q = b;
  if (p->file != q->file) return p->file < q->file ? -1 : 1;
  return p->address < q->address ? -1 : p->address > q->address;
}

/* *again: the group was entered before, or its address is unknown. Otherwise it is noted as entered. */
static sptrsm_status enter_once(bool *again, walker *w, const spti_io_object *group) {
  object_info info;
  group_place *place;
  *again = true;
  if (H5Oget_info2(group->id, &info, H5O_INFO_BASIC) < 0) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_allocate(&place, group->where, sizeof *place));
  *place = (group_place){.file = info.fileno, .address = info.addr};
  group_place *const *kept = tsearch(place, &w->seen, compare_places);
  *again = kept == NULL || *kept != place;
  if (*again) free(place);
  return kept != NULL ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for a list of groups", group->where);
}

static void walker_free(walker *w) {
  tdestroy(w->seen, free);
  sptrsm_file_listing_free(&w->list);
}

/* ---- entries ---- */

static const char *const kinds[] = {"unknown", "matrix", "block", "vector", "blocks"};

static void describe_dataset(sptrsm_file_entry *e, const spti_io_dataset *d) {
  static const char *const kind[] = {"vector", "block", "blocks"}, *const rule[] = {"1-D dataset", "2-D dataset",
                                                                                    "3-D dataset, a block for each item of a batch"};
  e->rows = d->rank == 3 ? d->axes[1] : d->dims[0];
  e->cols = d->dims[1];
  e->kind = kind[d->rank - 1];
  e->rule = rule[d->rank - 1];
  if (d->rank == 2 && H5Aexists(d->id, "MATLAB_class") > 0) { /* an error counts as absent: this is only a listing */
    e->rows = d->dims[1];
    e->cols = d->dims[0];
    e->rule = "MATLAB v7.3 dense, dimensions reversed";
  }
  memcpy(e->type, d->number.name, sizeof e->type);
}

/* Size and value type of a sparse group or a Binsparse block, without reading its arrays. */
static void describe_form(sptrsm_file_entry *e, const spti_io_object *group, const spti_io_form *form) {
  spti_io_dataset d;
  e->kind = form->kind == SPTI_DENSE ? "block" : "matrix";
  e->rule = form->rule;
  e->rows = form->rows;
  e->cols = form->cols;
  e->nnz = form->kind == SPTI_DENSE ? -1 : form->nnz;
  const char *indices = form->kind == SPTI_COMPRESSED ? form->idx : form->col;
  if (indices != NULL && spti_io_dataset_open(&d, group, indices) == SPTRSM_OK) {
    e->nnz = d.count;
    spti_io_dataset_close(&d);
  }
  if (form->val != NULL && spti_io_dataset_open(&d, group, form->val) == SPTRSM_OK) {
    memcpy(e->type, d.number.name, sizeof e->type);
    if (form->pairs) snprintf(e->type, sizeof e->type, "%s", d.number.dtype == SPTRSM_F32 ? "c64" : "c128");
    spti_io_dataset_close(&d);
  }
}

/* *out: an entry to be filled in. Its path and its rule lie in one allocation, that of the path. */
static sptrsm_status add_entry(sptrsm_file_entry **out, walker *w, const char *path, const char *rule) {
  if (w->list.count >= LIST_ENTRIES)
    return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "%s: more than %d objects; name one as FILE:/path", w->file->name, LIST_ENTRIES);
  SPTI_IO_TRY(spti_io_grow(&w->list.entries, &w->room, (size_t)w->list.count, sizeof *w->list.entries, w->file->name));
  sptrsm_file_entry *e = &w->list.entries[w->list.count];
  size_t length = strlen(path) + 1;
  *e = (sptrsm_file_entry){.kind = kinds[0], .rows = -1, .cols = -1, .nnz = -1};
  SPTI_IO_TRY(spti_io_allocate(&e->path, w->file->name, length + strlen(rule) + 1));
  memcpy(e->path, path, length);
  e->rule = strcpy(e->path + length, rule);
  w->list.count++;
  *out = e;
  return SPTRSM_OK;
}

/* The object in "FILE:/path". */
static const char *path_of(const walker *w, const char *where) { return where + strlen(w->file->name) + 1; }

/* ---- the walk ---- */

static sptrsm_status visit(walker *w, spti_io_object *o, int depth);

static sptrsm_status visit_link(walker *w, const spti_io_object *group, const char *name, int depth) {
  spti_io_object child;
  sptrsm_file_entry *e;
  char *where;
  SPTI_IO_TRY(spti_io_join(&where, group->where, name));
  sptrsm_status status = SPTRSM_OK;
  if (spti_io_object_open(&child, group, name) == SPTRSM_OK) status = visit(w, &child, depth + 1);
  else if ((status = add_entry(&e, w, path_of(w, where), "")) == SPTRSM_OK)
    e->rule = w->file->met_external ? "external link, not followed" : "can't be opened";
  spti_io_object_close(&child);
  free(where);
  return status;
}

static sptrsm_status visit_group(walker *w, const spti_io_object *group, int depth) {
  spti_io_names links;
  bool again;
  SPTI_IO_TRY(enter_once(&again, w, group));
  if (again || depth > LIST_DEPTH) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_names_read(&links, group->id, group->where));
  sptrsm_status status = SPTRSM_OK;
  for (size_t k = 0; k < links.count && status == SPTRSM_OK; k++) status = visit_link(w, group, links.names[k], depth);
  spti_io_names_free(&links);
  return status;
}

/* Adds an entry for the object, or for all objects of a group. The object of a dataset is closed here. */
static sptrsm_status visit(walker *w, spti_io_object *o, int depth) {
  sptrsm_file_entry *e = NULL;
  spti_io_dataset d;
  spti_io_form form;
  if (o->type == H5I_GROUP) {
    sptrsm_status detected = spti_io_detect(&form, o);
    if (detected == SPTRSM_OK && form.kind == SPTI_NONE) return visit_group(w, o, depth);
    SPTI_IO_TRY(add_entry(&e, w, path_of(w, o->where), ""));
    if (detected == SPTRSM_OK) describe_form(e, o, &form);
    else e->rule = "claims a known form, but breaks it";
    return SPTRSM_OK;
  }
  SPTI_IO_TRY(add_entry(&e, w, path_of(w, o->where), ""));
  spti_io_object taken = *o;
  *o = (spti_io_object){.id = -1};
  if (spti_io_dataset_of(&d, &taken) == SPTRSM_OK) describe_dataset(e, &d);
  else e->rule = "not a vector or block of numbers";
  spti_io_dataset_close(&d);
  return SPTRSM_OK;
}

/* Appends ", /run1" unless the text ends with it already; false: there is no room. */
static bool append_candidate(char out[400], const char *path, size_t length) {
  size_t used = strlen(out);
  if (used >= length && strncmp(out + used - length, path, length) == 0 && out[used - length - 1] == ' ') return true;
  if (used + length + 40 > 400) return false;
  snprintf(out + used, 400 - used, "%s%.*s", used == 0 ? "; there is " : ", ", (int)length, path);
  return true;
}

static void name_candidates(char out[400], const spti_io_object *group, bool sets) {
  walker w = {.file = group->file};
  spti_io_object start = *group;
  out[0] = '\0';
  if (group->type == H5I_GROUP && visit_group(&w, &start, 0) == SPTRSM_OK)
    for (int k = 0; k < w.list.count; k++) {
      const char *path = w.list.entries[k].path, *last = strrchr(path, '/');
      if (strcmp(w.list.entries[k].kind, "matrix") != 0) continue;
      bool member = sets && last > path && (strcmp(last, "/L") == 0 || strcmp(last, "/U") == 0 || strcmp(last, "/A") == 0);
      if (!append_candidate(out, path, member ? (size_t)(last - path) : strlen(path))) break;
    }
  if (out[0] != '\0') strcat(out, ": say which, as FILE:/path");
  walker_free(&w);
}

static sptrsm_status candidates_job(spti_io_call *c, spti_io_file *f) {
  (void)f;
  name_candidates(c->name, &c->object, c->found);
  return SPTRSM_OK;
}

sptrsm_status spti_io_name_candidates(char out[400], const spti_io_object *group, bool sets) {
  if (group->file->child == NULL) {
    name_candidates(out, group, sets);
    return SPTRSM_OK;
  }
  spti_io_call *c = spti_io_call_object(group, NULL);
  c->job = candidates_job;
  c->found = sets;
  SPTI_IO_TRY(spti_io_call_run(c, group->file));
  snprintf(out, 400, "%.399s", c->name);
  return SPTRSM_OK;
}

/* ---- the list from the child ---- */

/* path: where to begin. The child's copy of the file has the path with which the file was opened, which may have been another. */
static sptrsm_status walk(walker *w, const char *path) {
  spti_io_object root;
  SPTI_IO_TRY(spti_io_object_open_path(&root, w->file, path));
  sptrsm_status status = visit(w, &root, 0);
  spti_io_object_close(&root);
  return status;
}

typedef struct { /* an entry in the window, followed by its path and its rule */
  int kind;      /* in `kinds` */
  int64_t rows, cols, nnz;
  char type[16];
} sent_entry;

static void end_walk(walker *w) {
  walker_free(w);
  free(w);
}

/* Walks in the first call, and keeps the list for the next ones. */
static sptrsm_status start_walk(spti_io_call *c, spti_io_file *f) {
  walker *w;
  SPTI_IO_TRY(spti_io_allocate(&w, f->name, sizeof *w));
  *w = (walker){.file = f};
  sptrsm_status status = walk(w, c->name);
  if (status == SPTRSM_OK) c->state = w;
  else end_walk(w);
  return status;
}

/* Puts entries from number c->count on into the window, until the next one does not fit. The list is freed with the last one. */
static sptrsm_status entries_job(spti_io_call *c, spti_io_file *f) {
  if (c->state == NULL) SPTI_IO_TRY(start_walk(c, f));
  walker *w = c->state;
  int64_t k = c->count;
  for (; k < w->list.count; k++) {
    const sptrsm_file_entry *e = &w->list.entries[k];
    sent_entry sent = {.rows = e->rows, .cols = e->cols, .nnz = e->nnz};
    size_t path = strlen(e->path) + 1, rule = strlen(e->rule) + 1;
    if (sizeof sent + path + rule > SPTI_IO_WINDOW - c->used) break;
    while (strcmp(kinds[sent.kind], e->kind) != 0) sent.kind++;
    memcpy(sent.type, e->type, sizeof sent.type);
    memcpy(c->window + c->used, &sent, sizeof sent);
    memcpy(c->window + c->used + sizeof sent, e->path, path);
    memcpy(c->window + c->used + sizeof sent + path, e->rule, rule);
    c->used += sizeof sent + path + rule;
  }
  c->count = w->list.count;
  if (k == w->list.count) end_walk(w);
  return SPTRSM_OK;
}

/* The text at *at, which then points behind it; NULL: it does not end before `end`. */
static const char *next_text(const char **at, const char *end) {
  const char *text = *at, *last = memchr(text, '\0', (size_t)(end - text));
  *at = last != NULL ? last + 1 : end;
  return last != NULL ? text : NULL;
}

static sptrsm_status take_entry(walker *w, const char **at, const char *end) {
  sent_entry sent;
  sptrsm_file_entry *e = NULL;
  if ((size_t)(end - *at) < sizeof sent) return spti_io_call_refuse(w->file);
  memcpy(&sent, *at, sizeof sent);
  *at += sizeof sent;
  const char *path = next_text(at, end), *rule = next_text(at, end);
  bool known = sent.kind >= 0 && sent.kind < (int)(sizeof kinds / sizeof kinds[0]);
  if (!known || path == NULL || rule == NULL || memchr(sent.type, '\0', sizeof sent.type) == NULL) return spti_io_call_refuse(w->file);
  SPTI_IO_TRY(add_entry(&e, w, path, rule));
  e->kind = kinds[sent.kind];
  e->rows = sent.rows;
  e->cols = sent.cols;
  e->nnz = sent.nnz;
  memcpy(e->type, sent.type, sizeof e->type);
  return SPTRSM_OK;
}

/* Takes the entries from a copy of the window, which the child can't change. */
static sptrsm_status take_entries(walker *w, const spti_io_call *c) {
  size_t used = c->used;
  char *copy;
  if (used == 0) return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "%s: a path in it is too long", w->file->name);
  if (used > SPTI_IO_WINDOW) return spti_io_call_refuse(w->file);
  SPTI_IO_TRY(spti_io_allocate(&copy, w->file->name, used));
  memcpy(copy, spti_io_call_window(w->file, 0), used);
  sptrsm_status status = SPTRSM_OK;
  for (const char *at = copy; at < copy + used && status == SPTRSM_OK;) status = take_entry(w, &at, copy + used);
  free(copy);
  return status;
}

static sptrsm_status walk_in_child(walker *w) {
  spti_io_call *c = spti_io_call_object(&(spti_io_object){.id = -1, .file = w->file}, w->file->path);
  int64_t count;
  c->job = entries_job;
  c->state = NULL;
  do {
    c->count = w->list.count;
    c->used = 0;
    SPTI_IO_TRY(spti_io_call_run(c, w->file));
    count = c->count;
    if (w->list.count < count) SPTI_IO_TRY(take_entries(w, c));
  } while (w->list.count < count);
  return SPTRSM_OK;
}

/* Ends a walk: gives the list to the caller, or after a failure frees it. */
static sptrsm_status give_list(sptrsm_file_listing *out, walker *w, sptrsm_status status) {
  if (status == SPTRSM_OK) {
    *out = w->list;
    w->list = (sptrsm_file_listing){0};
  }
  walker_free(w);
  return status;
}

sptrsm_status spti_io_list(sptrsm_file_listing *out, spti_io_file *f) {
  walker w = {.file = f};
  return give_list(out, &w, f->child != NULL ? walk_in_child(&w) : walk(&w, f->path));
}

static sptrsm_status list_market(sptrsm_file_listing *out, spti_io_file *f, const sptrsm_io_options *o) {
  walker w = {.file = f};
  sptrsm_file_matrix *M;
  sptrsm_file_entry *e;
  SPTI_IO_TRY(spti_io_mtx_load(&M, f, o));
  sptrsm_status status = add_entry(&e, &w, ":", "");
  if (status == SPTRSM_OK) {
    static const char *const types[] = {"f32", "f64", "c64", "c128"};
    e->kind = "matrix";
    e->rule = M->rule;
    e->rows = M->rows;
    e->cols = M->cols;
    e->nnz = M->ptr[spti_io_major(M)];
    snprintf(e->type, sizeof e->type, "%s", types[M->dtype]);
  }
  sptrsm_file_matrix_free(M);
  return give_list(out, &w, status);
}

sptrsm_status sptrsm_file_list(sptrsm_file_listing *out, const char *where, const sptrsm_io_options *o) {
  sptrsm_io_options taken;
  spti_io_file f;
  sptrsm_file_listing list = {0};
  if (out == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_list: out is NULL");
  SPTI_IO_TRY(spti_io_take_options(&taken, &o));
  SPTI_IO_TRY(spti_io_file_open(&f, where, o));
  sptrsm_status status = f.matrix_market ? list_market(&list, &f, o) : spti_io_list(&list, &f);
  status = spti_io_file_end(&f, status);
  if (status == SPTRSM_OK) *out = list;
  else sptrsm_file_listing_free(&list);
  return status;
}

void sptrsm_file_listing_free(sptrsm_file_listing *list) {
  if (list == NULL) return;
  for (int k = 0; k < list->count; k++) free(list->entries[k].path);
  free(list->entries);
  *list = (sptrsm_file_listing){0};
}
