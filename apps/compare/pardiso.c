/* pardiso.c -- PARDISO of MKL with its own ordering and factors; it refines only where it raised pivots. MKL is loaded at run time, from a
 * path that the user gives; the part of its interface that is used is declared here, as its manual describes it (LP64: 32-bit integers). */
#include <dlfcn.h>
#include <stdlib.h>

#include "compare/compare.h"

enum { POSITIVE = 2, UNSYMMETRIC = 11 };                                                     /* types of matrices */
enum { FACTORISE = 12, SOLVE = 33, END = -1 };                                               /* phases */
enum { OWN_VALUES = 0, ORDERING = 1, RAISED = 9, SCALING = 10, MATCHING = 12, FROM_0 = 34 }; /* places in iparm */

typedef void pardiso_function(void *pt[64], const int *maxfct, const int *mnum, const int *type, const int *phase, const int *n,
                              const double *val, const int *ptr, const int *idx, int *perm, const int *nrhs, int iparm[64],
                              const int *print, double *B, double *X, int *error);

typedef struct {
  pardiso_function *call;
  void *pt[64];
  int *ptr, *idx;
  double *val;
  int n, type, iparm[64];
  bool begun;
} pardiso_state;

static int run_phase(pardiso_state *s, int phase, const double *B, double *X, int64_t nrhs) {
  const int one = 1, quiet = 0, columns = (int)nrhs;
  int error = 0;
  s->call(s->pt, &one, &one, &s->type, &phase, &s->n, s->val, s->ptr, s->idx, NULL, &columns, s->iparm, &quiet, (double *)B, X, &error);
  if (error) cli_error("PARDISO: error %d", error);
  return error ? CLI_INTERNAL : CLI_OK;
}

static void pardiso_end(void *self) {
  pardiso_state *s = self;
  if (s->begun) run_phase(s, END, NULL, NULL, 1);
  free(s->ptr);
  free(s->idx);
  free(s->val);
  free(s); /* MKL stays loaded: its threads would crash without it */
}

/* A by rows from its columns; of a symmetric matrix from the diagonal on. */
static int take_rows(pardiso_state *s, const factor_matrix *A, bool symmetric) {
  const int64_t nnz = A->ptr[A->n];
  if (nnz > INT32_MAX) {
    cli_error("--mkl: %lld entries are more than its 32-bit offsets take", (long long)nnz);
    return CLI_USAGE;
  }
  s->ptr = calloc((size_t)A->n + 2, sizeof *s->ptr);
  s->idx = malloc(((size_t)nnz + 1) * sizeof *s->idx);
  s->val = malloc(((size_t)nnz + 1) * sizeof *s->val);
  if (!s->ptr || !s->idx || !s->val) return factor_no_memory("PARDISO");
  int *next = s->ptr + 1; /* becomes the end of each row, which is the beginning of the one after it */
  for (int32_t j = 0; j < A->n; j++)
    for (int64_t p = A->ptr[j]; p < A->ptr[j + 1]; p++)
      if (!symmetric || A->idx[p] <= j) next[A->idx[p] + 1]++;
  for (int32_t i = 0; i < A->n; i++) next[i + 1] += next[i];
  for (int32_t j = 0; j < A->n; j++)
    for (int64_t p = A->ptr[j]; p < A->ptr[j + 1]; p++) {
      if (symmetric && A->idx[p] > j) continue;
      int at = next[A->idx[p]]++;
      s->idx[at] = j;
      s->val[at] = A->val[p];
    }
  return CLI_OK;
}

static int pardiso_begin(void **self, const compare_case *c, int form) {
  (void)form;
  const bool positive = c->A->hermitian && c->A->positive_diagonal;
  pardiso_state *s = calloc(1, sizeof *s);
  if (s == NULL) return factor_no_memory("PARDISO");
  *self = s;
  setenv("MKL_THREADING_LAYER", "GNU", 0); /* the OpenMP of this program */
  void *library = dlopen(c->mkl, RTLD_NOW | RTLD_LOCAL);
  void (*set_threads)(int) = NULL;
  if (library) *(void **)&s->call = dlsym(library, "pardiso");
  if (s->call) *(void **)&set_threads = dlsym(library, "MKL_Set_Num_Threads");
  if (set_threads == NULL) {
    cli_error("--mkl: %s", dlerror());
    return CLI_USAGE;
  }
  set_threads(c->threads);
  s->n = c->A->n;
  s->type = positive ? POSITIVE : UNSYMMETRIC;
  int code = take_rows(s, c->A, positive);
  if (code != CLI_OK) return code;
  s->iparm[OWN_VALUES] = 1;
  s->iparm[ORDERING] = 2;               /* METIS */
  s->iparm[RAISED] = positive ? 8 : 13; /* small pivots are raised to 10 to the minus this */
  s->iparm[SCALING] = s->iparm[MATCHING] = positive ? 0 : 1;
  s->iparm[FROM_0] = 1;
  s->begun = true;
  return run_phase(s, FACTORISE, NULL, NULL, 1);
}

static int pardiso_apply(void *self, const double *B, double *X, int64_t nrhs) { return run_phase(self, SOLVE, B, X, nrhs); }

const compare_native compare_pardiso[] = {{"PARDISO, own factors", NULL, 0, pardiso_begin, pardiso_apply, pardiso_end}, {0}};
