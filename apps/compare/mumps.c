/* mumps.c -- MUMPS with its own ordering and factors, in the build without MPI (Debian: libmumps-seq-dev). It solves in place and takes a
 * block at once, whose columns it splits itself. */
#include <dmumps_c.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"

enum { START = -1, FACTORISE = 4, SOLVE = 3, END = -2 }; /* JOB */
enum { WORLD = -987654, ICNTL_REFINE = 9 };              /* ICNTL(10) */

typedef struct {
  DMUMPS_STRUC_C id;
  MUMPS_INT *row, *column;
  double *val;
  int64_t n;
} mumps_state;

static int run_job(mumps_state *s, int job) {
  s->id.job = job;
  dmumps_c(&s->id);
  if (s->id.infog[0] >= 0) return CLI_OK;
  cli_error("MUMPS: INFOG(1) = %d, INFOG(2) = %d", (int)s->id.infog[0], (int)s->id.infog[1]);
  return CLI_INTERNAL;
}

static void mumps_end(void *self) {
  mumps_state *s = self;
  if (s->id.job != 0) run_job(s, END);
  free(s->row);
  free(s->column);
  free(s->val);
  free(s);
}

/* A by coordinates from 1; of a symmetric one the lower triangle. Returns their number, or -1 without memory. */
static int64_t take_entries(mumps_state *s, const factor_matrix *A, bool symmetric) {
  const size_t nnz = (size_t)A->ptr[A->n];
  int64_t count = 0;
  s->row = malloc((nnz + 1) * sizeof *s->row);
  s->column = malloc((nnz + 1) * sizeof *s->column);
  s->val = malloc((nnz + 1) * sizeof *s->val);
  if (!s->row || !s->column || !s->val) return -1;
  for (int32_t j = 0; j < A->n; j++)
    for (int64_t p = A->ptr[j]; p < A->ptr[j + 1]; p++) {
      if (symmetric && A->idx[p] < j) continue;
      s->row[count] = (MUMPS_INT)A->idx[p] + 1;
      s->column[count] = j + 1;
      s->val[count++] = A->val[p];
    }
  return count;
}

static int mumps_begin(void **self, const compare_case *c, int form) {
  (void)form;
  mumps_state *s = calloc(1, sizeof *s);
  if (s == NULL) return factor_no_memory("MUMPS");
  *self = s;
  s->n = c->A->n;
  int64_t entries = take_entries(s, c->A, c->symmetry != COMPARE_UNSYMMETRIC);
  if (entries < 0) return factor_no_memory("MUMPS");
  s->id.comm_fortran = WORLD;
  s->id.par = 1;
  s->id.sym = (MUMPS_INT)c->symmetry;
  int code = run_job(s, START);
  if (code != CLI_OK) s->id.job = 0;                           /* there is nothing to end */
  for (int i = 0; i < 4; i++) s->id.icntl[i] = i < 3 ? -1 : 0; /* no messages */
  s->id.icntl[ICNTL_REFINE] = 0;
  s->id.n = c->A->n;
  s->id.nnz = entries;
  s->id.irn = s->row;
  s->id.jcn = s->column;
  s->id.a = s->val;
  return code == CLI_OK ? run_job(s, FACTORISE) : code;
}

static int mumps_apply(void *self, const double *B, double *X, int64_t nrhs) {
  mumps_state *s = self;
  memcpy(X, B, (size_t)s->n * (size_t)nrhs * sizeof *X);
  s->id.rhs = X;
  s->id.nrhs = (MUMPS_INT)nrhs;
  s->id.lrhs = (MUMPS_INT)s->n;
  return run_job(s, SOLVE);
}

const compare_native compare_mumps[] = {{"MUMPS, own factors", NULL, 0, mumps_begin, mumps_apply, mumps_end}, {0}};
