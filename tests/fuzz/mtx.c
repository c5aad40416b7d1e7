/* mtx.c -- a Matrix Market file, plain or compressed, behind a few bytes of options. */
#include <string.h>

#include "fuzz.h"

/* What is loaded is valid, names no byte that a text file can't have, and is solved with where it is a triangle. */
static void use(sptrsm_file_matrix *M, const sptrsm_io_options *o, fuzz_bytes *in) {
  sptrsm_sparse T;
  fuzz_check_matrix(M);
  if (sptrsm_file_matrix_triangle(&T, M, o) == SPTRSM_OK) {
    FUZZ_CHECK(fuzz_is_triangle(&T), "%s", M->where);
    fuzz_solve_triangle(&T, in);
  }
  if (sptrsm_file_matrix_mirror(M) == SPTRSM_OK) fuzz_check_matrix(M);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { HEAD = 16 }; /* options and right-hand sides; the file begins behind them */
  fuzz_bytes in = {data, size < HEAD ? size : HEAD};
  const uint8_t *text = data + in.left;
  const size_t bytes = size - in.left;
  sptrsm_file_matrix *M = NULL;
  sptrsm_file_listing list;
  sptrsm_io_options o;
  fuzz_io_options(&o, &in);
  fuzz_write_file(fuzz_file(), text, bytes);
  if (sptrsm_file_list(&list, fuzz_file(), &o) == SPTRSM_OK) sptrsm_file_listing_free(&list);
  if (sptrsm_file_matrix_load(&M, fuzz_file(), &o) != SPTRSM_OK) {
    FUZZ_CHECK(strstr(sptrsm_last_error(), fuzz_file()), "\"%s\" names no file", sptrsm_last_error());
    return 0;
  }
  FUZZ_CHECK(text[0] == 0x1f || memchr(text, '\0', bytes) == NULL, "a zero byte in a text");
  use(M, &o, &in);
  sptrsm_file_matrix_free(M);
  return 0;
}
