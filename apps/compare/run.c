/* run.c -- right-hand sides, solvers and repetitions of compare_factors. */
#include "compare/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "factor/report.h"

/* ---- right-hand sides ---- */

static void transpose(double *rows, const double *columns, int64_t n, int64_t nrhs) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < nrhs; k++) rows[i * nrhs + k] = columns[i + k * n];
}

static double *new_values(const problem_set *p) { return calloc((size_t)p->A->n * (size_t)p->nrhs, sizeof(double)); }

static int make_blocks(problem_set *p) {
  const factor_matrix *A = p->A;
  int64_t n = A->n, nrhs = p->nrhs;
  double **const blocks[] = {&p->X_true, &p->B, &p->X, &p->Y, &p->X_true_rows, &p->B_rows};
  for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++)
    if ((*blocks[b] = new_values(p)) == NULL) return factor_no_memory("the right-hand sides");
  factor_known_solution(p->X_true_rows, A, nrhs);
  factor_multiply(p->B_rows, A, p->X_true_rows, nrhs);
  transpose(p->X_true, p->X_true_rows, nrhs, n); /* the transpose of a row-major block is a column-major one */
  transpose(p->B, p->B_rows, nrhs, n);
  return CLI_OK;
}

static void blocks_free(problem_set *p) {
  double **const blocks[] = {&p->X_true, &p->B, &p->X, &p->Y, &p->X_true_rows, &p->B_rows};
  for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
    free(*blocks[b]);
    *blocks[b] = NULL;
  }
}

/* ---- solvers ---- */

/* Allocates B and X in the place where they are solved, and a clock of that place. */
static sptrsm_status blocks_begin(solver *v, const problem_set *p, sptrsm_layout layout) {
  sptrsm_place place = p->s->place;
  size_t bytes = (size_t)p->A->n * (size_t)p->nrhs * sizeof(double);
  bool rows = layout == SPTRSM_ROW_MAJOR;
  v->B =
      (sptrsm_block){.ld = rows ? p->nrhs : p->A->n, .n = p->A->n, .nrhs = p->nrhs, .dtype = SPTRSM_F64, .layout = layout, .place = place};
  v->X = v->B;
  sptrsm_status status = bench_timer_create(&v->timer, place, p->stream);
  if (status == SPTRSM_OK) status = bench_memory(&v->B.data, place, bytes, rows ? p->B_rows : p->B);
  return status == SPTRSM_OK ? bench_memory(&v->X.data, place, bytes, NULL) : status;
}

/* A limit of device memory is for one solver, so each has a context of its own then. */
static sptrsm_status limited_context(solver *v, const problem_set *p) {
  const sptrsm_status status = sptrsm_context_create(&v->limited, p->s->place, 0, p->stream);
  return status == SPTRSM_OK ? sptrsm_context_set_memory_limit(v->limited, p->s->device_memory) : status;
}

static int own_begin(solver *v, const problem_set *p, compare_own_kind kind, const char *method, sptrsm_layout layout) {
  v->kind = OWN;
  v->own = kind;
  int code = cli_fail(blocks_begin(v, p, layout));
  if (code == CLI_OK && p->s->device_memory > 0) code = cli_fail(limited_context(v, p));
  compare_own_request r = {
      .context = v->limited ? v->limited : p->context, .kind = kind, .method = method, .layout = layout, .nrhs = p->nrhs};
  return code == CLI_OK ? compare_own_begin(&v->direct, v->name, &r, &p->set, p->A) : code;
}

static int native_begin(solver *v, const problem_set *p, const compare_native *native) {
  compare_case c = {.A = p->A, .request = &p->s->request, .set = &p->set, .mkl = p->s->mkl, .threads = p->s->threads};
  c.symmetry = compare_symmetry_of(p->A, &p->s->request);
  v->kind = NATIVE;
  v->native = native;
  snprintf(v->name, sizeof v->name, "%s", native->name);
  int code = native->begin(&v->state, &c, native->form);
  return code == CLI_OK ? cli_fail(bench_timer_create(&v->timer, SPTRSM_HOST, NULL)) : code;
}

static int mkl_begin(solver *v, const problem_set *p, sptrsm_layout layout) {
  v->kind = MKL;
  v->B.layout = layout;
  snprintf(v->name, sizeof v->name, "MKL trsm, triangles only, %s order", cli_orders[layout]);
  int code = compare_mkl_begin(&v->mkl, p->s->mkl, &p->set, layout, p->nrhs, p->s->threads);
  return code == CLI_OK ? cli_fail(bench_timer_create(&v->timer, SPTRSM_HOST, NULL)) : code;
}

static int cudss_begin(solver *v, const problem_set *p) {
  v->kind = CUDSS;
  int code = cli_fail(blocks_begin(v, p, SPTRSM_COL_MAJOR));
  compare_cudss_blocks blocks = {.B = v->B.data, .X = v->X.data, .nrhs = p->nrhs, .stream = p->stream};
  blocks.device_memory = p->s->device_memory;
  if (code == CLI_OK) code = compare_cudss_begin(&v->cudss, p->s->cudss, p->A, &blocks);
  if (code == CLI_OK)
    snprintf(v->name, sizeof v->name, "cuDSS (%lld entries of its own), F order", (long long)compare_cudss_entries(v->cudss));
  return code;
}

static void solver_end(solver *v) {
  if (v->native && v->state) v->native->end(v->state);
  compare_mkl_end(v->mkl);
  cudss_close(v->cudss);
  sptrsm_direct_destroy(v->direct);
  sptrsm_context_destroy(v->limited);
  bench_memory_free(v->B.data, v->B.place);
  bench_memory_free(v->X.data, v->X.place);
  bench_timer_destroy(v->timer);
  free(v->ms);
}

static int solve_once(solver *v, problem_set *p, double *ms) {
  int code = CLI_OK;
  bench_timer_start(v->timer);
  if (v->kind == OWN) code = cli_fail(compare_own_solve(v->direct, v->own, &v->B, &v->X));
  else if (v->kind == CUDSS) code = cudss_solve(v->cudss);
  else if (v->kind == NATIVE) code = v->native->solve(v->state, p->B, p->X, p->nrhs);
  else code = compare_mkl_solve(v->mkl, v->B.layout == SPTRSM_ROW_MAJOR ? p->B_rows : p->B, p->Y, p->X);
  *ms = bench_timer_stop(v->timer);
  return code;
}

/* Computes the largest error against X_true, and the residual. MKL does a part of a solve, which has no X. */
static int compute_errors(solver *v, problem_set *p) {
  int64_t count = (int64_t)p->A->n * p->nrhs;
  v->error = v->residual = NAN;
  if (v->kind == MKL) return CLI_OK;
  double *X = p->X;
  if (v->X.data) {
    bool rows = v->X.layout == SPTRSM_ROW_MAJOR;
    int code = cli_fail(bench_memory_read(rows ? p->Y : p->X, v->X.data, v->X.place, (size_t)count * sizeof(double)));
    if (code != CLI_OK) return code;
    if (rows) transpose(p->X, p->Y, p->nrhs, p->A->n);
  }
  v->error = 0;
  for (int64_t i = 0; i < count; i++) {
    double error = fabs(X[i] - p->X_true[i]);
    if (isnan(error) || error > v->error) v->error = error;
  }
  return compare_residual(&v->residual, p->A, p->B, X, p->nrhs);
}

/* ---- measuring ---- */

/* Solvers of other factors, threads that there are not, and a second CHOLMOD without supernodes, which its L D L' never has. */
static bool left_out(const compare_native *n, const problem_set *p) {
  if (n->library && strcmp(n->library, p->library->name) != 0) return true;
  return (n->form & COMPARE_SHARED && p->s->threads == 1) || (n->form & COMPARE_SIMPLICIAL && p->s->request.ldl);
}

/* The other solvers on the host: those of the library that made the factors, and those that take any matrix and have factors of it. */
static int begin_natives(solver *list, int *count, problem_set *p) {
  const compare_native *const tables[] = {compare_suitesparse, compare_cxsparse,
#ifdef COMPARE_EIGEN
                                          compare_eigen,
#endif
#ifdef COMPARE_MUMPS
                                          compare_mumps,
#endif
                                          p->s->mkl ? compare_pardiso : NULL};
  int code = CLI_OK;
  for (size_t t = 0; t < sizeof tables / sizeof tables[0] && tables[t]; t++)
    for (const compare_native *n = tables[t]; n->name && code == CLI_OK; n++) {
      if (left_out(n, p)) continue;
      solver *v = &list[(*count)++];
      code = native_begin(v, p, n);
      if (code != CLI_SINGULAR) continue;
      solver_end(v);
      *v = (solver){0};
      --*count;
      code = CLI_OK;
    }
  return code;
}

static int begin_solvers(solver *list, int *count, problem_set *p) {
  int code = p->s->no_native ? CLI_OK : begin_natives(list, count, p);
  if (code == CLI_OK && p->s->cudss) code = cudss_begin(&list[(*count)++], p);
  if (code == CLI_OK && p->s->mkl) code = mkl_begin(&list[(*count)++], p, SPTRSM_COL_MAJOR);
  if (code == CLI_OK && p->s->mkl) code = mkl_begin(&list[(*count)++], p, SPTRSM_ROW_MAJOR);
  for (int m = 0; m < p->s->method_count; m++)
    for (int layout = 0; layout < 2 && code == CLI_OK; layout++)
      for (int kind = COMPARE_SOLVED; kind <= (p->s->refine ? COMPARE_MIXED : COMPARE_SOLVED) && code == CLI_OK; kind++)
        code = own_begin(&list[(*count)++], p, (compare_own_kind)kind, p->s->methods[m], layout ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR);
  for (int v = 0; v < *count && code == CLI_OK; v++)
    if ((list[v].ms = calloc((size_t)p->s->reps + 1, sizeof(double))) == NULL) code = factor_no_memory("times");
  return code;
}

/* The first round warms up and computes the errors. */
static int repeat(solver *list, int count, problem_set *p) {
  int code = CLI_OK;
  for (int r = 0; r <= p->s->reps; r++)
    for (int v = 0; v < count && code == CLI_OK; v++) {
      code = solve_once(&list[v], p, &list[v].ms[r]);
      if (code == CLI_OK && r == 0) code = compute_errors(&list[v], p);
    }
  return code;
}

int run_width(problem_set *p, int64_t nrhs, compare_summary *summary) {
  solver list[SOLVERS_MAX] = {0};
  int count = 0;
  p->nrhs = nrhs;
  int code = make_blocks(p);
  if (code == CLI_OK) code = begin_solvers(list, &count, p);
  if (code == CLI_OK) code = repeat(list, count, p);
  if (code == CLI_OK) printf(" %lld right-hand side%s\n", (long long)nrhs, nrhs == 1 ? "" : "s");
  if (code == CLI_OK && !print_rows(list, count, p, summary)) summary->wrong = true;
  for (int v = 0; v < count; v++) solver_end(&list[v]);
  blocks_free(p);
  fflush(stdout);
  return code;
}
