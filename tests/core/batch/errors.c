/* errors.c -- run->berr of sptrsm_batch_solve: the backward errors of items are those that sptrsm_direct_refine tells of the same X, for
 * inexact factors of known matrices; and what it refuses. On a device, emulated or real, blocks lie in host and in device memory. */
#include "core/refine/refine_case.h"

#include <sptrsm_batch.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"
#ifdef EMULATED
#include "simt/emulator/emulated_gpu.h"
#endif

enum { ITEMS = 5, COLUMNS = 3, SPAN = N * COLUMNS, SINGULAR_ITEM = 3, MASKED_ITEM = 1 };

static sptrsm_context *host;
static factor_set sets[ITEMS];
static original matrices[ITEMS];
static sptrsm_batch *batch;
static double B_data[ITEMS * SPAN * 2], X_data[ITEMS * SPAN * 2], berr[ITEMS];
static uint8_t mask[ITEMS] = {1, 0, 1, 1, 1};
static sptrsm_batch_block B, X;
static sptrsm_batch_run run;
static int singular; /* items seen so far */

static void set_up(void) {
  open_context();
  OK(sptrsm_context_create(&host, SPTRSM_HOST, 0, NULL));
}
static void tear_down(void) {
  sptrsm_batch_destroy(batch);
  batch = NULL;
  sptrsm_context_destroy(host);
  close_context();
}
TestSuite(batch_errors, .init = set_up, .fini = tear_down);

static void init_blocks(sptrsm_dtype t, sptrsm_layout layout) {
  sptrsm_batch_block_init(&B);
  B.dtype = t, B.layout = layout, B.nrhs = COLUMNS, B.ld = layout == SPTRSM_ROW_MAJOR ? COLUMNS : N, B.stride = SPAN;
  X = B;
  B.data = B_data, X.data = X_data;
  for (int64_t p = 0; p < ITEMS * SPAN; p++) put(B_data, p, t, number(t));
  sptrsm_batch_run_init(&run);
  run.berr = berr;
  for (int i = 0; i < ITEMS; i++) berr[i] = -7;
}

/* Item SINGULAR_ITEM of a mixed batch has a zero on a diagonal that is read, if there is one. */
static void create_batch(int r, sptrsm_dtype t, bool uniform) {
  const sptrsm_factors *items[ITEMS];
  sptrsm_batch_values same;
  sptrsm_batch_values_init(&same);
  same.count = ITEMS;
  for (int i = 0; i < ITEMS; i++) {
    int which = uniform ? r : (r + i) % RECIPES;
    while (recipes[which].has_U != recipes[r].has_U) which = (which + 1) % RECIPES;
    if (uniform && i > 0) matrices[i] = matrices[0];
    else build(&sets[i], &matrices[i], &recipes[which], t, i % 2 ? SPTRSM_CSC : SPTRSM_CSR, 0.01);
    items[i] = &sets[uniform ? 0 : i].f;
  }
  triangle *T = &sets[SINGULAR_ITEM].L;
  for (int64_t p = 0; !uniform && T->T.diag == SPTRSM_NONUNIT && p < T->ptr[N]; p++) put(T->val, p, t, 0);
  sptrsm_batch_destroy(batch);
  if (uniform) OK(sptrsm_batch_create_uniform(&batch, context, items[0], &same, NULL));
  else OK(sptrsm_batch_create_mixed(&batch, context, items, ITEMS, NULL));
}

/* B and X to the device and back. */
static sptrsm_status solve_there(sptrsm_system system, sptrsm_op op, const void *alpha) {
  void *there[3];
  double *const data[3] = {B_data, X_data, berr};
  const size_t bytes[3] = {sizeof B_data, sizeof X_data, sizeof berr};
  for (int i = 0; i < 3; i++) {
    OK(spti_alloc(context, &there[i], 1, bytes[i], "test block"));
    OK(spti_gpu_copy(context, there[i], bytes[i], data[i], bytes[i], bytes[i], 1, SPTI_TO_DEVICE));
  }
  B.data = there[0], X.data = there[1], run.berr = there[2];
  B.place = X.place = SPTRSM_CUDA;
  const sptrsm_status status = sptrsm_batch_solve(batch, system, op, alpha, &B, &X, &run);
  for (int i = 0; i < 3; i++) {
    OK(spti_gpu_copy(context, data[i], bytes[i], there[i], bytes[i], bytes[i], 1, SPTI_TO_HOST));
    spti_free(context, there[i]);
  }
  B.data = B_data, X.data = X_data, run.berr = berr;
  B.place = X.place = SPTRSM_HOST;
  return status;
}

static sptrsm_block block_of(const sptrsm_batch_block *all, int64_t item) {
  char *data = all->data;
  return (sptrsm_block){.data = data + (size_t)(item * all->stride) * sptrsm_dtype_bytes(all->dtype),
                        .ld = all->ld,
                        .n = N,
                        .nrhs = all->nrhs,
                        .dtype = all->dtype,
                        .layout = all->layout};
}

/* The largest backward error of an item's columns, by the item alone on the host. */
static double error_alone(int item, bool uniform, sptrsm_system system, sptrsm_op op, const void *alpha) {
  sptrsm_direct *d;
  sptrsm_refine_options measure;
  sptrsm_refine_result result = {.size = sizeof result};
  sptrsm_block b = block_of(&B, item), x = block_of(&X, item);
  sptrsm_refine_options_init(&measure);
  measure.max_steps = 0;
  OK(sptrsm_direct_create(&d, host, &sets[uniform ? 0 : item].f, NULL));
  OK(sptrsm_direct_set_original(d, &matrices[item].A));
  OK(sptrsm_direct_refine(d, system, op, alpha, &b, &x, &measure, &result));
  sptrsm_direct_destroy(d);
  return result.max_berr;
}

static void check_errors(bool uniform, sptrsm_system system, sptrsm_op op, const void *alpha, const char *name) {
  for (int i = 0; i < ITEMS; i++) {
    sptrsm_item_status item;
    OK(sptrsm_batch_item(&item, batch, i));
    if (run.mask && !mask[i]) {
      cr_assert(berr[i] == -7, "%s: item %d is masked out and was written", name, i);
    } else if (item.status != SPTRSM_OK) {
      cr_assert(isnan(berr[i]), "%s: item %d is singular and has %g", name, i, berr[i]);
      singular++;
    } else {
      const double expected = error_alone(i, uniform, system, op, alpha), u = u_of(B.dtype);
      cr_assert(expected > 1e-4 && fabs(berr[i] - expected) <= 100 * u, "%s: item %d has %g, alone %g", name, i, berr[i], expected);
    }
  }
}

static void try_batch(int r, sptrsm_dtype t, bool uniform) {
  char name[128];
  double alpha[2];
  create_batch(r, t, uniform);
  for (int i = 0; i < ITEMS; i++) OK(sptrsm_batch_set_original(batch, i, &matrices[i].A));
  for (int turn = 0; turn < 18; turn++) {
    const sptrsm_system system = (sptrsm_system)(turn % 3);
    const sptrsm_op op = (sptrsm_op)(turn / 3 % 3);
    if (turn == 9) { /* another matrix, after errors of each op */
      matrices[0] = matrices[ITEMS - 1];
      OK(sptrsm_batch_set_original(batch, 0, &matrices[0].A));
    }
    init_blocks(t, turn % 2 ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR);
    put(alpha, 0, t, number(t));
    run.mask = turn % 5 ? mask : NULL;
    snprintf(name, sizeof name, "recipe %d, type %d, %s, turn %d", r, (int)t, uniform ? "uniform" : "mixed", turn);
    if (DIRECT_PLACE == SPTRSM_HOST || turn >= 12) OK(sptrsm_batch_solve(batch, system, op, alpha, &B, &X, &run));
    else OK(solve_there(system, op, alpha));
    check_errors(uniform, system, op, alpha, name);
  }
}

Test(batch_errors, must_not_lie_in_the_blocks, .disabled = DIRECT_PLACE != SPTRSM_HOST) {
  create_batch(0, SPTRSM_F64, true);
  for (int i = 0; i < ITEMS; i++) OK(sptrsm_batch_set_original(batch, i, &matrices[i].A));
  init_blocks(SPTRSM_F64, SPTRSM_ROW_MAJOR);
  for (int which = 0; which < 2; which++) {
    char text[64];
    double *data = which ? X_data : B_data;
    run.berr = data + 2 * SPAN + 3;
    snprintf(text, sizeof text, "run: berr overlaps %s of item 2", which ? "X" : "B");
    cr_assert_eq(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run), SPTRSM_ERR_ARGUMENT);
    cr_assert(strstr(sptrsm_last_error(), text), "\"%s\" lacks \"%s\"", sptrsm_last_error(), text);
  }
}

Test(batch_errors, of_items_are_those_of_items_alone) {
  for (int r = 0; r < RECIPES; r++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++)
      for (int uniform = 0; (r + t) % DIRECT_SHARE == 0 && recipes[r].has_U && uniform < 2; uniform++)
        try_batch(r, (sptrsm_dtype)t, uniform);
  cr_assert(singular > 0);
}

/* ---- one f64 batch with L, D, U; item 2 has no matrix ---- */

static void create_f64(void) {
  int r = 0;
  while (!recipes[r].has_U || recipes[r].l_diag == SPTRSM_UNIT) r++;
  create_batch(r, SPTRSM_F64, true);
  for (int i = 0; i < ITEMS; i++)
    if (i != 2) OK(sptrsm_batch_set_original(batch, i, &matrices[i].A));
  init_blocks(SPTRSM_F64, SPTRSM_ROW_MAJOR);
}

/* A triangle is its own matrix. Its solutions have small errors; NaN in a column shows. */
Test(batch_errors, of_triangles) {
  create_f64();
  const sptrsm_sparse *L = sets[0].f.L;
  const sptrsm_square A = {.format = L->format, .dtype = L->dtype, .n = N, .ptr = L->ptr, .idx = L->idx, .val = L->val};
  for (int i = 0; i < ITEMS; i++) OK(sptrsm_batch_set_original(batch, i, &A));
  for (int system = SPTRSM_SYS_L; system <= SPTRSM_SYS_Lat; system++)
    for (int op = SPTRSM_N; op <= SPTRSM_C; op++) {
      OK(sptrsm_batch_solve(batch, (sptrsm_system)system, (sptrsm_op)op, NULL, &B, &X, &run));
      for (int i = 0; i < ITEMS; i++)
        cr_assert(berr[i] >= 0 && berr[i] <= 8 * u_of(SPTRSM_F64), "%s: item %d: %g", sptrsm_system_name((sptrsm_system)system), i,
                  berr[i]);
    }
  put(B_data, 2 * SPAN + 4, SPTRSM_F64, (double)NAN);
  OK(sptrsm_batch_solve(batch, SPTRSM_SYS_L, SPTRSM_N, NULL, &B, &X, &run));
  cr_assert(isnan(berr[2]) && berr[1] <= 8 * u_of(SPTRSM_F64) && berr[3] <= 8 * u_of(SPTRSM_F64));
}

static void refuse(sptrsm_system system, const char *text) {
  const sptrsm_status got = sptrsm_batch_solve(batch, system, SPTRSM_N, NULL, &B, &X, &run);
  cr_assert(got == SPTRSM_ERR_ARGUMENT && strstr(sptrsm_last_error(), text), "\"%s\" lacks \"%s\"", sptrsm_last_error(), text);
  for (int i = 0; i < ITEMS; i++) cr_assert(berr[i] == -7 && X_data[i * SPAN] == 0, "%s: item %d was written", text, i);
}

Test(batch_errors, refusals_name_the_item_and_the_way_out) {
  create_f64();
  memset(X_data, 0, sizeof X_data);
  refuse(SPTRSM_SYS_A, "berr of item 2 needs the matrix that its factors were made from: call sptrsm_batch_set_original");
  OK(sptrsm_batch_set_original(batch, 2, &matrices[2].A));
  refuse(SPTRSM_SYS_U, "berr is for the systems A, At, Aat, L, Lt and Lat, not U");
  OK(sptrsm_batch_set_original(batch, 2, NULL));
  refuse(SPTRSM_SYS_A, "berr of item 2 needs the matrix");
  mask[2] = 0, mask[MASKED_ITEM] = 1, run.mask = mask;
  X.data = B.data;
  refuse(SPTRSM_SYS_A, "berr of item 0 needs B after the solve: X must be another block");
  X.data = X_data;
  if (DIRECT_PLACE == SPTRSM_CUDA) {
    X.place = SPTRSM_CUDA;
    refuse(SPTRSM_SYS_A, "berr needs B and X in one place");
    X.place = SPTRSM_HOST;
  }
  OK(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run));
  cr_assert(berr[0] > 0 && berr[2] == -7);
}

Test(batch_errors, wrong_matrices_are_refused) {
  create_f64();
  original wrong = matrices[0];
  wrong.A.idx = wrong.idx;
  cr_assert_eq(sptrsm_batch_set_original(NULL, 0, &wrong.A), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_batch_set_original(batch, ITEMS, &wrong.A), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "sptrsm_batch_set_original: there is no item 5 in a batch of 5"), "%s", sptrsm_last_error());
  wrong.idx[3] = N;
  cr_assert_eq(sptrsm_batch_set_original(batch, 4, &wrong.A), SPTRSM_ERR_STRUCTURE);
  cr_assert(strstr(sptrsm_last_error(), "item 4: A: idx[3] = 13 is not in 0..12"), "%s", sptrsm_last_error());
  wrong.A.n = N - 1;
  cr_assert_eq(sptrsm_batch_set_original(batch, 4, &wrong.A), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "item 4: A has order 12, its factors 13"), "%s", sptrsm_last_error());
  mask[2] = 0, run.mask = mask; /* the matrices that were there still are */
  OK(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run));
  cr_assert(berr[4] > 0);
}

Test(batch_errors, of_nothing) {
  create_f64();
  OK(sptrsm_batch_set_original(batch, 2, &matrices[2].A));
  B.nrhs = X.nrhs = 0;
  OK(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run));
  for (int i = 0; i < ITEMS; i++) cr_assert(berr[i] == 0, "item %d: %g", i, berr[i]);
}

/* Columns without rows are no work, however many there are. */
Test(batch_errors, of_order_zero) {
  const int64_t zero[1] = {0};
  const sptrsm_sparse L = {.dtype = SPTRSM_F64, .ptr = zero};
  const sptrsm_square A = {.dtype = SPTRSM_F64, .ptr = zero};
  sptrsm_factors f;
  const sptrsm_factors *items[ITEMS] = {&f, &f, &f, &f, &f};
  sptrsm_factors_init(&f);
  f.L = &L;
  OK(sptrsm_batch_create_mixed(&batch, context, items, ITEMS, NULL));
  for (int i = 0; i < ITEMS; i++) OK(sptrsm_batch_set_original(batch, i, &A));
  init_blocks(SPTRSM_F64, SPTRSM_COL_MAJOR);
  B.nrhs = X.nrhs = (int64_t)1 << 45, B.ld = X.ld = 1, B.stride = X.stride = 0, B.data = X.data = NULL;
  if (DIRECT_PLACE == SPTRSM_HOST) OK(sptrsm_batch_solve(batch, SPTRSM_SYS_L, SPTRSM_N, NULL, &B, &X, &run));
  else OK(solve_there(SPTRSM_SYS_L, SPTRSM_N, NULL));
  for (int i = 0; i < ITEMS; i++) cr_assert(berr[i] == 0, "item %d: %g", i, berr[i]);
}

#ifdef EMULATED
/* Errors of blocks in host memory are computed there. */
Test(batch_errors, of_blocks_in_host_memory_take_no_device_memory) {
  create_f64();
  OK(sptrsm_batch_set_original(batch, 2, &matrices[2].A));
  size_t allocated[4] = {0};
  for (int solve = 1; solve < 4; solve++) { /* the first one makes the workspace, the last one finds errors */
    run.berr = solve == 3 ? berr : NULL;
    OK(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run));
    allocated[solve] = emulated_gpu_total;
  }
  cr_assert_eq(allocated[3] - allocated[2], allocated[2] - allocated[1]);
  for (int i = 0; i < ITEMS; i++) cr_assert(berr[i] >= 0 && berr[i] < 1, "item %d: %g", i, berr[i]);
}

/* The mask comes to the host, where the errors are computed. */
Test(batch_errors, of_blocks_in_host_memory_with_a_mask_on_the_device) {
  create_f64();
  OK(sptrsm_batch_set_original(batch, 2, &matrices[2].A));
  run.mask = mask, run.mask_place = SPTRSM_CUDA; /* the emulated device reads host memory */
  OK(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run));
  for (int i = 0; i < ITEMS; i++) cr_assert(mask[i] ? berr[i] >= 0 && berr[i] < 1 : berr[i] == -7, "item %d: %g", i, berr[i]);
}

/* The first errors need tables; later ones may be captured and allocate nothing. */
Test(batch_errors, may_be_captured) {
  sptrsm_batch_values again;
  sptrsm_item_status items[ITEMS];
  int64_t launches;
  create_f64();
  sptrsm_batch_values_init(&again);
  again.count = ITEMS, again.L = sets[0].f.L->val;
  OK(sptrsm_batch_set_original(batch, 2, &matrices[2].A));
  B.place = X.place = SPTRSM_CUDA; /* the emulated device reads host memory */
  run.berr = NULL;
  OK(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run));
  run.berr = berr;
  emulated_gpu_captures = true;
  cr_assert_eq(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run), SPTRSM_ERR_ARGUMENT);
  emulated_gpu_captures = false;
  OK(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run));
  OK(sptrsm_batch_set_values(batch, &again)); /* what the new values did to the items need not be known here */
  const size_t allocated = emulated_gpu_total;
  emulated_gpu_captures = true;
  cr_assert_eq(sptrsm_batch_set_values(batch, &again), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_batch_set_original(batch, 0, &matrices[0].A), SPTRSM_ERR_ARGUMENT);
  run.status = items, launches = emulated_gpu_launches; /* but here it must be */
  cr_assert_eq(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(emulated_gpu_launches, launches);
  run.status = NULL;
  OK(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run));
  emulated_gpu_captures = false;
  cr_assert_eq(emulated_gpu_total, allocated);
}
#endif
