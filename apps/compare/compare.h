/* compare.h -- compare_factors: the solve phases of other solvers and of this library, with the same matrix and factors, in one run. Real
 * matrices only.
 *
 * main.c      the program: matrices, alternating repetitions, table
 * check.c     the residual of a solution
 * native.c    CHOLMOD, UMFPACK and KLU solve with their own factors
 * own.c       sptrsm_direct, also with refinement and with factors in single precision
 * mkl.c       MKL's triangular solves with the triangles of the factor set; MKL is loaded at run time
 * cudss.c     cuDSS on the GPU, which computes its own factors; cudss_library.c loads it at run time
 */
#ifndef APPS_COMPARE_COMPARE_H
#define APPS_COMPARE_COMPARE_H

#include "compare/cudss_library.h"
#include "factor/factor.h"

/* A solver that holds factors. Blocks are column-major, ld = n. */
typedef struct {
  const char *name;    /* what is timed, for the table */
  const char *library; /* factor_library.name of the factor sets that it is compared on */
  /* Factorises A a second time, which gives the factors of the set: library, request and matrix are the same. */
  int (*begin)(void **self, const factor_matrix *A, const factor_request *, int threads);
  int (*solve)(void *self, const double *B, double *X, int64_t nrhs);
  void (*end)(void *self);
} compare_native;

extern const compare_native compare_natives[]; /* ended by a NULL name */
void compare_set_threads(int threads);         /* of this program, OpenMP and, if it is OpenBLAS, the BLAS */

/* The largest ||b - A x|| / (||A|| ||x|| + ||b||) of all columns, in Frobenius norms; NaN if one is NaN. B and X: column-major, ld = n. */
int compare_residual(double *out, const factor_matrix *A, const double *B, const double *X, int64_t nrhs);

/* sptrsm_direct with the factor set: solved, refined in working precision, refined with factors in single precision. */
typedef enum { COMPARE_SOLVED, COMPARE_REFINED, COMPARE_MIXED } compare_own_kind;
typedef struct {
  sptrsm_context *context;
  compare_own_kind kind;
  const char *method;
  sptrsm_layout layout;
  int64_t nrhs;
} compare_own_request;
int compare_own_begin(sptrsm_direct **out, char name[96], const compare_own_request *, const factor_set *, const factor_matrix *A);
sptrsm_status compare_own_solve(sptrsm_direct *, compare_own_kind, const sptrsm_block *B, sptrsm_block *X);

/* L y = b and U x = y by mkl_sparse_d_trsm, without permutations and scaling: a part of a solve. */
typedef struct compare_mkl compare_mkl;
int compare_mkl_begin(compare_mkl **out, const char *path, const factor_set *, int64_t nrhs, int threads);
int compare_mkl_solve(compare_mkl *, const double *B, double *Y, double *X, int64_t nrhs); /* row-major */
void compare_mkl_end(compare_mkl *);

/* A X = B by cuDSS with its own ordering and factors of A. */
typedef struct {
  const void *B; /* device memory, column-major, ld = n */
  void *X;
  int64_t nrhs;
  void *stream;
} compare_cudss_blocks;
int compare_cudss_begin(cudss **out, const char *path, const factor_matrix *A, const compare_cudss_blocks *);
int64_t compare_cudss_entries(cudss *); /* of its factors; -1: unknown */

#endif
