/* json.c -- the JSON text of attribute `binsparse` or `sptrsm`, on a group whose arrays fit any of the forms. */
#include <string.h>

#include "hdf5_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char text[1 << 16];
  const uint8_t sound[] = {3, 2, 0, 0, 1, 1, 3, 4, 2, 0, 5, 6, 7, 8}; /* a triangle in Binsparse arrays */
  fuzz_bytes in = {data, size}, arrays = {sound, sizeof sound};
  sptrsm_file_matrix *M = NULL;
  sptrsm_file_block *block = NULL;
  char where[320];
  const int kind = fuzz_below(&in, 8);
  fuzz_text(&in, text, sizeof text);
  snprintf(where, sizeof where, "%s:/M", fuzz_file());
  hid_t file = fuzz_hdf5_create();
  fuzz_hdf5_triangle(file, "M", &arrays);
  hid_t group = H5Gopen2(file, "M", H5P_DEFAULT);
  if (kind & 1) H5Adelete(group, "binsparse");
  if (kind & 2) H5Lcreate_hard(group, "indices_1", group, "indices_0", H5P_DEFAULT, H5P_DEFAULT);
  fuzz_hdf5_text(group, kind & 1 ? "binsparse" : "sptrsm", text, kind & 4);
  H5Gclose(group);
  H5Fclose(file);
  if (sptrsm_file_matrix_load(&M, where, NULL) == SPTRSM_OK) {
    sptrsm_sparse T;
    fuzz_check_matrix(M);
    if (sptrsm_file_matrix_triangle(&T, M, NULL) == SPTRSM_OK) FUZZ_CHECK(fuzz_is_triangle(&T), "%s", text);
    sptrsm_file_matrix_free(M);
  } else FUZZ_CHECK(strstr(sptrsm_last_error(), where), "\"%s\" names no object", sptrsm_last_error());
  if (sptrsm_file_block_load(&block, where, -1, NULL) == SPTRSM_OK) sptrsm_file_block_free(block);
  return 0;
}
