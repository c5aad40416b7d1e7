/* compare.h -- the solve phase of other solvers, for compare_factors: the same matrix, the same factors, the same run. Real matrices.
 *
 * compare.c           the program: matrices, alternating repetitions, table
 * compare_native.c    CHOLMOD, UMFPACK and KLU solve with the factors they keep
 * compare_mkl.c       MKL's triangular solves with the triangles of the factor set; MKL is loaded when asked for
 */
#ifndef APPS_COMPARE_H
#define APPS_COMPARE_H

#include "factor.h"

/* A solver that holds factors. Blocks are column-major, ld = n. */
typedef struct {
  const char *name;    /* what is timed, for the table */
  const char *library; /* of the factor set it goes with, as factor_library.name */
  /* Factorises A again: the same library, request and matrix give the same factors as those of the set. */
  int (*begin)(void **self, const factor_matrix *A, const factor_request *, int threads);
  int (*solve)(void *self, const double *B, double *X, int64_t nrhs);
  void (*end)(void *self);
} compare_native;

extern const compare_native compare_natives[]; /* ended by a NULL name */
void compare_set_threads(int threads);         /* of OpenBLAS, where that is the BLAS, and OpenMP */

/* L y = b and U x = y by mkl_sparse_d_trsm; permutations and scaling are left out, so it is a part of a solve. */
typedef struct compare_mkl compare_mkl;
int compare_mkl_begin(compare_mkl **out, const char *path, const factor_set *, int64_t nrhs, int threads);
int compare_mkl_solve(compare_mkl *, const double *B, double *Y, double *X, int64_t nrhs); /* row-major */
void compare_mkl_end(compare_mkl *);

#endif
