/* file.h -- rewriting a table of devices: a file of C source that has one row in each text line. */
#ifndef APPS_BENCH_TUNE_FILE_H
#define APPS_BENCH_TUNE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Replaces a file by the output of `copy`, which reads the old one (from is NULL if there is none). The old file stays where anything
 * fails. Returns an exit code. */
typedef void (*bench_tune_copy)(FILE *to, FILE *from, const void *what);
int bench_tune_rewrite(const char *path, bench_tune_copy, const void *what);
void bench_tune_line(FILE *to, const char *line); /* copies a text line; one without its newline gets it */
bool bench_tune_names(const char *device);        /* false, after a message: the device's name can't be written in a table */

#endif
