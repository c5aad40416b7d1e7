/* measure.c -- times one method: two analyses, then solves with X full of NaN before each and checked after each, and how long it takes to
 * the first solution. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/check.h"
#include "common/cli.h"

int64_t bench_items(const bench_case *c) { return c->batch > 0 ? c->batch : 1; }

static size_t item_bytes(const bench_case *c) { return (size_t)c->T->n * (size_t)c->nrhs * sptrsm_dtype_bytes(c->T->dtype); }
static size_t block_bytes(const bench_case *c) { return item_bytes(c) * (size_t)bench_items(c); }

/* ---- blocks ---- */

sptrsm_status bench_blocks_create(bench_blocks *b, const bench_case *c, sptrsm_place place, void *stream) {
  *b = (bench_blocks){.c = c, .place = place, .stream = stream};
  sptrsm_status status = bench_timer_create(&b->timer, place, stream);
  if (status == SPTRSM_OK) status = bench_memory(&b->B, place, block_bytes(c), c->B);
  if (status == SPTRSM_OK) status = bench_memory(&b->X, place, block_bytes(c), NULL);
  return status;
}

void bench_blocks_free(bench_blocks *b) {
  void *const memory[] = {b->B, b->X, b->reference};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) bench_memory_free(memory[i], b->place);
  bench_timer_destroy(b->timer);
}

/* ---- checking a solution ---- */

/* A solution that differs from the first one by more than this, over its largest entry, is checked in full. */
static double tolerance(sptrsm_dtype t) { return t == SPTRSM_F32 || t == SPTRSM_C64 ? 1e-4 : 1e-10; }

/* The largest one of all items. */
static sptrsm_status worst_g1(double *g1, const bench_case *c, sptrsm_layout layout) {
  *g1 = 0;
  for (int64_t i = 0; i < bench_items(c); i++) {
    const size_t at = (size_t)i * item_bytes(c);
    double one;
    sptrsm_status status = bench_g1(&one, c, (const char *)c->B + at, (const char *)c->X + at, layout);
    if (status != SPTRSM_OK) return status;
    if (!(one <= *g1) && !isnan(*g1)) *g1 = one;
  }
  return SPTRSM_OK;
}

static sptrsm_status check_in_full(bench_result *out, const bench_blocks *b, sptrsm_layout layout, int r) {
  sptrsm_status status = bench_memory_read(b->c->X, b->X, b->place, block_bytes(b->c));
  double g1;
  if (status == SPTRSM_OK) status = worst_g1(&g1, b->c, layout);
  if (status != SPTRSM_OK) return status;
  if (!(g1 <= out->g1) && !isnan(out->g1)) out->g1 = g1;
  if (g1 <= bench_g1_bound(b->c->T->dtype, out->inverts)) return SPTRSM_OK;
  out->code = CLI_ABOVE;
  if (isnan(g1)) snprintf(out->status, sizeof out->status, "wrong: X is not finite in repetition %d", r);
  else snprintf(out->status, sizeof out->status, "wrong: G1 %.3g in repetition %d", g1, r);
  return SPTRSM_OK;
}

/* The first solution is checked in full and kept. Later ones are compared with it in the memory where they are: with equal bits they are
 * as right as the first; other bits are wrong for a deterministic method, and for other methods they are checked in full if they are far
 * off. */
static sptrsm_status check(bench_result *out, bench_blocks *b, sptrsm_layout layout, int r) {
  const bench_case *c = b->c;
  const bool is_first = r == 0, is_complex = c->T->dtype == SPTRSM_C64 || c->T->dtype == SPTRSM_C128;
  const size_t real_bytes = sptrsm_dtype_bytes(c->T->dtype) / (is_complex ? 2 : 1);
  bench_difference d;
  if (is_first || !b->reference) {
    sptrsm_status status = check_in_full(out, b, layout, r);
    if (!is_first || status != SPTRSM_OK) return status;
    if (!b->reference && bench_memory(&b->reference, b->place, block_bytes(c), NULL) != SPTRSM_OK) b->reference = NULL;
    return b->reference ? bench_memory_copy(b->reference, b->X, b->place, block_bytes(c)) : SPTRSM_OK;
  }
  sptrsm_status status = bench_compare(&d, b->X, b->reference, (int64_t)(block_bytes(c) / real_bytes), real_bytes, b->place);
  if (status != SPTRSM_OK || d.same) return status;
  if (out->deterministic) {
    out->code = CLI_ABOVE;
    snprintf(out->status, sizeof out->status, "wrong: other bits in repetition %d, though deterministic", r);
  }
  double spread = d.size > 0 ? d.difference / d.size : d.difference;
  if (isnan(spread) || spread > out->spread) out->spread = spread;
  return d.finite && spread <= tolerance(c->T->dtype) ? SPTRSM_OK : check_in_full(out, b, layout, r);
}

/* ---- repetitions ---- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *x, int count) {
  qsort(x, (size_t)count, sizeof *x, ascending);
  return (x[(count - 1) / 2] + x[count / 2]) / 2;
}

sptrsm_status bench_repeat(bench_result *out, bench_blocks *b, sptrsm_layout layout, bench_solve solve, void *self) {
  const int reps = b->c->reps;
  double *ms = calloc((size_t)reps + 1, sizeof *ms);
  if (!ms) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for %d times", reps);
  sptrsm_status status = SPTRSM_OK;
  out->g1 = out->spread = 0;
  out->flops = bench_flops(b->c) * (double)bench_items(b->c);
  snprintf(out->status, sizeof out->status, "ok");
  for (int r = 0; r <= reps && status == SPTRSM_OK; r++) { /* the first one warms up */
    bench_poison(b->X, b->place, block_bytes(b->c), b->stream);
    bench_timer_start(b->timer);
    status = solve(self);
    ms[r] = bench_timer_stop(b->timer);
    if (status == SPTRSM_OK) status = check(out, b, layout, r);
  }
  out->solve_ms = bench_median(ms + 1, reps);
  out->solve_ms_min = ms[1];
  free(ms);
  return status;
}

/* ---- a method of the library ---- */

typedef struct {
  bench_blocks blocks;
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_workspace *workspace;
} measurement;

static void end_analysis(measurement *s) {
  sptrsm_workspace_destroy(s->workspace);
  sptrsm_plan_destroy(s->plan);
  s->workspace = NULL;
  s->plan = NULL;
}

static sptrsm_status read_parameters(const measurement *s, bench_result *out) {
  sptrsm_info info = {.size = sizeof info};
  const sptrsm_status status = sptrsm_plan_info(&info, s->plan);
  if (status == SPTRSM_OK) snprintf(out->params, sizeof out->params, "%s", info.parameters);
  return status;
}

/* Times plan and workspace, without the conversion of the format (view_ms). */
static sptrsm_status analyse(measurement *s, const sptrsm_options *options, double *ms, bench_result *out) {
  bench_timer_start(s->blocks.timer);
  sptrsm_status status = sptrsm_plan_create(&s->plan, s->matrix, options);
  if (status == SPTRSM_OK) status = sptrsm_workspace_create(&s->workspace, s->plan, 0);
  *ms = bench_timer_stop(s->blocks.timer);
  if (status != SPTRSM_OK) return status;
  sptrsm_info info = {.size = sizeof info};
  status = sptrsm_plan_info(&info, s->plan);
  if (status != SPTRSM_OK) return status;
  *ms -= 1e3 * info.view_seconds;
  out->view_ms = fmax(out->view_ms, 1e3 * info.view_seconds);
  out->plan_bytes = info.plan_bytes;
  out->deterministic = info.deterministic;
  out->inverts = info.inverts;
  snprintf(out->chosen, sizeof out->chosen, "%s", info.method);
  snprintf(out->reason, sizeof out->reason, "%s", info.reason);
  return SPTRSM_OK;
}

static sptrsm_status solve_once(void *self) {
  measurement *s = self;
  const bench_blocks *b = &s->blocks;
  const bench_case *c = b->c;
  sptrsm_block B = {
      .data = b->B, .ld = c->nrhs, .n = c->T->n, .nrhs = c->nrhs, .dtype = c->T->dtype, .layout = SPTRSM_ROW_MAJOR, .place = b->place};
  sptrsm_block X = B;
  X.data = b->X;
  return sptrsm_solve(s->plan, s->workspace, NULL, &B, &X);
}

/* The triangle's arrays in the place of the work; memory [3] is what to free. */
static sptrsm_status place_arrays(sptrsm_sparse *out, void *memory[3], const bench_blocks *b) {
  const sptrsm_sparse *T = b->c->T;
  const size_t entries = (size_t)T->ptr[T->n];
  sptrsm_status status = bench_memory(&memory[0], b->place, ((size_t)T->n + 1) * sizeof *T->ptr, T->ptr);
  if (status == SPTRSM_OK) status = bench_memory(&memory[1], b->place, entries * sizeof *T->idx, T->idx);
  if (status == SPTRSM_OK) status = bench_memory(&memory[2], b->place, entries * sptrsm_dtype_bytes(T->dtype), T->val);
  *out = *T;
  out->place = b->place;
  out->ptr = memory[0];
  out->idx = memory[1];
  out->val = memory[2];
  return status;
}

/* From these arrays to the first solution, and from new values to the next one. */
static sptrsm_status set_up(measurement *s, bench_result *out, const sptrsm_sparse *T, const sptrsm_options *options) {
  bench_timer_start(s->blocks.timer);
  sptrsm_status status = sptrsm_matrix_create(&s->matrix, s->context, T, SPTRSM_BORROW);
  if (status == SPTRSM_OK) status = sptrsm_plan_create(&s->plan, s->matrix, options);
  if (status == SPTRSM_OK) status = sptrsm_workspace_create(&s->workspace, s->plan, 0);
  if (status == SPTRSM_OK) status = solve_once(s);
  out->setup_ms = bench_timer_stop(s->blocks.timer);
  if (status != SPTRSM_OK) return status;
  bench_timer_start(s->blocks.timer);
  status = sptrsm_matrix_set_values(s->matrix, T->val);
  if (status == SPTRSM_OK) status = solve_once(s);
  out->update_ms = bench_timer_stop(s->blocks.timer);
  return status;
}

static void end(measurement *s) {
  end_analysis(s);
  sptrsm_matrix_destroy(s->matrix);
  s->matrix = NULL;
}

/* The first time warms up. */
static sptrsm_status time_setup(const measurement *warm, bench_result *out, const sptrsm_options *options) {
  measurement s = {.blocks = warm->blocks, .context = warm->context};
  void *memory[3] = {NULL, NULL, NULL};
  sptrsm_sparse T;
  sptrsm_status status = place_arrays(&T, memory, &s.blocks);
  for (int r = 0; r < 2 && status == SPTRSM_OK; r++) {
    status = set_up(&s, out, &T, options);
    end(&s);
  }
  for (int i = 0; i < 3; i++) bench_memory_free(memory[i], s.blocks.place);
  return status;
}

static sptrsm_status run(measurement *s, bench_result *out, const sptrsm_options *options) {
  sptrsm_status status = sptrsm_matrix_create(&s->matrix, s->context, s->blocks.c->T, SPTRSM_COPY);
  if (status == SPTRSM_OK) status = analyse(s, options, &out->analysis_first_ms, out);
  if (status != SPTRSM_OK) return status;
  end_analysis(s);
  status = analyse(s, options, &out->analysis_ms, out);
  if (status == SPTRSM_OK) status = sptrsm_workspace_bytes(&out->workspace_bytes, s->plan, 0);
  if (status == SPTRSM_OK) status = bench_repeat(out, &s->blocks, SPTRSM_ROW_MAJOR, solve_once, s);
  sptrsm_status deferred = sptrsm_context_sync(s->context);  /* a lost dependency explains a wrong solution */
  if (status == SPTRSM_OK) status = read_parameters(s, out); /* after the solves: some methods say what these measured */
  end(s);
  if (status == SPTRSM_OK && deferred == SPTRSM_OK && s->blocks.c->times_setup) return time_setup(s, out, options);
  return deferred != SPTRSM_OK ? deferred : status;
}

sptrsm_status bench_method(bench_result *out, const bench_case *c, sptrsm_place place, void *stream, sptrsm_context *context,
                           const sptrsm_options *options) {
  measurement s = {.context = context};
  sptrsm_options with_op = *options;
  with_op.op = c->op;
  with_op.nrhs_hint = c->nrhs;
  sptrsm_status status = bench_blocks_create(&s.blocks, c, place, stream);
  if (status == SPTRSM_OK) status = run(&s, out, &with_op);
  end(&s);
  bench_blocks_free(&s.blocks);
  return status;
}
