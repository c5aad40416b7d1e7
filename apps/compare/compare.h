/* compare.h -- compare_factors: the solve phases of other solvers and of this library, with the same matrix, in one run. Real matrices
 * only.
 *
 * main.c      the program: options, matrices
 * run.h, run.c  one matrix with one library's factors: all solvers, in alternating repetitions
 * table.c     the rows of a run, and the summary of all
 * csr.c       A by rows, and what others are told of it
 * check.c     the residual of a solution
 * native.c    CHOLMOD, UMFPACK and KLU solve with their own factors
 * cxsparse.c  CXSparse's loops over the triangles of the factor set
 * eigen.c     Eigen with factors of its own; eigen_solvers.h and .cpp call it
 * mumps.c     MUMPS with factors of its own
 * pardiso.c   PARDISO of MKL with factors of its own; MKL is loaded at run time
 * own.c       sptrsm_direct, also with refinement and with factors in single precision
 * mkl.c       MKL's triangular solves with the triangles of the factor set
 * cudss.c     cuDSS on the GPU, which computes its own factors; cudss_library.c loads it at run time
 */
#ifndef APPS_COMPARE_COMPARE_H
#define APPS_COMPARE_COMPARE_H

#include "compare/cudss_library.h"
#include "factor/factor.h"

/* What solvers with factors of their own are told of A; the numbers are those of MUMPS's SYM. */
typedef enum { COMPARE_UNSYMMETRIC, COMPARE_POSITIVE, COMPARE_INDEFINITE } compare_symmetry;
compare_symmetry compare_symmetry_of(const factor_matrix *, const factor_request *);

/* What a solver on the host is made for. */
typedef struct {
  const factor_matrix *A;
  const factor_request *request;
  compare_symmetry symmetry;
  const factor_set *set; /* the factors that this library solves with */
  const char *mkl;       /* path of MKL, or NULL */
  int threads;
} compare_case;

enum { COMPARE_SHARED = 1 /* threads share the columns of B */, COMPARE_SIMPLICIAL = 2 /* no supernodes */ };

/* Another solver on the host. Blocks are column-major, ld = n. */
typedef struct {
  const char *name;    /* what is timed, for the table */
  const char *library; /* factor_library.name of the factor sets that it is compared on, since it has the same factors; NULL: any */
  int form;            /* bits of the enumeration above, given to `begin` */
  /* Factorises A, unless the solver uses the factor set; CLI_SINGULAR after a warning: it can't. After a failure, too, *self is NULL or
   * to be ended. */
  int (*begin)(void **self, const compare_case *, int form);
  int (*solve)(void *self, const double *B, double *X, int64_t nrhs);
  void (*end)(void *self);
} compare_native;

/* Each is ended by a NULL name. The last three are there where the build found Eigen and MUMPS, and the user MKL. */
extern const compare_native compare_suitesparse[], compare_cxsparse[], compare_eigen[], compare_mumps[], compare_pardiso[];
void compare_set_threads(int threads); /* of this program, OpenMP and, if it is OpenBLAS, the BLAS */

/* Calls `solve` by each of `threads` threads with its share of the columns; returns the largest code. */
typedef int compare_columns(void *self, int thread, const double *B, double *X, int64_t nrhs);
typedef struct {
  const double *B;
  double *X;
  int64_t n, nrhs;
  int threads;
} compare_share;
int compare_share_columns(compare_columns *solve, void *self, const compare_share *);

/* A by rows from its columns, or of a symmetric A the upper triangle with its whole diagonal; option: named in messages. To be freed
 * after a failure, too. */
typedef struct {
  int32_t *ptr, *idx;
  double *val;
} compare_csr;
int compare_csr_make(compare_csr *out, const factor_matrix *A, bool upper, const char *option);
void compare_csr_free(compare_csr *);

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
int compare_mkl_begin(compare_mkl **out, const char *path, const factor_set *, sptrsm_layout, int64_t nrhs, int threads);
int compare_mkl_solve(compare_mkl *, const double *B, double *Y, double *X); /* n x nrhs, contiguous, in the layout */
void compare_mkl_end(compare_mkl *);

/* A X = B by cuDSS with its own ordering and factors of A. */
typedef struct {
  const void *B; /* device memory, column-major, ld = n */
  void *X;
  int64_t nrhs;
  void *stream;
  size_t device_memory; /* above 0: its hybrid memory mode, with factors in host memory, may take these bytes on the device */
} compare_cudss_blocks;
int compare_cudss_begin(cudss **out, const char *path, const factor_matrix *A, const compare_cudss_blocks *);
int64_t compare_cudss_entries(cudss *); /* of its factors; -1: unknown */

#endif
