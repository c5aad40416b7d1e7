/* external.c -- numbers in other files, which are allowed but missing, cut off or smaller than they were: HDF5 would fill the gap. */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <sptrsm_io.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 6 };
static char raw[64], source[64], middle[64];

static void make_names(void) {
  make_folder();
  snprintf(raw, sizeof raw, "%s/raw.bin", folder);
  snprintf(source, sizeof source, "%s/source.h5", folder);
  snprintf(middle, sizeof middle, "%s/middle.h5", folder);
}

TestSuite(io_external, .init = make_names, .fini = remove_folder);

static sptrsm_status load(sptrsm_file_block **B) {
  sptrsm_status status = SPTRSM_OK;
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.allow_external = 1;
  *B = NULL;
  for (o.in_process = 1; o.in_process >= 0; o.in_process--) {
    sptrsm_file_block_free(*B);
    *B = NULL;
    status = sptrsm_file_block_load(B, file, N, &o);
    NOTHING_STAYS_OPEN(file);
  }
  return status;
}

static void loads(void) {
  sptrsm_file_block *B;
  cr_assert(load(&B) == SPTRSM_OK, "%s", sptrsm_last_error());
  for (int k = 0; k < N; k++) cr_assert(((const double *)B->block.data)[k] == 1 + k);
  sptrsm_file_block_free(B);
}

static void refused(sptrsm_status expected, const char *text) {
  sptrsm_file_block *B;
  cr_assert(load(&B) == expected, "it should say: %s", text);
  cr_assert(strstr(sptrsm_last_error(), text) != NULL, "%s", sptrsm_last_error());
  cr_assert(strncmp(sptrsm_last_error(), file, strlen(file)) == 0, "%s", sptrsm_last_error());
}

/* Writes numbers 1, 2, ... as dataset B with these properties; data NULL: none. */
static void write_block(const char *path, hid_t plist, hsize_t count, const double *data) {
  hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(1, &count, NULL);
  hid_t d = H5Dcreate2(f, "B", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  cr_assert(d >= 0 && (data == NULL || H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0));
  H5Dclose(d);
  H5Sclose(space);
  cr_assert(H5Fclose(f) >= 0);
}

static const double numbers[N] = {1, 2, 3, 4, 5, 6};

Test(io_external, raw_storage) {
  hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
  cr_assert(H5Pset_external(plist, raw, 16, 3 * sizeof(double)) >= 0); /* three numbers behind 16 bytes, the others in a second piece */
  cr_assert(H5Pset_external(plist, raw, 64, H5F_UNLIMITED) >= 0);
  write_block(file, plist, N, numbers);
  H5Pclose(plist);
  loads();
  cr_assert(truncate(raw, 64 + 3 * sizeof(double) - 1) == 0);
  refused(SPTRSM_ERR_IO, "raw.bin up to byte 88, but that file has 87 bytes");
  cr_assert(truncate(raw, 20) == 0);
  refused(SPTRSM_ERR_IO, "raw.bin up to byte 40, but that file has 20 bytes");
  cr_assert(remove(raw) == 0);
  refused(SPTRSM_ERR_IO, "raw.bin: No such file");
}

Test(io_external, raw_storage_beside_the_file) {
  cr_assert(setenv("HDF5_EXTFILE_PREFIX", "${ORIGIN}/", 1) == 0);
  hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
  cr_assert(H5Pset_external(plist, "raw.bin", 0, H5F_UNLIMITED) >= 0);
  write_block(file, plist, N, numbers);
  H5Pclose(plist);
  loads();
  cr_assert(truncate(raw, 20) == 0);
  refused(SPTRSM_ERR_IO, "raw.bin up to byte 48, but that file has 20 bytes");
}

/* Writes `path`, whose B is that of `from`, named as it is stored; its second half comes from dataset `second`.
 * NULL: B as a whole; empty: from nowhere. */
static void write_virtual(const char *path, const char *from, const char *second) {
  hsize_t count = N, half = N / 2, at = N / 2;
  hid_t plist = H5Pcreate(H5P_DATASET_CREATE), whole = H5Screate_simple(1, &count, NULL), part = H5Scopy(whole);
  if (second != NULL) H5Sselect_hyperslab(part, H5S_SELECT_SET, &(hsize_t){0}, NULL, &half, NULL);
  cr_assert(H5Pset_virtual(plist, part, from, "B", part) >= 0);
  H5Sselect_hyperslab(part, H5S_SELECT_SET, &at, NULL, &half, NULL);
  cr_assert(second == NULL || *second == '\0' || H5Pset_virtual(plist, part, from, second, part) >= 0);
  write_block(path, plist, N, NULL);
  H5Sclose(part);
  H5Sclose(whole);
  H5Pclose(plist);
}

Test(io_external, virtual_datasets) {
  write_block(source, H5P_DEFAULT, N, numbers);
  write_virtual(file, "source.h5", "B"); /* found beside the file */
  loads();
  write_virtual(file, source, "B"); /* by its whole name */
  loads();
  write_virtual(file, "/gone/source.h5", "B"); /* a folder that was moved */
  loads();
  write_virtual(file, source, "");
  refused(SPTRSM_ERR_STRUCTURE, "no source covers 3 of its numbers, the first of them at (3)");
  write_virtual(file, source, "C");
  refused(SPTRSM_ERR_IO, "source.h5:C is missing");
  write_virtual(middle, "source.h5", "B");
  write_virtual(file, "middle.h5", "B");
  loads();
  write_virtual(file, "source.h5", NULL);
  loads();
  write_block(source, H5P_DEFAULT, N - 1, numbers);
  refused(SPTRSM_ERR_IO, "source.h5:B has another size than the part that is taken from it");
  write_virtual(file, "middle.h5", "B");
  refused(SPTRSM_ERR_IO, "source.h5:B has another size than the part that is taken from it");
  cr_assert(remove(source) == 0);
  refused(SPTRSM_ERR_IO, "source.h5:B is missing");
  write_virtual(file, "source.h5", "B");
  refused(SPTRSM_ERR_IO, "source.h5:B is missing");
  write_virtual(file, ".", "B"); /* itself */
  refused(SPTRSM_ERR_UNSUPPORTED, "more than 8 deep");
}

/* A virtual dataset may have sources that are virtual, eight times over. */
Test(io_external, virtual_datasets_of_virtual_datasets) {
  char from[80], to[80];
  snprintf(from, sizeof from, "%s/step0.h5", folder);
  write_block(from, H5P_DEFAULT, N, numbers);
  for (int step = 1; step <= 9; step++) {
    snprintf(to, sizeof to, "%s/step%d.h5", folder, step);
    write_virtual(to, from, "B");
    write_virtual(file, from, "B"); /* as deep as this step */
    loads();
    strcpy(from, to);
  }
  write_virtual(file, from, "B");
  refused(SPTRSM_ERR_UNSUPPORTED, "more than 8 deep");
}

Test(io_external, patterns_of_sources) {
  hsize_t count = N, most = H5S_UNLIMITED, one = 1;
  hid_t plist = H5Pcreate(H5P_DATASET_CREATE), from = H5Screate_simple(1, &count, NULL), to = H5Screate_simple(1, &count, &most);
  H5Sselect_hyperslab(to, H5S_SELECT_SET, &(hsize_t){0}, &count, &most, &count);
  cr_assert(H5Pset_virtual(plist, to, "part%b.h5", "B", from) >= 0);
  H5Sclose(to);
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(1, &one, &most);
  hid_t d = H5Dcreate2(f, "B", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  cr_assert(d >= 0);
  H5Dclose(d);
  H5Fclose(f);
  H5Sclose(space);
  H5Sclose(from);
  H5Pclose(plist);
  refused(SPTRSM_ERR_UNSUPPORTED, "its sources are a pattern, part%b.h5:B");
}
