/* tune.h -- tuning for a device by measurements on it: the bounds of auto's table, or p and q of syncfree-csc. */
#ifndef APPS_BENCH_TUNE_TUNE_H
#define APPS_BENCH_TUNE_TUNE_H

#include "bench/session.h"

/* Fills in what args.tune has measured: for syncfree-csc a grid of pairs p,q, the default first; for auto bench_args_settle does it, since
 * its methods depend on the place. Sets the numbers of right-hand sides, too, where none were given. */
void bench_tune_methods(bench_args *);
/* Prints the best settings and, with --tune-out, writes them into a table of devices. Returns an exit code. */
int bench_tune_report(const bench_session *);

/* ---- p and q ---- */

/* Writes the row of a device into a table of devices (src/trsm/syncfree_csc/tuned.def): replaces it, or adds it before the last row. */
int bench_tune_write(const char *path, const char *device, int p, int q);

/* ---- auto: auto.c ---- */

enum { BENCH_TUNE_TRIANGLES = 8 }; /* least number: fewer triangles say nothing about a bound */
void bench_tune_auto_methods(bench_args *);
int bench_tune_auto_report(const bench_session *);
/* Writes bounds of a device into src/core/select/auto_tuned.def. A bound replaces the one of the same row and feature; all others stay. */
typedef struct {
  const char *row, *feature;
  double least, most;
  bool is_default; /* equal to the table's own bounds: nothing has to be written */
  char why[120];   /* the measurement, for the comment */
} bench_auto_bounds;
int bench_tune_auto_write(const char *path, const char *device, const bench_auto_bounds *, int count);

#endif
