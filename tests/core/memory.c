/* memory.c -- makes every allocation fail once. A scenario is a list of steps with some objects, run again and again;
 * on its k-th run the k-th allocation fails. The step that allocates must report MEMORY and succeed when it is tried
 * again, and the scenario must end with the right bits and no memory left over. */
#include <criterion/criterion.h>
#include <string.h>
#include <sptrsm_batch.h>
#include <sptrsm_inspect.h>
#include <sptrsm_multi.h>
#include <sptrsm_reach.h>
#include <sptrsm_refine.h>
#include <sptrsm_schur.h>

#include "support/factor_set.h"
#include "support/failing_memory.h"

/* ---- scenarios ---- */

typedef sptrsm_status step(void);

typedef struct {
  const char *name;
  step *const *steps;
  void (*end)(void);           /* destroys all objects */
  const double *(*bits)(void); /* the results, BITS doubles */
} scenario;

enum { ROWS = 600, NRHS = 3, BITS = ROWS * NRHS };

/* Lets allocation k fail, -1: none. True if there was one. */
static bool run_once(const scenario *l, long k, double *results) {
  failures = 0;
  until_failure = k;
  for (int s = 0; l->steps[s]; s++) {
    long before = failures;
    sptrsm_status status = l->steps[s]();
    if (failures > before) {
      cr_assert_eq(status, SPTRSM_ERR_MEMORY, "%s: step %d, allocation %ld: %s", l->name, s, k, sptrsm_status_name(status));
      cr_assert(strstr(sptrsm_last_error(), "no host memory for"), "%s: \"%s\"", l->name, sptrsm_last_error());
      status = l->steps[s]();
    }
    cr_assert_eq(status, SPTRSM_OK, "%s: step %d, allocation %ld: %s", l->name, s, k, sptrsm_last_error());
  }
  until_failure = -1;
  memcpy(results, l->bits(), BITS * sizeof *results);
  l->end();
  cr_assert_eq(alive, 0, "%s: %ld allocations left over after allocation %ld failed", l->name, (long)alive, k);
  return failures > 0;
}

static void run_with_failures(const scenario *l) {
  static double expected[BITS], results[BITS];
  cr_assert(!run_once(l, -1, expected));
  long k = 0;
  while (run_once(l, k, results)) {
    cr_assert(memcmp(expected, results, sizeof results) == 0, "%s: other bits after allocation %ld failed", l->name, k);
    k++;
  }
  cr_assert_gt(k, 3, "%s: only %ld allocations seen; is posix_memalign wrapped?", l->name, k);
}

/* ---- a matrix and its plans ---- */

static sptrsm_context *context;
static sptrsm_matrix *matrix;
static sptrsm_plan *plan;
static sptrsm_workspace *workspace;
static sptrsm_options options;
static sptrsm_sparse T;
static int64_t ptr[ROWS + 1];
static int32_t idx[2 * ROWS];
static double val[2 * ROWS], changed[2 * ROWS], right[BITS], x[BITS], y[BITS];

/* Two wide levels: row i of the second half needs row i - ROWS/2. `some`: every third diagonal is not stored. */
static void make_T(sptrsm_format format, bool some) {
  int64_t p = 0;
  for (int32_t i = 0; i < ROWS; i++) {
    if (i >= ROWS / 2) idx[p] = i - ROWS / 2, val[p++] = 0.5;
    if (!some || i % 3) idx[p] = i, val[p++] = 2 + i % 5;
    ptr[i + 1] = p;
  }
  for (int64_t v = 0; v < p; v++) changed[v] = val[v] * 1.25;
  for (int i = 0; i < BITS; i++) right[i] = 1 + i % 7;
  T = (sptrsm_sparse){.format = format,
                      .dtype = SPTRSM_F64,
                      .diag = some ? SPTRSM_UNIT : SPTRSM_NONUNIT,
                      .n = ROWS,
                      .ptr = ptr,
                      .idx = idx,
                      .val = val,
                      .uplo = format == SPTRSM_CSR ? SPTRSM_LOWER : SPTRSM_UPPER};
  memset(x, 0, sizeof x);
  memset(y, 0, sizeof y);
}

static sptrsm_block block(double *data, int32_t n, sptrsm_dtype dtype) {
  return (sptrsm_block){.data = data, .ld = NRHS, .n = n, .nrhs = NRHS, .dtype = dtype, .layout = SPTRSM_ROW_MAJOR};
}

static sptrsm_status make_context(void) { return sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL); }
static sptrsm_status set_threads(void) { return sptrsm_context_set_threads(context, 2); }
static sptrsm_status make_matrix(void) { return sptrsm_matrix_create(&matrix, context, &T, SPTRSM_COPY); }
static sptrsm_status make_plan(void) { return sptrsm_plan_create(&plan, matrix, &options); }
static sptrsm_status make_workspace(void) { return sptrsm_workspace_create(&workspace, plan, 2); }
static sptrsm_status change(void) { return sptrsm_matrix_set_values(matrix, changed); }

static sptrsm_status levels(void) {
  sptrsm_level_stats stats = {.size = sizeof stats};
  return sptrsm_matrix_levels(&stats, matrix, SPTRSM_T);
}

static sptrsm_status solve_with_workspace(void) {
  sptrsm_block B = block(right, ROWS, SPTRSM_F64), X = block(x, ROWS, SPTRSM_F64);
  return sptrsm_solve(plan, workspace, NULL, &B, &X);
}

static sptrsm_status solve_without(void) {
  sptrsm_block X = block(x, ROWS, SPTRSM_F64), Y = block(y, ROWS, SPTRSM_F64);
  return sptrsm_solve(plan, NULL, NULL, &X, &Y);
}

static step *const plan_steps[] = {make_context, set_threads,          make_matrix,          levels,
                                   make_plan,    make_workspace,       solve_with_workspace, solve_without,
                                   change,       solve_with_workspace, solve_without,        NULL};

static void end_plan(void) {
  sptrsm_workspace_destroy(workspace);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

static const double *plan_bits(void) { return y; }

Test(memory, every_allocation_of_a_plan_fails_once) {
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    cr_assert_eq(sptrsm_method_at(&info, m), SPTRSM_OK);
    if (info.place != SPTRSM_HOST) continue;
    sptrsm_options_init(&options);
    options.method = info.name;
    for (int variant = 0; variant < 8; variant++) {
      make_T(variant & 1 ? SPTRSM_CSC : SPTRSM_CSR, variant & 2);
      options.op = variant & 4 ? SPTRSM_T : SPTRSM_N;
      run_with_failures(&(scenario){.name = info.name, .steps = plan_steps, .end = end_plan, .bits = plan_bits});
    }
  }
}

/* ---- clones, plans as bytes, several contexts ---- */

static sptrsm_context *other;
static sptrsm_matrix *clone;
static sptrsm_plan *cloned, *imported;
static sptrsm_multi *multi;
static void *bytes;
static size_t byte_count;

static sptrsm_status make_other(void) { return sptrsm_context_create(&other, SPTRSM_HOST, 0, NULL); }
static sptrsm_status clone_matrix(void) { return sptrsm_matrix_clone(&clone, other, matrix); }
static sptrsm_status clone_plan(void) { return sptrsm_plan_clone(&cloned, clone, plan); }
static sptrsm_status change_clone(void) { return sptrsm_matrix_set_values(clone, changed); }
static sptrsm_status import_plan(void) { return sptrsm_plan_import(&imported, clone, NULL, bytes, byte_count, SPTRSM_COPY); }
static sptrsm_status make_multi(void) { return sptrsm_multi_create_plans(&multi, plan, &other, 1); }

static sptrsm_status export_plan(void) {
  static char memory[1 << 20] __attribute__((aligned(64)));
  bytes = memory;
  sptrsm_status status = sptrsm_plan_export_bytes(&byte_count, plan);
  cr_assert_leq(byte_count, sizeof memory);
  return status == SPTRSM_OK ? sptrsm_plan_export(bytes, byte_count, plan) : status;
}

static sptrsm_status solve_on_both(void) {
  sptrsm_block B = block(right, ROWS, SPTRSM_F64), X = block(x, ROWS, SPTRSM_F64);
  return sptrsm_multi_solve(multi, NULL, &B, &X);
}

static sptrsm_status solve_with(const sptrsm_plan *p) {
  sptrsm_block X = block(x, ROWS, SPTRSM_F64), Y = block(y, ROWS, SPTRSM_F64);
  return sptrsm_solve(p, NULL, NULL, &X, &Y);
}
static sptrsm_status solve_with_clone(void) { return solve_with(cloned); }
static sptrsm_status solve_with_import(void) { return solve_with(imported); }

/* The export is of the old values, so the import packs new ones. */
static step *const clone_steps[] = {make_context, make_other,  make_matrix, make_plan,     clone_matrix,     clone_plan,        export_plan,
                                    change_clone, import_plan, make_multi,  solve_on_both, solve_with_clone, solve_with_import, NULL};

static void end_clones(void) {
  sptrsm_multi_destroy(multi);
  sptrsm_plan_destroy(imported);
  sptrsm_plan_destroy(cloned);
  sptrsm_matrix_destroy(clone);
  sptrsm_context_destroy(other);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

Test(memory, every_allocation_of_clones_and_imports_fails_once) {
  const char *const names[] = {"serial", "levelset", "block"};
  for (int m = 0; m < 3; m++) {
    sptrsm_options_init(&options);
    options.method = names[m];
    for (int variant = 0; variant < 4; variant++) {
      make_T(variant & 1 ? SPTRSM_CSC : SPTRSM_CSR, false);
      options.op = variant & 2 ? SPTRSM_T : SPTRSM_N;
      run_with_failures(&(scenario){.name = names[m], .steps = clone_steps, .end = end_clones, .bits = plan_bits});
    }
  }
}

/* `auto` where a method finds no memory for its analysis: the next method of its table solves, and the reason says
 * so. */
Test(memory, auto_goes_on_to_the_next_method) {
  enum { DENSE = 24 };
  int went_on = 0, first_choice = 0;
  int64_t p = 0;
  for (int32_t i = 0; i < DENSE; i++) {
    for (int32_t j = 0; j <= i; j++) idx[p] = j, val[p++] = i == j ? 2 : 0.125;
    ptr[i + 1] = p;
  }
  T = (sptrsm_sparse){.dtype = SPTRSM_F64, .n = DENSE, .ptr = ptr, .idx = idx, .val = val, .format = SPTRSM_CSR, .uplo = SPTRSM_LOWER};
  for (int i = 0; i < BITS; i++) right[i] = 1;
  sptrsm_options_init(&options);
  for (long k = 0; first_choice == 0; k++) {
    sptrsm_info info = {.size = sizeof info};
    sptrsm_block B = block(right, DENSE, SPTRSM_F64), X = block(x, DENSE, SPTRSM_F64);
    cr_assert_eq(make_context(), SPTRSM_OK);
    cr_assert_eq(make_matrix(), SPTRSM_OK);
    until_failure = k;
    sptrsm_status status = make_plan();
    until_failure = -1;
    if (status == SPTRSM_OK) {
      cr_assert_eq(sptrsm_plan_info(&info, plan), SPTRSM_OK);
      cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B, &X), SPTRSM_OK, "%s", sptrsm_last_error());
      cr_assert(x[0] == 0.5 && x[NRHS] == 0.46875, "allocation %ld: %g, %g", k, x[0], x[NRHS]);
      first_choice += strcmp(info.method, "block") == 0;
      went_on += strcmp(info.method, "levelset") == 0 && strstr(info.reason, "block found no memory; on the host: ") == info.reason;
    } else cr_assert_eq(status, SPTRSM_ERR_MEMORY, "allocation %ld: %s", k, sptrsm_last_error());
    sptrsm_plan_destroy(plan);
    sptrsm_matrix_destroy(matrix);
    sptrsm_context_destroy(context);
    cr_assert_eq(alive, 0, "%ld allocations left over after allocation %ld failed", (long)alive, k);
    plan = NULL;
  }
  cr_assert_gt(went_on, 3, "levelset took over %d times", went_on);
}

/* ---- a factor set ---- */

static sptrsm_direct *direct;
static factor_set factors;
static sptrsm_dtype dtype;

static sptrsm_status solve_system(sptrsm_system system, double *from, double *to) {
  sptrsm_block B = block(from, N, dtype), X = block(to, N, dtype);
  return sptrsm_direct_solve(direct, system, SPTRSM_N, NULL, &B, &X);
}

static sptrsm_status make_direct(void) { return sptrsm_direct_create(&direct, context, &factors.f, NULL); }
static sptrsm_status solve_A(void) { return solve_system(SPTRSM_SYS_A, right, x); }
static sptrsm_status solve_Aat(void) { return solve_system(SPTRSM_SYS_Aat, x, y); }
static sptrsm_status solve_At(void) { return solve_system(SPTRSM_SYS_At, y, x); }
static sptrsm_status solve_A_again(void) { return solve_system(SPTRSM_SYS_A, x, y); }

/* A change of values that fails must leave the old ones: the bits of A x = b show it. */
static sptrsm_status change_direct(void) {
  static double before[BITS], after[BITS];
  cr_assert_eq(solve_system(SPTRSM_SYS_A, right, before), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_status status = sptrsm_direct_set_values(direct, factors.L.val, factors.f.D, factors.f.D_sub, factors.f.U ? factors.U.val : NULL);
  if (status == SPTRSM_OK) return status;
  char message[256];
  strcpy(message, sptrsm_last_error());
  cr_assert_eq(solve_system(SPTRSM_SYS_A, right, after), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(memcmp(before, after, N * NRHS * sptrsm_dtype_bytes(dtype)) == 0, "values changed although set_values failed");
  return sptrsm_error_set(status, "%s", message);
}

static sptrsm_status new_numbers(void) {
  for (int64_t p = 0; p < factors.L.ptr[N]; p++) put(factors.L.val, p, dtype, 2 * get(factors.L.val, p, dtype));
  for (int i = 0; i < N; i++) put(factors.D, i, dtype, 4 * get(factors.D, i, dtype));
  return SPTRSM_OK;
}

static sptrsm_status old_numbers(void) {
  for (int64_t p = 0; p < factors.L.ptr[N]; p++) put(factors.L.val, p, dtype, get(factors.L.val, p, dtype) / 2);
  for (int i = 0; i < N; i++) put(factors.D, i, dtype, get(factors.D, i, dtype) / 4);
  return SPTRSM_OK;
}

static step *const direct_steps[] = {make_context, make_direct,   solve_A,     solve_Aat,     solve_At,
                                     new_numbers,  change_direct, old_numbers, solve_A_again, NULL};

static void end_direct(void) {
  sptrsm_direct_destroy(direct);
  sptrsm_context_destroy(context);
}

Test(memory, every_allocation_of_a_direct_solver_fails_once) {
  for (int r = 0; r < RECIPES; r++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++) {
      if (!recipes[r].has_U) continue;
      dtype = (sptrsm_dtype)t;
      build_factor_set(&factors, &recipes[r], dtype);
      memset(right, 0, sizeof right);
      memset(x, 0, sizeof x);
      memset(y, 0, sizeof y);
      for (int i = 0; i < N * NRHS; i++) put(right, i, dtype, CMPLX(1 + i % 5, is_complex(dtype) ? i % 3 : 0));
      run_with_failures(&(scenario){.name = recipes[r].name, .steps = direct_steps, .end = end_direct, .bits = plan_bits});
    }
}

/* ---- refinement, with factors in single precision ---- */

static int64_t half_ptr[N + 1];
static int32_t half_idx[2 * N];
static double half_val[4 * N];

/* The lower half of a matrix that has nothing to do with the factors: the solution is bad, but the same every time. */
static void make_half(void) {
  int64_t p = 0;
  for (int32_t j = 0; j < N; j++) {
    half_idx[p] = j, put(half_val, p++, dtype, 3 + j % 4);
    if (j + 2 < N) half_idx[p] = j + 2, put(half_val, p++, dtype, CMPLX(-0.5, is_complex(dtype) ? 0.25 : 0));
    half_ptr[j + 1] = p;
  }
}

static sptrsm_status make_mixed(void) {
  sptrsm_options_init(&options);
  options.precision = SPTRSM_MIXED;
  return sptrsm_direct_create(&direct, context, &factors.f, &options);
}

static sptrsm_status give_original(void) {
  sptrsm_square A = {
      .format = SPTRSM_CSC, .dtype = dtype, .symmetry = SPTRSM_HERMITIAN, .n = N, .ptr = half_ptr, .idx = half_idx, .val = half_val};
  return sptrsm_direct_set_original(direct, &A);
}

static sptrsm_status refine(void) {
  double ferr[NRHS];
  sptrsm_refine_options how;
  sptrsm_refine_options_init(&how);
  how.solve = 1;
  how.max_steps = 2;
  sptrsm_refine_result result = {.size = sizeof result, .ferr = ferr};
  sptrsm_block B = block(right, N, dtype), X = block(y, N, dtype);
  return sptrsm_direct_refine(direct, SPTRSM_SYS_Aat, SPTRSM_N, NULL, &B, &X, &how, &result);
}

static step *const refine_steps[] = {make_context, make_mixed, give_original, refine, give_original, refine, NULL};

Test(memory, every_allocation_of_refinement_fails_once) {
  for (int r = 0; r < RECIPES; r++) {
    if (!recipes[r].has_U) continue;
    dtype = r % 2 ? SPTRSM_C128 : SPTRSM_F64;
    build_factor_set(&factors, &recipes[r], dtype);
    make_half();
    memset(y, 0, sizeof y);
    for (int i = 0; i < N * NRHS; i++) put(right, i, dtype, 1 + i % 5);
    run_with_failures(&(scenario){.name = recipes[r].name, .steps = refine_steps, .end = end_direct, .bits = plan_bits});
  }
}

/* ---- a Schur complement; columns[0] is sparse, columns[1] dense ---- */

static sptrsm_schur *schur;
static sptrsm_schur_columns columns[2];
static double dense_columns[2 * N * NRHS];

static sptrsm_status make_schur(void) {
  static const int64_t starts[NRHS + 1] = {0, 2, 2, 3};
  static const int32_t rows[] = {1, N - 1, 4};
  static sptrsm_block dense;
  sptrsm_schur_request request;
  for (int c = 0; c < 2; c++) sptrsm_schur_columns_init(&columns[c]);
  dense = block(dense_columns, N, dtype);
  columns[0].count = NRHS, columns[0].ptr = starts, columns[0].idx = rows, columns[0].val = dense_columns;
  columns[1].dense = &dense;
  sptrsm_schur_request_init(&request);
  request.B = &columns[0], request.C = &columns[1];
  return sptrsm_schur_create(&schur, direct, &request);
}

static sptrsm_status solve_schur(void) {
  sptrsm_block S = block(x, NRHS, dtype);
  return sptrsm_schur_solve(schur, &S);
}

static sptrsm_status solve_schur_twice(void) {
  sptrsm_schur *items[2] = {schur, schur};
  sptrsm_block S[2] = {block(x, NRHS, dtype), block(y, NRHS, dtype)};
  return sptrsm_schur_solve_many(items, 2, S);
}

static step *const schur_steps[] = {make_context, make_direct, make_schur, solve_schur, solve_schur_twice, NULL};

static void end_schur(void) {
  sptrsm_schur_destroy(schur);
  end_direct();
}

Test(memory, every_allocation_of_a_schur_complement_fails_once) {
  for (int r = 0; r < RECIPES; r++) {
    if (!recipes[r].has_U) continue;
    dtype = r % 2 ? SPTRSM_C128 : SPTRSM_F64;
    build_factor_set(&factors, &recipes[r], dtype);
    memset(x, 0, sizeof x);
    memset(y, 0, sizeof y);
    for (int i = 0; i < N * NRHS; i++) put(dense_columns, i, dtype, 1 + i % 5);
    run_with_failures(&(scenario){.name = recipes[r].name, .steps = schur_steps, .end = end_schur, .bits = plan_bits});
  }
}

/* ---- the part of a factor set that some rows of X need (sptrsm_reach) ---- */

static sptrsm_reach *reach;

static sptrsm_status make_reach(void) {
  static const int32_t nonzero[] = {3, 7}, wanted[] = {1, 2, 9};
  sptrsm_reach_request request;
  sptrsm_reach_request_init(&request);
  request.nonzero = nonzero, request.nonzero_count = 2;
  request.wanted = wanted, request.wanted_count = 3;
  return sptrsm_reach_create(&reach, &factors.f, &request);
}

static sptrsm_status take_bits(void) {
  sptrsm_reach_part part = {.size = sizeof part};
  sptrsm_status status = sptrsm_reach_part_of(&part, reach);
  const sptrsm_sparse *L = part.factors->L;
  for (int64_t p = 0; status == SPTRSM_OK && p < L->ptr[L->n]; p++) x[p] = creal(get(L->val, p, dtype)) + L->idx[p];
  return status;
}

static step *const reach_steps[] = {make_reach, take_bits, NULL};
static void end_reach(void) { sptrsm_reach_destroy(reach); }
static const double *reach_bits(void) { return x; }

Test(memory, every_allocation_of_a_reach_fails_once) {
  for (int r = 0; r < RECIPES; r++) {
    if (!recipes[r].has_U) continue;
    dtype = SPTRSM_C128;
    build_factor_set(&factors, &recipes[r], dtype);
    memset(x, 0, sizeof x);
    run_with_failures(&(scenario){.name = recipes[r].name, .steps = reach_steps, .end = end_reach, .bits = reach_bits});
  }
}

/* ---- batches ---- */

static sptrsm_batch *batch;
enum { BATCH = 3 };

static sptrsm_status make_uniform(void) {
  sptrsm_batch_values values;
  sptrsm_batch_values_init(&values);
  values.count = BATCH;
  return sptrsm_batch_create_uniform(&batch, context, &factors.f, &values, NULL);
}

static sptrsm_status make_mixed_batch(void) {
  const sptrsm_factors *items[BATCH] = {&factors.f, &factors.f, &factors.f};
  return sptrsm_batch_create_mixed(&batch, context, items, BATCH, NULL);
}

/* Other values for item 1, which make its diagonal, D and scaling bad or good again. */
static sptrsm_status change_item(bool bad) {
  static double zero[2 * NNZ];
  sptrsm_batch_values values;
  sptrsm_batch_values_init(&values);
  values.first = 1, values.count = 1;
  values.L = factors.f.L->val;
  if (factors.f.U) values.U = bad ? zero : factors.f.U->val;
  if (factors.f.D) values.D = bad ? zero : factors.f.D;
  if (factors.f.scale_row) values.scale_row = bad ? zero : factors.f.scale_row;
  return sptrsm_batch_set_values(batch, &values);
}
static sptrsm_status spoil_item(void) { return change_item(true); }
static sptrsm_status mend_item(void) { return change_item(false); }

static sptrsm_status give_originals(void) {
  const sptrsm_sparse *L = factors.f.L;
  const sptrsm_square A = {.format = L->format, .dtype = dtype, .n = N, .ptr = L->ptr, .idx = L->idx, .val = L->val};
  sptrsm_status status = SPTRSM_OK;
  for (int i = 0; i < BATCH && status == SPTRSM_OK; i++) status = sptrsm_batch_set_original(batch, i, &A);
  return status;
}

/* One after the other in both systems, so that plans of both operations are made; the first one with backward errors. */
static sptrsm_status solve_batch(void) {
  double berr[BATCH];
  sptrsm_batch_run run;
  void *from[BATCH] = {right, right, right}, *to[BATCH];
  for (int i = 0; i < BATCH; i++) to[i] = y + i * 2 * N * NRHS;
  sptrsm_batch_block B, X;
  sptrsm_batch_block_init(&B);
  B.data_of = from, B.nrhs = B.ld = NRHS, B.dtype = dtype;
  X = B;
  X.data_of = to;
  sptrsm_batch_run_init(&run);
  run.berr = berr;
  sptrsm_status status = sptrsm_batch_solve(batch, SPTRSM_SYS_Lat, SPTRSM_N, NULL, &B, &X, &run);
  return status == SPTRSM_OK ? sptrsm_batch_solve(batch, SPTRSM_SYS_L, SPTRSM_N, NULL, &X, &X, NULL) : status;
}

static void end_batch(void) {
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  batch = NULL;
  context = NULL;
}

static step *const uniform_steps[] = {make_context, make_uniform, spoil_item, mend_item, give_originals, solve_batch, NULL};
static step *const mixed_steps[] = {make_context, make_mixed_batch, spoil_item, mend_item, give_originals, solve_batch, NULL};

Test(memory, every_allocation_of_a_batch_fails_once) {
  for (int r = 0; r < RECIPES; r++) {
    dtype = r % 2 ? SPTRSM_C128 : SPTRSM_F64;
    build_factor_set(&factors, &recipes[r], dtype);
    memset(y, 0, sizeof y);
    for (int i = 0; i < N * NRHS; i++) put(right, i, dtype, 1 + i % 5);
    run_with_failures(&(scenario){.name = recipes[r].name, .steps = uniform_steps, .end = end_batch, .bits = plan_bits});
    run_with_failures(&(scenario){.name = recipes[r].name, .steps = mixed_steps, .end = end_batch, .bits = plan_bits});
  }
}

/* The panels of the first solves serve the next ones. */
Test(memory, a_batch_that_has_solved_takes_no_more) {
  step *const make[] = {make_uniform, make_mixed_batch};
  dtype = SPTRSM_F64;
  build_factor_set(&factors, &recipes[0], dtype);
  for (int i = 0; i < N * NRHS; i++) put(right, i, dtype, 1 + i % 5);
  for (int kind = 0; kind < 2; kind++) {
    cr_assert(make_context() == SPTRSM_OK && make[kind]() == SPTRSM_OK && give_originals() == SPTRSM_OK && solve_batch() == SPTRSM_OK);
    until_failure = 0;
    cr_assert_eq(solve_batch(), SPTRSM_OK, "kind %d: %s", kind, sptrsm_last_error());
    until_failure = -1;
    end_batch();
  }
}

/* Chains of rows that several threads share as trees, which take a schedule. */
Test(memory, every_allocation_of_a_shared_schedule_fails_once) {
  enum { ORDER = 60000, CHAIN = 100 };
  static int64_t start[ORDER + 1];
  static int32_t column[2 * ORDER];
  static double value[2 * ORDER];
  sptrsm_info info = {.size = sizeof info};
  int32_t entries = 0;
  for (int32_t i = 0; i < ORDER; start[++i] = entries) {
    if (i % CHAIN > 0) column[entries] = i - 1, value[entries++] = 1;
    column[entries] = i, value[entries++] = 2;
  }
  const sptrsm_sparse chains = {.dtype = SPTRSM_F64, .n = ORDER, .ptr = start, .idx = column, .val = value};
  const sptrsm_options o = {.size = sizeof o, .method = "levelset"};
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_context_set_threads(context, 2), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &chains, SPTRSM_BORROW), SPTRSM_OK);
  const long before = alive;
  long k = 0;
  for (;; k++) {
    until_failure = k;
    const sptrsm_status status = sptrsm_plan_create(&plan, matrix, &o);
    until_failure = -1;
    if (status == SPTRSM_OK) break;
    cr_assert(status == SPTRSM_ERR_MEMORY && alive == before, "allocation %ld: %s, %ld left over", k, sptrsm_last_error(), alive - before);
  }
  cr_assert_eq(sptrsm_plan_info(&info, plan), SPTRSM_OK);
  cr_assert(k > 10 && strstr(info.parameters, "shares=trees"), "%ld allocations, %s", k, info.parameters);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  plan = NULL, matrix = NULL, context = NULL;
}
