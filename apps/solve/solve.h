/* solve.h -- sptrsm-solve: the settings and the state of a run, and the steps of a run by file. */
#ifndef APPS_SOLVE_SOLVE_H
#define APPS_SOLVE_SOLVE_H

#include <sptrsm_reach.h>

#include "common/batch.h"
#include "common/residual/residual.h"
#include "common/row_list.h"
#include "solve/profile.h"
#include "solve/ranks/share.h"
#include "solve/refine.h"
#include "solve/ring.h"

enum { NAMED_COLUMNS = 10 }; /* the most columns with NaN or infinity that are listed by number */

typedef struct {
  problem_request problem;
  solver_request solver;
  refine_request refine;
  batch_request batch;
  share_request share;
  const char *out, *json;       /* json NULL: none, "-": stdout */
  const char *profile;          /* --profile; NULL: none */
  const char *rows;             /* --rows, as given; NULL: all rows of X */
  const char *schur;            /* --schur, the columns B; NULL: X is wanted */
  const char *plan, *save_plan; /* --plan, --save-plan; NULL: none */
  const char *schur_rows;       /* --schur-rows, the rows of C as columns; NULL: the symmetric form */
  double max_berr;              /* negative: no threshold */
  int compress;
  int64_t stream_columns; /* --stream: columns of a panel; 0: not asked for; -1: the program chooses */
  bool resume, keep_partial;
  bool checksum, force, dry_run, verify, no_verify;
  bool json_checked; /* json may be written */
} settings;

typedef struct {
  double read, solve, verify, write, total;
} phase_seconds;

/* The part of the factors that sparse right-hand sides reach and wanted rows of X need (rows.c). */
typedef struct {
  bool on;
  row_list wanted;              /* wanted.rows NULL: all rows */
  sptrsm_reach *reach;          /* outlives the solver, which borrows its factors */
  int32_t n;                    /* order of the part */
  int64_t entries, all_entries; /* of the part, of the factors */
} part_summary;

typedef struct {
  int64_t count, columns[NAMED_COLUMNS]; /* the first of them, numbered from the first column that is taken of B */
} nonfinite;

/* A stream: right-hand sides that pass through memory in panels. */
typedef struct {
  bool on;
  int64_t width, panels;                /* columns of a panel; panels of this run */
  int64_t resumed;                      /* columns that an earlier run had done, or by now another part */
  int64_t left;                         /* columns that are left to other parts (--part) */
  int64_t solved;                       /* columns that this process has solved in this run */
  int64_t pieces;                       /* files that hold X (--split-files); 0: one */
  int slots;                            /* buffers of the ring */
  ring_server server[RING_SERVERS_MAX]; /* what each device did */
  int residual_width;                   /* columns that the residuals take at a time */
  size_t bytes;                         /* of all buffers */
  bool direct_read, direct_write;       /* without HDF5 */
  double seconds;                       /* from the first panel to the last */
} stream_summary;

typedef struct {
  const settings *set;
  stream_summary stream;
  problem in;
  solver solver;
  solver_request kept; /* plan and plan_bytes: the file of --plan in memory */
  sptrsm_block X;
  char *x_path;  /* path of X in the output */
  char *inputs;  /* see resume_inputs */
  bool in_place; /* X is B */
  part_summary part;
  residual residual;
  refinement refined;
  bool verified; /* residuals are computed */
  nonfinite odd; /* columns of X with NaN or infinity */
  phase_seconds seconds;
  profile *profile; /* NULL: none was asked for */
  int exit_code;
} run;

/* ---- report.c ---- */

double run_gflops(const run *);
size_t run_bytes(const run *); /* factors, B, X and workspace */
void report_text(const run *, FILE *);
/* stored: the report that goes into the output file, without lists per column and without the time of writing. NULL without memory. */
json_t *report_json(const run *, bool stored);
json_t *seconds_json(const phase_seconds *, double analyse_seconds, bool stored); /* of runs of all kinds; stored: likewise */

/* ---- phases.c: what runs of all kinds share ---- */

int check_outputs(settings *); /* can all outputs be written, and is none also an input or another output? */
/* Lets the ranks of a run by mpirun begin, if they can share this work, and gives each its devices and processors. */
int begin_ranks(settings *, bool is_batch);
int open_files(run *);                                                         /* factors and right-hand sides, in each rank */
int create_solver(run *, const sptrsm_file_factors *, const solver_request *); /* as solver_create; profiled where that is asked for */
/* Solves for columns of two blocks with a member of the solver, and refines where that is asked for; their column 0 is column `first` of
 * all that are taken of B. Members may do this at the same time. */
sptrsm_status solve_columns(run *, int member, const solver_columns *, int64_t first);
void settle_exit(run *); /* sets the exit code of a run whose solutions are checked */
/* What the options and the report say of an output; path and lists are the caller's. */
void save_options_of(sptrsm_save_options *, const settings *, const char *report);
int write_solution(run *); /* the last phase; returns an exit code */

/* ---- plan_file.c: plans that are kept in a file ---- */

/* Are several devices, --plan and --save-plan asked for where they can't be? unfit: what they are not for; NULL: a plain solve. Returns an
 * exit code. */
int plan_check_options(const settings *, const char *unfit);
int plan_check_output(const settings *, const char *const inputs[], int count); /* the file of --save-plan; likewise */
/* Maps the file of --plan into memory, for the request. Returns an exit code; plan_unmap is due once the solver is freed. */
int plan_map(solver_request *, const char *path);
void plan_unmap(solver_request *);
int plan_save(const solver *, const char *path); /* returns an exit code */

/* ---- map.c: factors that are mapped from their file (--map) ---- */

void map_note(const run *); /* the factors are open: says with -v what is copied all the same */
/* For sptrsm_reach_request.passed; context: the sptrsm_file_factors. */
void map_passed(void *context, const sptrsm_sparse *T, int64_t first, int64_t end);
void map_release(const run *); /* gives back the memory of all that is mapped from the file, until it is read again */

/* ---- rows.c: the phases after opening, for some rows of X or sparse right-hand sides ---- */

int rows_work(run *);

/* ---- stream.c: blocks larger than memory ---- */

bool stream_wanted(const run *); /* whether B and X are too large for memory, or a stream is asked for */
int stream_plan(run *);          /* chooses the width of panels by the memory that is left; returns an exit code */
int stream_run(run *);           /* reads, solves, checks and writes panel by panel; returns an exit code */

/* ---- resume.c: what a solution depends on, and what was found about its columns, as text lines for the journal of a partial file ---- */

/* The errors of some columns, and which of them are not finite; columns are numbered from the first one that is taken of B. */
typedef struct {
  residual residual; /* without lists */
  nonfinite odd;
  refinement refined; /* the lists are the run's */
} findings;
/* All texts: NULL without memory; the caller frees. */
const char *resume_inputs(run *);                           /* made once the solver is there, and kept in the run */
char *resume_shape(const run *);                            /* what decides which steps a run takes, known once its files are open */
char *resume_difference(const char *then, const char *now); /* what differs between two inputs; empty: nothing */
/* Compares a text with that of rank 0, and returns when all ranks have the same; a rank that has another gets an exit code. */
int resume_agree(const char *inputs);
void findings_none(findings *, const run *);         /* of no column */
void findings_add(findings *, const findings *part); /* of other columns; the result does not depend on the order */
char *findings_text(const findings *);
int findings_take(findings *all, const char *text, const run *); /* adds those of a text; returns an exit code */
void findings_settle(run *, const findings *);                   /* those of all columns */

#endif
