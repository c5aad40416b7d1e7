/* plot.h -- pictures of a matrix: the numbers behind them (plot.c), in the terminal (plot_text.c), and as files (plot_picture.c). */
#ifndef APPS_INFO_PLOT_H
#define APPS_INFO_PLOT_H

#include <sptrsm_io.h>
#include <stdbool.h>

#include "info/picture.h"

/* The stored entries of a matrix, without their values. */
typedef struct {
  int64_t rows, cols;
  sptrsm_format format;
  const int64_t *ptr;
  const int32_t *idx;
} plot_pattern;

plot_pattern pattern_of_triangle(const sptrsm_sparse *);
plot_pattern pattern_of_matrix(const sptrsm_file_matrix *);

/* The level sets of a triangle, in order. */
typedef struct {
  int32_t count;
  int32_t *rows; /* [count]: rows of each level; the caller frees */
} plot_levels;

/* ---- plot.c ---- */

/* Shades of a cell, by the share of its positions that hold entries. */
enum { PLOT_SHADES = 4 };
extern const double plot_shade_limits[PLOT_SHADES]; /* shade s is that of shares above limit s and up to limit s + 1 */

/* Divides the matrix into height x width cells, at most as many as it has rows and columns. Returns the shade of each, row by row: 0 is an
 * empty cell, else 1 + s. NULL without memory; the caller frees. */
unsigned char *plot_cells(const plot_pattern *, int height, int width);
/* Levels [from, to) that column `column` of a picture stands for, which has `columns` columns, no more than levels. */
void plot_range(int32_t *from, int32_t *to, int32_t levels, int column, int columns);
double plot_average(const plot_levels *, int32_t from, int32_t to); /* rows of a level, on average */
double plot_height(double rows, double most);                       /* 0 to 1 on a scale of logarithms, on which 0 rows have height 0 */

/* Bin b counts the levels of 2^b to 2^(b+1) - 1 rows. */
enum { PLOT_BINS = 31 };
typedef struct {
  int used; /* bins up to the last one with levels */
  int32_t levels[PLOT_BINS];
  int64_t rows[PLOT_BINS]; /* of all levels of the bin */
} plot_histogram;
void plot_count(plot_histogram *, const plot_levels *);

/* ---- plot_text.c: for the terminal, as wide as that; block characters where the locale has UTF-8, else ASCII ---- */

bool spy_text(const plot_pattern *, const char *indent); /* false: no memory */
void levels_text(const plot_levels *, const char *indent);

/* ---- plot_picture.c: below `title`, at the right of what is in the picture already ---- */

bool spy_picture(picture *, const plot_pattern *, const char *title); /* false: no memory */
bool levels_picture(picture *, const plot_levels *, const char *title);

#endif
