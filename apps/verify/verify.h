/* verify.h -- sptrsm-verify: the settings, and what is found out about one system. */
#ifndef APPS_VERIFY_VERIFY_H
#define APPS_VERIFY_VERIFY_H

#include "common/batch.h"
#include "common/residual/residual.h"

typedef struct {
  problem_request problem;
  batch_request batch;
  const char *solution;
  double max; /* negative: the default limit */
  bool json;
} settings;

typedef struct {
  problem problem;
  sptrsm_file_block *X;
  residual residual;
  double figure, limit; /* the residual that decides, relative to its unit, and its limit */
  const char *figure_name;
  bool has_error; /* the file of B holds X_true */
  double error;   /* max |X - X_true| */
  double size;    /* max |X_true| */
  bool within;
  bool far_off; /* X solves the system, but is far from X_true */
} verdict;

/* ---- judge.c ---- */

extern const double g2_limit;

/* Decides by the residual, and by has_error, error and size; the chain is that of v->problem. */
void judge(verdict *v, const settings *s);

/* ---- batch.c ---- */

int verify_batch(const settings *); /* all items of a batch, or those asked for; returns an exit code */

#endif
