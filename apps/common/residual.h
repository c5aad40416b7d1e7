/* residual.h -- how well X solves op(S) X = alpha B, one precision up.
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

typedef struct {
  int64_t nrhs;
  double *berr, *normwise; /* [nrhs] */
  double max_berr, max_normwise;
  int64_t worst;    /* column of max_berr */
  bool is_triangle; /* g1 and g2 are there */
  double g1, g2;
  int64_t g1_row, g1_column;
} residual;

/* alpha: one value of the dtype, NULL: 1. Shows progress on stderr. False: no memory. */
bool residual_compute(residual *, const chain *, const void *alpha, const sptrsm_block *B, const sptrsm_block *X);
/* Of some columns, without progress; and its results added to those of the whole block, of which it begins with column `first`; berr and
 * normwise stay the panel's. */
bool residual_of_panel(residual *, const chain *, const void *alpha, const sptrsm_block *B, const sptrsm_block *X);
void residual_add(residual *, const residual *panel, int64_t first);
size_t residual_bytes(const chain *, int threads); /* memory at work */
void residual_free(residual *);

double nan_max(double a, double b);
/* Columns of X with a NaN or an infinity: their number; the first few in columns[0..room). */
int64_t nonfinite_columns(const sptrsm_block *X, int64_t *columns, int room);
/* max |X - Y|; same shape and type, any layouts. NaN if one has a NaN. */
double max_difference(const sptrsm_block *X, const sptrsm_block *Y);
double max_entry(const sptrsm_block *X); /* likewise max |X| */

#endif
