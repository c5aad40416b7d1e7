/* report.h -- the report of sptrsm-factor, and right-hand sides with a known solution. */
#ifndef APPS_FACTOR_REPORT_H
#define APPS_FACTOR_REPORT_H

#include "factor/check.h"

typedef struct {
  const char *path, *library; /* of the factor set; "UMFPACK 5.7.9" */
  const char *why;            /* why this library: "asked for", "symmetric with a positive diagonal" */
  factor_counts counts;
  factor_verdict check;
  double total_seconds;
  int exit_code;
} factor_report;

void factor_print(FILE *, const factor_report *, const factor_matrix *, const factor_set *);
json_t *factor_json(const factor_report *, const factor_matrix *, const factor_set *);

/* X_true has whole numbers from -9 to 9 without 0 (complex: both parts), B = A X_true. factor_write_rhs writes both, with nrhs columns. */
void factor_known_solution(double *X, const factor_matrix *, int64_t nrhs);            /* row-major */
void factor_multiply(double *B, const factor_matrix *, const double *X, int64_t nrhs); /* B += A X, row-major */
int factor_write_rhs(const char *path, const factor_matrix *, int64_t nrhs, sptrsm_save_options);

#endif
