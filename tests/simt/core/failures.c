/* failures.c -- on the emulated GPU: each allocation and each copy between host and device fails once, at every count, in batches, Schur
 * complements, refinement and all methods. The call that meets it says MEMORY or DEVICE; made again it succeeds, with the same results in
 * the end, and nothing is left over. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <sptrsm_batch.h>
#include <sptrsm_schur.h>

#include "simt/emulator/emulated_gpu.h"
#include "support/factor_set.h"

enum { ITEMS = 3, NRHS = 2, LENGTH = ITEMS * N * NRHS, COLUMNS = 4 };

static factor_set set;
static sptrsm_context *context;
static double B[LENGTH], X[4][LENGTH], errors[LENGTH];
static sptrsm_status failed; /* what the call said that met the failure */
static const char *failed_call;

/* A call that fails is made again. */
#define STEP(call)                                                                                                                         \
  do {                                                                                                                                     \
    sptrsm_status got = (call);                                                                                                            \
    if (got != SPTRSM_OK) failed = got, failed_call = #call, got = (call);                                                                 \
    cr_assert_eq(got, SPTRSM_OK, "%s: %s", #call, sptrsm_last_error());                                                                    \
  } while (0)

static void set_up(void) {
  build_factor_set(&set, &recipes[1], SPTRSM_F64);
  for (int k = 0; k < LENGTH; k++) B[k] = creal(number(SPTRSM_F64));
}
TestSuite(simt_failures, .init = set_up);

/* L as a matrix of its own, for backward errors. */
static sptrsm_square square_of(const sptrsm_sparse *T) {
  return (sptrsm_square){.format = T->format, .dtype = T->dtype, .n = T->n, .ptr = T->ptr, .idx = T->idx, .val = T->val};
}

/* ---- what is done ---- */

static void use_batch(sptrsm_batch *batch, int turn, sptrsm_place place) {
  static const uint8_t mask[ITEMS] = {1, 0, 1};
  sptrsm_item_status status[ITEMS] = {{0}};
  sptrsm_batch_block b, x;
  sptrsm_batch_run run;
  sptrsm_batch_block_init(&b);
  b.data = B, b.ld = N, b.stride = N * NRHS, b.nrhs = NRHS, b.layout = SPTRSM_COL_MAJOR, b.place = place;
  x = b, x.data = X[turn];
  sptrsm_batch_run_init(&run);
  run.status = status, run.status_place = place, run.berr = errors + (size_t)turn * ITEMS;
  run.mask = turn % 2 ? mask : NULL, run.mask_place = place == SPTRSM_HOST ? SPTRSM_CUDA : SPTRSM_HOST;
  STEP(sptrsm_batch_solve(batch, SPTRSM_SYS_L, SPTRSM_N, NULL, &b, &x, &run));
  STEP(sptrsm_context_sync(context));
  for (int i = 0; i < ITEMS; i++) cr_assert_eq(status[i].status, SPTRSM_OK);
}

static void work_with_batch(bool mixed) {
  sptrsm_batch *batch = NULL;
  const sptrsm_factors *items[ITEMS] = {&set.f, &set.f, &set.f};
  const sptrsm_square A = square_of(&set.L.T);
  sptrsm_batch_values values;
  sptrsm_batch_values_init(&values);
  values.count = ITEMS;
  if (mixed) STEP(sptrsm_batch_create_mixed(&batch, context, items, ITEMS, NULL));
  else STEP(sptrsm_batch_create_uniform(&batch, context, &set.f, &values, NULL));
  for (int i = 0; i < ITEMS; i++) STEP(sptrsm_batch_set_original(batch, i, &A));
  for (int turn = 0; turn < 4; turn++) use_batch(batch, turn, turn < 2 ? SPTRSM_HOST : SPTRSM_CUDA);
  values.L = set.L.val, values.count = 1;
  STEP(sptrsm_batch_set_values(batch, &values));
  use_batch(batch, 0, SPTRSM_HOST);
  sptrsm_batch_destroy(batch);
}

static void work_with_uniform(void) { work_with_batch(false); }
static void work_with_mixed(void) { work_with_batch(true); }

static void work_with_schur(void) {
  const int64_t ptr[COLUMNS + 1] = {0, 2, 3, 5, 6};
  const int32_t idx[] = {0, 7, 3, 1, 12, 5};
  sptrsm_direct *direct = NULL;
  sptrsm_schur *schur = NULL;
  sptrsm_schur_columns columns;
  sptrsm_schur_request request;
  sptrsm_options o;
  sptrsm_block S = {.ld = COLUMNS, .n = COLUMNS, .nrhs = COLUMNS, .dtype = SPTRSM_F64, .layout = SPTRSM_COL_MAJOR};
  sptrsm_schur_columns_init(&columns);
  columns.count = COLUMNS, columns.ptr = ptr, columns.idx = idx, columns.val = B;
  sptrsm_schur_request_init(&request);
  request.B = request.C = &columns;
  sptrsm_options_init(&o);
  o.method = "gather"; /* auto would hide a failed allocation by another method */
  STEP(sptrsm_direct_create(&direct, context, &set.f, &o));
  STEP(sptrsm_schur_create(&schur, direct, &request));
  S.data = X[0];
  STEP(sptrsm_schur_solve(schur, &S));
  STEP(sptrsm_schur_set_values(schur, B + 1, B + 2));
  S.data = X[1];
  STEP(sptrsm_schur_solve_many(&schur, 1, &S));
  STEP(sptrsm_context_sync(context));
  sptrsm_schur_destroy(schur);
  sptrsm_direct_destroy(direct);
}

static sptrsm_precision precision; /* of work_with_refinement */
static sptrsm_place place;
static size_t limit;       /* of the context; 0: none */
static const char *method; /* auto would hide a failed allocation by another method */

static void work_with_refinement(void) {
  sptrsm_direct *direct = NULL;
  const sptrsm_square A = square_of(&set.L.T); /* not their product, but a matrix like any other */
  const sptrsm_block b = {B, N, N, NRHS, SPTRSM_F64, SPTRSM_COL_MAJOR, place};
  sptrsm_block x = b;
  sptrsm_refine_result result = {.size = sizeof result, .berr = errors, .ferr = errors + NRHS};
  sptrsm_refine_options refine;
  sptrsm_options o;
  sptrsm_options_init(&o);
  o.method = method;
  o.precision = precision;
  sptrsm_refine_options_init(&refine);
  refine.solve = 1;
  refine.max_steps = 2;
  x.data = X[0];
  STEP(sptrsm_direct_create(&direct, context, &set.f, &o));
  STEP(sptrsm_direct_set_original(direct, &A));
  STEP(sptrsm_direct_refine(direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &b, &x, &refine, &result));
  STEP(sptrsm_direct_set_values(direct, set.L.val, set.D, NULL, NULL));
  sptrsm_direct_destroy(direct);
}

static void work_with_method(void) {
  sptrsm_matrix *matrix = NULL;
  sptrsm_plan *plan = NULL;
  sptrsm_options o;
  const sptrsm_block b = {B, N, N, NRHS, SPTRSM_F64, SPTRSM_COL_MAJOR, SPTRSM_HOST};
  sptrsm_block x = b;
  sptrsm_options_init(&o);
  o.method = method;
  STEP(sptrsm_matrix_create(&matrix, context, &set.L.T, SPTRSM_COPY));
  STEP(sptrsm_plan_create(&plan, matrix, &o));
  for (int turn = 0; turn < 2; turn++) {
    x.data = X[turn];
    STEP(sptrsm_solve(plan, NULL, NULL, &b, &x));
    STEP(sptrsm_matrix_set_values(matrix, set.L.val));
  }
  STEP(sptrsm_context_sync(context));
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
}

/* ---- every count ---- */

static void work_at(void (*work)(void)) {
  memset(X, 0, sizeof X);
  memset(errors, 0, sizeof errors);
  failed = SPTRSM_OK;
  STEP(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL));
  if (limit > 0) STEP(sptrsm_context_set_memory_limit(context, limit));
  work();
  sptrsm_context_destroy(context);
  cr_assert_eq(emulated_gpu_blocks, 0, "%d device blocks left over", emulated_gpu_blocks);
}

/* Fails at each count of `countdown`, or without SIMT_ALL at every `share`-th one. */
static void sweep(const char *what, int share, void (*work)(void), int *countdown, sptrsm_status expected) {
  static double first_X[4][LENGTH], first_errors[LENGTH];
  const int step = getenv("SIMT_ALL") ? 1 : share;
  work_at(work);
  memcpy(first_X, X, sizeof X);
  memcpy(first_errors, errors, sizeof errors);
  for (int point = 0;; point += step) {
    *countdown = point;
    work_at(work);
    const bool is_over = *countdown >= 0;
    *countdown = -1;
    cr_assert(memcmp(first_X, X, sizeof X) == 0 && memcmp(first_errors, errors, sizeof errors) == 0, "%s, point %d: other results after %s",
              what, point, failed ? failed_call : "nothing that failed");
    if (is_over) {
      cr_assert_gt(point, 3, "%s: hardly anything is counted", what);
      break;
    }
    cr_assert(failed == expected, "%s, point %d: status %s", what, point, sptrsm_status_name(failed));
  }
}

static void sweep_both(const char *what, int share, void (*work)(void)) {
  sweep(what, share, work, &emulated_gpu_fail_at, SPTRSM_ERR_MEMORY);
  sweep(what, share, work, &emulated_gpu_fail_copy_at, SPTRSM_ERR_DEVICE);
}

Test(simt_failures, uniform_batch) { sweep_both("uniform", 1, work_with_uniform); }
Test(simt_failures, mixed_batch) { sweep_both("mixed", 4, work_with_mixed); }
Test(simt_failures, schur) { sweep_both("Schur complement", 4, work_with_schur); }
Test(simt_failures, refinement) {
  for (int turn = 0; turn < 4; turn++) {
    precision = turn % 2 ? SPTRSM_MIXED : SPTRSM_WORKING;
    place = turn % 2 ? SPTRSM_HOST : SPTRSM_CUDA;
    limit = turn / 2 * (size_t)1 << 20;
    method = limit ? "block-streamed" : "gather";
    sweep_both(limit ? "refinement with a memory limit" : "refinement", 5, work_with_refinement);
  }
}

/* All methods but structgrid, which needs a grid, and cuSPARSE, which is not emulated. */
Test(simt_failures, methods) {
  int found = 0;
  for (int k = 0; k < sptrsm_method_count(); k++) {
    sptrsm_method_info info = {.size = sizeof info};
    cr_assert_eq(sptrsm_method_at(&info, k), SPTRSM_OK);
    if (info.place != SPTRSM_CUDA || strstr(info.name, "structgrid") || strstr(info.name, "cusparse")) continue;
    method = info.name;
    sweep_both(info.name, 3, work_with_method);
    found++;
  }
  cr_assert(found >= 6, "%d methods", found);
}
