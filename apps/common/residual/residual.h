/* residual.h -- residuals and backward errors of a solution of op(S) X = alpha B, computed in a higher precision.
 *
 * For a column x with S = M[0] ... M[count-1], a = |M[0]| ... |M[count-1]| |x| and r = alpha b - S x:
 *   berr      max_i |r_i| / (a_i + |alpha b_i|)           componentwise backward error [oettli1964]
 *   normwise  ||r||_2 / (||S||_F ||x||_2 + ||b||_2)       with ||a||_2 for ||S||_F ||x||_2 where S is a product
 * and for a single triangle, where u is the unit roundoff and k_i the entries of row i:
 *   g1        max_ij |r_ij| / ((k_i + 1) u a_ij)          at most 1 for substitution in real numbers, 4 in complex ones
 *   g2        max_j ||r_j||_1 / (||T||_1 ||x_j||_1 u)     below 30
 * 0/0 counts as 0. NaN in a column makes its figures NaN, and NaN wins every maximum.
 */
#ifndef APPS_COMMON_RESIDUAL_H
#define APPS_COMMON_RESIDUAL_H

#include "common/chain.h"

enum { RESIDUAL_PANEL = 8 }; /* columns that are worked on together: lanes of vectors; in C order they share cache lines */

typedef struct {
  int64_t nrhs;
  double *berr, *normwise; /* [nrhs] */
  double max_berr, max_normwise;
  int64_t worst;    /* column of max_berr */
  bool is_triangle; /* g1 and g2 are set */
  double g1, g2;
  int64_t g1_row, g1_column;
} residual;

/* alpha: one value of the chain's type; NULL: 1. Shows progress on stderr. False: no memory. */
bool residual_compute(residual *, const chain *, const void *alpha, const sptrsm_block *B, const sptrsm_block *X);
/* The same without progress. `width`, at most RESIDUAL_PANEL, columns are taken from B and X at a time; fewer save memory and take
 * longer. */
bool residual_of_panel(residual *, const chain *, const void *alpha, const sptrsm_block *B, const sptrsm_block *X, int width);
/* Adds the maxima of some columns, the first of which is column `first` of the whole block, to those of the block; berr and normwise are
 * not copied. The result does not depend on the order in which parts are added. */
void residual_add(residual *, const residual *part, int64_t first);
/* Whether the figure of a column takes the place of the largest so far: NaN is the largest, and of equal ones the first column counts. */
bool residual_above(double value, int64_t column, double most, int64_t at);
size_t residual_bytes(const chain *, int width, int threads); /* workspace while it computes */
void residual_free(residual *);

double nan_max(double a, double b); /* the larger one; NaN if one is */
/* Returns the number of columns of X with a NaN or an infinity; the first of them in columns[0..room). */
int64_t nonfinite_columns(const sptrsm_block *X, int64_t *columns, int room);
/* max |X - Y| of blocks of the same shape and type, in any layouts; NaN if one of them has a NaN. */
double max_difference(const sptrsm_block *X, const sptrsm_block *Y);
double max_entry(const sptrsm_block *X); /* max |X|; NaN if it has a NaN */

#endif
