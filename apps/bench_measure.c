/* bench_measure.c -- one method, timed: analysis twice, then solves with X poisoned before each. */
#include "bench.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef struct {
  const bench_case *c;
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_workspace *workspace;
  sptrsm_place place;
  bench_timer *timer;
  void *stream, *B, *X;
} measurement;

static size_t block_bytes(const bench_case *c) { return (size_t)c->T->n * (size_t)c->nrhs * sptrsm_dtype_bytes(c->T->dtype); }

static void end_analysis(measurement *s) {
  sptrsm_workspace_destroy(s->workspace);
  sptrsm_plan_destroy(s->plan);
  s->workspace = NULL;
  s->plan = NULL;
}

/* Everything between a matrix and the first solve, but the view, which is reported beside it. */
static sptrsm_status analyse(measurement *s, const sptrsm_options *options, double *ms, bench_times *t) {
  bench_timer_start(s->timer);
  sptrsm_status status = sptrsm_plan_create(&s->plan, s->matrix, options);
  if (status == SPTRSM_OK) status = sptrsm_workspace_create(&s->workspace, s->plan, 0);
  *ms = bench_timer_stop(s->timer);
  if (status != SPTRSM_OK) return status;
  t->info.size = sizeof t->info;
  status = sptrsm_plan_info(&t->info, s->plan);
  *ms -= 1e3 * t->info.view_seconds;
  if (1e3 * t->info.view_seconds > t->view_ms) t->view_ms = 1e3 * t->info.view_seconds;
  return status;
}

static sptrsm_status repeat(measurement *s, bench_times *t) {
  const bench_case *c = s->c;
  sptrsm_block B = {
      .data = s->B, .ld = c->nrhs, .n = c->T->n, .nrhs = c->nrhs, .dtype = c->T->dtype, .layout = SPTRSM_ROW_MAJOR, .place = s->place};
  sptrsm_block X = B;
  X.data = s->X;
  double *ms = calloc((size_t)c->reps, sizeof *ms);
  if (!ms) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for %d times", c->reps);
  sptrsm_status status = SPTRSM_OK;
  for (int r = -1; r < c->reps && status == SPTRSM_OK; r++) { /* the first one warms up */
    bench_poison(s->X, s->place, block_bytes(c), s->stream);
    bench_timer_start(s->timer);
    status = sptrsm_solve(s->plan, s->workspace, NULL, &B, &X);
    double elapsed = bench_timer_stop(s->timer);
    if (r >= 0) ms[r] = elapsed;
    if (status == SPTRSM_OK) status = sptrsm_context_sync(s->context);
  }
  qsort(ms, (size_t)c->reps, sizeof *ms, ascending);
  t->solve_ms = ms[c->reps / 2];
  t->solve_ms_min = ms[0];
  free(ms);
  return status;
}

static sptrsm_status run(measurement *s, bench_times *t, const sptrsm_options *options) {
  const bench_case *c = s->c;
  sptrsm_status status = sptrsm_matrix_create(&s->matrix, s->context, c->T, SPTRSM_COPY);
  if (status == SPTRSM_OK) status = bench_memory(&s->B, s->place, block_bytes(c), c->B);
  if (status == SPTRSM_OK) status = bench_memory(&s->X, s->place, block_bytes(c), NULL);
  if (status == SPTRSM_OK) status = analyse(s, options, &t->analysis_first_ms, t);
  if (status == SPTRSM_OK) {
    end_analysis(s);
    status = analyse(s, options, &t->analysis_ms, t);
  }
  if (status == SPTRSM_OK) status = sptrsm_workspace_bytes(&t->workspace_bytes, s->plan, 0);
  if (status == SPTRSM_OK) status = repeat(s, t);
  if (status == SPTRSM_OK) status = bench_memory_read(c->X, s->X, s->place, block_bytes(c));
  return status;
}

sptrsm_status bench_method(bench_times *out, const bench_case *c, sptrsm_place place, void *stream, sptrsm_context *context,
                           const sptrsm_options *options) {
  measurement s = {.c = c, .context = context, .place = place, .stream = stream};
  bench_times t = {0};
  sptrsm_options with_op = *options;
  with_op.op = c->op;
  with_op.nrhs_hint = c->nrhs;
  sptrsm_status status = bench_timer_create(&s.timer, place, stream);
  if (status == SPTRSM_OK) status = run(&s, &t, &with_op);
  end_analysis(&s);
  sptrsm_matrix_destroy(s.matrix);
  bench_memory_free(s.B, place);
  bench_memory_free(s.X, place);
  bench_timer_destroy(s.timer);
  if (status == SPTRSM_OK) *out = t;
  return status;
}
