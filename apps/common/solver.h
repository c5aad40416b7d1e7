/* solver.h -- one interface for the two ways to solve: a single triangle (sptrsm_plan) or a factor set (sptrsm_direct). */
#ifndef APPS_COMMON_SOLVER_H
#define APPS_COMMON_SOLVER_H

#include "common/grid.h"

typedef struct {
  const char *text; /* as given: "auto", "cpu", "cuda", "cuda:1" */
  sptrsm_place place;
  int index;
  bool automatic;
} device_choice;

typedef struct {
  device_choice device;
  char reason[200]; /* why this device */
  sptrsm_system system;
  sptrsm_op op;
  int threads;        /* 0: as many as the library chooses */
  bool tuned_for_gpu; /* --p, --q or --select were given */
  grid_choice grid;
  sptrsm_options options; /* method, thresholds, panel; solver_create sets op, and grid and stencil (from `grid`, else from the file) */
} solver_request;

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;     /* of a single triangle; NULL for a factor set */
  sptrsm_direct *direct; /* of a factor set; NULL for a single triangle */
  sptrsm_system system;
  sptrsm_op op;
  int plans; /* elements of info that are filled: 1, or 2 where both L and U are solved with */
  sptrsm_info info[2];
  double analyse_seconds; /* of solver_create, with the validation of the matrices */
  size_t workspace_bytes;
  double flops_per_rhs;
} solver;

/* Columns [begin, end) of two blocks: op(S) X = alpha B. */
typedef struct {
  const void *alpha; /* one value of the blocks' type; NULL: 1 */
  const sptrsm_block *B;
  sptrsm_block *X;
  int64_t begin, end;
} solver_columns;

/* "auto", "cpu", "cuda", "cuda:1"; exits with CLI_USAGE where the text is wrong. */
device_choice device_parse(const char *text);
/* Checks that the value of an option is NULL, "auto" or a method of this build, perhaps with ":parameters"; else exits with CLI_USAGE and
 * prints the names that there are. */
void method_check(const char *option, const char *name);
/* Decides for `auto`: the place of a named method, else a GPU where there is one. Fills `reason`. Returns an exit code. */
int device_settle(solver_request *);
/* Analyses. `factors` and what it refers to must outlive the solver. Returns an exit code; solver_free is due in any case. */
int solver_create(solver *, const sptrsm_file_factors *, const solver_request *);
/* Solves for the columns, in place if B is X, and waits for the end of queued work. */
sptrsm_status solver_run(solver *, const solver_columns *);
sptrsm_block block_columns(const sptrsm_block *, int64_t begin, int64_t end); /* columns [begin, end) of a block, not copied */
int solver_fail(sptrsm_status); /* as cli_fail; where memory is short the message names options that need less */
void solver_free(solver *);

#endif
