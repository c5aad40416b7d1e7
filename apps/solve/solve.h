/* solve.h -- sptrsm-solve: the settings and the state of a run, shared by main.c, rows.c and report.c. */
#ifndef APPS_SOLVE_SOLVE_H
#define APPS_SOLVE_SOLVE_H

#include "common/problem.h"
#include "common/residual.h"
#include "common/row_list.h"
#include "solve/refine.h"

enum { NAMED_COLUMNS = 10 }; /* columns that are not finite: as many are named */

typedef struct {
  problem_request problem;
  solver_request solver;
  refine_request refine;
  const char *out, *json; /* json NULL: none, "-": stdout */
  const char *rows;       /* of X: a range or a file's list; NULL: all */
  double max_berr;        /* negative: no threshold */
  int compress;
  int64_t stream_columns; /* --stream: 0 not asked for, -1 as many as fit, else so many at a time */
  bool resume, keep_partial;
  bool checksum, force, dry_run, verify, no_verify;
  bool json_checked; /* the report may be written */
} settings;

typedef struct {
  double read, solve, verify, write, total;
} phase_seconds;

/* What sparse right-hand sides reach and wanted rows need (rows.c). */
typedef struct {
  bool on;
  row_list wanted; /* rows NULL: all */
  int32_t n;       /* rows worked on */
  int64_t entries, all_entries;
} part_summary;

typedef struct {
  int64_t count, columns[NAMED_COLUMNS]; /* the first ones, counted from the first column of B taken */
} nonfinite;

/* Right-hand sides that pass through in panels, or all zeros. */
typedef struct {
  bool on;
  int64_t width, panels; /* columns of a panel; panels of this run */
  int64_t resumed;       /* columns that an earlier run had done */
  int slots;
  size_t bytes; /* of all buffers */
  bool direct_read, direct_write;
  double seconds; /* from the first panel to the last */
} stream_summary;

typedef struct {
  const settings *set;
  stream_summary stream;
  problem in;
  solver solver;
  sptrsm_block X;
  char *x_path;  /* of the dataset in the output */
  bool in_place; /* X is B */
  part_summary part;
  residual residual;
  refinement refined;
  bool verified;
  nonfinite odd;
  phase_seconds seconds;
  int exit_code;
} run;

/* ---- report.c ---- */

double run_gflops(const run *);
size_t run_bytes(const run *); /* factors, B, X and workspace */
void report_text(const run *, FILE *);
/* As stored with the solution: without lists per column and without the time of writing; or all. NULL without memory. */
json_t *report_json(const run *, bool stored);

/* ---- phases.c: what runs of all kinds share ---- */

/* Solves for columns of two blocks, and refines where that is asked for; their column 0 is column `first` of all that are taken of B. */
sptrsm_status solve_columns(run *, const solver_columns *, int64_t first);
void settle_exit(run *);   /* sets the exit code of a run whose solutions are checked */
int write_solution(run *); /* the last phase; returns an exit code */

/* ---- rows.c: the phases after opening, for some rows of X or sparse right-hand sides ---- */

int rows_work(run *);

/* ---- stream.c: blocks larger than memory ---- */

/* Are B and X too large for memory, or is streaming asked for? Then read, solve, check and write panel by panel. */
bool stream_wanted(const run *);
int stream_plan(run *); /* widths and buffers, from the memory that is left */
int stream_run(run *);

/* ---- resume.c: what a solution depends on, and how far it is, as text lines for the journal of a partial file ---- */

/* Both: NULL without memory; the caller frees. */
char *resume_inputs(const run *);
int resume_compare(const char *then, const char *now, const char *output); /* names what differs; returns an exit code */
char *resume_state(const run *);
bool resume_take(run *, const char *state);

#endif
