/* blocks.c -- dense blocks: forms, orders, types and column ranges. */
#include "fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *where, *rule;
  int32_t n;
  int64_t nrhs;
  sptrsm_layout layout;
  sptrsm_dtype dtype;
} block_row;

static const block_row rows[] = {
    {DATA("blocks.h5"), "C order (shape)", 6, 3, SPTRSM_ROW_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/B"), "C order (taken", -1, 3, SPTRSM_ROW_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/reversed"), "F order (shape)", 6, 3, SPTRSM_COL_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/said_F"), "F order (attribute)", 6, 6, SPTRSM_COL_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/said_C"), "C order (attribute)", 6, 6, SPTRSM_ROW_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/square"), "n x n without a hint: C order taken", 6, 6, SPTRSM_ROW_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/vector"), "1-D", 6, 1, SPTRSM_COL_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/column"), "C order (shape)", 6, 1, SPTRSM_ROW_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/int16"), "C order", 6, 3, SPTRSM_ROW_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/f32"), "C order", 6, 3, SPTRSM_ROW_MAJOR, SPTRSM_F32},
    {DATA("blocks.h5:/complex"), "C order", 6, 3, SPTRSM_ROW_MAJOR, SPTRSM_C128},
    {DATA("blocks.h5:/gzip"), "C order", 6, 3, SPTRSM_ROW_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/dmat"), "Binsparse DMAT", 6, 3, SPTRSM_ROW_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/dmatr"), "Binsparse DMATR", 6, 3, SPTRSM_ROW_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/dmatc"), "Binsparse DMATC", 6, 3, SPTRSM_COL_MAJOR, SPTRSM_F64},
    {DATA("blocks.h5:/dmatr_complex"), "Binsparse DMATR", 6, 3, SPTRSM_ROW_MAJOR, SPTRSM_C128},
    {DATA("blocks.h5:/dmatc_complex"), "Binsparse DMATC", 6, 3, SPTRSM_COL_MAJOR, SPTRSM_C64},
    {DATA("blocks.h5:/dvec"), "Binsparse DVEC", 6, 1, SPTRSM_COL_MAJOR, SPTRSM_F64},
    {DATA("matlab.mat:/B"), "MATLAB", 6, 3, SPTRSM_COL_MAJOR, SPTRSM_F64},
    {DATA("matlab.mat:/square"), "MATLAB", 6, 6, SPTRSM_COL_MAJOR, SPTRSM_F64},
    {DATA("only_block.h5"), "C order", 6, 3, SPTRSM_ROW_MAJOR, SPTRSM_F64},
};

static sptrsm_file_block *load(const char *where, int32_t n, const sptrsm_io_options *o) {
  const sptrsm_io_options here = fixture_in_process(o);
  sptrsm_file_block *X = NULL;
  for (int k = 0; k < 2; k++) {
    sptrsm_file_block_free(X);
    sptrsm_status status = sptrsm_file_block_load(&X, where, n, k == 0 ? &here : o);
    cr_assert(status == SPTRSM_OK, "%s: %s", where, sptrsm_last_error());
    NOTHING_STAYS_OPEN(where);
  }
  return X;
}

/* Columns first, first + 1, ... of the fixture's block; real if the file's is. */
static void check_block(const sptrsm_file_block *X, int64_t first, int is_complex, const char *what) {
  for (int i = 0; i < X->block.n; i++)
    for (int64_t k = 0; k < X->block.nrhs; k++) {
      double complex want = fixture_block(i, (int)(first + k)), got = fixture_element(&X->block, i, k);
      if (!is_complex) want = creal(want);
      cr_assert(got == want, "%s: (%d,%lld) is %g%+gi, not %g%+gi", what, i, (long long)k, creal(got), cimag(got), creal(want),
                cimag(want));
    }
}

static int stored_complex(const block_row *r) { return r->dtype >= SPTRSM_C64; }

Test(io_blocks, every_form_gives_the_same_block) {
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    sptrsm_file_block *X = load(rows[r].where, rows[r].n, NULL);
    cr_assert(X->block.n == FIXTURE_N && X->block.nrhs == rows[r].nrhs && X->file_nrhs == rows[r].nrhs, "%s", rows[r].where);
    cr_assert(X->block.layout == rows[r].layout && X->block.dtype == rows[r].dtype, "%s: layout %d, dtype %d", rows[r].where,
              X->block.layout, X->block.dtype);
    cr_assert(strstr(X->rule, rows[r].rule) != NULL, "%s: rule \"%s\"", rows[r].where, X->rule);
    check_block(X, 0, stored_complex(&rows[r]), rows[r].where);
    sptrsm_file_block_free(X);
  }
}

Test(io_blocks, column_ranges_of_every_form) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
    for (o.col_begin = 0; o.col_begin <= rows[r].nrhs; o.col_begin++)
      for (o.col_end = o.col_begin; o.col_end <= rows[r].nrhs; o.col_end++) {
        sptrsm_file_block *X = load(rows[r].where, rows[r].n, &o);
        cr_assert(X->block.nrhs == o.col_end - o.col_begin && X->file_nrhs == rows[r].nrhs, "%s", rows[r].where);
        check_block(X, o.col_begin, stored_complex(&rows[r]), rows[r].where);
        sptrsm_file_block_free(X);
      }
}

Test(io_blocks, every_form_converts_to_c64_and_c128) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
    for (o.dtype = SPTRSM_C64; o.dtype <= SPTRSM_C128; o.dtype++) {
      sptrsm_file_block *X = load(rows[r].where, rows[r].n, &o);
      cr_assert(X->block.dtype == (sptrsm_dtype)o.dtype);
      check_block(X, 0, stored_complex(&rows[r]), rows[r].where);
      sptrsm_file_block_free(X);
    }
}

Test(io_blocks, order_overrides_everything) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.order = SPTRSM_COL_MAJOR;
  const char *const squares[] = {DATA("blocks.h5:/square"), DATA("blocks.h5:/said_C")};
  for (int k = 0; k < 2; k++) { /* C order read as F order: transposed */
    sptrsm_file_block *X = load(squares[k], FIXTURE_N, &o);
    cr_assert(strstr(X->rule, "asked for") != NULL && X->block.layout == SPTRSM_COL_MAJOR);
    cr_assert(fixture_element(&X->block, 1, 4) == creal(fixture_block(4, 1)));
    sptrsm_file_block_free(X);
  }
  o.order = SPTRSM_ROW_MAJOR;
  sptrsm_file_block *X = load(DATA("matlab.mat:/square"), FIXTURE_N, &o);
  cr_assert(X->block.layout == SPTRSM_ROW_MAJOR && fixture_element(&X->block, 1, 4) == creal(fixture_block(4, 1)));
  sptrsm_file_block_free(X);
}

Test(io_blocks, a_block_without_columns) {
  sptrsm_file_block *X = load(DATA("blocks.h5:/none"), FIXTURE_N, NULL);
  cr_assert(X->block.n == FIXTURE_N && X->block.nrhs == 0 && X->block.ld >= 1 && X->block.data != NULL);
  sptrsm_file_block_free(X);
}

Test(io_blocks, where_and_path_name_the_object) {
  sptrsm_file_block *X = load(DATA("only_block.h5"), FIXTURE_N, NULL);
  cr_assert_str_eq(X->where, DATA("only_block.h5:/deep/rhs"));
  cr_assert_str_eq(X->path, "/deep/rhs");
  sptrsm_file_block_free(X);
}

Test(io_blocks, external_parts_are_read_when_allowed) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.allow_external = 1;
  const char *const parts[] = {DATA("bad_storage.h5:/link_B"), DATA("bad_storage.h5:/virtual")};
  for (int k = 0; k < 2; k++) {
    sptrsm_file_block *X = load(parts[k], FIXTURE_N, &o);
    check_block(X, 0, 0, parts[k]);
    sptrsm_file_block_free(X);
  }
  sptrsm_file_matrix *M;
  cr_assert(sptrsm_file_matrix_load(&M, DATA("bad_storage.h5:/inside"), &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(M->rows == FIXTURE_N && ((double *)M->val)[0] == 11);
  sptrsm_file_matrix_free(M);
}

/* ---- sparse matrices as right-hand sides ---- */

static sptrsm_file_matrix *load_matrix(const char *where) {
  sptrsm_file_matrix *M = NULL;
  cr_assert(sptrsm_file_matrix_load(&M, where, NULL) == SPTRSM_OK, "%s: %s", where, sptrsm_last_error());
  return M;
}

/* Columns [begin, end) of the fixture's matrix; rows NULL: all of them. */
static void check_sparse(const sptrsm_file_matrix *M, int64_t begin, int64_t end, int packed) {
  sptrsm_file_block *X = NULL;
  int32_t *list = NULL;
  int met = 0;
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.col_begin = begin;
  o.col_end = end;
  cr_assert(sptrsm_file_block_of_matrix(&X, packed ? &list : NULL, M, "/run/B", &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(X->block.nrhs == end - begin && X->file_nrhs == FIXTURE_N && X->block.layout == SPTRSM_ROW_MAJOR);
  cr_assert_str_eq(X->path, "/run/B");
  cr_assert_str_eq(X->where, M->where);
  for (int i = 0; i < FIXTURE_N; i++) {
    int held = !packed;
    for (int64_t k = begin; k < end; k++) held |= fixture_pattern(i, (int)k);
    if (!held) continue;
    cr_assert(met < X->block.n && (!packed || list[met] == i), "%s: row %d, columns %d:%d", M->where, i, (int)begin, (int)end);
    for (int64_t k = begin; k < end; k++)
      cr_assert(fixture_element(&X->block, met, k - begin) == creal(fixture_entry(i, (int)k)), "%s: (%d,%d)", M->where, i, (int)k);
    met++;
  }
  cr_assert_eq(met, X->block.n);
  free(list);
  sptrsm_file_block_free(X);
}

Test(io_blocks, sparse_matrices_as_blocks) {
  const char *const stored[] = {DATA("forms.h5:/bin_csr"), DATA("forms.h5:/bin_csc"), DATA("general.mtx.gz")};
  for (int s = 0; s < 3; s++) {
    sptrsm_file_matrix *M = load_matrix(stored[s]);
    for (int64_t begin = 0; begin <= FIXTURE_N; begin++)
      for (int64_t end = begin; end <= FIXTURE_N; end++) {
        check_sparse(M, begin, end, 0);
        check_sparse(M, begin, end, 1);
      }
    sptrsm_file_matrix_free(M);
  }
}

static void refuse_sparse(const sptrsm_file_matrix *M, const sptrsm_io_options *o, sptrsm_status expected, const char *message) {
  sptrsm_file_block *X = NULL;
  int32_t *list = NULL;
  cr_assert_eq(sptrsm_file_block_of_matrix(&X, &list, M, "/B", o), expected, "%s", message);
  cr_assert(strstr(sptrsm_last_error(), message) != NULL, "\"%s\" does not say \"%s\"", sptrsm_last_error(), message);
  cr_assert(X == NULL && list == NULL);
}

Test(io_blocks, sparse_matrices_that_are_refused) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  sptrsm_file_matrix *M = load_matrix(DATA("forms.h5:/bin_csc")), *symmetric = load_matrix(DATA("forms.h5:/bin_symmetric"));
  refuse_sparse(NULL, &o, SPTRSM_ERR_ARGUMENT, "out, M or path is NULL");
  refuse_sparse(symmetric, NULL, SPTRSM_ERR_ARGUMENT, "call sptrsm_file_matrix_mirror first");
  o.memory_limit = 6 * 6 * 8 - 1;
  refuse_sparse(M, &o, SPTRSM_ERR_MEMORY, "needs 288 B of memory and the limit is 287 B");
  o.col_begin = 4, o.col_end = 7;
  refuse_sparse(M, &o, SPTRSM_ERR_ARGUMENT, "columns 4:7 asked for, but it has 6");
  sptrsm_file_matrix_free(symmetric);
  sptrsm_file_matrix_free(M);
}
