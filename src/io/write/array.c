/* array.c -- writes attributes and datasets of an output file, with the filters of the save options. */
#include "io/write/write.h"

sptrsm_status spti_io_write_text(hid_t object, const char *name, const char *text, const char *where) {
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR), attribute = -1;
  bool good = type >= 0 && space >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0;
  if (good) attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  good = attribute >= 0 && H5Awrite(attribute, type, &text) >= 0;
  if (attribute >= 0) H5Aclose(attribute);
  if (space >= 0) H5Sclose(space);
  if (type >= 0) H5Tclose(type);
  return good ? SPTRSM_OK : spti_io_write_failed(where, name);
}

sptrsm_status spti_io_write_integers(hid_t object, const char *name, const int64_t *values, int count, const char *where) {
  hsize_t length = (hsize_t)count;
  hid_t space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &length, NULL);
  hid_t attribute = space >= 0 ? H5Acreate2(object, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
  bool good = attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT64, values) >= 0;
  if (attribute >= 0) H5Aclose(attribute);
  if (space >= 0) H5Sclose(space);
  return good ? SPTRSM_OK : spti_io_write_failed(where, name);
}

sptrsm_status spti_io_value_type(hid_t *out, sptrsm_dtype dtype, const char *where) {
  hid_t real = spti_is_single(dtype) ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  if (!spti_is_complex(dtype)) {
    *out = H5Tcopy(real);
  } else {
    *out = H5Tcreate(H5T_COMPOUND, 2 * H5Tget_size(real));
    if (*out >= 0 && (H5Tinsert(*out, "r", 0, real) < 0 || H5Tinsert(*out, "i", H5Tget_size(real), real) < 0)) {
      H5Tclose(*out);
      *out = -1;
    }
  }
  return *out >= 0 ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: HDF5 has no memory for a type", where);
}

spti_io_array spti_io_vector(const char *name, hid_t type, int64_t count) {
  return (spti_io_array){.name = name, .type = type, .rank = 1, .dims = {(hsize_t)count}};
}

static bool is_empty(const spti_io_array *a) {
  bool empty = false;
  for (int k = 0; k < a->rank; k++) empty = empty || a->dims[k] == 0;
  return empty;
}

/* Sets chunks and filters. No fill values, because everything is written; no time stamps, so that equal inputs give equal files. */
static bool set_properties(hid_t plist, const spti_io_array *a, const sptrsm_save_options *options) {
  hsize_t chunk[3] = {a->chunk[0], a->chunk[1], a->chunk[2]};
  bool filtered = options->compress > 0 || options->checksum, empty = is_empty(a);
  if (H5Pset_obj_track_times(plist, 0) < 0) return false;
  if (a->sources > 0) return true;
  if (H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER) < 0) return false;
  if (a->early && H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY) < 0) return false;
  if (empty || (chunk[0] == 0 && !filtered)) return true;
  if (chunk[0] == 0) chunk[0] = a->dims[0] < 262144 ? a->dims[0] : 262144;
  if (H5Pset_chunk(plist, a->rank, chunk) < 0) return false;
  if (options->compress > 0 && (H5Pset_shuffle(plist) < 0 || H5Pset_deflate(plist, (unsigned)options->compress) < 0)) return false;
  return !options->checksum || H5Pset_fletcher32(plist) >= 0;
}

sptrsm_status spti_io_create_array(hid_t *out, hid_t group, const spti_io_array *a, const sptrsm_save_options *options, const char *where) {
  hid_t space = H5Screate_simple(a->rank, a->dims, NULL), links = H5Pcreate(H5P_LINK_CREATE);
  hid_t plist = a->sources > 0 ? H5Pcopy(a->sources) : H5Pcreate(H5P_DATASET_CREATE);
  *out = -1;
  if (space >= 0 && plist >= 0 && links >= 0 && set_properties(plist, a, options) && H5Pset_create_intermediate_group(links, 1) >= 0)
    *out = H5Dcreate2(group, a->name, a->type, space, links, plist, H5P_DEFAULT);
  if (space >= 0) H5Sclose(space);
  if (plist >= 0) H5Pclose(plist);
  if (links >= 0) H5Pclose(links);
  if (*out >= 0) return SPTRSM_OK;
  if (spti_io_driver_error() != 0 || spti_io_lacked_memory()) return spti_io_write_failed(where, a->name);
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: dataset %s can't be created; is the name used twice?", where, a->name);
}

sptrsm_status spti_io_write_array(hid_t group, const spti_io_array *a, const void *data, const sptrsm_save_options *options,
                                  const char *where) {
  hid_t dataset;
  SPTI_IO_TRY(spti_io_create_array(&dataset, group, a, options, where));
  bool good = a->dims[0] == 0 || H5Dwrite(dataset, a->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
  if (H5Dclose(dataset) < 0) good = false;
  return good ? SPTRSM_OK : spti_io_write_failed(where, a->name);
}

static hsize_t smaller(hsize_t a, hsize_t b) { return a < b ? a : b; }

sptrsm_status spti_io_write_rows(hid_t group, const char *name, hid_t type, const spti_io_rows *rows, const void *data,
                                 const sptrsm_save_options *options, const char *where) {
  enum { CHUNK = 262144 };
  const hsize_t count = (hsize_t)rows->count, length = (hsize_t)rows->length, held[2] = {count, (hsize_t)rows->stride}, origin[2] = {0, 0};
  spti_io_array a = {.name = name, .type = type, .rank = 2, .dims = {count, length}};
  hid_t dataset, memory = -1;
  if ((options->compress > 0 || options->checksum) && !is_empty(&a)) {
    a.chunk[1] = smaller(length, CHUNK);
    a.chunk[0] = smaller(count, CHUNK / a.chunk[1]);
  }
  SPTI_IO_TRY(spti_io_create_array(&dataset, group, &a, options, where));
  bool good = true;
  if (!is_empty(&a)) {
    memory = H5Screate_simple(2, held, NULL);
    good = memory >= 0 && H5Sselect_hyperslab(memory, H5S_SELECT_SET, origin, NULL, a.dims, NULL) >= 0;
    good = good && H5Dwrite(dataset, type, memory, H5S_ALL, H5P_DEFAULT, data) >= 0;
  }
  if (memory >= 0) H5Sclose(memory);
  if (H5Dclose(dataset) < 0) good = false;
  return good ? SPTRSM_OK : spti_io_write_failed(where, name);
}
