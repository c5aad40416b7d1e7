/* guard.c -- whether a dataset may be read: its filters, the size of its chunks, and other files that hold its numbers.
 *
 * HDF5 puts fill values or zeros in the place of numbers that lie in other files and are not there. So where other files are allowed
 * they are looked up here, in the folders where HDF5 looks, and a file that is missing, too short or without the dataset is an error.
 */
#include "io/file/child.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SOURCES_DEPTH = 8 }; /* virtual datasets of virtual datasets */

typedef struct { /* a dataset and the sources below it */
  const spti_io_file *file;
  const char *where;
  int depth; /* of a source */
  spti_io_unpacked chunks;
} examination;

/* ---- filters and chunks ---- */

static sptrsm_status check_filters(hid_t plist, const char *where) {
  int count = H5Pget_nfilters(plist);
  for (int i = 0; i < count; i++) {
    unsigned flags, config;
    size_t values = 0;
    char name[64] = "";
    H5Z_filter_t id = H5Pget_filter2(plist, (unsigned)i, &flags, &values, NULL, sizeof name, name, &config);
    name[sizeof name - 1] = '\0';
    if (id != H5Z_FILTER_DEFLATE && id != H5Z_FILTER_SHUFFLE && id != H5Z_FILTER_FLETCHER32 && id != H5Z_FILTER_SZIP)
      return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED,
                              "%s: filter %d (%s) is not one of deflate, shuffle, fletcher32, szip; rewrite it, e.g. h5repack -f GZIP=4",
                              where, (int)id, name[0] != '\0' ? name : "unnamed");
    if (H5Zfilter_avail(id) <= 0)
      return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED,
                              "%s: this HDF5 library was built without filter %d (%s); rewrite it, e.g. h5repack -f GZIP=4", where, (int)id,
                              name);
  }
  return SPTRSM_OK;
}

static sptrsm_status check_chunks(examination *e, hid_t dataset, hid_t plist) {
  hsize_t chunk[H5S_MAX_RANK];
  int rank = H5Pget_chunk(plist, H5S_MAX_RANK, chunk);
  hid_t type = H5Dget_type(dataset);
  size_t bytes = type >= 0 ? H5Tget_size(type) : SIZE_MAX;
  for (int i = 0; i < rank; i++) bytes = chunk[i] > INT64_MAX ? SIZE_MAX : spti_io_bytes((int64_t)chunk[i], bytes);
  if (type >= 0) H5Tclose(type);
  SPTI_IO_TRY(spti_io_check_memory(e->file->memory_limit, e->where, bytes, "rewrite it in smaller chunks (h5repack) or raise the limit"));
  bool filtered = H5Pget_nfilters(plist) > 0;
  size_t cache = spti_io_cache_bytes(e->file);
  if (filtered && e->chunks.largest < bytes) e->chunks.largest = bytes;
  if (filtered) e->chunks.kept = spti_io_add(e->chunks.kept, bytes > cache ? bytes : cache);
  spti_io_child_may_take(filtered ? 3 * bytes : bytes); /* in the cache; as stored and as numbers */
  return SPTRSM_OK;
}

/* ---- numbers in other files ---- */

/* HDF5 puts the folder of the file that holds the dataset in the place of ${ORIGIN} at the begin of the prefix. */
static sptrsm_status check_raw_file(const char *where, const char *name, uint64_t bytes, hid_t dataset) {
  static const char origin[] = "${ORIGIN}";
  char path[3 * PATH_MAX], holder[PATH_MAX] = "";
  struct stat s;
  const char *prefix = name[0] == '/' ? NULL : getenv("HDF5_EXTFILE_PREFIX");
  if (prefix != NULL && strncmp(prefix, origin, sizeof origin - 1) == 0) {
    if (H5Fget_name(dataset, holder, sizeof holder) <= 0)
      return sptrsm_error_set(SPTRSM_ERR_IO, "%s: the name of its file is unknown", where);
    char *slash = strrchr(holder, '/');
    strcpy(slash != NULL ? slash : holder, slash != NULL ? "" : ".");
    prefix += sizeof origin - 1;
  }
  snprintf(path, sizeof path, "%s%s%s%s", holder, prefix != NULL ? prefix : "", prefix != NULL ? "/" : "", name);
  if (stat(path, &s) != 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: its numbers lie in %s: %s", where, path, strerror(errno));
  if ((uint64_t)s.st_size >= bytes) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: its numbers lie in %s up to byte %llu, but that file has %lld bytes: it was cut off", where,
                          path, (unsigned long long)bytes, (long long)s.st_size);
}

/* External storage: pieces of other files, one after another, until the dataset is full. */
static sptrsm_status check_raw_files(hid_t plist, hid_t dataset, const char *where) {
  hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
  hssize_t points = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
  size_t left = type >= 0 ? spti_io_bytes(points, H5Tget_size(type)) : 0;
  int count = H5Pget_external_count(plist);
  if (space >= 0) H5Sclose(space);
  if (type >= 0) H5Tclose(type);
  for (int i = 0; i < count && left > 0; i++) {
    char name[PATH_MAX] = "";
    off_t at = 0;
    hsize_t room = 0;
    if (H5Pget_external(plist, (unsigned)i, sizeof name - 1, name, &at, &room) < 0 || at < 0)
      return sptrsm_error_set(SPTRSM_ERR_IO, "%s: its properties can't be read; the file is damaged", where);
    size_t bytes = room < left ? (size_t)room : left;
    if (bytes > 0) SPTI_IO_TRY(check_raw_file(where, name, (uint64_t)at + bytes, dataset));
    left -= bytes;
  }
  return SPTRSM_OK;
}

/* Opens a file in the folder of `beside`. */
static hid_t open_beside(const char *beside, const char *name) {
  char path[2 * PATH_MAX];
  const char *slash = strrchr(beside, '/');
  snprintf(path, sizeof path, "%.*s%s", slash != NULL ? (int)(slash + 1 - beside) : 0, beside, name);
  return H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
}

/* Opens the file of a source where HDF5 looks for it: under its full name, beside the file that holds the virtual dataset, in the
 * current folder, beside the file that a symbolic link to that one leads to. */
static hid_t open_source_file(hid_t dataset, const char *name) {
  char holder[PATH_MAX] = "", real[PATH_MAX];
  if (strcmp(name, ".") == 0) return H5Iget_file_id(dataset);
  hid_t file = name[0] == '/' ? H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
  if (name[0] == '/') name = strrchr(name, '/') + 1;
  if (file < 0 && H5Fget_name(dataset, holder, sizeof holder) > 0) file = open_beside(holder, name);
  if (file < 0) file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0 && realpath(holder, real) != NULL) file = open_beside(real, name);
  return file;
}

/* Whether a source has the elements of a selection in a space of the size that it had when the selection was made. An unlimited
 * selection takes what there is. */
static bool holds_bounds(hid_t source, hid_t selection) {
  hsize_t low[H5S_MAX_RANK], high[H5S_MAX_RANK], dims[H5S_MAX_RANK];
  int rank = H5Sget_simple_extent_ndims(selection);
  if (rank < 0 || H5Sget_simple_extent_ndims(source) != rank || H5Sget_simple_extent_dims(source, dims, NULL) < 0) return false;
  bool good = true, bounded = H5Sget_select_bounds(selection, low, high) >= 0;
  for (int d = 0; d < rank && bounded; d++) good = good && high[d] < dims[d];
  return good;
}

/* Whether a source has all elements that the i-th mapping takes from it. A selection of the whole source does not know its size; that
 * is the number of elements in the virtual dataset. */
static bool holds_selection(hid_t source, hid_t plist, size_t i) {
  hid_t from = H5Pget_virtual_srcspace(plist, i), to = H5Pget_virtual_vspace(plist, i), actual = H5Dget_space(source);
  bool good = from >= 0 && to >= 0 && actual >= 0;
  if (good && H5Sget_select_type(from) == H5S_SEL_ALL) good = H5Sget_select_npoints(to) == H5Sget_simple_extent_npoints(actual);
  else if (good) good = holds_bounds(actual, from);
  if (from >= 0) H5Sclose(from);
  if (to >= 0) H5Sclose(to);
  if (actual >= 0) H5Sclose(actual);
  return good;
}

static sptrsm_status examine(examination *e, hid_t dataset);

static sptrsm_status check_source(examination *e, hid_t plist, size_t i, hid_t dataset) {
  const char *where = e->where;
  char file[PATH_MAX] = "", name[PATH_MAX] = "";
  spti_io_child_progress();
  if (H5Pget_virtual_filename(plist, i, file, sizeof file - 1) < 0 || H5Pget_virtual_dsetname(plist, i, name, sizeof name - 1) < 0)
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: its sources can't be read; the file is damaged", where);
  if (strchr(file, '%') != NULL || strchr(name, '%') != NULL)
    return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED,
                            "%s: its sources are a pattern, %s:%s, so a missing one would go unseen; name each source", where, file, name);
  hid_t holder = open_source_file(dataset, file), source = holder >= 0 ? H5Dopen2(holder, name, H5P_DEFAULT) : -1;
  sptrsm_status status;
  if (source < 0)
    status =
        sptrsm_error_set(SPTRSM_ERR_IO, "%s: its source %s:%s is missing or can't be opened; put it beside the file", where, file, name);
  else status = examine(e, source);
  if (status == SPTRSM_OK && !holds_selection(source, plist, i))
    status =
        sptrsm_error_set(SPTRSM_ERR_IO, "%s: its source %s:%s has another size than the part that is taken from it", where, file, name);
  if (source >= 0) H5Dclose(source);
  if (holder >= 0) H5Fclose(holder);
  return status;
}

/* The union of what the sources cover, as a selection; -1: it is everything, or HDF5 can't say, as for unlimited mappings. */
static hid_t covered(hid_t plist, size_t count) {
  hid_t all = -1;
  for (size_t i = 0; i < count; i++) {
    hid_t to = H5Pget_virtual_vspace(plist, i), before = all;
    bool part = to >= 0 && H5Sget_select_type(to) == H5S_SEL_HYPERSLABS;
    all = !part ? -1 : before < 0 ? H5Scopy(to) : H5Scombine_select(before, H5S_SELECT_OR, to);
    spti_io_child_progress();
    if (to >= 0) H5Sclose(to);
    if (before >= 0) H5Sclose(before);
    if (all < 0) return -1;
  }
  return all;
}

/* HDF5 would put fill values where no source has numbers. HDF5 1.10 crashes where the difference of two selections is empty, so it is taken
 * only where numbers are missing. */
static sptrsm_status check_cover(hid_t plist, hid_t dataset, size_t count, const char *where) {
  hsize_t dims[H5S_MAX_RANK], start[H5S_MAX_RANK] = {0}, block[2 * H5S_MAX_RANK] = {0};
  hid_t space = H5Dget_space(dataset), all = covered(plist, count), left = -1;
  int rank = space >= 0 ? H5Sget_simple_extent_dims(space, dims, NULL) : 0;
  hssize_t missing = rank > 0 && all >= 0 ? H5Sget_simple_extent_npoints(space) - H5Sget_select_npoints(all) : 0;
  if (missing > 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, dims, NULL) >= 0)
    left = H5Scombine_select(space, H5S_SELECT_NOTB, all);
  if (left >= 0) H5Sget_select_hyper_blocklist(left, 0, 1, block);
  const hid_t spaces[] = {space, all, left};
  for (int k = 0; k < 3; k++)
    if (spaces[k] >= 0) H5Sclose(spaces[k]);
  if (missing <= 0) return SPTRSM_OK;
  char second[24] = "";
  if (rank > 1) snprintf(second, sizeof second, ",%llu", (unsigned long long)block[1]);
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: no source covers %lld of its numbers, the first of them at (%llu%s); map all of them",
                          where, (long long)missing, (unsigned long long)block[0], second);
}

static sptrsm_status check_sources(examination *e, hid_t plist, hid_t dataset) {
  const char *where = e->where, *prefix = getenv("HDF5_VDS_PREFIX");
  size_t count = 0;
  if (prefix && *prefix)
    return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED,
                            "%s: HDF5_VDS_PREFIX is set, so HDF5 may read other sources than those checked here; unset it, and put the "
                            "sources beside the file",
                            where);
  if (e->depth > SOURCES_DEPTH)
    return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "%s: virtual datasets of virtual datasets, more than %d deep", where, SOURCES_DEPTH);
  if (H5Pget_virtual_count(plist, &count) < 0)
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: its sources can't be read; the file is damaged", where);
  e->depth++;
  for (size_t i = 0; i < count; i++) SPTI_IO_TRY(check_source(e, plist, i, dataset));
  e->depth--;
  if (e->chunks.kept <= e->file->memory_limit) spti_io_child_may_take(spti_io_add(e->chunks.kept, 2 * e->chunks.largest));
  return check_cover(plist, dataset, count, where);
}

/* ---- all checks ---- */

static sptrsm_status check_layout(examination *e, hid_t plist, hid_t dataset) {
  const char *where = e->where;
  H5D_layout_t layout = H5Pget_layout(plist);
  bool raw = layout == H5D_CONTIGUOUS && H5Pget_external_count(plist) != 0;
  if (!e->file->allow_external && layout == H5D_VIRTUAL)
    return sptrsm_error_set(
        SPTRSM_ERR_IO,
        "%s: a virtual dataset reads other files; allow it with --allow-external, or make one file of it with sptrsm-solve --merge", where);
  if (!e->file->allow_external && raw)
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: its numbers lie in another file (external storage); allow it with --allow-external", where);
  SPTI_IO_TRY(check_filters(plist, where));
  if (layout == H5D_CHUNKED) return check_chunks(e, dataset, plist);
  if (layout == H5D_VIRTUAL) return check_sources(e, plist, dataset);
  return raw ? check_raw_files(plist, dataset, where) : SPTRSM_OK;
}

static sptrsm_status examine(examination *e, hid_t dataset) {
  hid_t plist = H5Dget_create_plist(dataset);
  if (plist < 0) return sptrsm_error_set(SPTRSM_ERR_IO, "%s: its properties can't be read; the file is damaged", e->where);
  sptrsm_status status = check_layout(e, plist, dataset);
  H5Pclose(plist);
  return status;
}

sptrsm_status spti_io_dataset_guard(spti_io_unpacked *chunks, const spti_io_file *f, hid_t dataset, const char *where) {
  examination e = {.file = f, .where = where};
  sptrsm_status status = examine(&e, dataset);
  *chunks = e.chunks;
  return status;
}
