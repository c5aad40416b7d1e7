/* save.c -- what is written is read back the same, and appears whole or not at all. */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(io_save, .init = make_folder, .fini = remove_folder);

/* ---- blocks ---- */

static double complex sample(int64_t i, int64_t k) { return (double)(i + 1) + 1e-3 * (double)k + I * (double)(i % 7 - k % 5); }

static void set_element(sptrsm_block *X, int64_t i, int64_t k, double complex z) {
  int64_t at = X->layout == SPTRSM_ROW_MAJOR ? i * X->ld + k : i + k * X->ld;
  switch (X->dtype) {
  case SPTRSM_F32: ((float *)X->data)[at] = (float)creal(z); break;
  case SPTRSM_F64: ((double *)X->data)[at] = creal(z); break;
  case SPTRSM_C64: ((float complex *)X->data)[at] = (float complex)z; break;
  case SPTRSM_C128: ((double complex *)X->data)[at] = z; break;
  }
}

static sptrsm_block make_block(int32_t n, int64_t nrhs, int64_t padding, sptrsm_dtype dtype, sptrsm_layout layout) {
  sptrsm_block X = {.n = n, .nrhs = nrhs, .dtype = dtype, .layout = layout, .place = SPTRSM_HOST};
  X.ld = (layout == SPTRSM_ROW_MAJOR ? nrhs : n) + padding;
  X.data = calloc((size_t)((layout == SPTRSM_ROW_MAJOR ? n : nrhs) * X.ld + 1), sptrsm_dtype_bytes(dtype));
  for (int32_t i = 0; i < n; i++)
    for (int64_t k = 0; k < nrhs; k++) set_element(&X, i, k, sample(i, k));
  return X;
}

static void check_saved_block(const char *where, const sptrsm_block *X, sptrsm_layout layout, int hint) {
  sptrsm_file_block *Y = NULL;
  cr_assert(sptrsm_file_block_load(&Y, where, hint ? X->n : -1, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(Y->block.n == X->n && Y->block.nrhs == X->nrhs && Y->block.dtype == X->dtype && Y->block.layout == layout);
  for (int32_t i = 0; i < X->n; i++)
    for (int64_t k = 0; k < X->nrhs; k++)
      cr_assert(fixture_element(&Y->block, i, k) == fixture_element(X, i, k), "%s: (%d,%lld)", where, i, (long long)k);
  sptrsm_file_block_free(Y);
  NOTHING_STAYS_OPEN(where);
}

Test(io_save, solutions_of_every_type_layout_and_size) {
  static const struct {
    int32_t n;
    int64_t nrhs;
  } sizes[] = {{1, 1}, {7, 3}, {3, 7}, {6, 6}, {5, 0}, {4097, 65}, {16385, 17}};
  char where[80];
  snprintf(where, sizeof where, "%s:/X", file);
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
    for (int variant = 0; variant < 16; variant++) {
      sptrsm_save_options o;
      sptrsm_save_options_init(&o);
      o.force = 1;
      o.layout = variant / 8 == 0 ? SPTRSM_AS_STORED : variant & 1 ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR; /* the other one */
      o.compress = variant & 1;
      o.checksum = variant & 2;
      sptrsm_layout layout = variant & 1 ? SPTRSM_COL_MAJOR : SPTRSM_ROW_MAJOR;
      sptrsm_block X = make_block(sizes[s].n, sizes[s].nrhs, variant % 3, (sptrsm_dtype)(variant / 2 % 4), layout);
      cr_assert(sptrsm_file_solution_save(file, &X, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
      check_saved_block(where, &X, o.layout == SPTRSM_AS_STORED ? layout : (sptrsm_layout)o.layout, variant & 1);
      free(X.data);
    }
  cr_assert(count_files() == 1);
}

Test(io_save, solution_with_path_report_and_errors) {
  sptrsm_save_options o;
  sptrsm_file_block *Y;
  char where[80];
  double berr[3] = {1e-16, 2e-16, 3e-16}, ferr[3] = {1e-9, 2e-9, 3e-9};
  sptrsm_block X = make_block(4, 3, 0, SPTRSM_F64, SPTRSM_ROW_MAJOR);
  sptrsm_save_options_init(&o);
  o.path = "/run3/B";
  o.berr = berr;
  o.ferr = ferr;
  o.report = "{\"method\": \"serial\"}";
  cr_assert(sptrsm_file_solution_save(file, &X, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  snprintf(where, sizeof where, "%s:/run3/B", file);
  check_saved_block(where, &X, SPTRSM_ROW_MAJOR, 1);
  for (int k = 0; k < 2; k++) {
    snprintf(where, sizeof where, "%s:/run3/%s", file, k ? "ferr" : "berr");
    cr_assert(sptrsm_file_block_load(&Y, where, 3, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert(memcmp(Y->block.data, k ? ferr : berr, sizeof berr) == 0, "%s", where);
    sptrsm_file_block_free(Y);
  }
  free(X.data);
}

Test(io_save, several_blocks_in_one_file) {
  char where[80];
  sptrsm_block B = make_block(5, 2, 1, SPTRSM_F32, SPTRSM_COL_MAJOR), X = make_block(5, 2, 0, SPTRSM_C128, SPTRSM_ROW_MAJOR);
  const sptrsm_block *blocks[2] = {&B, &X};
  const char *const names[2] = {"B", "X_true"}, *const same[2] = {"B", "B"};
  cr_assert(sptrsm_file_blocks_save(file, 2, names, blocks, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  check_saved_block(file, &B, SPTRSM_COL_MAJOR, 1);
  snprintf(where, sizeof where, "%s:/X_true", file);
  check_saved_block(where, &X, SPTRSM_ROW_MAJOR, 1);
  snprintf(where, sizeof where, "%s.2", file);
  cr_assert(sptrsm_file_blocks_save(where, 2, same, blocks, NULL) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "B can't be created") != NULL, "%s", sptrsm_last_error());
  cr_assert(count_files() == 1);
  cr_assert(sptrsm_file_blocks_save(where, 0, NULL, NULL, NULL) == SPTRSM_OK && count_files() == 2, "%s", sptrsm_last_error());
  free(B.data);
  free(X.data);
}

/* ---- factor sets ---- */

static void check_same_triangle(const sptrsm_sparse *a, const sptrsm_sparse *b) {
  cr_assert(a->n == b->n && a->format == b->format && a->dtype == b->dtype && a->uplo == b->uplo && a->diag == b->diag);
  int64_t nnz = a->ptr[a->n];
  cr_assert(memcmp(a->ptr, b->ptr, (size_t)(a->n + 1) * sizeof *a->ptr) == 0 && memcmp(a->idx, b->idx, (size_t)nnz * sizeof *a->idx) == 0);
  cr_assert(memcmp(a->val, b->val, (size_t)nnz * sptrsm_dtype_bytes(a->dtype)) == 0);
}

/* Which type of values the description of a matrix states to readers of Binsparse. */
static void check_stated_type(const char *group, const char *type) {
  char *text = NULL;
  hid_t f = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT), a = H5Aopen_by_name(f, group, "binsparse", H5P_DEFAULT, H5P_DEFAULT);
  hid_t stored = H5Aget_type(a);
  cr_assert(H5Aread(a, stored, &text) >= 0 && strstr(text, type) != NULL, "%s: %s", group, text);
  H5free_memory(text);
  H5Tclose(stored), H5Aclose(a), H5Fclose(f);
}

static void check_same_array(const void *a, const void *b, size_t bytes, const char *what) {
  cr_assert((a != NULL) == (b != NULL), "%s", what);
  if (a != NULL) cr_assert(memcmp(a, b, bytes) == 0, "%s", what);
}

static void check_same_factors(const sptrsm_file_factors *F, const sptrsm_file_factors *G, const char *what) {
  const sptrsm_factors *f = &F->factors, *g = &G->factors;
  size_t n = (size_t)F->L_tri.n, value = sptrsm_dtype_bytes(F->L_tri.dtype);
  check_same_triangle(f->L, g->L);
  cr_assert(f->u_kind == g->u_kind && F->single == G->single && (f->U != NULL) == (g->U != NULL), "%s", what);
  if (f->U != NULL) check_same_triangle(f->U, g->U);
  check_same_array(f->D, g->D, n * value, what);
  check_same_array(f->D_sub, g->D_sub, n * value, what);
  check_same_array(f->perm_row, g->perm_row, n * sizeof(int32_t), what);
  check_same_array(f->perm_col, g->perm_col, n * sizeof(int32_t), what);
  check_same_array(f->scale_row, g->scale_row, n * sizeof(double), what);
  check_same_array(f->scale_col, g->scale_col, n * sizeof(double), what);
  if (f->perm_row != NULL) cr_assert(f->row_convention == g->row_convention && f->col_convention == g->col_convention, "%s", what);
  if (f->scale_row != NULL) cr_assert(f->row_op == g->row_op, "%s", what);
  if (f->scale_col != NULL) cr_assert(f->col_op == g->col_op, "%s", what);
  cr_assert(f->D_hermitian == g->D_hermitian, "%s", what);
  cr_assert((F->A != NULL) == (G->A != NULL), "%s", what);
  if (F->A != NULL) cr_assert(F->A->symmetry == G->A->symmetry && F->A->ptr[F->A->rows] == G->A->ptr[G->A->rows], "%s", what);
}

Test(io_save, factor_sets_come_back_the_same) {
  static const char *const sets[] = {DATA("sets.h5:/scipy"),
                                     DATA("sets.h5:/scipy_complex"),
                                     DATA("sets.h5:/umfpack_divide"),
                                     DATA("sets.h5:/own"),
                                     DATA("sets.h5:/matlab"),
                                     DATA("sets.h5:/cholesky"),
                                     DATA("sets.h5:/ldl"),
                                     DATA("sets.h5:/ldl_blocks"),
                                     DATA("sets.h5:/ldl_hermitian"),
                                     DATA("sets.h5:/complex_symmetric"),
                                     DATA("sets.h5:/only_L"),
                                     DATA("sets.h5:/only_U"),
                                     DATA("root.h5")};
  const int64_t grid[3] = {3, 2, 1};
  for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++)
    for (int variant = 0; variant < 4; variant++) {
      sptrsm_save_options o;
      sptrsm_file_factors *F = NULL, *G = NULL;
      sptrsm_save_options_init(&o);
      o.force = 1;
      o.compress = variant & 1 ? 6 : 0;
      o.checksum = variant & 2;
      o.source = "a test";
      o.grid = grid;
      o.stencil = "D3N7";
      cr_assert(sptrsm_file_factors_load(&F, sets[k], NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
      cr_assert(sptrsm_file_factors_save(file, &F->factors, F->A, &o) == SPTRSM_OK, "%s: %s", sets[k], sptrsm_last_error());
      cr_assert(sptrsm_file_factors_load(&G, file, NULL) == SPTRSM_OK, "%s: %s", sets[k], sptrsm_last_error());
      check_same_factors(F, G, sets[k]);
      cr_assert_str_eq(G->source, "a test");
      cr_assert((G->A == NULL || G->A->stencil[0] == 0) && (G->U == NULL || G->U->stencil[0] == 0));
      cr_assert(G->L->grid[0] == 3 && G->L->grid[2] == 1 && strcmp(G->L->stencil, "D3N7") == 0);
      sptrsm_file_factors_free(F);
      sptrsm_file_factors_free(G);
    }
}

Test(io_save, an_original_of_another_type_is_read_as_its_factors_are) {
  sptrsm_file_factors *F = NULL, *G = NULL, *H = NULL;
  sptrsm_save_options o;
  sptrsm_io_options narrow;
  sptrsm_save_options_init(&o);
  sptrsm_io_options_init(&narrow);
  o.force = 1;
  narrow.dtype = SPTRSM_F32;
  cr_assert(sptrsm_file_factors_load(&F, DATA("sets.h5:/scipy"), &narrow) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(sptrsm_file_factors_load(&G, DATA("sets.h5:/scipy"), NULL) == SPTRSM_OK && G->A->dtype == SPTRSM_F64);
  cr_assert(sptrsm_file_factors_save(file, &G->factors, G->A, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  check_stated_type("L", "\"values\":\"float64\"");
  cr_assert(sptrsm_file_factors_save(file, &F->factors, G->A, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  check_stated_type("L", "\"values\":\"float32\"");
  cr_assert(sptrsm_file_factors_load(&H, file, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(H->L->stencil[0] == 0 && H->L->dtype == SPTRSM_F32 && H->A->dtype == SPTRSM_F32);
  for (int64_t p = 0; p < G->A->ptr[G->A->rows]; p++) cr_assert_eq(((float *)H->A->val)[p], (float)((double *)G->A->val)[p]);
  sptrsm_file_factors_free(F);
  sptrsm_file_factors_free(G);
  sptrsm_file_factors_free(H);
}

Test(io_save, a_symmetric_matrix_stays_symmetric) {
  static const char *const sources[] = {DATA("symmetric.mtx"), DATA("hermitian.mtx"), DATA("skew.mtx")};
  for (int k = 0; k < 3; k++) {
    sptrsm_save_options o;
    sptrsm_io_options wide;
    sptrsm_file_matrix *A, *L, *back;
    sptrsm_sparse T;
    sptrsm_factors f;
    char where[80];
    sptrsm_save_options_init(&o);
    sptrsm_io_options_init(&wide);
    wide.dtype = k == 1 ? SPTRSM_C128 : SPTRSM_F64;
    o.force = 1;
    cr_assert(sptrsm_file_matrix_load(&A, sources[k], NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert(sptrsm_file_matrix_load(&L, DATA("root.h5"), &wide) == SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert(sptrsm_file_matrix_triangle(&T, L, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
    sptrsm_factors_init(&f);
    f.L = &T;
    f.u_kind = SPTRSM_U_IS_LT;
    cr_assert(sptrsm_file_factors_save(file, &f, A, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
    snprintf(where, sizeof where, "%s:/A", file);
    cr_assert(sptrsm_file_matrix_load(&back, where, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert(back->symmetry == A->symmetry && back->uplo == A->uplo && back->dtype == A->dtype, "%s: %d", sources[k], back->symmetry);
    sptrsm_file_matrix_free(A);
    sptrsm_file_matrix_free(L);
    sptrsm_file_matrix_free(back);
  }
}

Test(io_save, orders_zero_and_one) {
  static const int64_t ptr[2] = {0, 1};
  static const int32_t idx[1] = {0}, perm[1] = {0};
  static const float val[1] = {3};
  for (int32_t n = 0; n < 2; n++)
    for (int compress = 0; compress < 2; compress++) {
      sptrsm_save_options o;
      sptrsm_file_factors *F;
      sptrsm_factors f;
      sptrsm_sparse L = {.n = n, .dtype = SPTRSM_F32, .ptr = ptr, .idx = idx, .val = val}, U = L;
      sptrsm_save_options_init(&o);
      sptrsm_factors_init(&f);
      U.uplo = SPTRSM_UPPER;
      f.L = &L;
      f.U = &U;
      f.perm_row = perm;
      o.force = 1;
      o.compress = compress;
      cr_assert(sptrsm_file_factors_save(file, &f, NULL, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
      cr_assert(sptrsm_file_factors_load(&F, file, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
      cr_assert(F->L_tri.n == n && F->U_tri.ptr[n] == n && F->L_tri.dtype == SPTRSM_F32 && F->factors.perm_row != NULL);
      sptrsm_file_factors_free(F);
    }
}

/* ---- whole or not at all ---- */

static int left = -1; /* datasets and attributes that HDF5 makes before it fails to make one; less than 0: it makes all */

hid_t H5Dcreate2(hid_t place, const char *name, hid_t type, hid_t space, hid_t links, hid_t creation, hid_t access) {
  hid_t (*real)(hid_t, const char *, hid_t, hid_t, hid_t, hid_t, hid_t);
  *(void **)&real = dlsym(RTLD_NEXT, "H5Dcreate2");
  return left-- == 0 ? -1 : real(place, name, type, space, links, creation, access);
}

hid_t H5Acreate2(hid_t place, const char *name, hid_t type, hid_t space, hid_t creation, hid_t access) {
  hid_t (*real)(hid_t, const char *, hid_t, hid_t, hid_t, hid_t);
  *(void **)&real = dlsym(RTLD_NEXT, "H5Acreate2");
  return left-- == 0 ? -1 : real(place, name, type, space, creation, access);
}

/* Of a factor set that has everything. */
Test(io_save, nothing_is_left_out) {
  static const double scale[FIXTURE_N] = {1};
  static const int32_t perm[FIXTURE_N] = {0};
  sptrsm_file_factors *F;
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.source = "a test", o.grid = (const int64_t[]){3, 2, 1}, o.stencil = "D3N7";
  cr_assert(sptrsm_file_factors_load(&F, DATA("sets.h5:/ldl_hermitian"), NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_factors f = F->factors;
  f.scale_row = f.scale_col = scale, f.perm_row = f.perm_col = perm;
  cr_assert(f.D && f.D_sub && f.D_hermitian && F->A);
  for (int k = 0;; k++) {
    left = k;
    const sptrsm_status status = sptrsm_file_factors_save(file, &f, F->A, &o);
    if (left >= 0) {
      cr_assert(status == SPTRSM_OK && k > 20, "%d: %s", k, sptrsm_last_error());
      break;
    }
    cr_assert(status == SPTRSM_ERR_IO && count_files() == 0, "%d: status %d, %s", k, status, sptrsm_last_error());
  }
  left = -1;
  sptrsm_file_factors_free(F);
}

Test(io_save, refuses_to_replace_without_force) {
  struct stat before, after;
  sptrsm_save_options o;
  sptrsm_block X = make_block(3, 2, 0, SPTRSM_F64, SPTRSM_ROW_MAJOR);
  sptrsm_save_options_init(&o);
  cr_assert(sptrsm_file_solution_save(file, &X, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(chmod(file, 0640) == 0 && stat(file, &before) == 0);
  cr_assert(sptrsm_file_solution_save(file, &X, &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "exists; use --force") != NULL, "%s", sptrsm_last_error());
  cr_assert(stat(file, &after) == 0 && after.st_ino == before.st_ino);
  o.force = 1;
  cr_assert(sptrsm_file_solution_save(file, &X, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(stat(file, &after) == 0 && after.st_ino != before.st_ino && (after.st_mode & 0777) == 0640);
  cr_assert(count_files() == 1);
  free(X.data);
}

Test(io_save, bad_targets) {
  char path[128];
  sptrsm_save_options o;
  sptrsm_block X = make_block(3, 2, 0, SPTRSM_F64, SPTRSM_ROW_MAJOR);
  sptrsm_save_options_init(&o);
  o.force = 1;
  cr_assert(sptrsm_file_solution_save(folder, &X, &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "not a regular file") != NULL, "%s", sptrsm_last_error());
  snprintf(path, sizeof path, "%s/absent/out.h5", folder);
  cr_assert(sptrsm_file_solution_save(path, &X, &o) == SPTRSM_ERR_IO);
  cr_assert(strstr(sptrsm_last_error(), "No such file or directory") != NULL, "%s", sptrsm_last_error());
  snprintf(path, sizeof path, "%s/", folder);
  cr_assert(sptrsm_file_solution_save(path, &X, &o) != SPTRSM_OK);
  cr_assert(sptrsm_file_solution_save(NULL, &X, &o) == SPTRSM_ERR_ARGUMENT);
  cr_assert(count_files() == 0);
  free(X.data);
}

Test(io_save, bad_calls) {
  sptrsm_save_options o;
  sptrsm_factors f;
  sptrsm_block X = make_block(3, 2, 0, SPTRSM_F64, SPTRSM_ROW_MAJOR), bad = X;
  bad.ld = 1;
  cr_assert(sptrsm_file_solution_save(file, &bad, NULL) == SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "ld is 1, must be at least 2") != NULL, "%s", sptrsm_last_error());
  bad = X, bad.place = SPTRSM_CUDA;
  cr_assert(sptrsm_file_solution_save(file, &bad, NULL) == SPTRSM_ERR_ARGUMENT);
  bad = X, bad.n = -1;
  cr_assert(sptrsm_file_solution_save(file, &bad, NULL) == SPTRSM_ERR_ARGUMENT);
  bad = X, bad.data = NULL;
  cr_assert(sptrsm_file_solution_save(file, &bad, NULL) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_solution_save(file, NULL, NULL) == SPTRSM_ERR_ARGUMENT);
  sptrsm_save_options_init(&o);
  o.compress = 10;
  cr_assert(sptrsm_file_solution_save(file, &X, &o) == SPTRSM_ERR_ARGUMENT);
  sptrsm_save_options_init(&o);
  o.layout = 5;
  cr_assert(sptrsm_file_solution_save(file, &X, &o) == SPTRSM_ERR_ARGUMENT);
  sptrsm_save_options_init(&o);
  o.size = 0;
  cr_assert(sptrsm_file_solution_save(file, &X, &o) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_blocks_save(file, 1, NULL, NULL, NULL) == SPTRSM_ERR_ARGUMENT);
  cr_assert(sptrsm_file_blocks_save(file, -1, NULL, NULL, NULL) == SPTRSM_ERR_ARGUMENT);
  const char *const names[][2] = {{"/a", NULL}, {"/a", ""}};
  const sptrsm_block *const blocks[] = {&X, &X};
  for (int k = 0; k < 2; k++) {
    cr_assert(sptrsm_file_blocks_save(file, 2, names[k], blocks, NULL) == SPTRSM_ERR_ARGUMENT);
    cr_assert(strstr(sptrsm_last_error(), "block 1 has no name") != NULL, "%s", sptrsm_last_error());
  }
  cr_assert(sptrsm_file_factors_save(file, NULL, NULL, NULL) == SPTRSM_ERR_ARGUMENT);
  sptrsm_factors_init(&f);
  cr_assert(sptrsm_file_factors_save(file, &f, NULL, NULL) == SPTRSM_ERR_ARGUMENT);
  int64_t decreasing[] = {0, 3, 1, 2}, negative[] = {0, 1, 2, -3}, late[] = {1, 1, 1, 2};
  const int64_t *const pointers[] = {decreasing, negative, late};
  sptrsm_sparse L = {.dtype = SPTRSM_F64, .diag = SPTRSM_UNIT, .n = 3, .idx = (int32_t[3]){0, 1, 2}, .val = (double[3]){1, 1, 1}};
  f.L = &L;
  for (int k = 0; k < 3; k++) {
    L.ptr = pointers[k];
    cr_assert(sptrsm_file_factors_save(file, &f, NULL, NULL) == SPTRSM_ERR_ARGUMENT);
    cr_assert(strstr(sptrsm_last_error(), "L: ptr[") != NULL, "%s", sptrsm_last_error());
  }
  cr_assert(count_files() == 0);
  free(X.data);
}

Test(io_save, abandon_without_a_save_does_nothing) {
  sptrsm_block X = make_block(3, 2, 0, SPTRSM_F64, SPTRSM_ROW_MAJOR);
  sptrsm_file_abandon();
  cr_assert(sptrsm_file_solution_save(file, &X, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_file_abandon();
  cr_assert(count_files() == 1 && access(file, F_OK) == 0);
  free(X.data);
}

/* ---- text of any length ---- */

Test(io_save, text_longer_than_a_mebibyte_is_refused_when_read) {
  sptrsm_save_options o;
  sptrsm_file_factors *F, *G;
  size_t bytes = (size_t)3 << 19;
  char *text = malloc(bytes + 1);
  memset(text, 'x', bytes);
  text[bytes] = '\0';
  sptrsm_save_options_init(&o);
  o.source = text;
  cr_assert(sptrsm_file_factors_load(&F, DATA("sets.h5:/scipy"), NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(sptrsm_file_factors_save(file, &F->factors, NULL, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(sptrsm_file_factors_load(&G, file, NULL) == SPTRSM_ERR_STRUCTURE);
  cr_assert(strstr(sptrsm_last_error(), "attribute source is longer than 1 MiB") != NULL, "%s", sptrsm_last_error());
  sptrsm_file_factors_free(F);
  free(text);
}
