/* losses.c -- on the emulated GPU: threads that solve with one plan are all told of a dependency that never arrived, each once. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <sptrsm_auto.h>

#include "core/context/context.h"
#include "core/device/syncfree.h"
#include "simt/emulator/emulated_gpu.h"
#include "support/oracle.h"

enum { ORDER = 60, NRHS = 3, BROKEN = 40, ROUNDS = 100000 };

static test_system s;
static sptrsm_context *context;
static sptrsm_matrix *matrix;
static sptrsm_plan *plan;
static sptrsm_workspace *w[2];
static test_block B, X;

static void ok(sptrsm_status status) { cr_assert_eq(status, SPTRSM_OK, "%s", sptrsm_last_error()); }

static void told_of(sptrsm_status status, int32_t row) {
  char text[64];
  snprintf(text, sizeof text, "dependency never arrived (row %d);", row);
  cr_assert_eq(status, SPTRSM_ERR_DEVICE, "status %d", (int)status);
  cr_assert(strstr(sptrsm_last_error(), text), "%s", sptrsm_last_error());
}

static void open_all(void) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "syncfree-csr:preset=thread"; /* which reads the borrowed arrays in each solve */
  s = test_system_make(TEST_CHAIN, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3);
  s.T.place = SPTRSM_CUDA;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL));
  context->spin_limit = 500;
  ok(sptrsm_matrix_create(&matrix, context, &s.T, SPTRSM_BORROW));
  ok(sptrsm_plan_create(&plan, matrix, &options));
  for (int k = 0; k < 2; k++) ok(sptrsm_workspace_create(&w[k], plan, 0));
  B = test_block_make(ORDER, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
  test_block_fill(&B, 2);
  X = test_block_copy(&B);
  B.block.place = X.block.place = SPTRSM_CUDA;
}

static void close_all(void) {
  for (int k = 0; k < 2; k++) sptrsm_workspace_destroy(w[k]);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  test_block_free(&B);
  test_block_free(&X);
  test_system_free(&s);
  cr_assert_eq(emulated_gpu_blocks, 0, "%d device blocks left over", emulated_gpu_blocks);
}
TestSuite(losses, .init = open_all, .fini = close_all);

static void solve(int k) { ok(sptrsm_solve(plan, w[k], NULL, &B.block, &X.block)); }

/* A solve in which a row waits for itself. The library does not know of it. */
static void lose(int k) {
  int32_t *entry = (int32_t *)s.T.idx + s.T.ptr[BROKEN];
  cr_assert_eq(*entry, BROKEN - 1);
  *entry = BROKEN;
  solve(k);
  *entry = BROKEN - 1;
}

static void solve_well(int k) {
  static const double one[2] = {1, 0};
  solve(k);
  ok(sptrsm_workspace_sync(w[k]));
  const double residual = test_residual(&s, SPTRSM_N, one, &B, &X, -1);
  cr_assert(residual <= 10, "residual %g bounds", residual);
}

/* The thread that solved well asks first. */
Test(losses, each_workspace_is_told_once) {
  for (int turn = 0; turn < 2; turn++) {
    lose(0);
    solve(1);
    told_of(sptrsm_workspace_sync(w[1]), BROKEN);
    ok(sptrsm_workspace_sync(w[1]));
    told_of(sptrsm_workspace_sync(w[0]), BROKEN);
    ok(sptrsm_workspace_sync(w[0]));
    told_of(sptrsm_context_sync(context), BROKEN);
    ok(sptrsm_context_sync(context));
    for (int k = 0; k < 2; k++) solve_well(k);
  }
}

Test(losses, the_context_takes_no_error_away) {
  lose(1);
  told_of(sptrsm_context_sync(context), BROKEN);
  ok(sptrsm_context_sync(context));
  for (int k = 0; k < 2; k++) told_of(sptrsm_workspace_sync(w[k]), BROKEN);
  for (int k = 0; k < 2; k++) solve_well(k);
  ok(sptrsm_context_sync(context));
}

/* An analysis waits, too, but neither reports what a solve before it has lost nor forgets it; and a later workspace has nothing to do with
 * it. */
Test(losses, an_analysis_between) {
  sptrsm_options options;
  sptrsm_plan *later;
  sptrsm_workspace *fresh;
  double features[SPTRSM_AUTO_FEATURES];
  sptrsm_options_init(&options);
  options.method = "block";
  for (int which = 0; which < 2; which++) {
    lose(0);
    if (which == 0) {
      ok(sptrsm_plan_create(&later, matrix, &options));
      ok(sptrsm_workspace_create(&fresh, later, 0));
      ok(sptrsm_workspace_sync(fresh));
      sptrsm_workspace_destroy(fresh);
      sptrsm_plan_destroy(later);
    } else {
      ok(sptrsm_auto_features(features, matrix, NULL));
    }
    for (int k = 0; k < 2; k++) told_of(sptrsm_workspace_sync(w[k]), BROKEN);
    told_of(sptrsm_context_sync(context), BROKEN);
  }
}

/* ---- two threads that wait at the same time ---- */

static atomic_int begun, ended; /* rounds; and those that threads have ended */

static void *wait_often(void *argument) {
  sptrsm_workspace *mine = *(sptrsm_workspace **)argument;
  intptr_t mistakes = 0;
  for (int round = 0; round < ROUNDS; round++) {
    while (atomic_load(&begun) <= round) sched_yield();
    mistakes += sptrsm_workspace_sync(mine) != SPTRSM_ERR_DEVICE;
    mistakes += sptrsm_workspace_sync(mine) != SPTRSM_OK;
    atomic_fetch_add(&ended, 1);
  }
  return (void *)mistakes;
}

Test(losses, threads_that_wait_at_the_same_time) {
  pthread_t threads[2];
  for (int k = 0; k < 2; k++) cr_assert_eq(pthread_create(&threads[k], NULL, wait_often, &w[k]), 0);
  for (int round = 0; round < ROUNDS; round++) {
    *context->lost = 1 + round; /* as a kernel does */
    atomic_fetch_add(&begun, 1);
    while (atomic_load(&ended) < 2 * (round + 1)) sched_yield();
  }
  for (int k = 0; k < 2; k++) {
    void *mistakes;
    pthread_join(threads[k], &mistakes);
    cr_assert_eq((intptr_t)mistakes, 0, "thread %d was told wrongly %d times", k, (int)(intptr_t)mistakes);
  }
  told_of(sptrsm_context_sync(context), ROUNDS - 1);
}
