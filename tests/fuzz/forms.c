/* forms.c -- sound HDF5 files whose contents the input describes, through every loader; what is loaded is solved with. */
#include <string.h>

#include "hdf5_file.h"

static void use_matrix(const char *where, const sptrsm_io_options *o, fuzz_bytes *in) {
  sptrsm_file_matrix *M = NULL;
  sptrsm_file_block *sparse;
  sptrsm_sparse T;
  int32_t *rows = NULL;
  if (sptrsm_file_matrix_load(&M, where, o) != SPTRSM_OK) return;
  fuzz_check_matrix(M);
  if (sptrsm_file_block_of_matrix(&sparse, &rows, M, "/B", o) == SPTRSM_OK) {
    free(rows);
    sptrsm_file_block_free(sparse);
  }
  if (sptrsm_file_matrix_triangle(&T, M, o) == SPTRSM_OK) {
    FUZZ_CHECK(fuzz_is_triangle(&T), "%s", where);
    fuzz_solve_triangle(&T, in);
  }
  if (sptrsm_file_matrix_mirror(M) == SPTRSM_OK) fuzz_check_matrix(M);
  sptrsm_file_matrix_free(M);
}

enum { COLUMNS_MAX = 100 }; /* a block without rows can have any number of them */

/* The reader, column by column, gives what the whole block has. */
static void use_block(const char *where, int32_t n, const sptrsm_io_options *o) {
  sptrsm_file_block *whole = NULL;
  sptrsm_file_reader *reader = NULL;
  if (sptrsm_file_block_load(&whole, where, n, o) != SPTRSM_OK) return;
  const sptrsm_block *b = &whole->block;
  const size_t each = sptrsm_dtype_bytes(b->dtype);
  char *column = malloc((size_t)b->n * each + 1);
  FUZZ_CHECK(n < 0 || b->n == n, "%s: %d rows", where, b->n);
  if (sptrsm_file_reader_open(&reader, where, n, o) == SPTRSM_OK)
    for (int64_t k = 0; k < b->nrhs && k < COLUMNS_MAX; k++) {
      const sptrsm_block to = {column, b->layout == SPTRSM_ROW_MAJOR ? 1 : b->n, b->n, 1, b->dtype, b->layout, SPTRSM_HOST};
      if (sptrsm_file_reader_read(reader, k, &to) != SPTRSM_OK) break;
      for (int64_t i = 0; i < b->n; i++)
        FUZZ_CHECK(memcmp(column + (size_t)i * each,
                          (const char *)b->data + (size_t)(b->layout == SPTRSM_ROW_MAJOR ? i * b->ld + k : i + k * b->ld) * each,
                          each) == 0,
                   "%s: row %lld, column %lld", where, (long long)i, (long long)k);
    }
  free(column);
  sptrsm_file_reader_close(reader);
  sptrsm_file_block_free(whole);
}

static void use_factors(const char *where, const sptrsm_io_options *o, fuzz_bytes *in) {
  sptrsm_file_factors *F = NULL;
  sptrsm_direct *direct = NULL;
  if (sptrsm_file_factors_load(&F, where, o) != SPTRSM_OK) return;
  FUZZ_CHECK(fuzz_is_triangle(&F->L_tri) && (!F->U || fuzz_is_triangle(&F->U_tri)), "%s", where);
  const int32_t n = F->L_tri.n;
  if (F->single) fuzz_solve_triangle(&F->L_tri, in);
  else if (n <= 64 && sptrsm_direct_create(&direct, fuzz_context(), &F->factors, NULL) == SPTRSM_OK) {
    const sptrsm_system system = (sptrsm_system)fuzz_below(in, SPTRSM_SYS_COUNT);
    const sptrsm_op op = (sptrsm_op)fuzz_below(in, 3);
    const int nrhs = 1 + fuzz_below(in, 4);
    test_block B = fuzz_block(in, n, nrhs, F->L_tri.dtype), X = test_block_make(n, nrhs, F->L_tri.dtype, SPTRSM_ROW_MAJOR, 1);
    sptrsm_file_matrix *A = F->A;
    chain S;
    F->A = NULL; /* the product of the factors is what is solved; A may be another matrix */
    chain_build(&S, F, system, op);
    F->A = A;
    if (sptrsm_direct_solve(direct, system, op, NULL, &B.block, &X.block) == SPTRSM_OK) fuzz_check_solution(&S, NULL, &B, &X);
    test_block_free(&B);
    test_block_free(&X);
  } else FUZZ_CHECK(n > 64, "%s", sptrsm_last_error());
  sptrsm_direct_destroy(direct);
  sptrsm_file_factors_free(F);
}

/* A batch, its blocks from the same file, and what the library makes of it. */
static void use_batch(const char *where, const sptrsm_io_options *o) {
  sptrsm_file_batch *b = NULL;
  sptrsm_file_blocks *B = NULL;
  sptrsm_batch *batch = NULL;
  sptrsm_batch_kind kind;
  int64_t count;
  if (sptrsm_file_batch_find(&kind, &count, where, o) != SPTRSM_OK || kind == SPTRSM_BATCH_NONE) return;
  if (sptrsm_file_batch_load(&b, where, 0, count < 8 ? count : 8, o) != SPTRSM_OK) {
    FUZZ_CHECK(sptrsm_last_error()[0] != '\0', "%s: no message", where);
    return;
  }
  const sptrsm_file_factors *first = b->count > 0 ? b->items[0] : NULL;
  if (first && first->L_tri.n <= 64 && b->kind == SPTRSM_BATCH_UNIFORM && (!first->single || first->L_tri.uplo == SPTRSM_LOWER))
    (void)sptrsm_batch_create_uniform(&batch, fuzz_context(), &first->factors, &b->values, NULL);
  sptrsm_batch_destroy(batch);
  if (sptrsm_file_blocks_load(&B, fuzz_file(), "B", b, o) == SPTRSM_OK) {
    FUZZ_CHECK(B->count == b->count, "%s: %lld blocks", where, (long long)B->count);
    sptrsm_file_blocks_free(B);
  }
  sptrsm_file_batch_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes in = {data, size};
  sptrsm_file_listing list = {0};
  sptrsm_io_options o;
  char where[320];
  fuzz_io_options(&o, &in);
  const int n = fuzz_below(&in, 10) - 1;
  const int named = fuzz_below(&in, 3);
  snprintf(where, sizeof where, named ? "%s:/%s" : "%s", fuzz_file(), fuzz_hdf5_name(&in));
  hid_t file = fuzz_hdf5_create();
  fuzz_hdf5_fill(file, &in);
  H5Fclose(file);
  fuzz_bytes again = {data, size}; /* right-hand sides come from the same bytes */
  if (sptrsm_file_list(&list, fuzz_file(), &o) == SPTRSM_OK) sptrsm_file_listing_free(&list);
  else FUZZ_CHECK(strstr(sptrsm_last_error(), fuzz_file()), "\"%s\" names no file", sptrsm_last_error());
  use_matrix(where, &o, &again);
  use_block(where, n, &o);
  use_factors(where, &o, &again);
  use_batch(where, &o);
  return 0;
}
