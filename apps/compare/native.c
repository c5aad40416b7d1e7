/* native.c -- the solve phases of CHOLMOD, UMFPACK and KLU, called as their manuals say, without iterative refinement.
 *
  * CHOLMOD solves for the whole block by the BLAS and its threads. UMFPACK solves for one right-hand side at a time: it is measured in a
  * plain loop over the columns, and with the columns shared among threads, each with its own workspace. KLU solves for four columns at
  * once in one thread.
 */
#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "factor/cholmod.h"
#include "factor/klu.h"
#include "factor/umfpack.h"

void compare_set_threads(int threads) {
  void (*set)(int) = NULL;
  *(void **)&set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (set) set(threads);
  omp_set_num_threads(threads);
  cli_use_threads(threads);
}

static int failed(const char *library) {
  cli_error("%s failed where it had worked before", library);
  return CLI_INTERNAL;
}

/* ---- CHOLMOD ---- */

typedef struct {
  cholmod_common common;
  cholmod_factor *factor;
  cholmod_dense *X, *Y, *E; /* solution and workspaces, kept from solve to solve */
  int64_t n;
} cholmod_state;

static void cholmod_end(void *self) {
  cholmod_state *s = self;
  if (s == NULL) return;
  cholmod_l_free_dense(&s->X, &s->common);
  cholmod_l_free_dense(&s->Y, &s->common);
  cholmod_l_free_dense(&s->E, &s->common);
  cholmod_l_free_factor(&s->factor, &s->common);
  cholmod_l_finish(&s->common);
  free(s);
}

static int cholmod_begin(void **self, const factor_matrix *A, const factor_request *r, int threads) {
  (void)threads;
  cholmod_state *s = calloc(1, sizeof *s);
  if (s == NULL) return factor_no_memory("CHOLMOD");
  cholmod_sparse a = factor_cholmod_view(A);
  s->n = A->n;
  cholmod_l_start(&s->common);
  factor_cholmod_set_up(&s->common, r);
  s->factor = cholmod_l_analyze(&a, &s->common);
  if (s->factor) cholmod_l_factorize(&a, s->factor, &s->common);
  if (s->factor == NULL || s->common.status != CHOLMOD_OK) {
    cholmod_end(s);
    return failed("CHOLMOD");
  }
  *self = s;
  return CLI_OK;
}

/* CHOLMOD keeps the solution in its own array; it is copied to X unless X is NULL. */
static int cholmod_apply(void *self, const double *B, double *X, int64_t nrhs) {
  cholmod_state *s = self;
  size_t n = (size_t)s->n;
  cholmod_dense b = {.nrow = n, .ncol = (size_t)nrhs, .nzmax = n * (size_t)nrhs, .d = n, .x = (void *)B, .xtype = CHOLMOD_REAL};
  if (!cholmod_l_solve2(CHOLMOD_A, s->factor, &b, NULL, &s->X, NULL, &s->Y, &s->E, &s->common)) return failed("CHOLMOD");
  if (X) memcpy(X, s->X->x, n * (size_t)nrhs * sizeof *X);
  return CLI_OK;
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
  if (s == NULL) return;
  umfpack_dl_free_numeric(&s->numeric);
  free(s->indices);
  free(s->work);
  free(s);
}

static int umfpack_begin(void **self, const factor_matrix *A, const factor_request *r, int threads) {
  umfpack_state *s = calloc(1, sizeof *s);
  void *symbolic = NULL;
  if (s == NULL) return factor_no_memory("UMFPACK");
  *s = (umfpack_state){.A = A, .threads = threads};
  s->indices = malloc((size_t)threads * (size_t)A->n * sizeof *s->indices);
  s->work = malloc((size_t)threads * (size_t)A->n * sizeof *s->work);
  factor_umfpack_set_up(s->control, r);
  s->control[UMFPACK_IRSTEP] = 0;
  int64_t status = umfpack_dl_symbolic(A->n, A->n, A->ptr, A->idx, A->val, &symbolic, s->control, NULL);
  if (status == UMFPACK_OK) status = umfpack_dl_numeric(A->ptr, A->idx, A->val, symbolic, &s->numeric, s->control, NULL);
  umfpack_dl_free_symbolic(&symbolic);
  if (status != UMFPACK_OK || !s->indices || !s->work) {
    umfpack_end(s);
    return failed("UMFPACK");
  }
  *self = s;
  return CLI_OK;
}

static int umfpack_columns(umfpack_state *s, const double *B, double *X, int64_t nrhs, int threads) {
  const factor_matrix *A = s->A;
  int64_t bad = 0, n = A->n;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : bad)
  for (int64_t k = 0; k < nrhs; k++) {
    int64_t t = omp_get_thread_num();
    bad += umfpack_dl_wsolve(UMFPACK_A, A->ptr, A->idx, A->val, X + k * n, B + k * n, s->numeric, s->control, NULL, s->indices + t * n,
                             s->work + t * n) != UMFPACK_OK;
  }
  return bad ? failed("UMFPACK") : CLI_OK;
}

static int umfpack_apply(void *self, const double *B, double *X, int64_t nrhs) { return umfpack_columns(self, B, X, nrhs, 1); }

static int umfpack_apply_shared(void *self, const double *B, double *X, int64_t nrhs) {
  return umfpack_columns(self, B, X, nrhs, ((umfpack_state *)self)->threads);
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
  if (s == NULL) return;
  klu_l_free_numeric(&s->numeric, &s->common);
  klu_l_free_symbolic(&s->symbolic, &s->common);
  free(s);
}

static int klu_begin(void **self, const factor_matrix *A, const factor_request *r, int threads) {
  (void)threads;
  klu_state *s = calloc(1, sizeof *s);
  if (s == NULL) return factor_no_memory("KLU");
  s->n = A->n;
  factor_klu_set_up(&s->common, r);
  s->symbolic = klu_l_analyze(A->n, A->ptr, A->idx, &s->common);
  if (s->symbolic) s->numeric = klu_l_factor(A->ptr, A->idx, A->val, s->symbolic, &s->common);
  if (s->numeric == NULL || s->common.status != KLU_OK) {
    klu_end(s);
    return failed("KLU");
  }
  *self = s;
  return CLI_OK;
}

/* KLU solves in place, so the copy of B is part of the solve. */
static int klu_apply(void *self, const double *B, double *X, int64_t nrhs) {
  klu_state *s = self;
  memcpy(X, B, (size_t)s->n * (size_t)nrhs * sizeof *X);
  return klu_l_solve(s->symbolic, s->numeric, s->n, nrhs, X, &s->common) ? CLI_OK : failed("KLU");
}

const compare_native compare_natives[] = {
    {"CHOLMOD", "cholmod", cholmod_begin, cholmod_apply, cholmod_end},
    {"UMFPACK", "umfpack", umfpack_begin, umfpack_apply, umfpack_end},
    {"UMFPACK, columns shared", "umfpack", umfpack_begin, umfpack_apply_shared, umfpack_end},
    {"KLU", "klu", klu_begin, klu_apply, klu_end},
    {0},
};
