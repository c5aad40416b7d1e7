/* setup.c -- matrices from arrays in device memory, and their new values, stay there: the bytes that cross between host and device are
 * counted on the emulated GPU. The solutions are checked, too. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <string.h>

#include <sptrsm_inspect.h>
#include <sptrsm_multi.h>

#include "simt/emulator/emulated_gpu.h"
#include "support/conformance_subjects.h"
#include "support/oracle.h"

enum {
  ORDER = 400,
  NRHS = 3,
  MOST = 256 /* bytes: counts and flags; the matrix has some 14,000 */,
  PLAN_MOST = 8000 /* levels, and parts of recblock */
};

typedef struct {
  test_system system;
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
} fixture;

static void ok(sptrsm_status status, const char *method) { cr_assert_eq(status, SPTRSM_OK, "%s: %s", method, sptrsm_last_error()); }

static void stayed(size_t most, const char *what, const char *method) {
  cr_assert_leq(emulated_gpu_moved, most, "%s, %s: %zu bytes crossed", method, what, emulated_gpu_moved);
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
  stayed(MOST, "creation", method);
  emulated_gpu_moved = 0;
  ok(sptrsm_plan_create(&f.plan, f.matrix, &options), method);
  stayed(PLAN_MOST, "the plan", method);
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
  stayed(MOST, "new values", method);
  check_solve(&f, method);
  stayed(MOST, "new values and a solve with them", method);
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

/* Where some rows store a unit diagonal, the host drops it from new values: all come, and those that are kept go back. */
Test(setup, unit_diagonals_of_some_rows) {
  fixture f = {.system = test_system_make(TEST_GRID, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_UNIT_MIXED, 3)};
  int64_t diagonals = 0;
  for (int32_t i = 0; i < ORDER; i++) {
    const int64_t end = f.system.T.ptr[i + 1];
    diagonals += end > f.system.T.ptr[i] && f.system.T.idx[end - 1] == i;
  }
  f.system.T.place = SPTRSM_CUDA;
  ok(sptrsm_context_create(&f.context, SPTRSM_CUDA, 0, NULL), "unit");
  ok(sptrsm_matrix_create(&f.matrix, f.context, &f.system.T, SPTRSM_COPY), "unit");
  ok(sptrsm_plan_create(&f.plan, f.matrix, &(sptrsm_options){.size = sizeof(sptrsm_options), .method = "gather"}), "unit");
  test_system_new_values(&f.system, 5);
  emulated_gpu_moved = 0;
  ok(sptrsm_matrix_set_values(f.matrix, f.system.T.val), "unit");
  const size_t crossing = (size_t)(2 * f.system.T.ptr[ORDER] - diagonals) * sizeof(double);
  cr_assert(diagonals > 0 && emulated_gpu_moved >= crossing && emulated_gpu_moved <= crossing + MOST, "%zu bytes crossed, not %zu",
            emulated_gpu_moved, crossing);
  check_solve(&f, "unit");
  close_fixture(&f);
}

/* What looks at a matrix on the host makes a copy there, which follows new values. */
Test(setup, copies_on_the_host) {
  sptrsm_level_stats stats = {.size = sizeof stats};
  fixture f = open_fixture("gather", SPTRSM_COPY);
  ok(sptrsm_matrix_levels(&stats, f.matrix, SPTRSM_N), "levels");
  test_system_new_values(&f.system, 5);
  emulated_gpu_moved = 0;
  ok(sptrsm_matrix_set_values(f.matrix, f.system.T.val), "levels");
  const size_t values = (size_t)f.system.T.ptr[ORDER] * sizeof(double);
  cr_assert(emulated_gpu_moved >= values && emulated_gpu_moved <= values + MOST, "%zu bytes crossed, not %zu", emulated_gpu_moved, values);
  check_solve(&f, "levels");
  close_fixture(&f);
}

/* A factor set of triangles in device memory: permutations and scalings come from the host, the triangles do not. */
Test(setup, factor_sets) {
  static int32_t perm[ORDER];
  fixture f = open_fixture("gather", SPTRSM_COPY);
  sptrsm_factors factors;
  sptrsm_direct *direct;
  for (int32_t i = 0; i < ORDER; i++) perm[i] = ORDER - 1 - i;
  sptrsm_factors_init(&factors);
  factors.L = &f.system.T;
  factors.u_kind = SPTRSM_U_IS_LT;
  factors.perm_row = perm;
  emulated_gpu_moved = 0;
  ok(sptrsm_direct_create(&direct, f.context, &factors, NULL), "factors");
  cr_assert_leq(emulated_gpu_moved, 2 * sizeof perm + 2 * MOST, "%zu bytes crossed", emulated_gpu_moved); /* and counts of two analyses */
  test_system_new_values(&f.system, 5);
  emulated_gpu_moved = 0;
  ok(sptrsm_direct_set_values(direct, f.system.T.val, NULL, NULL, NULL), "factors");
  stayed(MOST, "new values", "factors");
  sptrsm_direct_destroy(direct);
  close_fixture(&f);
}

/* A captured graph may replay solves after new values, so these leave the memory of solves where it is, also under two limits, of which the
 * smaller one counts. */
Test(setup, new_values_keep_the_memory_of_solves) {
  fixture f = {.system = test_system_make(TEST_GRID, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3)};
  test_block B = test_block_make(ORDER, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
  sptrsm_factors factors;
  sptrsm_options options;
  sptrsm_direct *direct;
  size_t bytes;
  sptrsm_factors_init(&factors);
  sptrsm_options_init(&options);
  factors.L = &f.system.T;
  options.method = "gather";
  options.memory_limit = 4 * 8 * ORDER * sizeof(double);
  test_block_fill(&B, 2);
  B.block.place = SPTRSM_CUDA;
  ok(sptrsm_context_create(&f.context, SPTRSM_CUDA, 0, NULL), "limited");
  ok(sptrsm_context_set_memory_limit(f.context, (size_t)1 << 30), "limited");
  ok(sptrsm_direct_create(&direct, f.context, &factors, &options), "limited");
  ok(sptrsm_direct_solve(direct, SPTRSM_SYS_L, SPTRSM_N, NULL, &B.block, &B.block), "limited");
  ok(sptrsm_direct_set_values(direct, f.system.T.val, NULL, NULL, NULL), "limited");
  ok(sptrsm_direct_workspace_bytes(&bytes, direct), "limited");
  cr_assert_leq(bytes, options.memory_limit);
  const size_t total = emulated_gpu_total;
  ok(sptrsm_direct_solve(direct, SPTRSM_SYS_L, SPTRSM_N, NULL, &B.block, &B.block), "limited");
  cr_assert_eq(emulated_gpu_total, total, "a solve after new values allocated %zu bytes", emulated_gpu_total - total);
  sptrsm_direct_destroy(direct);
  test_block_free(&B);
  close_fixture(&f);
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

/* A load of a GPU at an address that is no multiple of its size, or that it does not reach, is an error that ends the context: such arrays
 * are refused by name. */
Test(setup, arrays_off_their_elements_and_out_of_reach) {
  fixture f = open_fixture("gather", SPTRSM_COPY);
  const sptrsm_sparse T = f.system.T;
  sptrsm_matrix *matrix = NULL;
  for (int array = 0; array < 3; array++) {
    static const char *const why[] = {"matrix: ptr: the address is 4 bytes beyond a multiple of 8",
                                      "matrix: idx: the address is 2 bytes beyond",
                                      "matrix: val: the address is 4 bytes beyond a multiple of 8"};
    sptrsm_sparse off = T;
    if (array == 0) off.ptr = (const int64_t *)((const char *)T.ptr + 4);
    if (array == 1) off.idx = (const int32_t *)((const char *)T.idx + 2);
    if (array == 2) off.val = (const char *)T.val + 4;
    cr_assert_eq(sptrsm_matrix_create(&matrix, f.context, &off, SPTRSM_BORROW), SPTRSM_ERR_ARGUMENT);
    cr_assert(strstr(sptrsm_last_error(), why[array]), "%s", sptrsm_last_error());
  }
  for (int array = 0; array < 3; array++) {
    static const char *const why[] = {"matrix: ptr is not in device memory", "matrix: idx is not in", "matrix: val is not in"};
    emulated_gpu_unreached = array == 0 ? (const void *)T.ptr : array == 1 ? T.idx : T.val;
    cr_assert_eq(sptrsm_matrix_create(&matrix, f.context, &T, SPTRSM_BORROW), SPTRSM_ERR_ARGUMENT);
    cr_assert(strstr(sptrsm_last_error(), why[array]), "%s", sptrsm_last_error());
  }
  emulated_gpu_unreached = NULL;
  cr_assert_eq(sptrsm_matrix_set_values(f.matrix, (const char *)T.val + 4), SPTRSM_ERR_ARGUMENT);
  check_solve(&f, "gather");
  close_fixture(&f);
}

Test(setup, blocks_off_their_elements) {
  double memory[2 * (ORDER + 1)];
  sptrsm_context *context;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), "blocks");
  test_system s = test_system_make(TEST_GRID, ORDER, SPTRSM_CSR, SPTRSM_C128, SPTRSM_LOWER, TEST_NONUNIT, 3);
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  ok(sptrsm_matrix_create(&matrix, context, &s.T, SPTRSM_COPY), "blocks");
  ok(sptrsm_plan_create(&plan, matrix, NULL), "blocks");
  const size_t off = ((uintptr_t)memory + 8) % 16 == 0 ? 0 : 1; /* of a complex number by half of it */
  sptrsm_block B = {memory + off, ORDER, ORDER, 1, SPTRSM_C128, SPTRSM_COL_MAJOR, SPTRSM_CUDA},
               X = {memory + 1 - off, ORDER, ORDER, 1, SPTRSM_C128, SPTRSM_COL_MAJOR, SPTRSM_CUDA};
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B, &X), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "B: the address is 8 bytes beyond a multiple of 16"), "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &X, &B), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "X: the address is 8 bytes beyond"), "%s", sptrsm_last_error());
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  test_system_free(&s);
}

/* The pattern comes to the host with the old values, new values come from where the original takes them, and go back rounded; those of a
 * clone on the host come from host memory. */
Test(setup, new_values_of_clones_in_mixed_precision) {
  test_system system = test_system_make(TEST_GRID, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3);
  const size_t value_bytes = (size_t)system.T.ptr[ORDER] * sizeof(double);
  sptrsm_options options;
  sptrsm_factors factors;
  sptrsm_context *context[3]; /* of the original, and of a clone on a device and on the host */
  sptrsm_direct *direct[3];
  size_t moved[3];
  sptrsm_options_init(&options);
  options.method = "levelset";
  options.precision = SPTRSM_MIXED;
  system.T.place = SPTRSM_CUDA;
  sptrsm_factors_init(&factors);
  factors.L = &system.T;
  for (int k = 0; k < 3; k++) {
    ok(sptrsm_context_create(&context[k], k < 2 ? SPTRSM_CUDA : SPTRSM_HOST, 0, NULL), "context");
    ok(k == 0 ? sptrsm_direct_create(&direct[k], context[k], &factors, &options) : sptrsm_direct_clone(&direct[k], context[k], direct[0]),
       "solver");
    emulated_gpu_moved = 0;
    ok(sptrsm_direct_set_values(direct[k], system.T.val, NULL, NULL, NULL), "new values");
    moved[k] = emulated_gpu_moved;
  }
  cr_assert(moved[0] >= 2 * value_bytes + value_bytes / 2 && moved[1] == moved[0] && moved[2] == 0, "%zu, %zu and %zu bytes crossed",
            moved[0], moved[1], moved[2]);
  for (int k = 0; k < 3; k++) {
    sptrsm_direct_destroy(direct[k]);
    sptrsm_context_destroy(context[k]);
  }
  test_system_free(&system);
  cr_assert_eq(emulated_gpu_blocks, 0);
}

enum { CALLERS_DEVICE = 3 };

Test(setup, page_locked_memory_while_another_device_is_the_callers) {
  sptrsm_context *context;
  void *memory;
  emulated_gpu_current = CALLERS_DEVICE, emulated_gpu_strays = 0;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), "context");
  for (size_t bytes = 0; bytes <= 8; bytes += 8) { /* an address for no bytes, too */
    ok(sptrsm_host_alloc(&memory, context, bytes), "page-locked memory");
    cr_assert_not_null(memory);
    sptrsm_host_free(context, memory);
  }
  sptrsm_context_destroy(context);
  cr_assert(emulated_gpu_strays == 0 && emulated_gpu_current == CALLERS_DEVICE, "%d calls on another device", emulated_gpu_strays);
}

/* Level sets are found on the host, from arrays that come from the context's device. */
Test(setup, levels_of_a_matrix_while_another_device_is_the_callers) {
  test_system system = test_system_make(TEST_GRID, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3);
  int32_t level[ORDER], most = 0;
  sptrsm_context *context;
  sptrsm_level_stats stats = {.size = sizeof stats};
  for (int k = 0; k < 2; k++) { /* the first call brings the arrays */
    sptrsm_matrix *matrix;
    emulated_gpu_current = CALLERS_DEVICE, emulated_gpu_strays = 0;
    ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), "levels");
    ok(sptrsm_matrix_create(&matrix, context, &system.T, SPTRSM_COPY), "levels");
    if (k == 0) ok(sptrsm_matrix_row_levels(level, matrix, SPTRSM_N), "levels of rows");
    ok(sptrsm_matrix_levels(&stats, matrix, SPTRSM_N), "levels");
    if (k == 1) ok(sptrsm_matrix_row_levels(level, matrix, SPTRSM_N), "levels of rows");
    for (int i = 0; i < ORDER; i++) most = level[i] > most ? level[i] : most;
    cr_assert_eq(most + 1, stats.levels);
    sptrsm_matrix_destroy(matrix);
    sptrsm_context_destroy(context);
    cr_assert(emulated_gpu_strays == 0 && emulated_gpu_current == CALLERS_DEVICE, "%d calls on another device", emulated_gpu_strays);
  }
  test_system_free(&system);
}
