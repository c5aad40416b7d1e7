/* arrays.c -- the arrays of a matrix: vectors, also stored as one row or one column as MATLAB does, and no other 2-D arrays; and entries
 * that are used where they lie in the file (option `map`). */
#include "fixture.h"
#include "test_folder.h"

#include <sys/mman.h>
#include <unistd.h>

#include "io/file/file.h"

TestSuite(io_arrays, .init = make_folder, .fini = remove_folder);

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

Test(io_arrays, one_row_or_one_column_only) {
  cr_assert(load(1, 4) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(load(4, 1) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(load(2, 2) == SPTRSM_ERR_STRUCTURE);
  cr_assert(strstr(sptrsm_last_error(), "/data: is 2 x 2, but one matrix with the entries of ") != NULL, "%s", sptrsm_last_error());
}

/* ---- mapped ---- */

enum { N = 3000, BAND = 40 };

static sptrsm_io_options mapping(void) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.map = 1;
  return o;
}

/* The file: a banded lower triangle of order n. */
static void save(const char *path, int32_t n, int32_t band, const sptrsm_save_options *o) {
  int64_t *ptr = calloc((size_t)n + 1, sizeof *ptr), nnz = 0;
  for (int32_t i = 0; i < n; i++) ptr[i + 1] = ptr[i] + (i < band ? i : band) + 1;
  int32_t *idx = malloc((size_t)ptr[n] * sizeof *idx);
  double *val = malloc((size_t)ptr[n] * sizeof *val);
  for (int32_t i = 0; i < n; i++)
    for (int32_t j = i < band ? 0 : i - band; j <= i; j++) idx[nnz] = j, val[nnz++] = j == i ? 2 : 1.0 / (1 + i - j);
  const sptrsm_sparse L = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .n = n, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &L;
  OK(sptrsm_file_factors_save(path, &f, NULL, o));
  free(ptr), free(idx), free(val);
}

static void same_matrix(const sptrsm_file_matrix *a, const sptrsm_file_matrix *b) {
  cr_assert(a->rows == b->rows && a->dtype == b->dtype && a->format == b->format);
  const size_t lines = (size_t)(a->format == SPTRSM_CSR ? a->rows : a->cols), nnz = (size_t)a->ptr[lines];
  cr_assert(memcmp(a->ptr, b->ptr, (lines + 1) * sizeof *a->ptr) == 0);
  cr_assert(memcmp(a->idx, b->idx, nnz * sizeof *a->idx) == 0);
  cr_assert(memcmp(a->val, b->val, nnz * sptrsm_dtype_bytes(a->dtype)) == 0);
}

/* Loads the file both ways, and compares; mapped: what of the indices and values is expected to be mapped. */
static void both_ways(const char *path, const sptrsm_io_options *o, bool idx, bool val) {
  sptrsm_file_factors *mapped, *copied;
  sptrsm_io_options plain = *o;
  plain.map = 0;
  OK(sptrsm_file_factors_load(&mapped, path, o));
  OK(sptrsm_file_factors_load(&copied, path, &plain));
  const size_t nnz = (size_t)mapped->L->ptr[mapped->L->rows];
  cr_assert(mapped->L->mapped[0] == (idx ? nnz * 4 : 0) && mapped->L->mapped[1] == (val ? nnz * 8 : 0), "%zu and %zu bytes of %s",
            mapped->L->mapped[0], mapped->L->mapped[1], path);
  cr_assert(copied->L->mapped[0] == 0 && copied->L->mapped[1] == 0);
  same_matrix(mapped->L, copied->L);
  sptrsm_file_matrix_release(mapped->L, 0, INT64_MAX);
  sptrsm_file_matrix_release(copied->L, 0, INT64_MAX);
  same_matrix(mapped->L, copied->L);
  sptrsm_file_factors_free(mapped);
  sptrsm_file_factors_free(copied);
}

/* Bytes of files that this process has in its memory. */
static size_t file_pages(void) {
  unsigned long resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  cr_assert(f && fscanf(f, "%*u %*u %lu", &resident) == 1);
  fclose(f);
  return resident * (size_t)sysconf(_SC_PAGESIZE);
}

Test(io_arrays, is_the_same_matrix_and_leaves_no_pages_in_memory) {
  sptrsm_save_options s;
  sptrsm_save_options_init(&s);
  sptrsm_io_options o = mapping();
  save(file, 90000, BAND, &s); /* 3.7 million entries, 44 MB */
  sptrsm_file_factors *F;
  const size_t before = file_pages();
  OK(sptrsm_file_factors_load(&F, file, &o));
  const size_t held = file_pages() - before, all = F->L->mapped[0] + F->L->mapped[1];
  cr_assert(all > 40e6 && held < all / 3, "%zu of %zu bytes are in memory", held, all);
  sptrsm_file_factors_free(F);
  both_ways(file, &o, true, true);
  o.memory_limit = 4 << 20; /* less than the entries take */
  OK(sptrsm_file_factors_load(&F, file, &o));
  sptrsm_file_factors_free(F);
  o.map = 0;
  cr_assert(sptrsm_file_factors_load(&F, file, &o) == SPTRSM_ERR_MEMORY);
}

/* Anonymous pages stand in for those of a file: what is given back reads as zero. */
Test(io_arrays, gives_back_the_pages_of_the_entries_alone) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), each = page / sizeof(int32_t);
  unsigned char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert(memory != MAP_FAILED);
  static const int64_t ptr[2] = {0, 1 << 20};
  sptrsm_file_matrix M = {
      .rows = 1, .format = SPTRSM_CSR, .ptr = (int64_t *)ptr, .idx = (int32_t *)(memory + page), .mapped = {2 * page, 0}};
  memset(memory, 1, 4 * page);
  sptrsm_file_matrix_release(&M, (int64_t)each, 2 * (int64_t)each);
  cr_assert(memory[0] == 1 && memory[page] == 1 && memory[2 * page] == 0 && memory[3 * page] == 1);
  sptrsm_file_matrix_release(&M, -(int64_t)each, (int64_t)each);
  cr_assert(memory[0] == 1 && memory[page] == 0 && memory[3 * page] == 1);
  munmap(memory, 4 * page);
}

Test(io_arrays, copies_what_cannot_be_mapped) {
  sptrsm_save_options s;
  sptrsm_save_options_init(&s);
  sptrsm_io_options o = mapping();
  save(file, N, BAND, &s);
  o.dtype = SPTRSM_C128;
  both_ways(file, &o, true, false);
  o = mapping();
  o.take_triangle = 1, o.uplo = SPTRSM_UPPER; /* drops nearly all, in place */
  both_ways(file, &o, false, false);
  o = mapping();
  o.tidy = 1; /* nothing to be done */
  both_ways(file, &o, true, true);
  s.compress = 4, s.force = 1;
  save(file, N, BAND, &s);
  both_ways(file, &o, false, false);
}

/* All forms: whatever of them is mapped, the matrix is the same. */
Test(io_arrays, is_the_same_in_every_form) {
  sptrsm_io_options o = mapping(), plain = mapping();
  sptrsm_file_listing list;
  plain.map = 0;
  int loaded = 0;
  OK(sptrsm_file_list(&list, DATA("forms.h5"), NULL));
  for (int k = 0; k < list.count; k++) {
    char where[400];
    sptrsm_file_matrix *a, *b;
    snprintf(where, sizeof where, "%s:%s", DATA("forms.h5"), list.entries[k].path);
    if (strcmp(list.entries[k].kind, "matrix") != 0 || sptrsm_file_matrix_load(&b, where, &plain) != SPTRSM_OK) continue;
    OK(sptrsm_file_matrix_load(&a, where, &o));
    same_matrix(a, b);
    OK(sptrsm_file_matrix_mirror(a));
    sptrsm_file_matrix_free(a);
    sptrsm_file_matrix_free(b);
    loaded++;
  }
  sptrsm_file_listing_free(&list);
  cr_assert(loaded > 5, "%d matrices", loaded);
}

/* ---- how much memory they may take ---- */

/* Writes a file below the folder of the test, and the folders above it. */
static void put_text(const char *path, const char *text) {
  char command[400];
  snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s%s')\" && printf '%s' >'%s%s'", folder, path, text, folder, path);
  cr_assert(system(command) == 0);
}

Test(io_arrays, memory_of_cgroups) {
  cr_assert_eq(spti_io_memory_of(folder, 5000), 5000);
  put_text("/proc/self/cgroup", "7:memory:/old\\n0::/jobs/mine\\n");
  cr_assert_eq(spti_io_memory_of(folder, 5000), 5000);
  put_text("/sys/fs/cgroup/jobs/mine/memory.max", "max\\n");
  cr_assert_eq(spti_io_memory_of(folder, 5000), 5000);
  put_text("/sys/fs/cgroup/jobs/memory.max", "4000\\n");
  cr_assert_eq(spti_io_memory_of(folder, 5000), 4000);
  cr_assert_eq(spti_io_memory_of(folder, 3000), 3000);
  put_text("/sys/fs/cgroup/memory/old/memory.limit_in_bytes", "9223372036854771712\\n"); /* none */
  cr_assert_eq(spti_io_memory_of(folder, 5000), 4000);
  put_text("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2000\\n");
  cr_assert_eq(spti_io_memory_of(folder, 5000), 2000);
  cr_assert(sptrsm_file_memory_limit() > 0);
}
