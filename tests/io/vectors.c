/* vectors.c -- the arrays of a matrix: vectors, also stored as one row or one column as MATLAB does, and no other 2-D arrays. */
#include "test_folder.h"

#include <hdf5.h>
#include <sptrsm_io.h>

TestSuite(io_vectors, .init = make_folder, .fini = remove_folder);

static void put(hid_t f, const char *name, hid_t type, hsize_t rows, hsize_t cols, const void *data) {
  hsize_t dims[2] = {rows, cols};
  hid_t space = H5Screate_simple(2, dims, NULL), d = H5Dcreate2(f, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  cr_assert(d >= 0 && H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(d);
  H5Sclose(space);
}

/* A diagonal matrix of order 4 as COO, whose values have the shape rows x cols. */
static sptrsm_status load(hsize_t rows, hsize_t cols) {
  const int index[4] = {0, 1, 2, 3};
  const double values[4] = {1, 2, 3, 4};
  sptrsm_file_matrix *M;
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  put(f, "row", H5T_NATIVE_INT, 4, 1, index);
  put(f, "col", H5T_NATIVE_INT, 1, 4, index);
  put(f, "data", H5T_NATIVE_DOUBLE, rows, cols, values);
  cr_assert(H5Fclose(f) >= 0);
  sptrsm_status status = sptrsm_file_matrix_load(&M, file, NULL);
  if (status == SPTRSM_OK) cr_assert(((const double *)M->val)[3] == 4);
  if (status == SPTRSM_OK) sptrsm_file_matrix_free(M);
  return status;
}

Test(io_vectors, one_row_or_one_column_only) {
  cr_assert(load(1, 4) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(load(4, 1) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(load(2, 2) == SPTRSM_ERR_STRUCTURE);
  cr_assert(strstr(sptrsm_last_error(), "/data: is 2 x 2, but one matrix with the entries of ") != NULL, "%s", sptrsm_last_error());
}
