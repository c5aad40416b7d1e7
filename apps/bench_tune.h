/* bench_tune.h -- p and q of syncfree-csc for the device at hand. */
#ifndef APPS_BENCH_TUNE_H
#define APPS_BENCH_TUNE_H

#include "bench_run.h"

/* The grid of pairs as methods, the default first, and right-hand sides where p matters unless others were given. */
void bench_tune_methods(bench_args *);
/* Prints the best pair and, if asked to, writes it into the table of devices. Returns an exit code. */
int bench_tune_report(const bench_session *);
/* Puts the row of a device into a table of devices (src/trsm/syncfree_csc_tuned.def): replaces it, or adds it before the last row. */
int bench_tune_write(const char *path, const char *device, int p, int q);

#endif
