/* plan.c -- plans as bytes: an exported plan whose bytes are changed, with a checksum that fits. Whatever they are, an import is refused,
 * or the plan solves and takes new values without leaving its memory.
 * Input: a byte for the method, one for the operation, then changes of 4 bytes: the position in words of 4 bytes (16 bits), a value. */
#include <stdlib.h>
#include <string.h>

#include <sptrsm_multi.h>

#include "core/blob/blob.h"
#include "fuzz.h"
#include "support/oracle.h"

enum { ORDER = 40, COLUMNS = 3, CHANGE = 4 };

static void change_words(char *memory, size_t bytes, const uint8_t *data, size_t size) {
  const size_t first = sizeof(spti_blob_frame), words = (bytes - first) / sizeof(int32_t);
  for (; size >= CHANGE; data += CHANGE, size -= CHANGE) {
    const size_t at = first + (data[0] + 256u * data[1]) % words * sizeof(int32_t);
    const int32_t value = (int32_t)((uint32_t)(int8_t)data[2] << (data[3] % 32)); /* small and huge, of either sign */
    memcpy(memory + at, &value, sizeof value);
  }
  spti_blob_seal(memory, bytes, SPTI_BLOB_PLAN, NULL);
}

static void import_and_use(const sptrsm_matrix *matrix, const char *memory, size_t bytes, const test_system *system) {
  sptrsm_plan *plan;
  if (sptrsm_plan_import(&plan, matrix, NULL, memory, bytes, SPTRSM_COPY) != SPTRSM_OK) return;
  sptrsm_info info = {.size = sizeof info};
  double x[ORDER * COLUMNS] = {1};
  sptrsm_block X = {.data = x, .ld = COLUMNS, .n = ORDER, .nrhs = COLUMNS, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR};
  if (sptrsm_plan_info(&info, plan) == SPTRSM_OK && info.panel <= 1 << 16) (void)sptrsm_solve(plan, NULL, NULL, &X, &X);
  (void)sptrsm_matrix_set_values((sptrsm_matrix *)matrix, system->T.val);
  sptrsm_plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const methods[] = {"levelset", "block", "block:width=4,zeros=0"};
  if (size < 2) return 0;
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  size_t bytes;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = methods[data[0] % 3];
  options.op = data[1] % 2 ? SPTRSM_T : SPTRSM_N;
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  FUZZ_CHECK(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  FUZZ_CHECK(sptrsm_matrix_create(&matrix, context, &system.T, SPTRSM_BORROW) == SPTRSM_OK, "%s", sptrsm_last_error());
  FUZZ_CHECK(sptrsm_plan_create(&plan, matrix, &options) == SPTRSM_OK, "%s", sptrsm_last_error());
  FUZZ_CHECK(sptrsm_plan_export_bytes(&bytes, plan) == SPTRSM_OK, "%s", sptrsm_last_error());
  char *memory = malloc(bytes);
  FUZZ_CHECK(memory && sptrsm_plan_export(memory, bytes, plan) == SPTRSM_OK, "%s", sptrsm_last_error());
  change_words(memory, bytes, data + 2, size - 2);
  import_and_use(matrix, memory, bytes, &system);
  free(memory);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  test_system_free(&system);
  return 0;
}
