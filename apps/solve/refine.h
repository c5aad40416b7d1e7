/* refine.h -- iterative refinement and error bounds in sptrsm-solve (--refine, --ferr, --precision mixed): request, work, results. */
#ifndef APPS_SOLVE_REFINE_H
#define APPS_SOLVE_REFINE_H

#include "common/cli.h"
#include "common/problem.h"
#include "common/solver.h"

typedef struct {
  bool on;           /* any of the three options was given */
  bool ferr;         /* compute bounds of the forward errors, too */
  bool mixed;        /* factors in single precision */
  int32_t max_steps; /* -1: the library's default */
} refine_request;

/* Results for all columns of B. refine_run fills the lists, refine_take the other members. */
typedef struct {
  bool on;
  int32_t max_steps;          /* as in the request */
  double *berr, *ferr;        /* [nrhs]; ferr NULL: not asked for */
  int32_t *steps;             /* [nrhs] */
  int64_t unconverged, worst; /* columns with a backward error above ten units of rounding; the column of max_berr */
  double max_berr, max_ferr;
  int32_t most_steps;
} refinement;

/* Options for argp. refine_parse takes one; false: the key is none of them. */
enum { REFINE_STEPS = 5000, REFINE_FERR, REFINE_PRECISION };
#define REFINE_OPTIONS                                                                                                                     \
  {"refine", REFINE_STEPS, "STEPS", 0, "most steps of iterative refinement", 0},                                                           \
      {"ferr", REFINE_FERR, NULL, 0, "estimate forward errors", 0}, {                                                                      \
    "precision", REFINE_PRECISION, "working|mixed", 0, "mixed keeps the factors in single precision", 0                                    \
  }
bool refine_parse(int key, const char *text, refine_request *);

/* Checks that the file holds A and that it belongs to the system. on_part: only a part of the factors is solved with. Returns an exit
 * code. */
int refine_check(const refine_request *, const problem *, bool on_part);
/* Gives A to all members of the solver and allocates the lists for nrhs columns. Returns an exit code; refinement_free is due
 * in any case. */
int refine_start(refinement *, const refine_request *, const problem *, solver *, int64_t nrhs);
void refinement_free(refinement *);
/* A stream computes no error bounds: an exit code and a message if they are asked for. */
int refine_check_stream(const refine_request *);
/* As solver_run for columns of blocks whose column 0 is column `first` of all, and refines them; X must not be B. */
sptrsm_status refine_run(refinement *, solver *, int member, const solver_columns *, int64_t first);
/* Adds columns [first, first + count) of all to the figures of the whole. */
void refine_take(refinement *, sptrsm_dtype, int64_t first, int64_t count);
/* Adds the figures of other columns, for a stream; the result does not depend on the order. */
void refine_add(refinement *, const refinement *part);
void refine_none(refinement *); /* the figures of no column */

/* A hint for the message about solutions that are not finite. */
const char *refine_hint(const refine_request *);
/* In all of these, first_column is the number in the file of the first column that is taken of B. */
void refine_warn(const refinement *, const refine_request *, int64_t nrhs, int64_t first_column);
void refine_text(const refinement *, const refine_request *, int64_t first_column, FILE *);
json_t *refine_json(const refinement *, const refine_request *, int64_t nrhs, int64_t first_column, bool per_column);
/* The figures of the whole so far, for the journal of a partial solution, and back from there. False: it is no such state. */
json_t *refine_state(const refinement *);
bool refine_resume(refinement *, const json_t *);

#endif
