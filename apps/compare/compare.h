/* compare.h -- the solve phase of other solvers, for compare_factors: the same matrix, the same factors, the same run. Real matrices.
 *
 * main.c           the program: matrices, alternating repetitions, table
 * check.c     the residual of a solution
 * native.c    CHOLMOD, UMFPACK and KLU solve with the factors they keep
 * own.c       sptrsm_direct, also with refinement and with factors in single precision
 * mkl.c       MKL's triangular solves with the triangles of the factor set; MKL is loaded when asked for
 * cudss.c     cuDSS on the GPU with factors of its own, likewise
 */
#ifndef APPS_COMPARE_COMPARE_H
#define APPS_COMPARE_COMPARE_H

#include "factor/factor.h"

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

/* max over the columns of ||b - A x|| / (||A|| ||x|| + ||b||), Frobenius norms; NaN if one is. B and X column-major, ld = n. */
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

/* L y = b and U x = y by mkl_sparse_d_trsm; permutations and scaling are left out, so it is a part of a solve. */
typedef struct compare_mkl compare_mkl;
int compare_mkl_begin(compare_mkl **out, const char *path, const factor_set *, int64_t nrhs, int threads);
int compare_mkl_solve(compare_mkl *, const double *B, double *Y, double *X, int64_t nrhs); /* row-major */
void compare_mkl_end(compare_mkl *);

/* A X = B by cuDSS with its own ordering and factors of A. */
typedef struct compare_cudss compare_cudss;
typedef struct {
  const void *B; /* device memory, column-major, ld = n */
  void *X;
  int64_t nrhs;
  void *stream;
} compare_cudss_blocks;
int compare_cudss_begin(compare_cudss **out, const char *path, const factor_matrix *A, const compare_cudss_blocks *);
int64_t compare_cudss_entries(compare_cudss *); /* of its factors; -1: unknown */
int compare_cudss_solve(compare_cudss *);       /* queued on the stream */
void compare_cudss_end(compare_cudss *);

#endif
