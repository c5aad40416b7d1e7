/* factor.h -- the data of sptrsm-factor: the matrix, the request, the factor set, and the interface to libraries of direct solvers.
 *
 * One file for each library (cholmod.c, ...) turns a matrix into a factor set through a `factor_library`; no other file knows a library.
 * Numbers are f64 or c128, as the libraries take them. A function that returns int returns an exit code of cli.h, after a message.
 */
#ifndef APPS_FACTOR_FACTOR_H
#define APPS_FACTOR_FACTOR_H

#include "common/cli.h"

/* ---- the matrix ---- */

typedef struct {
  const char *where; /* for messages */
  int32_t n;
  int is_complex;
  int64_t *ptr;           /* [n+1], CSC of the whole matrix: sorted, no duplicates, both triangles of a symmetric one */
  int64_t *idx;           /* 64 bits, as the libraries' long interfaces take them */
  double *val;            /* (re, im) pairs where complex */
  bool hermitian;         /* A = A^H in pattern and numbers */
  bool positive_diagonal; /* every diagonal entry is stored, real and above zero */
} factor_matrix;

/* Copies a matrix from a file, which has to be square; f32 and c64 are widened. */
int factor_matrix_make(factor_matrix *out, const sptrsm_file_matrix *);
void factor_matrix_free(factor_matrix *);
/* Finds the first column that can have no pivot, whatever its numbers are; -1: there is none. */
int factor_unmatched(int64_t *column, const factor_matrix *);

/* ---- the request ---- */

typedef enum {
  ORDER_DEFAULT,
  ORDER_NATURAL,
  ORDER_AMD,
  ORDER_COLAMD,
  ORDER_METIS,
  ORDER_NESDIS,
  ORDER_MMD,
  ORDER_BEST,
  ORDER_COUNT
} factor_order;
extern const char *const factor_order_names[ORDER_COUNT];

typedef struct {
  factor_order order;
  bool ldl;        /* CHOLMOD: L D L' instead of L L' */
  bool keep_zeros; /* keep entries that are exactly zero, which pad supernodes */
  bool scale;      /* UMFPACK, KLU: scale the rows */
  double pivot;    /* relative pivot threshold of LU, negative: the library's */
} factor_request;

/* ---- the factor set ---- */

typedef struct {
  sptrsm_sparse L, U; /* their arrays belong to the set; U.ptr NULL: U = L' */
  int32_t *perm_row, *perm_col;
  double *scale_row; /* or NULL */
  sptrsm_scale_op scale_op;
  double *D;            /* of LDL', or NULL */
  sptrsm_factors set;   /* refers to the members above, for sptrsm_io and sptrsm_direct */
  const char *kind;     /* "L L'", "L D L'", "L U"; static storage, as the next */
  const char *ordering; /* that was used: "metis" */
  double analysis_seconds, numeric_seconds;
  int64_t singular_column, singular_step; /* after CLI_SINGULAR, with the reason */
  const char *singular;
} factor_set;

/* Copies a triangle from a library's arrays: 32-bit indices, sorted, without entries that are exactly zero unless keep_zeros. Diagonal
 * entries are always kept. */
typedef struct {
  sptrsm_format format;
  sptrsm_uplo uplo;
  sptrsm_diag diag;
  const int64_t *ptr, *idx;
  const double *val;
} factor_arrays;
int factor_take_triangle(sptrsm_sparse *out, const factor_matrix *, const factor_arrays *, bool keep_zeros);
int32_t *factor_take_permutation(const int64_t *perm, int32_t n); /* NULL without memory */
/* Fills `set` from the other members. Permutations: P gather, Q scatter. */
void factor_set_finish(factor_set *);
void factor_set_free(factor_set *);
/* Returns CLI_SINGULAR and notes the column where a number of the factors is not finite. */
int factor_find_overflow(factor_set *);

typedef struct {
  int64_t nnz_a, nnz_l, nnz_u;
  double fill;        /* (nnz(L) + nnz(U) - n) / nnz(A): one diagonal is counted */
  double flops;       /* of the factorisation: additions, multiplications and divisions in real arithmetic */
  int64_t supernodes; /* runs of columns of L with the same rows below their diagonal block */
} factor_counts;
int factor_count(factor_counts *out, const factor_matrix *, const factor_set *);

/* ---- the libraries ---- */

typedef struct {
  const char *name;
  unsigned orders; /* bit k: it has factor_order k */
  int (*factorise)(factor_set *out, const factor_matrix *, const factor_request *);
  const char *(*version)(void); /* "CHOLMOD 3.0.14" */
} factor_library;

extern const factor_library *const factor_libraries[]; /* those of this build, ended by NULL; the order of preference */
extern const factor_library factor_cholmod, factor_umfpack, factor_klu, factor_superlu;

int factor_no_memory(const char *what);
/* Notes that there are no factors, because `column` of A has no pivot at `step` of the elimination; what: the reason, static storage.
 * Returns CLI_SINGULAR without a message, because the caller may try another library. */
int factor_singular(factor_set *, int64_t column, int64_t step, const char *what);

#endif
