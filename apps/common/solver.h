/* solver.h -- one face for the two ways to solve: a single triangle (sptrsm_plan) or a factor set (sptrsm_direct). */
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
  int threads;        /* 0: as OpenMP decides */
  bool tuned_for_gpu; /* --p, --q or --select were given */
  grid_choice grid;
  sptrsm_options options; /* method, thresholds, panel; op is set from above, grid and stencil from above or the file */
} solver_request;

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan; /* single triangle, or NULL: */
  sptrsm_direct *direct;
  sptrsm_system system;
  sptrsm_op op;
  int plans; /* infos filled: 1, or 2 with L and U */
  sptrsm_info info[2];
  double analyse_seconds; /* creating it all, validation included */
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

/* "auto", "cpu", "cuda", "cuda:1"; wrong text exits. */
device_choice device_parse(const char *text);
/* NULL, "auto" or a method of this build, maybe with ":variant"; else says which there are. Returns an exit code. */
int method_check(const char *name);
/* Settles `auto`: the place of a named method, else a GPU where there is one. Fills reason. Returns an exit code. */
int device_settle(solver_request *);
int solver_create(solver *, const sptrsm_file_factors *, const solver_request *);
/* Solves for the columns, in place if B is X, and waits for the end of queued work. */
sptrsm_status solver_run(solver *, const solver_columns *);
sptrsm_block block_columns(const sptrsm_block *, int64_t begin, int64_t end); /* columns [begin, end) of a block, not copied */
int solver_fail(sptrsm_status);                                               /* as cli_fail; says what takes less where memory is short */
void solver_free(solver *);

#endif
