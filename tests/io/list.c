/* list.c -- listings of groups with many links, in each of the ways in which HDF5 stores links. */
#include "test_folder.h"

#include <dlfcn.h>
#include <hdf5.h>
#include <sptrsm_io.h>

TestSuite(io_list, .init = make_folder, .fini = remove_folder);

/* HDF5 finds the i-th name of a group by counting from the first one. The names counted in all such look-ups: */
static long counted;

ssize_t H5Lget_name_by_idx(hid_t id, const char *group, H5_index_t index, H5_iter_order_t order, hsize_t i, char *name, size_t bytes,
                           hid_t access) {
  ssize_t (*real)(hid_t, const char *, H5_index_t, H5_iter_order_t, hsize_t, char *, size_t, hid_t);
  *(void **)&real = dlsym(RTLD_NEXT, "H5Lget_name_by_idx");
  counted += (long)i;
  return real(id, group, index, order, i, name, bytes, access);
}

/* Writes `count` links, every tenth a dataset, the others empty groups and links that lead nowhere, in no order. */
static void write_links(bool latest, int count) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), space = H5Screate(H5S_SCALAR);
  if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  for (int k = 0; k < count; k++) {
    char name[16];
    snprintf(name, sizeof name, "n%06d", (int)((int64_t)k * 7919 % count));
    if (k % 10 == 0) H5Dclose(H5Dcreate2(f, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    else if (k % 10 == 1) H5Lcreate_soft("/nowhere", f, name, H5P_DEFAULT, H5P_DEFAULT);
    else if (k % 10 == 2) H5Lcreate_external("none.h5", "/x", f, name, H5P_DEFAULT, H5P_DEFAULT);
    else H5Gclose(H5Gcreate2(f, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  H5Sclose(space);
  H5Pclose(access);
  cr_assert(H5Fclose(f) >= 0);
}

static void check_listing(int count) {
  sptrsm_file_listing list;
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  counted = 0;
  cr_assert(sptrsm_file_list(&list, file, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(list.count == 3 * (count / 10), "%d entries", list.count);
  for (int k = 1; k < list.count; k++) cr_assert(strcmp(list.entries[k - 1].path, list.entries[k].path) < 0, "%s", list.entries[k].path);
  sptrsm_file_listing_free(&list);
  cr_assert(counted == 0, "%ld names were counted for %d links", counted, count);
}

Test(io_list, groups_of_any_size_in_one_pass) {
  for (int latest = 0; latest < 2; latest++)
    for (int count = 10; count <= 10000; count *= 10) {
      write_links(latest, count);
      check_listing(count);
    }
}

Test(io_list, a_wrong_name_in_a_large_group) {
  sptrsm_file_matrix *M;
  char where[80];
  write_links(true, 1000);
  snprintf(where, sizeof where, "%s:/m", file);
  counted = 0;
  cr_assert(sptrsm_file_matrix_load(&M, where, NULL) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "no such object; there is n000000, n000001, ") != NULL, "%s", sptrsm_last_error());
  cr_assert(counted == 0);
}

Test(io_list, long_names_are_cut) {
  sptrsm_file_matrix *M;
  char name[101], where[80];
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  for (int k = 0; k < 12; k++) {
    snprintf(name, sizeof name, "%c%099d", 'a' + k, 0);
    H5Gclose(H5Gcreate2(f, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  cr_assert(H5Fclose(f) >= 0);
  snprintf(where, sizeof where, "%s:/m", file);
  cr_assert(sptrsm_file_matrix_load(&M, where, NULL) == SPTRSM_ERR_IO);
  const char *names = strstr(sptrsm_last_error(), "; there is a0");
  cr_assert(names && strlen(names) < 400 && strstr(names, ", e0") && !strstr(names, ", l0"), "%s", sptrsm_last_error());
}

/* MATLAB's dimensions are stored in reverse. */
Test(io_list, a_block_of_matlab) {
  sptrsm_file_listing list;
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  cr_assert(sptrsm_file_list(&list, SPTRSM_TEST_DATA "/matlab.mat", &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  const sptrsm_file_entry *B = NULL;
  for (int k = 0; k < list.count; k++)
    if (strcmp(list.entries[k].path, "/B") == 0) B = &list.entries[k];
  cr_assert(B && B->rows == 6 && B->cols == 3 && strstr(B->rule, "MATLAB") != NULL);
  sptrsm_file_listing_free(&list);
}

/* Groups of different files may lie at the same address. */
Test(io_list, groups_of_other_files) {
  char other[80];
  sptrsm_file_listing list;
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.allow_external = 1;
  snprintf(other, sizeof other, "%s.other", file);
  for (int k = 0; k < 2; k++) {
    hid_t f = H5Fcreate(k ? file : other, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
    hid_t group = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(H5Dcreate2(group, "number", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (k) H5Lcreate_external(other, "/g", f, "other", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(group);
    H5Sclose(space);
    cr_assert(H5Fclose(f) >= 0);
  }
  cr_assert(sptrsm_file_list(&list, file, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  int found = 0;
  for (int k = 0; k < list.count; k++) found += strstr(list.entries[k].path, "/number") != NULL;
  cr_assert(found == 2, "%d entries, %d numbers", list.count, found);
  sptrsm_file_listing_free(&list);
}
