/* batch_corners.c -- files of batches: one row of values, one value for all entries, and parts that all items share. */
#include "batch_file.h"

#include <criterion/criterion.h>
#include <io/write/write.h>

TestSuite(io_batch_corners, .init = make_folder, .fini = remove_folder);

/* One row of values may be that of a single system. */
Test(io_batch_corners, one_row_of_values_makes_no_batch) {
  sptrsm_batch_kind kind;
  int64_t count;
  put_pattern("L", idx);
  put_values("L", 2, 1, 0);
  OK(sptrsm_file_batch_find(&kind, &count, file, NULL));
  cr_assert(kind == SPTRSM_BATCH_NONE);
  remove(file);
  static const double D[ITEMS] = {1, 2, 3, 4};
  put("L/indptr", H5T_NATIVE_INT64, 1, (hsize_t[]){2}, ptr, NULL, 0);
  put("L/indices", H5T_NATIVE_INT32, 1, (hsize_t[]){1}, idx, NULL, 0);
  put("L/data", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ITEMS, 1}, D, NULL, 0);
  OK(sptrsm_file_batch_find(&kind, &count, file, NULL));
  cr_assert(kind == SPTRSM_BATCH_UNIFORM && count == ITEMS);
}

#define BINSPARSE(stored, type)                                                                                                            \
  "{\"binsparse\":{\"version\":\"0.1\",\"format\":\"CSR\",\"shape\":[3,3],\"number_of_stored_values\":" stored                             \
  ",\"data_types\":{\"pointers_to_1\":\"int64\",\"indices_1\":\"int32\",\"values\":\"" type "\"}}}"

/* Binsparse's complex numbers, pairs of real ones. */
Test(io_batch_corners, values_in_pairs) {
  double values[ITEMS * NNZ * 2];
  for (int q = 0; q < ITEMS * NNZ * 2; q++) values[q] = q + 1;
  put("L/pointers_to_1", H5T_NATIVE_INT64, 1, (hsize_t[]){ORDER + 1}, ptr, NULL, 0);
  put("L/indices_1", H5T_NATIVE_INT32, 1, (hsize_t[]){NNZ}, idx, NULL, 0);
  put("L/values", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ITEMS, NNZ * 2}, values, NULL, 0);
  mark("L", "binsparse", BINSPARSE("5", "complex[float64]"));
  sptrsm_file_batch *b = load("", 1, -1, NULL);
  cr_assert(b->count == ITEMS - 1 && b->items[0]->L_tri.dtype == SPTRSM_C128 && b->values.L_stride == NNZ);
  cr_assert_arr_eq(b->values.L, values + NNZ * 2, (ITEMS - 1) * NNZ * sizeof(double complex));
  sptrsm_file_batch_free(b);
}

/* Binsparse's single value of each item, of triangles that have no entries. */
Test(io_batch_corners, one_value_for_no_entries) {
  enum { MANY = 1000 };
  static const int64_t none[ORDER + 1] = {0};
  static const double values[MANY] = {1};
  put("L/pointers_to_1", H5T_NATIVE_INT64, 1, (hsize_t[]){ORDER + 1}, none, NULL, 0);
  put("L/indices_1", H5T_NATIVE_INT32, 1, (hsize_t[]){0}, NULL, NULL, 0);
  put("L/values", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){MANY, 1}, values, NULL, 0);
  mark("L", "binsparse", BINSPARSE("0", "iso[float64]"));
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.unit = 1, o.uplo = SPTRSM_LOWER;
  sptrsm_file_batch *b = load("", 0, -1, &o);
  cr_assert(b->kind == SPTRSM_BATCH_UNIFORM && b->count == MANY && b->items[0]->L_tri.n == ORDER);
  sptrsm_file_batch_free(b);
}

Test(io_batch_corners, factors_of_two_precisions_meet_in_the_wider) {
  static const float narrow[2 * NNZ] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (int upper_is_wide = 0; upper_is_wide < 2; upper_is_wide++) {
    double wide[2 * NNZ];
    for (int q = 0; q < 2 * NNZ; q++) wide[q] = q + 1 + 1e-10;
    sptrsm_sparse L;
    sptrsm_factors f = a_set(&L, SPTRSM_F64, wide);
    sptrsm_sparse U = L;
    U.format = SPTRSM_CSC, U.uplo = SPTRSM_UPPER, f.U = &U, f.u_kind = SPTRSM_U_GIVEN;
    sptrsm_batch_values v;
    sptrsm_batch_values_init(&v);
    v.count = 2, v.L = v.U = wide, v.L_stride = v.U_stride = NNZ;
    sptrsm_save_options save;
    sptrsm_save_options_init(&save);
    save.force = 1;
    OK(sptrsm_file_batch_save_uniform(file, &f, &v, &save));
    const char *path = upper_is_wide ? "L/data" : "U/data";
    hid_t file_id = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT);
    cr_assert(H5Ldelete(file_id, path, H5P_DEFAULT) >= 0);
    H5Fclose(file_id);
    put(path, H5T_NATIVE_FLOAT, 2, (hsize_t[]){2, NNZ}, narrow, NULL, 0);
    sptrsm_file_batch *b = load("", 0, -1, NULL);
    cr_assert(b->items[0]->L_tri.dtype == SPTRSM_F64 && b->items[0]->U_tri.dtype == SPTRSM_F64);
    const double *read[2] = {b->values.L, b->values.U};
    for (int q = 0; q < 2 * NNZ; q++) cr_assert(read[upper_is_wide][q] == wide[q] && read[!upper_is_wide][q] == narrow[q]);
    sptrsm_file_batch_free(b);
  }
}

Test(io_batch_corners, blocks_of_d_that_all_items_share_are_saved) {
  const double val[NNZ] = {1, 0, 1, 0, 1}, D[ITEMS * ORDER] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, shared[ORDER] = {0.5, 0, 0};
  sptrsm_sparse L;
  sptrsm_factors f = a_set(&L, SPTRSM_F64, val);
  sptrsm_batch_values v;
  sptrsm_batch_values_init(&v);
  v.count = ITEMS, v.D = D, v.D_stride = ORDER, v.D_sub = shared;
  sptrsm_save_options save;
  sptrsm_save_options_init(&save);
  save.force = 1;
  for (int of_pattern = 0; of_pattern < 2; of_pattern++) { /* the shared ones may stand with the pattern, too */
    if (of_pattern) f.D_sub = shared, v.D_sub = NULL;
    OK(sptrsm_file_batch_save_uniform(file, &f, &v, &save));
    sptrsm_file_batch *b = load("", 0, -1, NULL);
    const double *D_sub = b->items[0]->factors.D_sub;
    cr_assert(b->values.D_stride == ORDER && b->values.D_sub_stride == 0 && D_sub != NULL && D_sub[0] == 0.5 && D_sub[1] == 0);
    sptrsm_file_batch_free(b);
  }
}
