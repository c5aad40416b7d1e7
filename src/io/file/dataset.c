/* dataset.c -- numeric datasets: their type, their extent, their chunks. */
#include "io/file/child.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

sptrsm_dtype spti_io_complex_of(sptrsm_dtype t) { return spti_is_single(t) ? SPTRSM_C64 : SPTRSM_C128; }

/* A conversion to single precision may have made a number zero or infinite that was neither in the file. */
const char *spti_io_precision_note(sptrsm_dtype t) {
  return spti_is_single(t) ? " (in single precision; --dtype f64 or c128 holds more)" : "";
}

sptrsm_status spti_io_choose_dtype(sptrsm_dtype *out, sptrsm_dtype stored, int asked, const char *where) {
  if (asked != SPTRSM_AS_STORED && spti_is_complex(stored) && !spti_is_complex((sptrsm_dtype)asked))
    return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "%s: values are complex and can't become real; use --dtype %s", where,
                            stored == SPTRSM_C64 ? "c64" : "c128");
  *out = asked == SPTRSM_AS_STORED ? stored : (sptrsm_dtype)asked;
  return SPTRSM_OK;
}

/* ---- number types ---- */

static bool complex_names(const char *first, const char *second, bool *swapped) {
  static const char *const pairs[][2] = {{"r", "i"}, {"real", "imag"}, {"re", "im"}};
  for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
    *swapped = strcmp(first, pairs[k][1]) == 0 && strcmp(second, pairs[k][0]) == 0;
    if (*swapped || (strcmp(first, pairs[k][0]) == 0 && strcmp(second, pairs[k][1]) == 0)) return true;
  }
  return false;
}

static bool compound_number(spti_io_number *n, hid_t type) {
  if (H5Tget_nmembers(type) != 2 || H5Tget_member_class(type, 0) != H5T_FLOAT || H5Tget_member_class(type, 1) != H5T_FLOAT) return false;
  char *first = H5Tget_member_name(type, 0), *second = H5Tget_member_name(type, 1);
  hid_t member = H5Tget_member_type(type, 0), other = H5Tget_member_type(type, 1);
  size_t bytes = member >= 0 && other >= 0 ? H5Tget_size(member) : 0;
  bool swapped = false, good = first != NULL && second != NULL && bytes > 0 && complex_names(first, second, &swapped);
  if (good) {
    if (bytes < H5Tget_size(other)) bytes = H5Tget_size(other);
    n->is_complex = true;
    n->dtype = bytes <= 4 ? SPTRSM_C64 : SPTRSM_C128;
    snprintf(n->re, sizeof n->re, "%s", swapped ? second : first);
    snprintf(n->im, sizeof n->im, "%s", swapped ? first : second);
    snprintf(n->name, sizeof n->name, "c%zu", 16 * bytes);
  }
  H5free_memory(first);
  H5free_memory(second);
  if (member >= 0) H5Tclose(member);
  if (other >= 0) H5Tclose(other);
  return good;
}

/* Describes an HDF5 type; false: it is not a number. */
static bool number_of(spti_io_number *n, hid_t type) {
  *n = (spti_io_number){.dtype = SPTRSM_F64};
  size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
  case H5T_FLOAT:
    n->dtype = bytes <= 4 ? SPTRSM_F32 : SPTRSM_F64;
    snprintf(n->name, sizeof n->name, "f%zu", 8 * bytes);
    return true;
  case H5T_INTEGER:
    n->is_integer = true;
    snprintf(n->name, sizeof n->name, "%sint%zu", H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", 8 * bytes);
    return true;
  case H5T_ENUM: /* h5py stores booleans as enums */
    n->is_integer = true;
    snprintf(n->name, sizeof n->name, "enum%zu", 8 * bytes);
    return true;
  case H5T_COMPOUND: return compound_number(n, type);
  default: return false;
  }
}

hid_t spti_io_memory_type(const spti_io_number *n, sptrsm_dtype dtype) {
  hid_t real = spti_is_single(dtype) ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  if (!n->is_complex) return H5Tcopy(real);
  size_t bytes = H5Tget_size(real);
  hid_t type = H5Tcreate(H5T_COMPOUND, 2 * bytes);
  if (type >= 0 && (H5Tinsert(type, n->re, 0, real) < 0 || H5Tinsert(type, n->im, bytes, real) < 0)) {
    H5Tclose(type);
    return -1;
  }
  return type;
}

/* ---- opening ---- */

/* The extent of rank 1 to 3; unused axes are 1. */
static sptrsm_status read_axes(int *rank, hsize_t axes[3], const spti_io_dataset *d) {
  hid_t space = H5Dget_space(d->id);
  int ndims = space >= 0 && H5Sget_simple_extent_type(space) == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : 0;
  axes[0] = axes[1] = axes[2] = 1;
  if (ndims >= 1 && ndims <= 3) H5Sget_simple_extent_dims(space, axes, NULL);
  if (space >= 0) H5Sclose(space);
  *rank = ndims;
  if (ndims >= 1 && ndims <= 3) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is %s; a vector or a 2-D array is needed, for a batch also a 3-D array", d->where,
                          ndims == 0 ? "a scalar or empty" : "an array of more than three dimensions");
}

static sptrsm_status read_extent(spti_io_dataset *d) {
  hsize_t axes[3];
  SPTI_IO_TRY(read_axes(&d->rank, axes, d));
  size_t count = 1;
  for (int i = 0; i < 3; i++) count = axes[i] > INT64_MAX ? SIZE_MAX : spti_io_bytes((int64_t)axes[i], count);
  size_t rows = axes[0] > INT64_MAX ? SIZE_MAX : spti_io_bytes((int64_t)axes[0], (size_t)axes[1]);
  if (count > INT64_MAX || (d->rank == 3 && rows > INT64_MAX))
    return sptrsm_error_set(SPTRSM_ERR_MEMORY,
                            d->rank == 3 ? "%s: %llu x %llu x %llu numbers are more than any memory holds"
                                         : "%s: %llu x %llu numbers are more than any memory holds",
                            d->where, (unsigned long long)axes[0], (unsigned long long)axes[1], (unsigned long long)axes[2]);
  d->dims[0] = (int64_t)(d->rank == 3 ? axes[0] * axes[1] : axes[0]);
  d->dims[1] = (int64_t)(d->rank == 3 ? axes[2] : axes[1]);
  d->count = (int64_t)count;
  if (d->rank == 3) d->axes[0] = (int64_t)axes[0], d->axes[1] = (int64_t)axes[1];
  return SPTRSM_OK;
}

/* A chunk of rank 3 that spans several items counts as one of all their rows. */
static void read_chunks(spti_io_dataset *d) {
  hsize_t chunk[3] = {0, 1, 1};
  hid_t plist = H5Dget_create_plist(d->id), type = H5Dget_type(d->id);
  if (plist >= 0 && type >= 0 && H5Pget_layout(plist) == H5D_CHUNKED && H5Pget_chunk(plist, 3, chunk) == d->rank) {
    d->chunk[0] = (int64_t)(d->rank < 3 ? chunk[0] : chunk[0] == 1 ? chunk[1] : chunk[0] * (hsize_t)d->axes[1]);
    d->chunk[1] = (int64_t)chunk[d->rank == 3 ? 2 : 1];
    if (d->chunk[0] == 0) d->chunk[0] = 1;
    d->chunk_bytes =
        spti_io_bytes((int64_t)chunk[0], spti_io_bytes((int64_t)chunk[1], spti_io_bytes((int64_t)chunk[2], H5Tget_size(type))));
  }
  if (type >= 0) H5Tclose(type);
  if (plist >= 0) H5Pclose(plist);
}

/* Chunks that the dataset has if all are stored. */
static double count_chunks(const spti_io_dataset *d) {
  hsize_t axes[3], chunk[3] = {1, 1, 1};
  double count = 1;
  int rank;
  hid_t plist = H5Dget_create_plist(d->id);
  bool known = plist >= 0 && H5Pget_chunk(plist, 3, chunk) > 0 && read_axes(&rank, axes, d) == SPTRSM_OK;
  if (plist >= 0) H5Pclose(plist);
  for (int i = 0; i < 3 && known; i++) count *= ceil((double)axes[i] / (double)chunk[i]);
  return count;
}

/* Refuses decompression bombs. Filters are skipped for a chunk that they do not shrink, so where the stored data are larger than the
 * numbers, some chunk inflates beyond its size, and HDF5 would allocate that without a limit. */
static sptrsm_status check_storage(const spti_io_dataset *d) {
  double bytes = (double)d->chunk_bytes;
  if (d->chunk_bytes == 0 || (double)H5Dget_storage_size(d->id) <= count_chunks(d) * (bytes * 1.02 + 1024)) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_MEMORY,
                          "%s: its compressed data are larger than its numbers: a decompression bomb; rewrite it with h5repack", d->where);
}

/* A chunk with filters that does not fit HDF5's cache would be decompressed again for each part that is read. Then the dataset is opened
 * again with a cache for one chunk, which is memory that decompression takes anyway. Each source of a virtual dataset gets such a cache,
 * unless all of them are too large for the memory limit. */
static sptrsm_status fit_cache(spti_io_dataset *d, const spti_io_unpacked *chunks, const spti_io_file *f) {
  if (chunks->largest <= spti_io_cache_bytes(f) || chunks->kept > f->memory_limit) return SPTRSM_OK;
  char name[SPTI_IO_TEXT];
  ssize_t length = H5Iget_name(d->id, name, sizeof name);
  hid_t file = H5Iget_file_id(d->id), access = H5Pcreate(H5P_DATASET_ACCESS), id = -1;
  H5Oclose(d->id);
  d->id = -1;
  if (file >= 0 && access >= 0 && length > 0 && (size_t)length < sizeof name &&
      H5Pset_chunk_cache(access, 521, chunks->largest, H5D_CHUNK_CACHE_W0_DEFAULT) >= 0)
    id = H5Dopen2(file, name, access);
  if (access >= 0) H5Pclose(access);
  if (file >= 0) H5Fclose(file);
  d->id = id;
  return id >= 0 ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_IO, "%s: can't be opened again for its large chunks", d->where);
}

static sptrsm_status inspect(spti_io_dataset *d, const spti_io_file *f) {
  spti_io_unpacked chunks;
  SPTI_IO_TRY(spti_io_dataset_guard(&chunks, f, d->id, d->where));
  d->filter_bytes = spti_io_add(chunks.largest, chunks.largest);
  SPTI_IO_TRY(read_extent(d));
  read_chunks(d);
  SPTI_IO_TRY(check_storage(d));
  hid_t type = H5Dget_type(d->id);
  bool good = type >= 0 && number_of(&d->number, type);
  if (type >= 0) H5Tclose(type);
  if (good) return fit_cache(d, &chunks, f);
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                          "%s: not numbers; store floats, integers, or compounds {r,i}, {real,imag}, {re,im} of floats", d->where);
}

static sptrsm_status inspect_job(spti_io_call *c, spti_io_file *f) { return inspect(&c->dataset, f); }

static bool ends(const char *text, size_t bytes) { return memchr(text, '\0', bytes) != NULL; }

/* Whether a description from the child is one that inspect() may give. */
static bool is_possible(const spti_io_dataset *d, size_t limit) {
  const int64_t *dims = d->dims, *chunk = d->chunk, *axes = d->axes;
  const spti_io_number *n = &d->number;
  bool joined = axes[0] >= 0 && axes[1] >= 0 && spti_io_bytes(axes[0], (size_t)axes[1]) == (size_t)dims[0];
  bool plain = axes[0] == 0 && axes[1] == 0 && (d->rank == 2 || (d->rank == 1 && dims[1] == 1));
  bool shape = (d->rank == 3 ? joined : plain) && dims[0] >= 0 && dims[1] >= 0;
  bool count = shape && spti_io_bytes(dims[0], (size_t)dims[1]) == (size_t)d->count && d->count >= 0;
  bool chunks = chunk[0] > 0 && chunk[1] > 0 && (d->rank >= 2 || chunk[1] == 1) && d->chunk_bytes <= limit;
  bool none = chunk[0] == 0 && chunk[1] == 0 && d->chunk_bytes == 0;
  bool type = (int)n->dtype >= SPTRSM_F32 && n->dtype <= SPTRSM_C128 && spti_is_complex(n->dtype) == n->is_complex;
  return count && (none || chunks) && d->filter_bytes / 2 <= limit && type && ends(n->re, sizeof n->re) && ends(n->im, sizeof n->im) &&
         ends(n->name, sizeof n->name) && !d->pairs;
}

/* A failure may leave another identifier, which is to be closed too. */
static sptrsm_status inspect_in_child(spti_io_dataset *d) {
  spti_io_call *c = spti_io_call_dataset(d, 0);
  spti_io_file *f = d->file;
  char *where = d->where;
  c->job = inspect_job;
  sptrsm_status status = spti_io_call_run(c, f);
  *d = c->dataset;
  d->where = where;
  d->file = f;
  return status != SPTRSM_OK || is_possible(d, f->memory_limit) ? status : spti_io_call_refuse(f);
}

sptrsm_status spti_io_dataset_of(spti_io_dataset *d, const spti_io_object *o) {
  *d = (spti_io_dataset){.id = o->id, .where = o->where, .file = o->file};
  sptrsm_status status;
  if (o->type != H5I_DATASET) status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is a group, an array is needed", o->where);
  else status = o->file->child != NULL ? inspect_in_child(d) : inspect(d, o->file);
  if (status != SPTRSM_OK) spti_io_dataset_close(d);
  return status;
}

sptrsm_status spti_io_dataset_open(spti_io_dataset *d, const spti_io_object *group, const char *name) {
  spti_io_object o;
  *d = (spti_io_dataset){.id = -1};
  SPTI_IO_TRY(spti_io_member_open(&o, group, name));
  return spti_io_dataset_of(d, &o);
}

void spti_io_shape_text(char out[72], const spti_io_dataset *d) {
  const long long first = d->rank == 3 ? d->axes[0] : d->dims[0], last = d->dims[1];
  if (d->rank == 1) snprintf(out, 72, "%lld", first);
  else if (d->rank == 2) snprintf(out, 72, "%lld x %lld", first, last);
  else snprintf(out, 72, "%lld x %lld x %lld", first, (long long)d->axes[1], last);
}

/* MATLAB's empty arrays are 0 x 0. */
bool spti_io_is_vector(const spti_io_dataset *d) {
  bool flat = d->dims[0] == 1 || d->dims[1] == 1 || (d->dims[0] == 0 && d->dims[1] == 0);
  return d->rank == 1 || (d->rank == 2 && flat);
}

sptrsm_status spti_io_vector_open(spti_io_dataset *d, const spti_io_object *group, const char *name) {
  char shape[72];
  SPTI_IO_TRY(spti_io_dataset_open(d, group, name));
  if (spti_io_is_vector(d)) return SPTRSM_OK;
  spti_io_shape_text(shape, d);
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is %s, a vector is needed; store it in one dimension", d->where, shape);
}

void spti_io_dataset_close(spti_io_dataset *d) {
  spti_io_id_close(d->file, d->id);
  free(d->where);
  *d = (spti_io_dataset){.id = -1};
}

spti_io_object spti_io_object_of(const spti_io_dataset *d) {
  return (spti_io_object){.id = d->id, .type = H5I_DATASET, .where = d->where, .file = d->file};
}
