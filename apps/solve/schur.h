/* schur.h -- sptrsm-solve --schur: S = C op(A)^-1 B of a factor set, or of each item of a batch of them. */
#ifndef APPS_SOLVE_SCHUR_H
#define APPS_SOLVE_SCHUR_H

#include <sptrsm_schur.h>

#include "solve/batch.h"

/* B, or the rows of C as columns, for one item or for all. */
typedef struct {
  sptrsm_schur_columns columns;
  sptrsm_file_block *block;   /* dense: what columns.dense refers to; else NULL */
  sptrsm_file_matrix *matrix; /* sparse, by columns: likewise; else NULL */
} schur_side;

typedef struct {
  const char *option, *where; /* as given; where NULL: there is no such side */
  bool grouped;               /* a side for each item */
  int64_t count;              /* of sides: 1, or the items that were read */
  schur_side *sides;          /* [count] */
  int64_t least, most;        /* columns of a side */
  int64_t entries;            /* of all sparse sides */
} schur_input;

typedef struct {
  batch_item factors;
  sptrsm_direct *direct;
  sptrsm_schur *schur; /* NULL: the item is left out or singular */
  sptrsm_schur_facts facts;
  sptrsm_block S;
} schur_item;

typedef struct {
  const settings *set;
  bool is_batch;
  batch_problem in;           /* of a batch */
  sptrsm_file_factors *alone; /* of a single factor set, */
  sptrsm_file_batch one;      /* which is a batch of one item here */
  const sptrsm_file_batch *batch;
  schur_input B, C;
  sptrsm_context *context;
  sptrsm_info method; /* that of L in the first item that is solved; method NULL: there is none */
  schur_item *items;  /* [count] */
  int32_t *rows;      /* [count] of S */
  void *numbers;      /* of all S */
  size_t S_bytes;
  sptrsm_item_status *status; /* [count] */
  int64_t solved, singular, left_out;
  int64_t odd, odd_items[NAMED_COLUMNS]; /* items whose S is not finite; the first of them */
  bool verified;
  double difference; /* of S z and C op(A)^-1 B z, relative; the largest of all items */
  int64_t worst;     /* item; -1: none */
  bool above;        /* the difference is no number, or above --max-berr */
  double analyse_seconds;
  phase_seconds seconds;
  int exit_code;
} schur_run;

/* ---- schur.c ---- */

void schur_check_options(const settings *);          /* exits with CLI_USAGE where an option makes no sense with --schur */
int schur_work(schur_run *, sptrsm_batch_kind kind); /* all phases; returns an exit code; schur_run_free is due in any case */
int schur_report(const schur_run *);                 /* warnings, the summary, the report of --json; likewise */
void schur_run_free(schur_run *);

/* ---- schur_input.c ---- */

/* Reads one side for all items, in the type of the factors. Returns an exit code; schur_input_free is due in any case. */
int schur_input_load(schur_input *, const schur_run *);
const schur_side *schur_side_of(const schur_input *, int64_t i);
int64_t schur_side_count(const schur_side *); /* columns */
void schur_input_free(schur_input *);

/* ---- schur_check.c ---- */

/* Compares S z with C op(A)^-1 B z for a random z: the largest difference, relative to the largest element of |S| |z|. Returns an exit
 * code. */
int schur_compare(double *difference, const schur_run *, int64_t i);

/* ---- schur_report.c ---- */

void schur_text(const schur_run *, FILE *);
json_t *schur_json(const schur_run *, bool stored); /* as report_json */
void schur_warn(const schur_run *);

#endif
