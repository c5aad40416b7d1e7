/* batch_file.h -- files of batches that tests write by HDF5 itself, and loads of them. Included once per test program. */
#ifndef TESTS_IO_BATCH_FILE_H
#define TESTS_IO_BATCH_FILE_H

#include "io/fixture.h"
#include "io/test_folder.h"

#include <sptrsm_batch.h>

enum { ITEMS = 4, ORDER = 3, NNZ = 5 };

/* The lower triangle [1 . .; 2 3 .; . 4 5] of item i, times i + 1. */
static const int64_t ptr[ORDER + 1] = {0, 1, 3, 5};
static const int32_t idx[NNZ] = {0, 0, 1, 1, 2};
static inline double value(int64_t item, int p) { return (double)(item + 1) * (p + 1); }

/* ---- files written by HDF5 itself ---- */

/* An attribute of a group or dataset. */
static inline void mark(const char *path, const char *name, const char *text) {
  hid_t type = H5Tcopy(H5T_C_S1), one = H5Screate(H5S_SCALAR), f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT);
  H5Tset_size(type, strlen(text) + 1);
  hid_t a = H5Acreate_by_name(f, path, name, type, one, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  cr_assert(H5Awrite(a, type, text) >= 0, "%s: %s", path, name);
  H5Aclose(a), H5Fclose(f), H5Sclose(one), H5Tclose(type);
}

static inline void put(const char *path, hid_t type, int rank, const hsize_t *dims, const void *data, const char *order, int chunked) {
  const int is_new = count_named("out.h5") == 0;
  hid_t f = is_new ? H5Fcreate(file, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT) : H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t links = H5Pcreate(H5P_LINK_CREATE), create = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(rank, dims, NULL);
  H5Pset_create_intermediate_group(links, 1);
  if (chunked) {
    const hsize_t chunk[3] = {2, 2, 2};
    H5Pset_chunk(create, rank, chunk);
    H5Pset_deflate(create, 1);
  }
  hid_t d = H5Dcreate2(f, path, type, space, links, create, H5P_DEFAULT);
  cr_assert(d >= 0, "%s", path);
  cr_assert(data == NULL || H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(d), H5Sclose(space), H5Pclose(create), H5Pclose(links), H5Fclose(f);
  if (order) mark(path, "order", order);
}

static inline void put_pattern(const char *group, const int32_t *indices) {
  char path[64];
  snprintf(path, sizeof path, "%s/indptr", group);
  put(path, H5T_NATIVE_INT64, 1, (hsize_t[]){ORDER + 1}, ptr, NULL, 0);
  snprintf(path, sizeof path, "%s/indices", group);
  put(path, H5T_NATIVE_INT32, 1, (hsize_t[]){NNZ}, indices, NULL, 0);
}

/* The values of `count` items at group/data. */
static inline void put_values(const char *group, int rank, hsize_t count, int chunked) {
  char path[64];
  double v[ITEMS * NNZ];
  for (int q = 0; q < ITEMS * NNZ; q++) v[q] = value(q / NNZ, q % NNZ);
  snprintf(path, sizeof path, "%s/data", group);
  put(path, H5T_NATIVE_DOUBLE, rank, rank == 1 ? (hsize_t[]){NNZ} : (hsize_t[]){count, NNZ}, v, NULL, chunked);
}

static inline sptrsm_file_batch *load(const char *path, int64_t begin, int64_t end, const sptrsm_io_options *o) {
  char where[96];
  sptrsm_file_batch *b = NULL;
  snprintf(where, sizeof where, "%s%s", file, path);
  OK(sptrsm_file_batch_load(&b, where, begin, end, o));
  NOTHING_STAYS_OPEN(where);
  return b;
}

static inline void refuse(sptrsm_status status, sptrsm_status want, const char *says) {
  cr_assert(status == want && strstr(sptrsm_last_error(), says) != NULL, "status %d: \"%s\" lacks \"%s\"", status, sptrsm_last_error(),
            says);
}

static inline void refuse_batch(const char *path, int64_t begin, int64_t end, sptrsm_status want, const char *says) {
  char where[96];
  sptrsm_file_batch *b = NULL;
  snprintf(where, sizeof where, "%s%s", file, path);
  refuse(sptrsm_file_batch_load(&b, where, begin, end, NULL), want, says);
  cr_assert(b == NULL);
}

/* A factor set to be saved, with these values. */
static inline sptrsm_factors a_set(sptrsm_sparse *L, sptrsm_dtype dtype, const void *val) {
  sptrsm_factors f;
  *L = (sptrsm_sparse){.n = ORDER, .dtype = dtype, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_factors_init(&f);
  f.L = L;
  f.u_kind = SPTRSM_U_IS_LT;
  return f;
}

#endif
