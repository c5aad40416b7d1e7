/* forms.c -- every form of a sparse matrix, as other tools write it, gives the same matrix. */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { REAL, COMPLEX, ONES, SEVENS } expected_values;

typedef struct {
  const char *where, *rule;
  sptrsm_format format;
  sptrsm_dtype dtype;
  expected_values values;
} form_row;

static const form_row forms[] = {
    {DATA("forms.h5:/bin_csr"), "Binsparse CSR", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/bin_csc"), "Binsparse CSC", SPTRSM_CSC, SPTRSM_F64, REAL},
    {DATA("forms.h5:/bin_fixed"), "Binsparse CSR", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/bin_complex"), "Binsparse CSR", SPTRSM_CSR, SPTRSM_C128, COMPLEX},
    {DATA("forms.h5:/bin_complex32"), "Binsparse CSR", SPTRSM_CSR, SPTRSM_C64, COMPLEX},
    {DATA("forms.h5:/bin_iso"), "Binsparse CSR", SPTRSM_CSR, SPTRSM_F64, SEVENS},
    {DATA("forms.h5:/bin_int8"), "Binsparse CSR", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/bin_coo"), "Binsparse COO", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/bin_coor"), "Binsparse COOR", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/bin_cooc"), "Binsparse COOC", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/ann_csr"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/ann_csc"), "AnnData csc_matrix", SPTRSM_CSC, SPTRSM_F64, REAL},
    {DATA("forms.h5:/ann_gzip"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/ann_big_endian"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_F32, REAL},
    {DATA("forms.h5:/ann_uint8"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/ann_half"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_F32, REAL},
    {DATA("forms.h5:/ann_bool"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_F64, ONES},
    {DATA("forms.h5:/ann_complex"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_C128, COMPLEX},
    {DATA("forms.h5:/ann_complex64"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_C64, COMPLEX},
    {DATA("forms.h5:/ann_real_imag"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_C128, COMPLEX},
    {DATA("forms.h5:/ann_re_im"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_C128, COMPLEX},
    {DATA("forms.h5:/h5py_all"), "h5py CSC", SPTRSM_CSC, SPTRSM_F64, REAL},
    {DATA("forms.h5:/h5py_bytes"), "h5py CSR", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/h5py_shape"), "no format said: taken as CSR", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/h5py_bare"), "taken as square CSR", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/h5sparse"), "h5py CSC", SPTRSM_CSC, SPTRSM_F64, REAL},
    {DATA("forms.h5:/coo"), "COO row/col/data", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/coo_bare"), "as large as the largest index", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("forms.h5:/soft"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("root.h5"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("root.h5:/"), "AnnData csr_matrix", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("matlab.mat:/L"), "MATLAB v7.3", SPTRSM_CSC, SPTRSM_F64, REAL},
    {DATA("matlab.mat:/Z"), "MATLAB v7.3", SPTRSM_CSC, SPTRSM_C128, COMPLEX},
    {DATA("matlab.mat:/logical"), "MATLAB v7.3", SPTRSM_CSC, SPTRSM_F64, ONES},
    {DATA("general.mtx"), "Matrix Market", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("general.mtx.gz"), "Matrix Market", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("integer.mtx"), "Matrix Market", SPTRSM_CSR, SPTRSM_F64, REAL},
    {DATA("pattern.mtx"), "Matrix Market", SPTRSM_CSR, SPTRSM_F64, ONES},
};

static double complex expected(expected_values values, int i, int j) {
  if (!fixture_pattern(i, j)) return 0;
  return values == ONES ? 1 : values == SEVENS ? 7 : values == REAL ? creal(fixture_entry(i, j)) : fixture_entry(i, j);
}

static void check_matrix(const sptrsm_file_matrix *M, expected_values values, const char *what) {
  double complex dense[FIXTURE_N * FIXTURE_N];
  cr_assert(M->rows == FIXTURE_N && M->cols == FIXTURE_N, "%s: %lld x %lld", what, (long long)M->rows, (long long)M->cols);
  fixture_dense(dense, M->rows, M->cols, M->format, M->dtype, M->ptr, M->idx, M->val);
  for (int i = 0; i < FIXTURE_N; i++)
    for (int j = 0; j < FIXTURE_N; j++) {
      double complex want = expected(values, i, j), got = dense[i * FIXTURE_N + j];
      cr_assert(got == want, "%s: (%d,%d) is %g%+gi, not %g%+gi", what, i, j, creal(got), cimag(got), creal(want), cimag(want));
    }
}

static sptrsm_file_matrix *load(const char *where, const sptrsm_io_options *o) {
  const sptrsm_io_options here = fixture_in_process(o);
  sptrsm_file_matrix *M = NULL;
  for (int k = 0; k < 2; k++) {
    sptrsm_file_matrix_free(M);
    sptrsm_status status = sptrsm_file_matrix_load(&M, where, k == 0 ? &here : o);
    cr_assert(status == SPTRSM_OK, "%s: %s", where, sptrsm_last_error());
    NOTHING_STAYS_OPEN(where);
  }
  return M;
}

Test(io_forms, every_form_gives_the_same_matrix) {
  for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
    sptrsm_file_matrix *M = load(forms[k].where, NULL);
    cr_assert(M->format == forms[k].format && M->dtype == forms[k].dtype, "%s: format %d, dtype %d", forms[k].where, M->format, M->dtype);
    cr_assert(strstr(M->rule, forms[k].rule) != NULL, "%s: rule is \"%s\"", forms[k].where, M->rule);
    cr_assert(M->symmetry == SPTRSM_GENERAL, "%s", forms[k].where);
    check_matrix(M, forms[k].values, forms[k].where);
    sptrsm_file_matrix_free(M);
  }
}

Test(io_forms, every_form_converts_to_every_wider_dtype) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++)
    for (o.dtype = SPTRSM_F32; o.dtype <= SPTRSM_C128; o.dtype++) {
      if (forms[k].values == COMPLEX && o.dtype < SPTRSM_C64) continue;
      sptrsm_file_matrix *M = load(forms[k].where, &o);
      cr_assert(M->dtype == (sptrsm_dtype)o.dtype);
      check_matrix(M, forms[k].values, forms[k].where);
      sptrsm_file_matrix_free(M);
    }
}

Test(io_forms, complex_values_do_not_become_real) {
  sptrsm_io_options o;
  sptrsm_file_matrix *M;
  sptrsm_io_options_init(&o);
  o.dtype = SPTRSM_F64;
  cr_assert(sptrsm_file_matrix_load(&M, DATA("forms.h5:/ann_complex"), &o) == SPTRSM_ERR_UNSUPPORTED);
  cr_assert(strstr(sptrsm_last_error(), "ann_complex/data: values are complex") != NULL, "%s", sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), "--dtype c128") != NULL, "%s", sptrsm_last_error());
}

Test(io_forms, tidy_sorts_and_sums) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.tidy = 1;
  const char *const messy[] = {DATA("forms.h5:/unsorted"), DATA("forms.h5:/duplicates"), DATA("forms.h5:/bin_csr")};
  for (int k = 0; k < 3; k++) {
    sptrsm_file_matrix *M = load(messy[k], &o);
    for (int64_t i = 0; i < M->rows; i++)
      for (int64_t p = M->ptr[i] + 1; p < M->ptr[i + 1]; p++) cr_assert(M->idx[p - 1] < M->idx[p], "%s: row %lld", messy[k], (long long)i);
    check_matrix(M, REAL, messy[k]);
    sptrsm_file_matrix_free(M);
  }
}

Test(io_forms, extras_come_along) {
  sptrsm_file_matrix *M = load(DATA("forms.h5:/deep/er/grid"), NULL);
  cr_assert(M->grid[0] == 3 && M->grid[1] == 2 && M->grid[2] == 1);
  cr_assert_str_eq(M->stencil, "D3N7");
  cr_assert_str_eq(M->where, DATA("forms.h5:/deep/er/grid"));
  cr_assert(M->uplo == SPTRSM_AS_STORED && M->diag == SPTRSM_AS_STORED);
  sptrsm_file_matrix_free(M);
  M = load(DATA("forms.h5:/said_unit"), NULL);
  cr_assert(M->uplo == SPTRSM_LOWER && M->diag == SPTRSM_UNIT);
  sptrsm_file_matrix_free(M);
  M = load(DATA("forms.h5:/bin_fixed"), NULL);
  cr_assert(M->uplo == SPTRSM_LOWER && M->diag == SPTRSM_NONUNIT);
  sptrsm_file_matrix_free(M);
}

Test(io_forms, an_empty_matlab_matrix) {
  sptrsm_file_matrix *M = load(DATA("matlab.mat:/empty"), NULL);
  cr_assert(M->rows == FIXTURE_N && M->cols == 4 && M->ptr[4] == 0 && M->dtype == SPTRSM_F64);
  sptrsm_file_matrix_free(M);
}

/* ---- symmetry ---- */

static void check_mirror(const char *where, sptrsm_symmetry symmetry, int sign, int conjugate) {
  double complex dense[FIXTURE_N * FIXTURE_N];
  sptrsm_file_matrix *M = load(where, NULL);
  cr_assert(M->symmetry == symmetry && M->uplo == SPTRSM_LOWER, "%s", where);
  cr_assert(sptrsm_file_matrix_mirror(M) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(M->symmetry == SPTRSM_GENERAL && M->uplo == SPTRSM_AS_STORED, "%s", where);
  fixture_dense(dense, M->rows, M->cols, M->format, M->dtype, M->ptr, M->idx, M->val);
  for (int i = 0; i < FIXTURE_N; i++)
    for (int j = 0; j < i; j++) {
      double complex low = conjugate ? fixture_entry(i, j) : creal(fixture_entry(i, j)), up = sign * (conjugate ? conj(low) : low);
      cr_assert(dense[i * FIXTURE_N + j] == low && dense[j * FIXTURE_N + i] == up, "%s: (%d,%d)", where, i, j);
    }
  sptrsm_file_matrix_free(M);
}

Test(io_forms, symmetric_files_say_so_and_can_be_mirrored) {
  check_mirror(DATA("symmetric.mtx"), SPTRSM_SYMMETRIC, 1, 0);
  check_mirror(DATA("skew.mtx"), SPTRSM_SKEW, -1, 0);
  check_mirror(DATA("hermitian.mtx"), SPTRSM_HERMITIAN, 1, 1);
  check_mirror(DATA("forms.h5:/bin_symmetric"), SPTRSM_SYMMETRIC, 1, 0);
}

Test(io_forms, an_oblong_matrix_has_no_mirror) {
  sptrsm_file_matrix *M = load(DATA("symmetric.mtx"), NULL);
  M->cols++;
  cr_assert_eq(sptrsm_file_matrix_mirror(M), SPTRSM_ERR_STRUCTURE);
  cr_assert(strstr(sptrsm_last_error(), "symmetric, but ") != NULL, "%s", sptrsm_last_error());
  cr_assert_eq(M->symmetry, SPTRSM_SYMMETRIC);
  cr_assert_eq(sptrsm_file_matrix_mirror(NULL), SPTRSM_ERR_ARGUMENT);
  sptrsm_file_matrix_free(M);
}

Test(io_forms, a_symmetric_matrix_is_a_triangle_only_on_request) {
  sptrsm_io_options o;
  sptrsm_sparse T;
  sptrsm_io_options_init(&o);
  sptrsm_file_matrix *M = load(DATA("symmetric.mtx"), NULL);
  cr_assert(sptrsm_file_matrix_triangle(&T, M, &o) == SPTRSM_ERR_STRUCTURE);
  cr_assert(strstr(sptrsm_last_error(), "--take-triangle") != NULL, "%s", sptrsm_last_error());
  o.take_triangle = 1;
  o.uplo = SPTRSM_UPPER; /* that one is not stored */
  cr_assert(sptrsm_file_matrix_triangle(&T, M, &o) == SPTRSM_ERR_STRUCTURE);
  o.uplo = SPTRSM_LOWER;
  cr_assert(sptrsm_file_matrix_triangle(&T, M, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(T.uplo == SPTRSM_LOWER && T.diag == SPTRSM_NONUNIT && T.n == FIXTURE_N);
  sptrsm_file_matrix_free(M);
}

/* ---- triangles ---- */

Test(io_forms, the_pattern_shows_the_side) {
  sptrsm_sparse T;
  sptrsm_file_matrix *M = load(DATA("forms.h5:/ann_csc"), NULL);
  cr_assert(sptrsm_file_matrix_triangle(&T, M, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(T.uplo == SPTRSM_LOWER && T.format == SPTRSM_CSC && T.val == M->val && T.place == SPTRSM_HOST);
  sptrsm_file_matrix_free(M);
  M = load(DATA("bad_matrices.h5:/upper"), NULL);
  cr_assert(sptrsm_file_matrix_triangle(&T, M, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(T.uplo == SPTRSM_UPPER);
  sptrsm_file_matrix_free(M);
}

Test(io_forms, take_triangle_drops_the_other_side) {
  static const double lower[] = {1, 2, 3, 5}, upper[] = {1, 3, 4, 5};
  for (int side = SPTRSM_LOWER; side <= SPTRSM_UPPER; side++) {
    sptrsm_io_options o;
    sptrsm_sparse T;
    sptrsm_io_options_init(&o);
    o.take_triangle = 1;
    o.uplo = side;
    sptrsm_file_matrix *M = load(DATA("bad_matrices.h5:/above"), NULL);
    cr_assert(sptrsm_file_matrix_triangle(&T, M, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert(T.uplo == (sptrsm_uplo)side && T.ptr[3] == 4 && M->dropped == 1 && !M->format_guessed);
    for (int p = 0; p < 4; p++) cr_assert(((const double *)T.val)[p] == (side == SPTRSM_LOWER ? lower : upper)[p], "entry %d", p);
    sptrsm_file_matrix_free(M);
  }
}

Test(io_forms, unit_forgives_a_missing_diagonal) {
  sptrsm_io_options o;
  sptrsm_sparse T;
  sptrsm_io_options_init(&o);
  o.unit = 1;
  sptrsm_file_matrix *M = load(DATA("bad_matrices.h5:/no_diagonal"), NULL);
  cr_assert(sptrsm_file_matrix_triangle(&T, M, NULL) == SPTRSM_ERR_SINGULAR);
  cr_assert(sptrsm_file_matrix_triangle(&T, M, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(T.diag == SPTRSM_UNIT && T.uplo == SPTRSM_LOWER);
  sptrsm_file_matrix_free(M);
}

/* ---- names and listings ---- */

Test(io_forms, file_names_may_contain_colons) {
  char name[128], where[160], command[512];
  make_folder();
  snprintf(name, sizeof name, "%s/run:", folder);
  snprintf(command, sizeof command, "mkdir '%s' && cp '%s' '%s/a:b.h5'", name, DATA("forms.h5"), name); /* "run:/" looks like an object */
  cr_assert(system(command) == 0);
  snprintf(where, sizeof where, "%s/a:b.h5:/bin_csr", name);
  sptrsm_file_matrix *M = load(where, NULL);
  check_matrix(M, REAL, where);
  cr_assert_str_eq(M->where, where);
  sptrsm_file_matrix_free(M);
  remove_folder();
}

static const sptrsm_file_entry *find(const sptrsm_file_listing *list, const char *path) {
  for (int k = 0; k < list->count; k++)
    if (strcmp(list->entries[k].path, path) == 0) return &list->entries[k];
  cr_assert(0, "%s is not listed", path);
  return NULL;
}

Test(io_forms, list_names_every_object_once) {
  sptrsm_file_listing list;
  cr_assert(sptrsm_file_list(&list, DATA("bad_storage.h5"), NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  int loops = 0;
  for (int k = 0; k < list.count; k++) loops += strstr(list.entries[k].path, "loop/") != NULL;
  cr_assert(loops == 1, "the group that links to itself gave %d entries", loops);
  cr_assert_str_eq(find(&list, "/link")->kind, "unknown");
  cr_assert(strstr(find(&list, "/link")->rule, "external") != NULL);
  cr_assert_str_eq(find(&list, "/inside")->kind, "matrix");
  sptrsm_file_listing_free(&list);
  cr_assert(list.count == 0 && list.entries == NULL);
  cr_assert(sptrsm_file_list(&list, DATA("forms.h5"), NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  const sptrsm_file_entry *e = find(&list, "/bin_complex32");
  cr_assert(e->rows == FIXTURE_N && e->cols == FIXTURE_N && e->nnz > FIXTURE_N);
  cr_assert_str_eq(e->type, "c64");
  cr_assert_str_eq(find(&list, "/deep/er/grid")->type, "f64");
  sptrsm_file_listing_free(&list);
  cr_assert(sptrsm_file_list(&list, DATA("blocks.h5"), NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_str_eq(find(&list, "/dmatc_complex")->kind, "block");
  cr_assert_str_eq(find(&list, "/vector")->kind, "vector");
  cr_assert_str_eq(find(&list, "/int16")->type, "int16");
  sptrsm_file_listing_free(&list);
  cr_assert(sptrsm_file_list(&list, DATA("pattern.mtx"), NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(list.count == 1 && list.entries[0].rows == FIXTURE_N);
  sptrsm_file_listing_free(&list);
}
