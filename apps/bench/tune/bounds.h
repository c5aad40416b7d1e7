/* bounds.h -- from measurements to the bounds of auto's table: moves bounds until the chosen methods are, on average, as close to the
 * fastest ones as single moves can bring them. Uses neither a device nor files. */
#ifndef APPS_BENCH_TUNE_BOUNDS_H
#define APPS_BENCH_TUNE_BOUNDS_H

#include <stdbool.h>

#include "bench/args.h"

/* A triangle with a number of right-hand sides. All cases of a triangle follow each other. */
typedef struct {
  int triangle;
  double features[SPTRSM_AUTO_FEATURES]; /* NaN is within no bound */
  double ms[BENCH_AUTO_ROWS];            /* time of each row's method; NaN: it refuses the triangle, or was not measured */
} tune_case;

/* A bound that moved, and the gain. */
typedef struct {
  int row, feature;
  bool is_upper;
  double from, to;
  int cases, triangles; /* their numbers, of those for which another row is taken after the move */
  double gain;          /* in these cases: time before over time after, geometric mean */
} tune_move;

/* The row that auto takes: the first one that has a time and whose bounds all hold; -1: none. */
int tune_row_of(const sptrsm_auto_row *rows, int count, const tune_case *);
/* Time of that row over the least time of all rows; NaN if there is no row. */
double tune_loss_of(const sptrsm_auto_row *rows, int count, const tune_case *);
/* Geometric mean of the losses of all cases that have one; NaN if there is none. */
double tune_loss(const sptrsm_auto_row *rows, int count, const tune_case *cases, int case_count);

/* Moves one bound after another, each time the one that gains most, until none gains. A bound moves to the middle between two neighbours
 * among the measured values, and only if two triangles or more take another row then and gain 3 % by it; so it stays within the measured
 * values, and no row loses all its cases. Missing bounds (least 0, most 0) stay missing, and the least nrhs stays, because it means that
 * the number of right-hand sides has to be known. Returns the number of moves, at most `room`; rows hold the new bounds. */
int tune_bounds(sptrsm_auto_row *rows, int count, const tune_case *cases, int case_count, tune_move *moves, int room);

#endif
