/* args.h -- the command line of sptrsm-bench. */
#ifndef APPS_BENCH_ARGS_H
#define APPS_BENCH_ARGS_H

#include <stdbool.h>

#include <sptrsm_auto.h>

#include "common/grid.h"

enum { BENCH_LIST = 32, BENCH_METHODS = 256, BENCH_AUTO_ROWS = 32 };

typedef enum { TABLE_SOLVE, TABLE_LEVELS, TABLE_PREPROCESS, TABLE_MEMORY, TABLE_LIMITS } bench_table_kind;

typedef enum { TUNE_NOTHING, TUNE_AUTO, TUNE_SYNCFREE_CSC } bench_tune_kind;

typedef struct {
  char **names; /* FILE, FILE:/path, folder or gen:... */
  int name_count;
  int64_t nrhs[BENCH_LIST];
  int nrhs_count;
  char *methods[BENCH_METHODS]; /* "name[:variant][/rhs|/column|/p=P,q=Q]"; none: bench_args_settle chooses */
  int method_count;
  const char *params[BENCH_LIST]; /* "METHOD:VARIANT+VARIANT" */
  int params_count;
  sptrsm_dtype dtypes[4];
  int dtype_count;
  sptrsm_op ops[3];
  int op_count;
  int reps, threads;
  size_t device_memory;     /* bytes that the context may take on a device; 0: no limit */
  int64_t batch;            /* items of the batch that each measurement solves; 0: one system */
  double budget_s, limit_s; /* seconds for the whole run (0: no limit) and for one measurement */
  bench_table_kind table;
  const char *json, *csv, *tune_out;
  grid_choice grid; /* of all inputs; without it, the grid of each input */
  bench_tune_kind tune;
  bool host, force, nrhs_given;
} bench_args;

/* Defaults, then the command line; exits with CLI_USAGE where it is wrong. */
void bench_args_read(bench_args *, int argc, char **argv);
/* Completes the list of methods, which depends on the place: the default methods or `all`, those that --tune=auto compares, and the
 * variants of --params. The baseline, cusparse, moves to the front. Returns an exit code. */
int bench_args_settle(bench_args *, sptrsm_place);
/* The rows of auto's table for a place, with the bounds tuned for `device`, up to the first row without bounds: later rows serve only where
 * a method refuses a triangle. Writes at most BENCH_AUTO_ROWS; returns their number. */
int bench_auto_rows(sptrsm_auto_row *, sptrsm_place, const char *device);
/* Options for the library from an entry of `methods`; name: room for the method's name and variant, which the options refer to. */
void bench_method_options(sptrsm_options *, char *name, size_t size, const char *spec);
/* Whether an entry is a library that is called directly. */
bool bench_is_cusparse(const char *spec, sptrsm_place);
bool bench_is_cublas(const char *spec, sptrsm_place);

#endif
