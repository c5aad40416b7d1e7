/* links.c -- the names in a group, all in one pass, sorted.
 *
 * HDF5 finds the i-th name of a group by counting from the first one, so the names are taken from an iteration instead. It runs in
 * native order, and the names are sorted here: HDF5 1.10 frees memory that it never set when it sorts links itself and one of them
 * is damaged. In a small group even native order makes it build that table; there, the look-up of a name that does not exist reads
 * all links before, and fails cleanly.
 */
#include "io/file/child.h"

#include <stdlib.h>
#include <string.h>

enum { LINKS_MAX = 1 << 20 };

#if H5_VERSION_GE(1, 12, 0)
typedef H5L_info2_t link_info;
#define ITERATE H5Literate2
#else
typedef H5L_info_t link_info;
#define ITERATE H5Literate
#endif

typedef struct {
  spti_io_names *out;
  size_t room;
  const char *where;
  sptrsm_status status;
} collector;

static sptrsm_status add_name(collector *c, const char *name) {
  spti_io_names *out = c->out;
  if (out->count == LINKS_MAX)
    return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "%s: holds more than %d names; give that of an object as FILE:/path", c->where,
                            LINKS_MAX);
  SPTI_IO_TRY(spti_io_grow(&out->names, &c->room, out->count, sizeof *out->names, c->where));
  SPTI_IO_TRY(spti_io_copy(&out->names[out->count], name));
  out->count++;
  return SPTRSM_OK;
}

static herr_t on_link(hid_t group, const char *name, const link_info *info, void *data) {
  collector *c = data;
  (void)group, (void)info;
  c->status = add_name(c, name);
  spti_io_child_progress();
  return c->status == SPTRSM_OK ? 0 : -1;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

sptrsm_status spti_io_names_read(spti_io_names *out, hid_t group, const char *where) {
  collector c = {.out = out, .where = where, .status = SPTRSM_OK};
  H5G_info_t info;
  *out = (spti_io_names){0};
  bool good = H5Gget_info(group, &info) >= 0;
  if (good && info.nlinks > 0)
    good = H5Lexists(group, "\1no such name", H5P_DEFAULT) >= 0 && ITERATE(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, on_link, &c) >= 0;
  if (!good && c.status == SPTRSM_OK) c.status = sptrsm_error_set(SPTRSM_ERR_IO, "%s: its links can't be read; the file is damaged", where);
  if (c.status != SPTRSM_OK) spti_io_names_free(out);
  else if (out->count > 0) qsort(out->names, out->count, sizeof *out->names, by_name);
  return c.status;
}

/* ---- the names from the child, in natural order ---- */

/* Compares runs of digits by their value, without leading zeros; all else byte by byte. */
static int natural(const char *a, const char *b) {
  static const char digits[] = "0123456789";
  while (*a != '\0' && *b != '\0') {
    size_t m = strspn(a, digits), k = strspn(b, digits);
    if (m == 0 || k == 0) {
      if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
      a++, b++;
      continue;
    }
    size_t zeros_a = strspn(a, "0"), zeros_b = strspn(b, "0");
    size_t from_a = zeros_a < m ? zeros_a : m, from_b = zeros_b < k ? zeros_b : k;
    if (m - from_a != k - from_b) return m - from_a < k - from_b ? -1 : 1;
    int order = memcmp(a + from_a, b + from_b, m - from_a);
    if (order != 0) return order;
    a += m, b += k;
  }
  return *a == *b ? 0 : *a == '\0' ? -1 : 1;
}

static int by_number(const void *a, const void *b) {
  int order = natural(*(char *const *)a, *(char *const *)b);
  return order != 0 ? order : by_name(a, b); /* item01 and item1 */
}

/* Reads the names, in the first call, and keeps them for the next ones. */
static sptrsm_status read_names(spti_io_call *c) {
  spti_io_names *names;
  SPTI_IO_TRY(spti_io_allocate(&names, c->object.where, sizeof *names));
  sptrsm_status status = spti_io_names_read(names, c->object.id, c->object.where);
  if (status == SPTRSM_OK) c->state = names;
  else free(names);
  return status;
}

/* Puts the names from number c->count on into the window, each ended by a NUL, until the next one does not fit. */
static sptrsm_status names_job(spti_io_call *c, spti_io_file *f) {
  (void)f;
  if (c->state == NULL) SPTI_IO_TRY(read_names(c));
  spti_io_names *names = c->state;
  size_t k = (size_t)c->count;
  for (; k < names->count; k++) {
    size_t bytes = strlen(names->names[k]) + 1;
    if (bytes > SPTI_IO_WINDOW - c->used) break;
    memcpy(c->window + c->used, names->names[k], bytes);
    c->used += bytes;
  }
  c->count = (int64_t)names->count;
  if (k < names->count) return SPTRSM_OK;
  spti_io_names_free(names);
  free(names);
  return SPTRSM_OK;
}

/* Takes the names of a copy of the window, which the child can't change. */
static sptrsm_status take_names(collector *c, const char *copy, size_t used, const spti_io_file *f) {
  for (size_t at = 0; at < used;) {
    const char *end = memchr(copy + at, '\0', used - at);
    if (end == NULL) return spti_io_call_refuse(f);
    SPTI_IO_TRY(add_name(c, copy + at));
    at = (size_t)(end - copy) + 1;
  }
  return SPTRSM_OK;
}

static sptrsm_status names_in_child(collector *c, const spti_io_object *group) {
  spti_io_file *f = group->file;
  char *copy;
  SPTI_IO_TRY(spti_io_allocate(&copy, c->where, SPTI_IO_WINDOW));
  sptrsm_status status = SPTRSM_OK;
  void *state = NULL; /* of the child */
  for (bool more = true; more && status == SPTRSM_OK;) {
    spti_io_call *call = spti_io_call_object(group, NULL);
    call->job = names_job;
    call->state = state;
    call->count = (int64_t)c->out->count;
    status = spti_io_call_run(call, f);
    size_t used = call->used, all = (size_t)call->count;
    if (status == SPTRSM_OK && used > SPTI_IO_WINDOW) status = spti_io_call_refuse(f);
    if (status != SPTRSM_OK) break;
    state = call->state;
    memcpy(copy, spti_io_call_window(f, 0), used);
    status = take_names(c, copy, used, f);
    more = used > 0 && c->out->count < all;
  }
  free(copy);
  return status;
}

sptrsm_status spti_io_names_of(spti_io_names *out, const spti_io_object *group) {
  collector c = {.out = out, .where = group->where};
  *out = (spti_io_names){0};
  sptrsm_status status = group->file->child != NULL ? names_in_child(&c, group) : spti_io_names_read(out, group->id, group->where);
  if (status != SPTRSM_OK) spti_io_names_free(out);
  else if (out->count > 0) qsort(out->names, out->count, sizeof *out->names, by_number);
  return status;
}

void spti_io_names_free(spti_io_names *n) {
  for (size_t k = 0; k < n->count; k++) free(n->names[k]);
  free(n->names);
  *n = (spti_io_names){0};
}
