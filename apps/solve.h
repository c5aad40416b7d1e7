/* solve.h -- sptrsm-solve: the settings and the state of a run, shared by solve.c, solve_rows.c and solve_report.c. */
#ifndef APPS_SOLVE_H
#define APPS_SOLVE_H

#include "problem.h"
#include "residual.h"
#include "row_list.h"
#include "solver.h"

enum { NAMED_COLUMNS = 10 }; /* columns that are not finite: as many are named */

typedef struct {
  problem_request problem;
  solver_request solver;
  const char *out, *json; /* json NULL: none, "-": stdout */
  const char *rows;       /* of X: a range or a file's list; NULL: all */
  double max_berr;        /* negative: no threshold */
  int compress;
  bool checksum, force, dry_run, verify, no_verify;
  bool json_checked; /* the report may be written */
} settings;

typedef struct {
  double read, solve, verify, write, total;
} phase_seconds;

/* What sparse right-hand sides reach and wanted rows need (solve_rows.c). */
typedef struct {
  bool on;
  row_list wanted; /* rows NULL: all */
  int32_t n;       /* rows worked on */
  int64_t entries, all_entries;
} part_summary;

typedef struct {
  const settings *set;
  problem in;
  solver solver;
  sptrsm_block X;
  char *x_path;  /* of the dataset in the output */
  bool in_place; /* X is B */
  part_summary part;
  residual residual;
  bool verified;
  int64_t nonfinite, nonfinite_columns[NAMED_COLUMNS];
  phase_seconds seconds;
  int exit_code;
} run;

int rows_work(run *);      /* solve_rows.c: all phases, for some rows of X or sparse right-hand sides */
int write_solution(run *); /* the last phase */
double run_gflops(const run *);
size_t run_bytes(const run *); /* factors, B, X and workspace */
void report_text(const run *, FILE *);
/* As stored with the solution: without lists per column and without the time of writing; or all. NULL without memory. */
json_t *report_json(const run *, bool stored);

#endif
