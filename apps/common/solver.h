/* solver.h -- one interface for the two ways to solve: a single triangle (sptrsm_plan) or a factor set (sptrsm_direct). */
#ifndef APPS_COMMON_SOLVER_H
#define APPS_COMMON_SOLVER_H

#include <sptrsm_multi.h>

#include "common/grid.h"

enum { DEVICES_MAX = 64, EVERY_DEVICE = -1 };

typedef struct {
  sptrsm_place place;
  int index; /* EVERY_DEVICE: all CUDA devices, until device_settle */
} device_at;

typedef struct {
  const char *text; /* as given: "auto", "cpu", "cuda", "cuda:1", "cuda:0,1,host" */
  sptrsm_place place;
  int index;
  bool automatic;
  int others; /* more devices, which share the work with the first */
  device_at other[DEVICES_MAX - 1];
} device_choice;

typedef struct {
  device_choice device;
  char reason[200]; /* why this device */
  sptrsm_system system;
  sptrsm_op op;
  size_t device_memory; /* that each CUDA device may use; 0: all of it */
  int threads;          /* 0: as many as the library chooses */
  bool tuned_for_gpu;   /* --p, --q or --select were given */
  grid_choice grid;
  const void *plan; /* what an earlier run exported, which must outlive the solver; NULL: analyse */
  size_t plan_bytes;
  const char *plan_file;  /* its name, for messages */
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
  double clone_seconds;   /* of these, for contexts and clones of other devices */
  size_t workspace_bytes;
  double flops_per_rhs;
  sptrsm_place place[DEVICES_MAX];        /* of the members */
  int members;                            /* contexts that solve: 1, or more on several devices */
  sptrsm_multi *multi;                    /* clones of plan or direct; NULL with one device */
  sptrsm_context *other[DEVICES_MAX - 1]; /* of the other members */
} solver;

/* Columns [begin, end) of two blocks: op(S) X = alpha B. */
typedef struct {
  const void *alpha; /* one value of the blocks' type; NULL: 1 */
  const sptrsm_block *B;
  sptrsm_block *X;
  int64_t begin, end;
} solver_columns;

/* "auto", "cpu" or "host", "cuda", "cuda:1"; exits with CLI_USAGE where the text is wrong. */
device_choice device_parse(const char *text);
/* Also several: "cuda:all", "cuda:0,2", "host,host", "cuda:0,host". */
device_choice devices_parse(const char *text);
/* Checks that the value of an option is NULL, "auto" or a method of this build, perhaps with ":parameters"; else exits with CLI_USAGE and
 * prints the names that there are. */
void method_check(const char *option, const char *name);
/* Decides for `auto`: the place of a named method, else a GPU where there is one. Fills `reason`. Returns an exit code. */
int device_settle(solver_request *);
/* Analyses. `factors` and what it refers to must outlive the solver. Returns an exit code; solver_free is due in any case. */
int solver_create(solver *, const sptrsm_file_factors *, const solver_request *);
/* Solves for the columns with one of the members, in place if B is X, and waits for the end of queued work. Members may solve at the same
 * time. */
sptrsm_status solver_run(solver *, int member, const solver_columns *);
sptrsm_status solver_tell_plans(solver *);                     /* fills `info` with the plans of the factor set as they are now */
sptrsm_multi_member solver_member(const solver *, int member); /* its context, and its plan or factor set */
sptrsm_block block_columns(const sptrsm_block *, int64_t begin, int64_t end); /* columns [begin, end) of a block, not copied */
/* The kinds of its devices, each once: "host", "NVIDIA H200, host". The bits of a column may depend on which of them solved it. */
const char *solver_kinds(char *text, size_t size, const solver *);
int solver_fail(sptrsm_status); /* as cli_fail; where memory is short the message names options that need less */
void solver_free(solver *);

#endif
