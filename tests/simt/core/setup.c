/* setup.c -- matrices from arrays in device memory, and their new values, stay there: the bytes that cross between host and device are
 * counted on the emulated GPU. The solutions are checked, too. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <string.h>

#include "simt/emulator/emulated_gpu.h"
#include "support/conformance_subjects.h"
#include "support/oracle.h"

enum { ORDER = 400, NRHS = 3, MOST = 256 /* bytes: counts and flags; the matrix has some 14,000 */ };

typedef struct {
  test_system system;
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
} fixture;

static void ok(sptrsm_status status, const char *method) { cr_assert_eq(status, SPTRSM_OK, "%s: %s", method, sptrsm_last_error()); }

static void stayed(const char *what, const char *method) {
  cr_assert_leq(emulated_gpu_moved, MOST, "%s, %s: %zu bytes crossed", method, what, emulated_gpu_moved);
  emulated_gpu_moved = 0;
}

static fixture open_fixture(const char *method, sptrsm_copy_mode mode) {
  fixture f = {.system = test_system_make(TEST_GRID, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3)};
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  f.system.T.place = SPTRSM_CUDA; /* the emulated device reads host memory */
  ok(sptrsm_context_create(&f.context, SPTRSM_CUDA, 0, NULL), method);
  emulated_gpu_moved = 0;
  ok(sptrsm_matrix_create(&f.matrix, f.context, &f.system.T, mode), method);
  stayed("creation", method);
  ok(sptrsm_plan_create(&f.plan, f.matrix, &options), method);
  return f;
}

static void close_fixture(fixture *f) {
  sptrsm_plan_destroy(f->plan);
  sptrsm_matrix_destroy(f->matrix);
  sptrsm_context_destroy(f->context);
  test_system_free(&f->system);
  cr_assert_eq(emulated_gpu_blocks, 0, "%d device blocks left over", emulated_gpu_blocks);
}

static void check_solve(const fixture *f, const char *method) {
  static const double one[2] = {1, 0};
  test_block B = test_block_make(ORDER, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0), X;
  test_block_fill(&B, 2);
  X = test_block_copy(&B);
  X.block.place = SPTRSM_CUDA;
  test_block given = B;
  given.block.place = SPTRSM_CUDA;
  ok(sptrsm_solve(f->plan, NULL, NULL, &given.block, &X.block), method);
  ok(sptrsm_context_sync(f->context), method);
  const double residual = test_residual(&f->system, SPTRSM_N, one, &B, &X, -1);
  cr_assert(residual <= 10, "%s: residual %g bounds", method, residual);
  test_block_free(&B);
  test_block_free(&X);
}

static void check_method(const char *method, sptrsm_copy_mode mode) {
  fixture f = open_fixture(method, mode);
  check_solve(&f, method);
  test_system_new_values(&f.system, 5);
  emulated_gpu_moved = 0;
  ok(sptrsm_matrix_set_values(f.matrix, f.system.T.val), method);
  stayed("new values", method);
  check_solve(&f, method);
  close_fixture(&f);
}

ParameterizedTestParameters(setup, all_methods) { return conformance_subjects(SPTRSM_CUDA, false); }

ParameterizedTest(subject *s, setup, all_methods) {
  if (strcmp(s->name, "cusparse") == 0) return;                                  /* not on the emulator */
  if (strncmp(s->name, "block-streamed", strlen("block-streamed")) == 0) return; /* its factor is in host memory */
  check_method(s->name, s->number % 2 ? SPTRSM_COPY : SPTRSM_BORROW);
}

/* A bad diagonal among new values is found on the device and worded on the host; the old values stay. */
Test(setup, bad_new_values) {
  static const sptrsm_copy_mode modes[] = {SPTRSM_COPY, SPTRSM_BORROW};
  for (int m = 0; m < 2; m++) {
    fixture f = open_fixture("gather", modes[m]);
    double *good = (double *)f.system.T.val, bad[8 * ORDER];
    const int64_t nnz = f.system.T.ptr[ORDER];
    cr_assert_leq(nnz, 8 * ORDER);
    memcpy(bad, good, (size_t)nnz * sizeof *good);
    bad[f.system.T.ptr[124] - 1] = 0; /* the diagonal of row 123 */
    cr_assert_eq(sptrsm_matrix_set_values(f.matrix, bad), SPTRSM_ERR_SINGULAR);
    cr_assert(strstr(sptrsm_last_error(), "(123,123) is zero"), "%s", sptrsm_last_error());
    check_solve(&f, "gather");
    close_fixture(&f);
  }
}

/* Values given in host memory go there once, and nothing comes back. */
Test(setup, host_arrays_cross_once) {
  fixture f = {.system = test_system_make(TEST_GRID, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3)};
  const size_t values = (size_t)f.system.T.ptr[ORDER] * sizeof(double);
  ok(sptrsm_context_create(&f.context, SPTRSM_CUDA, 0, NULL), "host");
  ok(sptrsm_matrix_create(&f.matrix, f.context, &f.system.T, SPTRSM_COPY), "host");
  test_system_new_values(&f.system, 5);
  emulated_gpu_moved = 0;
  ok(sptrsm_matrix_set_values(f.matrix, f.system.T.val), "host");
  cr_assert_eq(emulated_gpu_moved, values, "%zu bytes crossed, not %zu", emulated_gpu_moved, values);
  close_fixture(&f);
}
