/* native.c -- the solve phases of CHOLMOD, UMFPACK and KLU, called as their manuals say, without iterative refinement.
 *
 * CHOLMOD solves for the whole block by the BLAS and its threads, with supernodes where it finds them worth while, or simplicial. UMFPACK
 * solves for one right-hand side at a time. Both are also measured with the columns shared among threads, each with its own workspace.
 * KLU solves for four columns at once in one thread.
 */
#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "factor/cholmod.h"
#include "factor/klu.h"
#include "factor/umfpack.h"

static void set_blas_threads(int threads) {
  void (*set)(int) = NULL;
  *(void **)&set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (set) set(threads);
}

void compare_set_threads(int threads) {
  set_blas_threads(threads);
  omp_set_num_threads(threads);
  cli_use_threads(threads);
}

int compare_share_columns(compare_columns *solve, void *self, const compare_share *s) {
  int worst = CLI_OK;
#pragma omp parallel for schedule(static, 1) num_threads(s->threads) reduction(max : worst)
  for (int t = 0; t < s->threads; t++) {
    int64_t from = s->nrhs * t / s->threads, to = s->nrhs * (t + 1) / s->threads;
    int code = from < to ? solve(self, t, s->B + from * s->n, s->X + from * s->n, to - from) : CLI_OK;
    if (code > worst) worst = code;
  }
  return worst;
}

/* The threads among which a form of a solver shares columns. */
static int sharing_threads(const compare_case *c, int form) { return form & COMPARE_SHARED ? c->threads : 1; }

static int failed(const char *library) {
  cli_error("%s failed where it had worked before", library);
  return CLI_INTERNAL;
}

/* ---- CHOLMOD ---- */

typedef struct {
  cholmod_common common;
  cholmod_dense *X, *Y, *E; /* solution and workspaces, kept from solve to solve */
} cholmod_worker;

typedef struct {
  cholmod_factor *factor;
  cholmod_worker *workers; /* [threads] */
  int64_t n;
  int threads, blas_threads;
} cholmod_state;

static void cholmod_end(void *self) {
  cholmod_state *s = self;
  for (int t = s->threads - 1; t >= 0; t--) {
    cholmod_worker *w = &s->workers[t];
    cholmod_l_free_dense(&w->X, &w->common);
    cholmod_l_free_dense(&w->Y, &w->common);
    cholmod_l_free_dense(&w->E, &w->common);
    if (t == 0) cholmod_l_free_factor(&s->factor, &w->common);
    cholmod_l_finish(&w->common);
  }
  free(s->workers);
  free(s);
}

static int cholmod_begin(void **self, const compare_case *c, int form) {
  cholmod_state *s = calloc(1, sizeof *s);
  if (s == NULL) return factor_no_memory("CHOLMOD");
  *self = s;
  s->n = c->A->n;
  s->blas_threads = c->threads;
  s->workers = calloc((size_t)c->threads, sizeof *s->workers);
  if (s->workers == NULL) return factor_no_memory("CHOLMOD");
  for (; s->threads < sharing_threads(c, form); s->threads++) {
    cholmod_l_start(&s->workers[s->threads].common);
    factor_cholmod_set_up(&s->workers[s->threads].common, c->request);
  }
  cholmod_common *common = &s->workers[0].common;
  cholmod_sparse a = factor_cholmod_view(c->A);
  if (form & COMPARE_SIMPLICIAL) common->supernodal = CHOLMOD_SIMPLICIAL;
  s->factor = cholmod_l_analyze(&a, common);
  if (s->factor) cholmod_l_factorize(&a, s->factor, common);
  return s->factor == NULL || common->status != CHOLMOD_OK ? failed("CHOLMOD") : CLI_OK;
}

/* CHOLMOD keeps the solution in its own array; it is copied to X. */
static int cholmod_columns(void *self, int thread, const double *B, double *X, int64_t nrhs) {
  cholmod_state *s = self;
  cholmod_worker *w = &s->workers[thread];
  size_t n = (size_t)s->n;
  cholmod_dense b = {.nrow = n, .ncol = (size_t)nrhs, .nzmax = n * (size_t)nrhs, .d = n, .x = (void *)B, .xtype = CHOLMOD_REAL};
  if (!cholmod_l_solve2(CHOLMOD_A, s->factor, &b, NULL, &w->X, NULL, &w->Y, &w->E, &w->common)) return failed("CHOLMOD");
  memcpy(X, w->X->x, n * (size_t)nrhs * sizeof *X);
  return CLI_OK;
}

static int cholmod_apply(void *self, const double *B, double *X, int64_t nrhs) {
  cholmod_state *s = self;
  if (s->threads == 1) return cholmod_columns(s, 0, B, X, nrhs);
  set_blas_threads(1);
  int code = compare_share_columns(cholmod_columns, s, &(compare_share){B, X, s->n, nrhs, s->threads});
  set_blas_threads(s->blas_threads);
  return code;
}

/* ---- UMFPACK ---- */

typedef struct {
  const factor_matrix *A;
  void *numeric;
  int threads;
  double control[UMFPACK_CONTROL];
  int64_t *indices; /* [threads][n] */
  double *work;     /* [threads][n], which is enough without refinement */
} umfpack_state;

static void umfpack_end(void *self) {
  umfpack_state *s = self;
  umfpack_dl_free_numeric(&s->numeric);
  free(s->indices);
  free(s->work);
  free(s);
}

static int umfpack_begin(void **self, const compare_case *c, int form) {
  const factor_matrix *A = c->A;
  umfpack_state *s = calloc(1, sizeof *s);
  void *symbolic = NULL;
  if (s == NULL) return factor_no_memory("UMFPACK");
  *self = s;
  *s = (umfpack_state){.A = A, .threads = sharing_threads(c, form)};
  s->indices = malloc((size_t)s->threads * (size_t)A->n * sizeof *s->indices);
  s->work = malloc((size_t)s->threads * (size_t)A->n * sizeof *s->work);
  if (!s->indices || !s->work) return factor_no_memory("UMFPACK");
  factor_umfpack_set_up(s->control, c->request);
  s->control[UMFPACK_IRSTEP] = 0;
  int64_t status = umfpack_dl_symbolic(A->n, A->n, A->ptr, A->idx, A->val, &symbolic, s->control, NULL);
  if (status == UMFPACK_OK) status = umfpack_dl_numeric(A->ptr, A->idx, A->val, symbolic, &s->numeric, s->control, NULL);
  umfpack_dl_free_symbolic(&symbolic);
  return status == UMFPACK_OK ? CLI_OK : failed("UMFPACK");
}

static int umfpack_columns(void *self, int thread, const double *B, double *X, int64_t nrhs) {
  umfpack_state *s = self;
  const factor_matrix *A = s->A;
  const int64_t n = A->n;
  for (int64_t k = 0; k < nrhs; k++)
    if (umfpack_dl_wsolve(UMFPACK_A, A->ptr, A->idx, A->val, X + k * n, B + k * n, s->numeric, s->control, NULL, s->indices + thread * n,
                          s->work + thread * n) != UMFPACK_OK)
      return failed("UMFPACK");
  return CLI_OK;
}

static int umfpack_apply(void *self, const double *B, double *X, int64_t nrhs) {
  umfpack_state *s = self;
  return compare_share_columns(umfpack_columns, s, &(compare_share){B, X, s->A->n, nrhs, s->threads});
}

/* ---- KLU ---- */

typedef struct {
  klu_l_common common;
  klu_l_symbolic *symbolic;
  klu_l_numeric *numeric;
  int64_t n;
} klu_state;

static void klu_end(void *self) {
  klu_state *s = self;
  klu_l_free_numeric(&s->numeric, &s->common);
  klu_l_free_symbolic(&s->symbolic, &s->common);
  free(s);
}

static int klu_begin(void **self, const compare_case *c, int form) {
  (void)form;
  klu_state *s = calloc(1, sizeof *s);
  if (s == NULL) return factor_no_memory("KLU");
  *self = s;
  s->n = c->A->n;
  factor_klu_set_up(&s->common, c->request);
  s->symbolic = klu_l_analyze(c->A->n, c->A->ptr, c->A->idx, &s->common);
  if (s->symbolic) s->numeric = klu_l_factor(c->A->ptr, c->A->idx, c->A->val, s->symbolic, &s->common);
  return s->numeric == NULL || s->common.status != KLU_OK ? failed("KLU") : CLI_OK;
}

/* KLU solves in place, so the copy of B is part of the solve. */
static int klu_apply(void *self, const double *B, double *X, int64_t nrhs) {
  klu_state *s = self;
  memcpy(X, B, (size_t)s->n * (size_t)nrhs * sizeof *X);
  return klu_l_solve(s->symbolic, s->numeric, s->n, nrhs, X, &s->common) ? CLI_OK : failed("KLU");
}

const compare_native compare_suitesparse[] = {
    {"CHOLMOD", "cholmod", 0, cholmod_begin, cholmod_apply, cholmod_end},
    {"CHOLMOD, columns shared", "cholmod", COMPARE_SHARED, cholmod_begin, cholmod_apply, cholmod_end},
    {"CHOLMOD simplicial", "cholmod", COMPARE_SIMPLICIAL, cholmod_begin, cholmod_apply, cholmod_end},
    {"CHOLMOD simplicial, columns shared", "cholmod", COMPARE_SIMPLICIAL | COMPARE_SHARED, cholmod_begin, cholmod_apply, cholmod_end},
    {"UMFPACK", "umfpack", 0, umfpack_begin, umfpack_apply, umfpack_end},
    {"UMFPACK, columns shared", "umfpack", COMPARE_SHARED, umfpack_begin, umfpack_apply, umfpack_end},
    {"KLU", "klu", 0, klu_begin, klu_apply, klu_end},
    {0},
};
