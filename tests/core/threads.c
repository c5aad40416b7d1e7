/* threads.c -- several threads solve with one plan at the same time, each with its own workspace. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm.h>

#ifndef THREADS_PLACE
#define THREADS_PLACE SPTRSM_HOST
#endif

/* A band of half-width 3, lower, CSR. Blocks are small, so that solves would disturb each other if they used the
 * context's memory for small results. */
enum { N = 60, WIDTH = 4, NRHS = 24, THREADS = 4, ROUNDS = 50 };

static int64_t ptr[N + 1];
static int32_t idx[N * WIDTH];
static double val[N * WIDTH];
static sptrsm_context *context;
static sptrsm_matrix *matrix;

static void open_all(void) {
  int64_t p = 0;
  for (int32_t i = 0; i < N; i++) {
    for (int32_t j = i < WIDTH ? 0 : i - WIDTH + 1; j <= i; j++) {
      idx[p] = j;
      val[p++] = i == j ? 2 + i % 3 : 0.125 * (1 + (i + 2 * j) % 5);
    }
    ptr[i + 1] = p;
  }
  const sptrsm_sparse T = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = N, .ptr = ptr, .idx = idx, .val = val};
  cr_assert_eq(sptrsm_context_create(&context, THREADS_PLACE, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
}

static void close_all(void) {
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}
TestSuite(threads, .init = open_all, .fini = close_all);

typedef struct {
  const sptrsm_plan *plan;
  sptrsm_workspace *workspace;
  bool deterministic;
  double B[N * NRHS], X[N * NRHS], alone[N * NRHS]; /* each thread has its own B, so that it notices another's X */
  int differences;
} worker;

static sptrsm_status solve(worker *me, double *x) {
  const sptrsm_block B = {.data = me->B, .ld = NRHS, .n = N, .nrhs = NRHS, .dtype = SPTRSM_F64};
  sptrsm_block X = B;
  X.data = x;
  memset(x, 0, sizeof me->X);
  return sptrsm_solve(me->plan, me->workspace, NULL, &B, &X);
}

/* Sums in another order differ by roundings. */
static bool differs(const worker *me) {
  if (me->deterministic) return memcmp(me->X, me->alone, sizeof me->X) != 0;
  for (int i = 0; i < N * NRHS; i++)
    if (!(fabs(me->X[i] - me->alone[i]) <= 1e-12 * (1 + fabs(me->alone[i])))) return true;
  return false;
}

static void *work(void *argument) {
  worker *me = argument;
  for (int round = 0; round < ROUNDS; round++) me->differences += solve(me, me->X) != SPTRSM_OK || differs(me);
  return NULL;
}

static void solve_from_threads(const sptrsm_plan *plan, const sptrsm_method_info *method) {
  worker *workers = calloc(THREADS, sizeof *workers);
  cr_assert_not_null(workers);
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; t++) {
    worker *w = &workers[t];
    w->plan = plan;
    w->deterministic = method->deterministic;
    for (int i = 0; i < N * NRHS; i++) w->B[i] = 1 + (i + 5 * t) % 11;
    cr_assert_eq(sptrsm_workspace_create(&w->workspace, plan, 0), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(solve(w, w->alone), SPTRSM_OK, "%s: %s", method->name, sptrsm_last_error());
    cr_assert(w->alone[0] != 0 && isfinite(w->alone[N * NRHS - 1]), "%s: no solution", method->name);
  }
  for (int t = 0; t < THREADS; t++) cr_assert_eq(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
  for (int t = 0; t < THREADS; t++) {
    pthread_join(threads[t], NULL);
    cr_assert_eq(workers[t].differences, 0, "%s: thread %d got another X %d times", method->name, t, workers[t].differences);
    sptrsm_workspace_destroy(workers[t].workspace);
  }
  free(workers);
}

/* On a device some methods refuse a band (structgrid) or a transpose; on the host none does. */
Test(threads, solving_from_several_threads) {
  int count = 0;
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    sptrsm_options options;
    sptrsm_plan *plan;
    cr_assert_eq(sptrsm_method_at(&info, m), SPTRSM_OK);
    if (info.place != THREADS_PLACE) continue;
    sptrsm_options_init(&options);
    options.method = info.name;
    options.op = SPTRSM_T;
    const sptrsm_status status = sptrsm_plan_create(&plan, matrix, &options);
    if (status == SPTRSM_ERR_UNSUPPORTED && THREADS_PLACE == SPTRSM_CUDA) continue;
    cr_assert_eq(status, SPTRSM_OK, "%s: %s", info.name, sptrsm_last_error());
    solve_from_threads(plan, &info);
    sptrsm_plan_destroy(plan);
    count++;
  }
  cr_assert_gt(count, 0);
}
