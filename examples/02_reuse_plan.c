/* 02_reuse_plan.c -- one analysis, many solves: new right-hand sides, new values, two threads.
 *
 * The triangle is the lower half of a five-point stencil on a GRID x GRID grid, as an incomplete factorisation leaves it.
 * The plan is made once. Then, as in a time-stepping code, the values change (same pattern) and two threads solve different
 * blocks with a workspace each. Every answer is compared with the X that B was made from. */
#include <sptrsm.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { GRID = 100, N = GRID * GRID, NRHS = 16, STEPS = 3 };

typedef struct {
  const sptrsm_plan *plan;
  sptrsm_workspace *workspace;
  double B[N * NRHS]; /* column-major, solved in place */
  int first;          /* number of the first right-hand side */
  int failed;
} job;

static int64_t ptr[N + 1];
static int32_t idx[3 * N];
static double val[3 * N];
static job jobs[2];

/* Row i has entries for the grid points to the west and south; step changes the values only. */
static void fill_matrix(int step) {
  int64_t p = 0;
  for (int32_t i = 0; i < N; i++) {
    if (i >= GRID) idx[p] = i - GRID, val[p++] = -1;
    if (i % GRID > 0) idx[p] = i - 1, val[p++] = -1;
    idx[p] = i, val[p++] = 4 + step;
    ptr[i + 1] = p;
  }
}

static double expected(int i, int k) { return 1 + (i + 7 * k) % 5; }

static void fill_block(job *j) {
  for (int k = 0; k < NRHS; k++)
    for (int i = 0; i < N; i++) {
      double b = 0;
      for (int64_t p = ptr[i]; p < ptr[i + 1]; p++) b += val[p] * expected(idx[p], j->first + k);
      j->B[i + k * N] = b;
    }
}

static void *solve(void *argument) {
  job *j = argument;
  sptrsm_block X = {j->B, N, N, NRHS, SPTRSM_F64, SPTRSM_COL_MAJOR, SPTRSM_HOST};
  j->failed = sptrsm_solve(j->plan, j->workspace, NULL, &X, &X) != SPTRSM_OK;
  if (j->failed) fprintf(stderr, "%s\n", sptrsm_last_error()); /* the message belongs to the thread that failed */
  return NULL;
}

static double largest_error(const job *j) {
  double worst = 0;
  for (int k = 0; k < NRHS; k++)
    for (int i = 0; i < N; i++) {
      double error = fabs(j->B[i + k * N] - expected(i, j->first + k));
      if (error > worst || isnan(error)) worst = error; /* fmax would pass over a NaN */
    }
  return worst;
}

/* One time step: new values, then both blocks at the same time. */
static int run_step(sptrsm_matrix *matrix, int step) {
  pthread_t threads[2];
  fill_matrix(step);
  if (sptrsm_matrix_set_values(matrix, val)) return fprintf(stderr, "%s\n", sptrsm_last_error());
  for (int t = 0; t < 2; t++) {
    fill_block(&jobs[t]);
    if (pthread_create(&threads[t], NULL, solve, &jobs[t])) return fprintf(stderr, "can't start a thread\n");
  }
  for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
  if (jobs[0].failed || jobs[1].failed) return 1;
  double first = largest_error(&jobs[0]), second = largest_error(&jobs[1]), error = first > second || isnan(first) ? first : second;
  printf("step %d: %d right-hand sides, largest error %.1e\n", step, 2 * NRHS, error);
  return !(error <= 1e-12);
}

int main(void) {
  fill_matrix(0);
  sptrsm_sparse L = {SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, N, ptr, idx, val};
  sptrsm_context *context = NULL;
  sptrsm_matrix *matrix = NULL;
  sptrsm_plan *plan = NULL;
  size_t bytes = 0;
  int failed = sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) || sptrsm_matrix_create(&matrix, context, &L, SPTRSM_COPY) ||
               sptrsm_plan_create(&plan, matrix, NULL) || sptrsm_workspace_bytes(&bytes, plan, NRHS);
  for (int t = 0; t < 2 && !failed; t++) {
    jobs[t] = (job){.plan = plan, .first = t * NRHS};
    failed = sptrsm_workspace_create(&jobs[t].workspace, plan, NRHS);
  }
  if (failed) fprintf(stderr, "%s\n", sptrsm_last_error());
  else printf("n = %d, %zu kB of workspace per thread\n", N, bytes / 1024);
  for (int step = 0; step < STEPS && !failed; step++) failed = run_step(matrix, step);
  for (int t = 0; t < 2; t++) sptrsm_workspace_destroy(jobs[t].workspace);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  return failed != 0;
}
