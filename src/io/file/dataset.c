/* dataset.c -- numeric datasets: their type, their extent, and reading them.
 *
 * HDF5 converts widths and byte orders. It clips integers that do not fit: an index beyond 32 bits becomes INT32_MAX, which is no
 * index of a matrix (order <= INT32_MAX) and therefore fails the range check of the caller.
 */
#include "io/file/file.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

sptrsm_dtype spti_io_complex_of(sptrsm_dtype t) { return spti_is_single(t) ? SPTRSM_C64 : SPTRSM_C128; }

static sptrsm_dtype real_of(sptrsm_dtype t) { return spti_is_single(t) ? SPTRSM_F32 : SPTRSM_F64; }

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

static sptrsm_status read_extent(spti_io_dataset *d) {
  hid_t space = H5Dget_space(d->id);
  int rank = space >= 0 && H5Sget_simple_extent_type(space) == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : 0;
  hsize_t dims[2] = {0, 1};
  if (rank == 1 || rank == 2) H5Sget_simple_extent_dims(space, dims, NULL);
  if (space >= 0) H5Sclose(space);
  if (rank != 1 && rank != 2)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is %s, a vector or a 2-D array is needed", d->where,
                            rank == 0 ? "a scalar or empty" : "an array of three or more dimensions");
  if (dims[0] > INT64_MAX || dims[1] > INT64_MAX || spti_io_bytes((int64_t)dims[0], (size_t)dims[1]) > INT64_MAX)
    return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: %llu x %llu numbers are more than any memory holds", d->where,
                            (unsigned long long)dims[0], (unsigned long long)dims[1]);
  d->rank = rank;
  d->dims[0] = (int64_t)dims[0];
  d->dims[1] = (int64_t)dims[1];
  d->count = d->dims[0] * d->dims[1];
  return SPTRSM_OK;
}

/* Refuses decompression bombs. Filters are skipped for a chunk that they do not shrink, so where the stored data are larger than the
 * numbers, some chunk inflates beyond its size, and HDF5 would allocate that without a limit. */
static sptrsm_status check_storage(const spti_io_dataset *d) {
  hsize_t chunk[2] = {0, 1};
  hid_t plist = H5Dget_create_plist(d->id), type = H5Dget_type(d->id);
  bool chunked = plist >= 0 && type >= 0 && H5Pget_layout(plist) == H5D_CHUNKED && H5Pget_chunk(plist, 2, chunk) == d->rank;
  double bytes = type >= 0 ? (double)H5Tget_size(type) : 0, count = 1;
  for (int i = 0; i < d->rank && chunked; i++) {
    bytes *= (double)chunk[i];
    count *= (double)(((hsize_t)d->dims[i] + chunk[i] - 1) / chunk[i]);
  }
  if (type >= 0) H5Tclose(type);
  if (plist >= 0) H5Pclose(plist);
  if (!chunked || (double)H5Dget_storage_size(d->id) <= count * (bytes * 1.02 + 1024)) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_MEMORY,
                          "%s: its compressed data are larger than its numbers: a decompression bomb; rewrite it with h5repack", d->where);
}

size_t spti_io_filter_bytes(const spti_io_dataset *d) {
  hsize_t chunk[2] = {0, 1};
  hid_t plist = H5Dget_create_plist(d->id), type = H5Dget_type(d->id);
  bool filtered = plist >= 0 && type >= 0 && H5Pget_layout(plist) == H5D_CHUNKED && H5Pget_nfilters(plist) > 0 &&
                  H5Pget_chunk(plist, 2, chunk) == d->rank;
  size_t bytes = filtered ? 2 * H5Tget_size(type) : 0;
  for (int i = 0; i < d->rank; i++) bytes = spti_io_bytes((int64_t)chunk[i], bytes);
  if (type >= 0) H5Tclose(type);
  if (plist >= 0) H5Pclose(plist);
  return filtered ? bytes : 0;
}

static sptrsm_status inspect(spti_io_dataset *d, const spti_io_file *f) {
  SPTI_IO_TRY(spti_io_dataset_guard(f, d->id, d->where));
  SPTI_IO_TRY(read_extent(d));
  SPTI_IO_TRY(check_storage(d));
  hid_t type = H5Dget_type(d->id);
  bool good = type >= 0 && number_of(&d->number, type);
  if (type >= 0) H5Tclose(type);
  if (good) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                          "%s: not numbers; store floats, integers, or compounds {r,i}, {real,imag}, {re,im} of floats", d->where);
}

sptrsm_status spti_io_dataset_of(spti_io_dataset *d, const spti_io_object *o) {
  *d = (spti_io_dataset){.id = o->id, .where = o->where};
  sptrsm_status status =
      o->type == H5I_DATASET ? inspect(d, o->file) : sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is a group, an array is needed", o->where);
  if (status != SPTRSM_OK) spti_io_dataset_close(d);
  return status;
}

sptrsm_status spti_io_dataset_open(spti_io_dataset *d, const spti_io_object *group, const char *name) {
  spti_io_object o;
  *d = (spti_io_dataset){.id = -1};
  SPTI_IO_TRY(spti_io_member_open(&o, group, name));
  return spti_io_dataset_of(d, &o);
}

sptrsm_status spti_io_vector_open(spti_io_dataset *d, const spti_io_object *group, const char *name) {
  SPTI_IO_TRY(spti_io_dataset_open(d, group, name));
  if (d->rank == 1 || d->count == 0 || d->dims[0] == 1 || d->dims[1] == 1) return SPTRSM_OK;
  sptrsm_status status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is %lld x %lld, a vector is needed; store it in one dimension",
                                          d->where, (long long)d->dims[0], (long long)d->dims[1]);
  spti_io_dataset_close(d);
  return status;
}

void spti_io_dataset_close(spti_io_dataset *d) {
  if (d->id >= 0) H5Oclose(d->id);
  free(d->where);
  *d = (spti_io_dataset){.id = -1};
}

/* ---- reading ---- */

static sptrsm_status unreadable(const spti_io_dataset *d) {
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: can't be read: damaged data, a checksum mismatch, or not enough memory", d->where);
}

static sptrsm_status read_integers(const spti_io_dataset *d, hid_t type, void *out) {
  if (!d->number.is_integer) return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: holds %s, integers are needed", d->where, d->number.name);
  if (d->count > 0 && H5Dread(d->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0) return unreadable(d);
  return SPTRSM_OK;
}

sptrsm_status spti_io_read_i64(const spti_io_dataset *d, int64_t *out) { return read_integers(d, H5T_NATIVE_INT64, out); }

sptrsm_status spti_io_read_i32(const spti_io_dataset *d, int32_t *out) { return read_integers(d, H5T_NATIVE_INT32, out); }

void spti_io_stored_integer(char out[24], const spti_io_dataset *d, int64_t p) {
  int64_t value = 0;
  uint64_t large = 0; /* HDF5 clips negative numbers to 0 here */
  hsize_t at[2] = {(hsize_t)(p / d->dims[1]), (hsize_t)(p % d->dims[1])}, one = 1;
  hid_t from = H5Dget_space(d->id), to = H5Screate_simple(1, &one, NULL);
  bool good = from >= 0 && to >= 0 && H5Sselect_elements(from, H5S_SELECT_SET, 1, at) >= 0;
  good = good && H5Dread(d->id, H5T_NATIVE_INT64, to, from, H5P_DEFAULT, &value) >= 0;
  good = good && H5Dread(d->id, H5T_NATIVE_UINT64, to, from, H5P_DEFAULT, &large) >= 0;
  if (from >= 0) H5Sclose(from);
  if (to >= 0) H5Sclose(to);
  if (!good) snprintf(out, 24, "unreadable");
  else if (large > INT64_MAX) snprintf(out, 24, "%llu", (unsigned long long)large);
  else snprintf(out, 24, "%lld", (long long)value);
}

/* Reads count elements of `type` into out. The memory space has the shape of the selection; with another shape HDF5 copies element by
 * element. */
static sptrsm_status read_selection(const spti_io_dataset *d, const spti_io_slab *slab, int64_t count, hid_t type, void *out) {
  hsize_t shape[2] = {(hsize_t)count, 1};
  if (d->rank == 2) shape[0] = slab != NULL ? slab->blocks[0] * slab->size[0] : (hsize_t)d->dims[0];
  if (d->rank == 2) shape[1] = slab != NULL ? slab->blocks[1] * slab->size[1] : (hsize_t)d->dims[1];
  hid_t from = H5Dget_space(d->id), to = H5Screate_simple(d->rank, shape, NULL);
  bool good = from >= 0 && to >= 0;
  if (good && slab != NULL) good = H5Sselect_hyperslab(from, H5S_SELECT_SET, slab->start, slab->stride, slab->blocks, slab->size) >= 0;
  if (good) good = H5Sget_select_npoints(from) == (hssize_t)count && H5Dread(d->id, type, to, from, H5P_DEFAULT, out) >= 0;
  if (from >= 0) H5Sclose(from);
  if (to >= 0) H5Sclose(to);
  return good ? SPTRSM_OK : unreadable(d);
}

/* Turns count reals, which lie in the upper half of out, into complex numbers in place. Writing never overtakes reading. */
static void widen(void *out, int64_t count, sptrsm_dtype dtype) {
  if (dtype == SPTRSM_C64) {
    float *z = out;
    for (int64_t p = 0; p < count; p++) z[2 * p] = z[count + p], z[2 * p + 1] = 0;
  } else {
    double *z = out;
    for (int64_t p = 0; p < count; p++) z[2 * p] = z[count + p], z[2 * p + 1] = 0;
  }
}

sptrsm_status spti_io_read_values(const spti_io_dataset *d, const spti_io_slab *slab, int64_t count, sptrsm_dtype dtype, void *out) {
  if (count == 0) return SPTRSM_OK;
  sptrsm_dtype chosen;
  SPTI_IO_TRY(spti_io_choose_dtype(&chosen, d->number.dtype, (int)dtype, d->where));
  hid_t type = spti_io_memory_type(&d->number, dtype);
  if (type < 0) return unreadable(d);
  bool widens = spti_is_complex(dtype) && !d->number.is_complex && !d->pairs;
  char *target = out;
  if (widens) target += (size_t)count * sptrsm_dtype_bytes(real_of(dtype));
  sptrsm_status status = read_selection(d, slab, d->pairs ? 2 * count : count, type, target);
  H5Tclose(type);
  if (status == SPTRSM_OK && widens) widen(out, count, dtype);
  return status;
}
