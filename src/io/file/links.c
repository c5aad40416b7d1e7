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

void spti_io_names_free(spti_io_names *n) {
  for (size_t k = 0; k < n->count; k++) free(n->names[k]);
  free(n->names);
  *n = (spti_io_names){0};
}
