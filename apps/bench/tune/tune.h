/* tune.h -- tables that are made for a device by measuring there: the bounds of auto, and p and q of syncfree-csc. */
#ifndef APPS_BENCH_TUNE_TUNE_H
#define APPS_BENCH_TUNE_TUNE_H

#include "bench/session.h"

/* What is to be measured, by args.tune. auto: the methods of its rows, and itself. syncfree-csc: the grid of pairs, the default first, and
 * right-hand sides where p matters. Right-hand sides only where none were given. */
void bench_tune_methods(bench_args *);
/* Prints what was found and, if asked to, writes it into the table of devices. Returns an exit code. */
int bench_tune_report(const bench_session *);

/* ---- p and q ---- */

/* Puts the row of a device into a table of devices (src/trsm/syncfree_csc/tuned.def): replaces it, or adds it before the last row. */
int bench_tune_write(const char *path, const char *device, int p, int q);

/* ---- auto: auto.c ---- */

enum { BENCH_TUNE_TRIANGLES = 8 }; /* fewer say nothing about a bound */
void bench_tune_auto_methods(bench_args *);
int bench_tune_auto_report(const bench_session *);
/* Puts bounds of a device into src/core/select/auto_tuned.def: each replaces that of the same row and feature; the others stay. */
typedef struct {
  const char *row, *feature;
  double least, most;
  bool is_default; /* the table's own: needs no line */
  char why[120];   /* the measurement, for the comment */
} bench_auto_bounds;
int bench_tune_auto_write(const char *path, const char *device, const bench_auto_bounds *, int count);

#endif
