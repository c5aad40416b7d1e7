/* batch.h -- sptrsm-solve with a batch of systems: the state of a run. */
#ifndef APPS_SOLVE_BATCH_H
#define APPS_SOLVE_BATCH_H

#include "common/batch.h"
#include "solve/solve.h"

#define BATCH_WAY_OUT "correct it, or leave the item out with --mask" /* the end of messages about an item */

enum { ITEM_LEFT_OUT = 1 /* status of an item that the mask leaves out; all others are sptrsm_status */ };

typedef struct {
  const settings *set;
  batch_problem in;
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_batch_facts facts;
  sptrsm_system system; /* of the library; a single triangle is L or U of a factor set */
  sptrsm_batch_block X;
  void **data_of; /* X of items in groups, allocated by this run */
  void *array;    /* X as an array, likewise */
  char *x_path;   /* of the array */
  char **x_paths; /* [count] in groups */
  bool verified;
  sptrsm_item_status *status; /* [count] */
  int64_t solved, singular, left_out;
  double *berr; /* all columns, item by item; NaN where nothing was solved */
  const char *against;
  double max_berr, max_normwise;                   /* of the columns whose error is a number */
  int64_t worst_item, worst_column;                /* -1: none */
  int64_t odd, odd_items[NAMED_COLUMNS];           /* items whose solutions are not finite; the first of them */
  int64_t unjudged, unjudged_items[NAMED_COLUMNS]; /* items with a finite solution whose error is not a number; likewise */
  double analyse_seconds;
  phase_seconds seconds;
  int exit_code;
} batch_run;

/* ---- batch.c ---- */

int batch_work(batch_run *);         /* all phases, from reading to writing; returns an exit code; batch_run_free is due in any case */
int batch_report(const batch_run *); /* warnings, the summary, the report of --json; likewise */
void batch_run_free(batch_run *);

/* ---- batch_report.c ---- */

void batch_report_text(const batch_run *, FILE *);
json_t *batch_report_json(const batch_run *, bool stored); /* as report_json */
void batch_warn(const batch_run *);

#endif
