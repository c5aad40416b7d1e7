/* refine.h -- sptrsm-solve with --refine, --ferr or --precision mixed: what is asked for, and what came of it. */
#ifndef APPS_SOLVE_REFINE_H
#define APPS_SOLVE_REFINE_H

#include "common/cli.h"
#include "common/problem.h"
#include "common/solver.h"

typedef struct {
  bool on;           /* any of them */
  bool ferr;         /* error bounds too */
  bool mixed;        /* factors in single precision */
  int32_t max_steps; /* -1: the library's default */
} refine_request;

/* Figures of all columns of B: lists filled as columns are solved, the rest as they are counted in. */
typedef struct {
  bool on;
  int32_t max_steps;          /* as in the request */
  double *berr, *ferr;        /* [nrhs]; ferr NULL: not asked for */
  int32_t *steps;             /* [nrhs] */
  int64_t unconverged, worst; /* columns above ten units of rounding; the one of max_berr */
  double max_berr, max_ferr;
  int32_t most_steps;
} refinement;

/* For tables of argp; false where the key is none of them. */
enum { REFINE_STEPS = 5000, REFINE_FERR, REFINE_PRECISION };
#define REFINE_OPTIONS                                                                                                                     \
  {"refine", REFINE_STEPS, "N", 0, "", 0}, {"ferr", REFINE_FERR, NULL, 0, "", 0}, { "precision", REFINE_PRECISION, "P", 0, "", 0 }
bool refine_parse(int key, const char *text, refine_request *);

/* Is there A, and is it of this system? on_part: only a part of the factors is solved with. Returns an exit code. */
int refine_check(const refine_request *, const problem *, bool on_part);
/* Gives A to the solver and makes room for the figures of nrhs columns. Returns an exit code. */
int refine_start(refinement *, const refine_request *, const problem *, solver *, int64_t nrhs);
void refinement_free(refinement *);
/* Right-hand sides that are streamed get no error bounds. */
int refine_check_stream(const refine_request *);
/* As solver_run for columns of blocks whose column 0 is column `first` of all, and refines them; X must not be B. */
sptrsm_status refine_run(refinement *, solver *, const solver_columns *, int64_t first);
/* Counts columns [first, first + count) of all in. */
void refine_take(refinement *, sptrsm_dtype, int64_t first, int64_t count);

/* What to look at where solutions are not finite. */
const char *refine_hint(const refine_request *);
/* first_column: that of B's column 0 in its file. */
void refine_warn(const refinement *, const refine_request *, int64_t nrhs, int64_t first_column);
void refine_text(const refinement *, const refine_request *, int64_t first_column, FILE *);
json_t *refine_json(const refinement *, const refine_request *, int64_t nrhs, int64_t first_column, bool per_column);
/* What was counted in, for the journal of a partial solution; false where that is something else. */
json_t *refine_state(const refinement *);
bool refine_resume(refinement *, const json_t *);

#endif
