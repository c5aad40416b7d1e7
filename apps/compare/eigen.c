/* eigen.c -- Eigen with its own ordering and factors: SimplicialLDLT, without pivoting, where A is symmetric and has a positive
 * diagonal or --ldl was given, else SparseLU. */
#include "compare/eigen_solvers.h"

#include <stdlib.h>

#include "compare/compare.h"

typedef struct {
  eigen_solver *solver;
  int64_t n;
  int threads;
} eigen_state;

static void eigen_end(void *self) {
  eigen_state *s = self;
  eigen_solver_destroy(s->solver);
  free(s);
}

static int eigen_begin(void **self, const compare_case *c, int form) {
  const factor_matrix *A = c->A;
  eigen_state *s = calloc(1, sizeof *s);
  if (s == NULL) return factor_no_memory("Eigen");
  *self = s;
  *s = (eigen_state){.n = A->n, .threads = form & COMPARE_SHARED ? c->threads : 1};
  eigen_matrix m = {.n = A->n, .ptr = A->ptr, .idx = A->idx, .val = A->val, .symmetric = c->symmetry != COMPARE_UNSYMMETRIC};
  s->solver = eigen_solver_create(&m);
  if (s->solver) return CLI_OK;
  cli_warning("%s: Eigen has no factors of it", A->where);
  return CLI_SINGULAR;
}

static int eigen_columns(void *self, int thread, const double *B, double *X, int64_t nrhs) {
  (void)thread;
  return eigen_solver_solve(((eigen_state *)self)->solver, B, X, nrhs) ? CLI_OK : factor_no_memory("Eigen");
}

static int eigen_apply(void *self, const double *B, double *X, int64_t nrhs) {
  eigen_state *s = self;
  return compare_share_columns(eigen_columns, s, &(compare_share){B, X, s->n, nrhs, s->threads});
}

const compare_native compare_eigen[] = {
    {"Eigen, own factors", NULL, 0, eigen_begin, eigen_apply, eigen_end},
    {"Eigen, own factors, columns shared", NULL, COMPARE_SHARED, eigen_begin, eigen_apply, eigen_end},
    {0},
};
