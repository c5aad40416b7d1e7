/* batch.h -- compare_batch: solves of uniform batches on a GPU beside cuDSS and loops over cuSPARSE, on the same matrices.
 *
 * main.c     the program: sizes, repetitions, table
 * problem.c  matrices of 5-point stencils, ordered by nested dissection, with their factors; the values of items
 * own.c      sptrsm_batch
 * sparse.c   cuSPARSE's SpSV or SpSM, item by item
 * cudss.c    the uniform batch of cuDSS, which orders and factorises A itself (compare/cudss_library.h)
 */
#ifndef APPS_COMPARE_BATCH_BATCH_H
#define APPS_COMPARE_BATCH_BATCH_H

#include <stdbool.h>

#include "common/cli.h"

typedef struct {
  int64_t *ptr;
  int32_t *idx;
  double *val;
} batch_rows; /* compressed rows; the caller frees */

/* P A P' = L U; L has ones on its diagonal, which are not stored. Item i has the matrix diag(r) A diag(c) with r and c of its own, so its
 * factors follow from L and U. */
typedef struct {
  int32_t n;
  int32_t *perm; /* row i of the permuted matrix is row perm[i] of A */
  batch_rows A, L, U;
} batch_problem;

int batch_problem_create(batch_problem *, int32_t side); /* of a grid of side x side points */
void batch_problem_free(batch_problem *);

/* The scale factor of an item's row or column of A. */
double batch_scale(int64_t item, int32_t index, bool column);
/* Values of the items [first, first + count), one after another. */
void batch_values_of_A(double *out, const batch_problem *, int64_t first, int64_t count);
void batch_values_of_L(double *out, const batch_problem *, int64_t first, int64_t count);
void batch_values_of_U(double *out, const batch_problem *, int64_t first, int64_t count);
/* The largest |b - A x| / (|A| |x| + |b|) of an item; NaN if one is. */
double batch_residual(const batch_problem *, int64_t item, const double *b, const double *x, int64_t nrhs);

/* Blocks of all items, column-major, one after another, in device memory. */
typedef struct {
  int64_t count, nrhs;
  double *B, *X;
  void *stream;
} batch_blocks;

/* A solver: `solve` queues one solve of all its items, which may be fewer than the blocks have. */
typedef struct {
  void *self;
  int (*solve)(void *self);
  void (*end)(void *self);
  int64_t items;
  char note[64];
} batch_solver;

int batch_own_begin(batch_solver *, const batch_problem *, const batch_blocks *, const char *method);
int batch_sparse_begin(batch_solver *, const batch_problem *, const batch_blocks *, int64_t items);
int batch_cudss_begin(batch_solver *, const batch_problem *, const batch_blocks *, const char *library);

enum { BATCH_ITEMS_AT_ONCE = 200 }; /* whose values are made on the host together */

#endif
