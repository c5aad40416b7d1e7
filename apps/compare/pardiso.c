/* pardiso.c -- PARDISO of MKL with its own ordering and factors; it refines only where it raised pivots. MKL is loaded at run time, from a
 * path that the user gives; the part of its interface that is used is declared here, as its manual describes it (LP64: 32-bit integers). */
#include <dlfcn.h>
#include <stdlib.h>

#include "compare/compare.h"

enum { FACTORISE = 12, SOLVE = 33, END = -1 };                                                                   /* phases */
enum { OWN_VALUES = 0, ORDERING = 1, RAISED = 9, SCALING = 10, MATCHING = 12, BUNCH_KAUFMAN = 20, FROM_0 = 34 }; /* places in iparm */

typedef void pardiso_function(void *pt[64], const int *maxfct, const int *mnum, const int *type, const int *phase, const int *n,
                              const double *val, const int *ptr, const int *idx, int *perm, const int *nrhs, int iparm[64],
                              const int *print, double *B, double *X, int *error);

typedef struct {
  pardiso_function *call;
  void *pt[64];
  compare_csr A; /* of a symmetric matrix the upper triangle */
  int n, type, iparm[64];
  bool begun;
} pardiso_state;

static int run_phase(pardiso_state *s, int phase, const double *B, double *X, int64_t nrhs) {
  const int one = 1, quiet = 0, columns = (int)nrhs;
  int error = 0;
  s->call(s->pt, &one, &one, &s->type, &phase, &s->n, s->A.val, s->A.ptr, s->A.idx, NULL, &columns, s->iparm, &quiet, (double *)B, X,
          &error);
  if (error) cli_error("PARDISO: error %d", error);
  return error ? CLI_INTERNAL : CLI_OK;
}

static void pardiso_end(void *self) {
  pardiso_state *s = self;
  if (s->begun) run_phase(s, END, NULL, NULL, 1);
  compare_csr_free(&s->A);
  free(s); /* MKL stays loaded: its threads would crash without it */
}

static int pardiso_begin(void **self, const compare_case *c, int form) {
  (void)form;
  static const int types[] = {[COMPARE_UNSYMMETRIC] = 11, [COMPARE_POSITIVE] = 2, [COMPARE_INDEFINITE] = -2};
  const bool symmetric = c->symmetry != COMPARE_UNSYMMETRIC;
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
  s->type = types[c->symmetry];
  int code = compare_csr_make(&s->A, c->A, symmetric, "--mkl");
  if (code != CLI_OK) return code;
  s->iparm[OWN_VALUES] = 1;
  s->iparm[ORDERING] = 2;                /* METIS */
  s->iparm[RAISED] = symmetric ? 8 : 13; /* small pivots are raised to 10 to the minus this */
  s->iparm[SCALING] = s->iparm[MATCHING] = symmetric ? 0 : 1;
  s->iparm[BUNCH_KAUFMAN] = 1; /* 2 x 2 blocks where A is indefinite */
  s->iparm[FROM_0] = 1;
  s->begun = true;
  return run_phase(s, FACTORISE, NULL, NULL, 1);
}

static int pardiso_apply(void *self, const double *B, double *X, int64_t nrhs) { return run_phase(self, SOLVE, B, X, nrhs); }

const compare_native compare_pardiso[] = {{"PARDISO, own factors", NULL, 0, pardiso_begin, pardiso_apply, pardiso_end}, {0}};
