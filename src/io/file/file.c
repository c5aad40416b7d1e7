/* file.c -- opens a file and the objects in it.
 *
 * "FILE:/path" is split at the last ":/" whose left side is an existing file, so file names may contain colons. HDF5's own error
 * report is off while a file is open and restored afterwards. External links are refused by a callback in the link access list,
 * which HDF5 calls before it opens the other file.
 */
#include "io/file/child.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/sized.h"

void sptrsm_io_options_init_sized(sptrsm_io_options *o, size_t size) {
  const sptrsm_io_options defaults = {.uplo = SPTRSM_AS_STORED, .dtype = SPTRSM_AS_STORED, .order = SPTRSM_AS_STORED, .col_end = -1};
  spti_sized_init(o, size, &defaults, sizeof defaults);
}

sptrsm_status spti_io_take_options(sptrsm_io_options *o, const sptrsm_io_options **options) {
  sptrsm_io_options_init(o);
  if (*options != NULL)
    SPTI_IO_TRY(spti_sized_read(o, sizeof *o, *options, SPTI_SIZE_UP_TO(sptrsm_io_options, col_end), "sptrsm_io_options"));
  *options = o;
  if (o->uplo < SPTRSM_AS_STORED || o->uplo > SPTRSM_UPPER)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "io options: unknown uplo %d", o->uplo);
  if (o->dtype < SPTRSM_AS_STORED || o->dtype > SPTRSM_C128)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "io options: unknown dtype %d", o->dtype);
  if (o->order < SPTRSM_AS_STORED || o->order > SPTRSM_COL_MAJOR)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "io options: unknown order %d", o->order);
  return SPTRSM_OK;
}

/* ---- the file ---- */

static bool is_file(const char *name) {
  struct stat s;
  return stat(name, &s) == 0 && !S_ISDIR(s.st_mode);
}

/* Splits "FILE:/path"; path NULL: no object named. */
static sptrsm_status split(spti_io_file *f, const char *where) {
  SPTI_IO_TRY(spti_io_copy(&f->name, where));
  if (is_file(f->name)) return SPTRSM_OK;
  for (char *colon = f->name + strlen(f->name); colon > f->name; colon--) {
    if (colon[0] != ':' || colon[1] != '/') continue;
    *colon = '\0';
    if (is_file(f->name)) return spti_io_copy(&f->path, colon + 1);
    *colon = ':';
  }
  char *colon = strstr(f->name, ":/"); /* for the message: the file, not the object */
  if (colon != NULL) *colon = '\0';
  return SPTRSM_OK;
}

static sptrsm_status check_readable(const char *name, struct stat *s) {
  if (stat(name, s) != 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", name, strerror(errno));
  if (!S_ISREG(s->st_mode)) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: not a regular file", name);
  if (access(name, R_OK) != 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: %s", name, strerror(errno));
  return s->st_size > 0 ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is empty", name);
}

static bool is_matrix_market(const char *name) {
  static const char banner[] = "%%MatrixMarket";
  char head[sizeof banner] = "";
  gzFile z = gzopen(name, "rb");
  if (z == NULL) return false;
  int got = gzread(z, head, sizeof banner - 1);
  bool damaged_gzip = got < 0 && !gzdirect(z); /* the reader of Matrix Market files reports what is wrong */
  gzclose(z);
  return damaged_gzip || (got == (int)sizeof banner - 1 && strncasecmp(head, banner, sizeof banner - 1) == 0);
}

static herr_t refuse_external(const char *parent_file, const char *parent_group, const char *child_file, const char *child, unsigned *flags,
                              hid_t fapl, void *file) {
  (void)parent_file, (void)parent_group, (void)child_file, (void)child, (void)flags, (void)fapl;
  spti_io_file *f = file;
  f->met_external = !f->allow_external;
  return f->allow_external ? 0 : -1;
}

static sptrsm_status open_hdf5(spti_io_file *f) {
  f->lapl = H5Pcreate(H5P_LINK_ACCESS);
  if (f->lapl < 0 || H5Pset_elink_cb(f->lapl, refuse_external, f) < 0)
    return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: HDF5 has no memory for a property list", f->name);
  if (H5Fis_hdf5(f->name) == 0)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: not an HDF5 file, nor Matrix Market; is it the right file?", f->name);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (access >= 0 && H5Pset_cache(access, 0, 521, spti_io_cache_bytes(f), 0.75) >= 0) f->id = H5Fopen(f->name, H5F_ACC_RDONLY, access);
  if (access >= 0) H5Pclose(access);
  if (f->id < 0)
    return sptrsm_error_set(
        SPTRSM_ERR_IO, "%s: an HDF5 file that can't be opened: truncated, damaged, or locked by a writer? check it with h5ls", f->name);
  return SPTRSM_OK;
}

static sptrsm_status open_job(spti_io_call *c, spti_io_file *f) {
  sptrsm_status status = open_hdf5(f);
  c->object.id = f->id;
  return status;
}

static sptrsm_status open_in_child(spti_io_file *f) {
  SPTI_IO_TRY(spti_io_child_start(f));
  spti_io_call *c = spti_io_call_object(&(spti_io_object){.id = -1, .file = f}, NULL);
  c->job = open_job;
  SPTI_IO_TRY(spti_io_call_run(c, f));
  f->id = c->object.id;
  return SPTRSM_OK;
}

static sptrsm_status open_here(spti_io_file *f) {
  return spti_io_take_report(&f->old_report) ? open_hdf5(f)
                                             : sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: HDF5 has no memory to start", f->name);
}

sptrsm_status spti_io_file_open(spti_io_file *f, const char *where, const sptrsm_io_options *o) {
  *f = (spti_io_file){.id = -1, .lapl = -1};
  if (where == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "no file name given");
  f->memory_limit = spti_io_memory_limit(o);
  f->allow_external = o->allow_external;
  f->cache = o->in_process ? NULL : o->cache;
  f->lacked_before = spti_io_lacked_memory();
  spti_io_clear_lack();
  sptrsm_status status = split(f, where);
  if (status == SPTRSM_OK) status = check_readable(f->name, &f->seen);
  if (status == SPTRSM_OK) f->matrix_market = is_matrix_market(f->name);
  if (status == SPTRSM_OK && !f->matrix_market && !spti_io_cache_take(f))
    status = spti_io_settle(o->in_process ? open_here(f) : open_in_child(f), f->name);
  if (status != SPTRSM_OK) spti_io_file_close(f, status);
  return status;
}

void spti_io_file_close(spti_io_file *f, sptrsm_status status) {
  if (f->id >= 0 && f->child == NULL) H5Fclose(f->id);
  if (f->lapl >= 0) H5Pclose(f->lapl);
  if (status == SPTRSM_OK) spti_io_cache_give_back(f);
  spti_io_child_end(f);
  free(f->name);
  free(f->path);
  spti_io_give_report(&f->old_report);
  if (f->lacked_before) spti_io_note_lack();
  *f = (spti_io_file){.id = -1, .lapl = -1};
}

static sptrsm_status all_looked_up(const spti_io_file *f) {
  if (!f->lookup_failed) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: names in it can't be looked up; the file is damaged", f->name);
}

sptrsm_status spti_io_file_found(const spti_io_file *f) {
  SPTI_IO_TRY(spti_io_child_dead(f));
  return all_looked_up(f);
}

sptrsm_status spti_io_file_end(spti_io_file *f, sptrsm_status status) {
  /* A name that seems to be missing may be one that could not be looked up; that is reported instead. */
  if (status == SPTRSM_ERR_STRUCTURE && f->lookup_failed) status = all_looked_up(f);
  if (status == SPTRSM_OK) status = spti_io_file_found(f);
  status = spti_io_settle(status, f->name);
  spti_io_file_close(f, status);
  return status;
}

/* ---- objects ---- */

/* Lists what a group holds, for the message about a wrong name: "; there is A, L, U". */
static void list_names(hid_t group, const char *where, char *out, size_t bytes) {
  spti_io_names list;
  size_t used = 0;
  out[0] = '\0';
  if (spti_io_names_read(&list, group, where) != SPTRSM_OK) return;
  for (size_t k = 0; k < list.count && k < 12; k++) {
    int n = snprintf(out + used, bytes - used, "%s%.63s", used == 0 ? "; there is " : ", ", list.names[k]);
    if ((size_t)n >= bytes - used) break;
    used += (size_t)n;
  }
  spti_io_names_free(&list);
}

/* H5Lexists() of a path, which fails by itself where a group on the way is missing. *end: the length of the part that was asked for last,
 * whose last name begins at *last. */
static htri_t path_exists(size_t *last, size_t *end, hid_t group, const char *path, hid_t lapl) {
  char part[SPTI_IO_TEXT];
  htri_t exists = 1;
  *last = *end = 0;
  while (exists > 0 && path[*end] != '\0') {
    *last = *end + strspn(path + *end, "/");
    *end = *last + strcspn(path + *last, "/");
    bool fits = snprintf(part, sizeof part, "%.*s", (int)*end, path) < (int)sizeof part;
    exists = fits ? H5Lexists(group, part, lapl) : -1;
  }
  return exists;
}

/* An object that is not there: which name of its path is the first one without an object, and what its group holds. */
static sptrsm_status refuse_absent(const spti_io_object *o, const spti_io_object *parent, const char *name, size_t last, size_t end,
                                   sptrsm_status absent) {
  char names[400] = "", *path = strndup(name, last);
  hid_t group = path == NULL || last == 0 ? -1 : H5Oopen(parent->id, path, o->file->lapl);
  if (last == 0 || group >= 0) list_names(last == 0 ? parent->id : group, o->where, names, sizeof names);
  if (group >= 0) H5Oclose(group);
  free(path);
  const size_t behind = strlen(name) - end;
  return sptrsm_error_set(absent, "%.*s: no such object%s", (int)(strlen(o->where) - behind), o->where, names);
}

/* o->where is known. */
static sptrsm_status open_object(spti_io_object *o, const spti_io_object *parent, const char *name, sptrsm_status absent) {
  spti_io_file *f = o->file;
  spti_io_child_progress();
  f->met_external = false;
  o->id = H5Oopen(parent->id, name, f->lapl);
  o->type = o->id >= 0 ? H5Iget_type(o->id) : H5I_BADID;
  if (o->type == H5I_GROUP || o->type == H5I_DATASET) return SPTRSM_OK;
  size_t last, end;
  htri_t exists = path_exists(&last, &end, parent->id, name, f->lapl);
  if (f->met_external)
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: an external link leads to another file; allow it with --allow-external", o->where);
  if (o->id >= 0) return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: neither a group nor a dataset", o->where);
  if (exists > 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: can't be opened: a dangling link or a damaged file", o->where);
  return exists == 0 ? refuse_absent(o, parent, name, last, end, absent) : sptrsm_error_set(SPTRSM_ERR_IO, "%s: no such object", o->where);
}

static sptrsm_status name_object(spti_io_object *o, const spti_io_object *parent, const char *name) {
  *o = (spti_io_object){.id = -1, .file = parent->file};
  return spti_io_join(&o->where, parent->where, strcmp(name, ".") == 0 ? "" : name);
}

static sptrsm_status close_job(spti_io_call *c, spti_io_file *f) {
  (void)f;
  H5Oclose(c->object.id);
  return SPTRSM_OK;
}

/* A child that has failed has closed everything. One that fails here leaves the message of the error for which the object is closed. */
void spti_io_id_close(spti_io_file *f, hid_t id) {
  if (id < 0) return;
  if (f->child == NULL) {
    H5Oclose(id);
    return;
  }
  char earlier[SPTI_IO_TEXT];
  snprintf(earlier, sizeof earlier, "%s", sptrsm_last_error());
  spti_io_call *c = spti_io_call_object(&(spti_io_object){.id = id, .file = f}, NULL);
  c->job = close_job;
  if (spti_io_call_run(c, f) != SPTRSM_OK) sptrsm_error_set(SPTRSM_OK, "%s", earlier);
}

static sptrsm_status object_job(spti_io_call *c, spti_io_file *f) {
  spti_io_object o;
  SPTI_IO_TRY(name_object(&o, &c->object, c->name));
  sptrsm_status status = open_object(&o, &c->object, c->name, (sptrsm_status)c->as);
  c->object.id = o.id;
  c->object.type = o.type;
  if (status != SPTRSM_OK) spti_io_id_close(f, o.id);
  free(o.where);
  return status;
}

static sptrsm_status open_object_in_child(spti_io_object *o, const spti_io_object *parent, const char *name, sptrsm_status absent) {
  spti_io_call *c = spti_io_call_object(parent, name);
  c->job = object_job;
  c->as = (int)absent;
  SPTI_IO_TRY(spti_io_call_run(c, o->file));
  o->id = c->object.id;
  o->type = c->object.type;
  return SPTRSM_OK;
}

static sptrsm_status find_object(spti_io_object *o, const spti_io_object *parent, const char *name, sptrsm_status absent) {
  SPTI_IO_TRY(name_object(o, parent, name));
  sptrsm_status status = o->file->child != NULL ? open_object_in_child(o, parent, name, absent) : open_object(o, parent, name, absent);
  if (status != SPTRSM_OK) spti_io_object_close(o);
  return status;
}

sptrsm_status spti_io_object_open(spti_io_object *o, const spti_io_object *parent, const char *name) {
  return find_object(o, parent, name, SPTRSM_ERR_IO);
}

sptrsm_status spti_io_member_open(spti_io_object *o, const spti_io_object *group, const char *name) {
  return find_object(o, group, name, SPTRSM_ERR_STRUCTURE);
}

sptrsm_status spti_io_object_open_path(spti_io_object *o, spti_io_file *f, const char *path) {
  spti_io_object root = {.id = f->id, .type = H5I_FILE, .file = f};
  *o = (spti_io_object){.id = -1};
  SPTI_IO_TRY(spti_io_allocate(&root.where, f->name, strlen(f->name) + 3));
  strcpy(root.where, f->name);
  strcat(root.where, ":/");
  while (path != NULL && path[0] == '/') path++;
  sptrsm_status status = spti_io_object_open(o, &root, path == NULL || path[0] == '\0' ? "." : path);
  free(root.where);
  return status;
}

void spti_io_object_close(spti_io_object *o) {
  spti_io_id_close(o->file, o->id);
  free(o->where);
  *o = (spti_io_object){.id = -1};
}

static sptrsm_status look_up_job(spti_io_call *c, spti_io_file *f) {
  (void)f;
  c->count = spti_io_has(&c->object, c->name);
  return SPTRSM_OK;
}

/* A failed look-up (no memory, damaged file) is noted in the file: to take it for "absent" could change the meaning of the file. */
bool spti_io_has(const spti_io_object *group, const char *name) {
  int64_t exists = -1;
  if (group->file->child == NULL) exists = group->type == H5I_GROUP ? H5Lexists(group->id, name, H5P_DEFAULT) : 0;
  else {
    spti_io_call *c = spti_io_call_object(group, name);
    c->job = look_up_job;
    if (spti_io_call_run(c, group->file) == SPTRSM_OK) exists = c->count;
  }
  if (exists < 0) group->file->lookup_failed = true;
  return exists > 0;
}
