/* file.h -- tables of devices (files of C source with one row a text line) that tuning rewrites. */
#ifndef APPS_BENCH_TUNE_FILE_H
#define APPS_BENCH_TUNE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Replaces a file by what copy writes after a look at it (from NULL: there is none); it stays where that fails. Returns an exit code. */
typedef void (*bench_tune_copy)(FILE *to, FILE *from, const void *what);
int bench_tune_rewrite(const char *path, bench_tune_copy, const void *what);
void bench_tune_line(FILE *to, const char *line); /* kept as it is; a last one gets its end */
bool bench_tune_names(const char *device);        /* says so where a device's name can't stand in a table */

#endif
