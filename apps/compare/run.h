/* run.h -- one matrix with one library's factors and a number of right-hand sides: all solvers, in alternating repetitions. */
#ifndef APPS_COMPARE_RUN_H
#define APPS_COMPARE_RUN_H

#include "bench/measure.h"
#include "compare/compare.h"

enum { INPUTS_MAX = 64, METHODS_MAX = 8, WIDTHS_MAX = 16, SOLVERS_MAX = 6 * METHODS_MAX + 20 };

/* The command line. */
typedef struct {
  const char *inputs[INPUTS_MAX], *methods[METHODS_MAX], *with, *mkl, *cudss;
  int input_count, method_count, width_count, threads, reps;
  int64_t widths[WIDTHS_MAX];
  bool no_native, refine;
  size_t device_memory; /* 0: no limit */
  sptrsm_place place;
  factor_request request;
} compare_settings;

/* One matrix with one library's factors and a number of right-hand sides. */
typedef struct {
  const compare_settings *s;
  int64_t nrhs;
  const factor_matrix *A;
  const factor_library *library;
  factor_set set;
  double *X_true, *B, *X, *Y;   /* column-major; Y is room for MKL's intermediate */
  double *X_true_rows, *B_rows; /* row-major */
  void *stream;
  sptrsm_context *context;
} problem_set;

typedef enum { NATIVE, OWN, MKL, CUDSS } solver_kind;
typedef struct {
  solver_kind kind;
  char name[96];
  const compare_native *native;
  void *state; /* of `native` */
  compare_mkl *mkl;
  cudss *cudss;
  sptrsm_direct *direct;
  sptrsm_context *limited; /* of `direct`; NULL: the one of all */
  compare_own_kind own;
  sptrsm_block B, X; /* in the memory where sptrsm_direct or cuDSS works */
  bench_timer *timer;
  double *ms, error, residual; /* max |x - x_true|; see compare_residual */
} solver;

/* How this library stands beside the fastest other solver on the host, over the cases with one number of right-hand sides and one layout
 * of its blocks. */
typedef struct {
  int cases;
  double logarithms, least; /* of the other's time over ours */
  char least_case[160];
} compare_standing;

typedef struct {
  bool wrong;                  /* a solution was */
  compare_standing layouts[2]; /* by sptrsm_layout */
} compare_summary;

/* Measures all solvers, prints a row for each and adds the case to the summary. */
int run_width(problem_set *, int64_t nrhs, compare_summary *);
/* The rows, after the repetitions. False: a solution is wrong. */
bool print_rows(const solver *list, int count, const problem_set *, compare_summary *);
void print_summary(const compare_summary *, int64_t nrhs);

#endif
