/* reader.c -- blocks read in parts: the numbers are those of a whole load, with HDF5 and without. */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

TestSuite(io_reader, .init = make_folder, .fini = remove_folder);

/* Reads columns [begin, end) and compares them with the block loaded whole. */
static void check_range(sptrsm_file_reader *r, const sptrsm_file_block *whole, int64_t begin, int64_t end) {
  double complex room[256];
  sptrsm_block X = sptrsm_file_reader_block(r)->block;
  X.data = room;
  X.nrhs = end - begin;
  X.ld = X.layout == SPTRSM_ROW_MAJOR ? X.nrhs : X.n;
  OK(sptrsm_file_reader_read(r, begin, &X));
  for (int32_t i = 0; i < X.n; i++)
    for (int64_t k = 0; k < X.nrhs; k++)
      cr_assert(fixture_element(&X, i, k) == fixture_element(&whole->block, i, begin + k), "%s: (%d,%lld)", whole->where, i, (long long)k);
}

/* Reads every range of columns; returns whether HDF5 was bypassed. */
static int check_reader(const char *where, int32_t n, const sptrsm_io_options *o) {
  sptrsm_file_block *whole;
  sptrsm_file_reader *r;
  OK(sptrsm_file_block_load(&whole, where, n, o));
  OK(sptrsm_file_reader_open(&r, where, n, o));
  const sptrsm_file_block *told = sptrsm_file_reader_block(r);
  cr_assert(told->block.data == NULL && told->block.n == whole->block.n && told->block.nrhs == whole->block.nrhs);
  cr_assert(told->block.dtype == whole->block.dtype && told->block.layout == whole->block.layout && told->file_nrhs == whole->file_nrhs);
  cr_assert(strcmp(told->where, whole->where) == 0 && strcmp(told->rule, whole->rule) == 0);
  for (int64_t begin = 0; begin <= told->block.nrhs; begin++)
    for (int64_t end = begin; end <= told->block.nrhs; end++) check_range(r, whole, begin, end);
  int direct = sptrsm_file_reader_direct(r);
  cr_assert_eq(direct, sptrsm_file_reader_bytes(r) == 0, "%s: %zu bytes besides the columns", where, sptrsm_file_reader_bytes(r));
  sptrsm_file_reader_close(r);
  sptrsm_file_block_free(whole);
  return direct;
}

Test(io_reader, columns_of_every_form) {
  static const struct {
    const char *where;
    int direct;
  } rows[] = {
      {DATA("blocks.h5"), 1},
      {DATA("blocks.h5:/reversed"), 1},
      {DATA("blocks.h5:/said_F"), 1},
      {DATA("blocks.h5:/vector"), 1},
      {DATA("blocks.h5:/column"), 1},
      {DATA("blocks.h5:/int16"), 0},
      {DATA("blocks.h5:/f32"), 0},
      {DATA("blocks.h5:/complex"), 1},
      {DATA("blocks.h5:/gzip"), 0},
      {DATA("blocks.h5:/dmat"), 1},
      {DATA("blocks.h5:/dmatr"), 1},
      {DATA("blocks.h5:/dmatc"), 1},
      {DATA("blocks.h5:/dvec"), 1},
      {DATA("matlab.mat:/B"), 1},
      {DATA("blocks.h5:/dmatr_complex"), 1},
      {DATA("blocks.h5:/dmatc_complex"), 1},
  };
  sptrsm_io_options o;
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
    sptrsm_io_options_init(&o);
    cr_assert(check_reader(rows[k].where, FIXTURE_N, &o) == rows[k].direct, "%s: direct is not %d", rows[k].where, rows[k].direct);
    o.dtype = SPTRSM_C128; /* most need a conversion now */
    check_reader(rows[k].where, FIXTURE_N, &o);
    o.col_end = 1;
    check_reader(rows[k].where, FIXTURE_N, &o);
  }
}

/* A file with B of 5 x 4, made with these properties. */
static void make_block(hid_t type, hsize_t userblock, int external, int late) {
  double data[20];
  hsize_t dims[2] = {5, 4};
  for (int q = 0; q < 20; q++) data[q] = q + 0.5;
  hid_t creation = H5Pcreate(H5P_FILE_CREATE), plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, dims, NULL);
  cr_assert(H5Pset_userblock(creation, userblock) >= 0);
  char raw[80];
  snprintf(raw, sizeof raw, "%s/raw.bin", folder);
  if (external) cr_assert(H5Pset_external(plist, raw, 0, sizeof data) >= 0);
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, creation, H5P_DEFAULT);
  hid_t d = H5Dcreate2(f, "B", type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  cr_assert(d >= 0 && (late || H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0));
  cr_assert(H5Dclose(d) >= 0 && H5Fclose(f) >= 0 && H5Sclose(space) >= 0 && H5Pclose(plist) >= 0 && H5Pclose(creation) >= 0);
}

Test(io_reader, what_bypasses_hdf5) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  make_block(H5T_IEEE_F64LE, 0, 0, 0);
  cr_assert(check_reader(file, 5, &o));
  make_block(H5T_IEEE_F64LE, 1024, 0, 0);
  cr_assert(check_reader(file, 5, &o), "a user block moves the data, no more");
  make_block(H5T_IEEE_F64BE, 0, 0, 0);
  cr_assert(!check_reader(file, 5, &o), "the other byte order");
  make_block(H5T_IEEE_F32LE, 0, 0, 0);
  o.dtype = SPTRSM_F64;
  cr_assert(!check_reader(file, 5, &o), "a conversion");
  o.dtype = SPTRSM_AS_STORED;
  make_block(H5T_IEEE_F64LE, 0, 0, 1);
  cr_assert(!check_reader(file, 5, &o), "nothing was ever written: zeros, and no place in the file");
  o.allow_external = 1;
  make_block(H5T_IEEE_F64LE, 0, 1, 0);
  cr_assert(!check_reader(file, 5, &o), "in another file");
}

Test(io_reader, complex_numbers_of_two_widths_take_the_wider) {
  for (int wide = 0; wide < 2; wide++) {
    sptrsm_file_block *X;
    hid_t type = H5Tcreate(H5T_COMPOUND, 12);
    cr_assert(H5Tinsert(type, "r", 0, wide ? H5T_IEEE_F32LE : H5T_IEEE_F64LE) >= 0);
    cr_assert(H5Tinsert(type, "i", wide ? 4 : 8, wide ? H5T_IEEE_F64LE : H5T_IEEE_F32LE) >= 0);
    make_block(type, 0, 0, 1);
    OK(sptrsm_file_block_load(&X, file, 5, NULL));
    cr_assert(X->block.dtype == SPTRSM_C128);
    sptrsm_file_block_free(X);
    cr_assert(H5Tclose(type) >= 0);
  }
}

static int is_external(const char *where) {
  sptrsm_io_options o;
  sptrsm_file_reader *r;
  sptrsm_io_options_init(&o);
  o.allow_external = 1;
  OK(sptrsm_file_reader_open(&r, where, 5, &o));
  int external = sptrsm_file_reader_external(r);
  sptrsm_file_reader_close(r);
  return external;
}

/* Makes a second file that links to B. It is larger than the first, so the byte offset of the numbers exists in both. */
static void link_to_block(const char *from) {
  double zeros[2000] = {0};
  hsize_t dims[2] = {5, 400};
  hid_t f = H5Fcreate(from, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(2, dims, NULL);
  hid_t d = H5Dcreate2(f, "other", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  cr_assert(H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
  cr_assert(H5Lcreate_external(file, "/B", f, "B", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  cr_assert(H5Dclose(d) >= 0 && H5Sclose(space) >= 0 && H5Fclose(f) >= 0);
}

Test(io_reader, what_lies_in_another_file) {
  sptrsm_io_options o;
  char from[80], where[84];
  make_block(H5T_IEEE_F64LE, 0, 0, 0);
  cr_assert(!is_external(file));
  snprintf(from, sizeof from, "%s/from.h5", folder);
  snprintf(where, sizeof where, "%s:/B", from);
  link_to_block(from);
  cr_assert(is_external(where), "behind a link");
  sptrsm_io_options_init(&o);
  o.allow_external = 1;
  check_reader(where, 5, &o);
  make_block(H5T_IEEE_F64LE, 0, 1, 0);
  cr_assert(is_external(file), "external storage");
}

/* HDF5 would return zeros. */
Test(io_reader, a_file_that_is_cut_while_it_is_read_is_refused) {
  struct stat s;
  double data[20];
  sptrsm_file_reader *r;
  sptrsm_block X = {.data = data, .ld = 4, .n = 5, .nrhs = 4, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_HOST};
  make_block(H5T_IEEE_F64BE, 0, 0, 0);
  OK(sptrsm_file_reader_open(&r, file, 5, NULL));
  cr_assert(!sptrsm_file_reader_direct(r));
  cr_assert(stat(file, &s) == 0 && truncate(file, s.st_size - 1) == 0);
  cr_assert(sptrsm_file_reader_read(r, 0, &X) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "became shorter") != NULL, "%s", sptrsm_last_error());
  sptrsm_file_reader_close(r);
}

Test(io_reader, no_reader_and_no_writer_have_nothing_to_tell) {
  cr_assert(sptrsm_file_reader_block(NULL) == NULL && sptrsm_file_reader_bytes(NULL) == 0);
  cr_assert(!sptrsm_file_reader_direct(NULL) && !sptrsm_file_reader_external(NULL));
  cr_assert(strcmp(sptrsm_file_writer_inputs(NULL), "") == 0 && sptrsm_file_writer_pieces(NULL) == 0);
  cr_assert(!sptrsm_file_writer_complete(NULL) && !sptrsm_file_writer_direct(NULL));
}

Test(io_reader, wrong_requests_are_refused) {
  sptrsm_file_reader *r;
  double data[20];
  sptrsm_block X = {.data = data, .ld = 2, .n = 5, .nrhs = 2, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_HOST};
  make_block(H5T_IEEE_F64LE, 0, 0, 0);
  OK(sptrsm_file_reader_open(&r, file, 5, NULL));
  OK(sptrsm_file_reader_read(r, 2, &X));
  cr_assert(sptrsm_file_reader_read(r, 3, &X) == SPTRSM_ERR_ARGUMENT && sptrsm_file_reader_read(r, -1, &X) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_reader_read(r, INT64_MAX, &X) == SPTRSM_ERR_ARGUMENT);
  X.ld = 3;
  cr_assert(sptrsm_file_reader_read(r, 0, &X) == SPTRSM_ERR_ARGUMENT);
  X.ld = 2, X.dtype = SPTRSM_F32;
  cr_assert(sptrsm_file_reader_read(r, 0, &X) == SPTRSM_ERR_ARGUMENT);
  X.dtype = SPTRSM_F64;
  cr_assert(truncate(file, 2048) == 0); /* the data are gone */
  cr_assert(sptrsm_file_reader_read(r, 0, &X) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "became shorter") != NULL, "%s", sptrsm_last_error());
  sptrsm_file_reader_close(r);
  cr_assert(sptrsm_file_reader_open(&r, DATA("none.h5"), 5, NULL) == SPTRSM_ERR_IO);
  cr_assert(sptrsm_file_reader_open(&r, DATA("blocks.h5"), 7, NULL) == SPTRSM_ERR_STRUCTURE);
}

/* ---- chunks ---- */

static int *unpacked; /* chunks that HDF5 has inflated, here or in a child: memory that processes share */

/* HDF5 calls this definition, since that of a program comes before those of libraries. */
__attribute__((visibility("default"))) int inflateInit_(z_streamp stream, const char *version, int size) {
  int (*real)(z_streamp, const char *, int);
  void *symbol = dlsym(RTLD_NEXT, "inflateInit_");
  memcpy(&real, &symbol, sizeof real);
  if (unpacked != NULL) ++*unpacked;
  return real(stream, version, size);
}

enum { TALL = 3000, COLUMNS = 120, CHUNK = 50 }; /* a chunk is larger than HDF5's own cache */

static double number_at(int64_t i, int64_t k) { return (double)(i * 1000 + k); }

static void make_chunks(int f_order) {
  double *data = malloc(sizeof *data * TALL * COLUMNS);
  hsize_t dims[2] = {f_order ? COLUMNS : TALL, f_order ? TALL : COLUMNS}, chunk[2] = {f_order ? CHUNK : TALL, f_order ? TALL : CHUNK};
  for (int64_t i = 0; i < TALL; i++)
    for (int64_t k = 0; k < COLUMNS; k++) data[f_order ? k * TALL + i : i * COLUMNS + k] = number_at(i, k);
  hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, dims, NULL);
  cr_assert(H5Pset_chunk(plist, 2, chunk) >= 0 && H5Pset_deflate(plist, 1) >= 0);
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t d = H5Dcreate2(f, "B", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  cr_assert(H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  cr_assert(H5Dclose(d) >= 0 && H5Fclose(f) >= 0 && H5Sclose(space) >= 0 && H5Pclose(plist) >= 0);
  free(data);
}

/* Reads columns [begin, COLUMNS) in panels and returns how many chunks were unpacked. */
static int read_panels(int64_t begin, int64_t width, size_t memory_limit) {
  sptrsm_io_options o;
  sptrsm_file_reader *r;
  double *data = malloc(sizeof *data * TALL * COLUMNS);
  sptrsm_io_options_init(&o);
  o.memory_limit = memory_limit;
  o.col_begin = begin;
  OK(sptrsm_file_reader_open(&r, file, TALL, &o));
  sptrsm_block X = sptrsm_file_reader_block(r)->block;
  int64_t all = X.nrhs;
  X.data = data;
  *unpacked = 0;
  for (int64_t first = 0; first < all; first += width) {
    X.nrhs = all - first < width ? all - first : width;
    X.ld = X.layout == SPTRSM_ROW_MAJOR ? X.nrhs : TALL;
    OK(sptrsm_file_reader_read(r, first, &X));
    for (int64_t i = 0; i < TALL; i++)
      for (int64_t k = 0; k < X.nrhs; k++)
        cr_assert(data[X.layout == SPTRSM_ROW_MAJOR ? i * X.ld + k : k * X.ld + i] == number_at(i, begin + first + k));
  }
  sptrsm_file_reader_close(r);
  free(data);
  return *unpacked;
}

Test(io_reader, a_chunk_is_unpacked_once_whatever_the_panels) {
  unpacked = mmap(NULL, sizeof *unpacked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  cr_assert(unpacked != MAP_FAILED);
  const int64_t widths[] = {7, 25, CHUNK, 60, 2 * CHUNK, COLUMNS};
  for (int f_order = 0; f_order < 2; f_order++) {
    make_chunks(f_order);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
      int count = read_panels(0, widths[w], 8 << 20);
      cr_assert(count == 3, "panels of %lld: %d chunks unpacked, there are 3", (long long)widths[w], count);
      cr_assert(read_panels(33, widths[w], 8 << 20) == 3 && read_panels(CHUNK, widths[w], 8 << 20) == 2);
    }
    cr_assert(read_panels(0, 25, 4 << 20) == 3, "HDF5 keeps one chunk where a strip takes more than a quarter of the limit");
  }
}
