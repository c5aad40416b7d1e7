/* fixture.h -- the matrices and blocks in the files of tests/data/make_fixtures.py, computed by the same formulas. */
#ifndef TESTS_IO_FIXTURE_H
#define TESTS_IO_FIXTURE_H

#include <complex.h>
#include <hdf5.h>
#include <sptrsm_io.h>

enum { FIXTURE_N = 6, FIXTURE_NRHS = 3 };

/* A call that must succeed; the test includes Criterion. */
#define OK(call)                                                                                                                           \
  do {                                                                                                                                     \
    sptrsm_status s_ = (call);                                                                                                             \
    cr_assert(s_ == SPTRSM_OK, "%s", sptrsm_last_error());                                                                                 \
  } while (0)

/* How many objects of the same kind are open: HDF5 numbers them in turn. Closes the newest one, `next`. */
static inline int fixture_open(hid_t next) {
  int open = 0;
  for (hid_t id = next - 1; id > next - 2000; id--) open += H5Iis_valid(id) > 0;
  H5Idec_ref(next);
  return open;
}

static inline int fixture_all_open(void) {
  return (int)H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) + fixture_open(H5Screate(H5S_SCALAR)) + fixture_open(H5Pcreate(H5P_DATASET_XFER)) +
         fixture_open(H5Tcopy(H5T_NATIVE_INT));
}

/* Fails where a file, a group, a dataset, an attribute, a dataspace, a property list or a type is still open in HDF5. */
#define NOTHING_STAYS_OPEN(where) cr_assert_eq(fixture_all_open(), 0, "%s: HDF5 has open objects", where)

/* The same options, but HDF5 works in this process, where objects that stay open can be counted. */
static inline sptrsm_io_options fixture_in_process(const sptrsm_io_options *o) {
  sptrsm_io_options here;
  sptrsm_io_options_init(&here);
  if (o != NULL) here = *o;
  here.in_process = 1;
  return here;
}

#define DATA(name) SPTRSM_TEST_DATA "/" name

static inline int fixture_pattern(int i, int j) { return i == j || (i > j && (3 * i + 5 * j) % 4 != 1); }

static inline double complex fixture_entry(int i, int j) { return fixture_pattern(i, j) ? 10 * (i + 1) + (j + 1) + I * (i - j + 0.5) : 0; }

static inline double complex fixture_block(int i, int k) { return 100 * (k + 1) + i + 1 + I * (k - i); }

/* Element p of an array of any dtype. */
static inline double complex fixture_value(sptrsm_dtype dtype, const void *val, int64_t p) {
  switch (dtype) {
  case SPTRSM_F32: return ((const float *)val)[p];
  case SPTRSM_F64: return ((const double *)val)[p];
  case SPTRSM_C64: return ((const float complex *)val)[p];
  default: return ((const double complex *)val)[p];
  }
}

static inline double complex fixture_element(const sptrsm_block *X, int64_t i, int64_t k) {
  return fixture_value(X->dtype, X->data, X->layout == SPTRSM_ROW_MAJOR ? i * X->ld + k : i + k * X->ld);
}

/* dense[i * n + j] = the matrix; zeros where nothing is stored. */
static inline void fixture_dense(double complex *dense, int64_t rows, int64_t cols, sptrsm_format format, sptrsm_dtype dtype,
                                 const int64_t *ptr, const int32_t *idx, const void *val) {
  int64_t major = format == SPTRSM_CSR ? rows : cols;
  for (int64_t q = 0; q < rows * cols; q++) dense[q] = 0;
  for (int64_t j = 0; j < major; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++)
      dense[format == SPTRSM_CSR ? j * cols + idx[p] : idx[p] * cols + j] += fixture_value(dtype, val, p);
}

#endif
