/* bounds.h -- from measurements to the bounds of auto's table: where each bound belongs so that the methods chosen are, on average, as
 * close as can be to the best of the table. No device, no files. */
#ifndef APPS_BENCH_TUNE_BOUNDS_H
#define APPS_BENCH_TUNE_BOUNDS_H

#include <stdbool.h>

#include <sptrsm_auto.h>

enum { TUNE_ROWS = 32 };

/* One triangle with one number of right-hand sides; those of a triangle stand together. */
typedef struct {
  int triangle;
  double features[SPTRSM_AUTO_FEATURES]; /* a bound does not hold for NaN */
  double ms[TUNE_ROWS];                  /* of the method of each row; NaN: it refuses, or was not measured */
} tune_case;

/* A bound that moved, and for what. */
typedef struct {
  int row, feature;
  bool is_upper;
  double from, to;
  int cases, triangles; /* for which another row is taken now */
  double gain;          /* their time before over that after, geometric mean */
} tune_move;

/* The row that is taken: the first with a time whose bounds all hold; -1: none. */
int tune_row_of(const sptrsm_auto_row *rows, int count, const tune_case *);
/* Time of the row that is taken over the best of all rows; NaN without both. */
double tune_loss_of(const sptrsm_auto_row *rows, int count, const tune_case *);
/* Geometric mean of that over all cases that have it; NaN without. */
double tune_loss(const sptrsm_auto_row *rows, int count, const tune_case *cases, int case_count);

/* Moves one bound after another, the one that gains most first, until none gains. A bound moves to the middle between two neighbours among
 * the measured values, and only if that is for two triangles or more, which gain 3 % by it; so it never leaves what was measured, and no
 * row loses all its cases. Bounds that are not there (least 0, most 0) stay so, as does the least nrhs, which says that it is known.
 * Returns the number of moves, at most `room`; rows hold the new bounds. */
int tune_bounds(sptrsm_auto_row *rows, int count, const tune_case *cases, int case_count, tune_move *moves, int room);

#endif
