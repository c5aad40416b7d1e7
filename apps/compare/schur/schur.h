/* schur.h -- compare_schur_cuda: local Schur complements of a domain decomposition (FETI) on a GPU, beside what programs do without
 * sptrsm_schur.
 *
 * main.c     the program: settings, measurements, table
 * problem.c  subdomains: Cholesky factors of 7-point Laplacians of boxes, ordered by nested dissection, and gluing columns B'
 * own.c      sptrsm_schur for all subdomains, with sparse and with full columns
 * peers.c    SpSM of cuSPARSE, or L made dense and DTRSM of cuBLAS; then DSYRK
 */
#ifndef APPS_COMPARE_SCHUR_SCHUR_H
#define APPS_COMPARE_SCHUR_SCHUR_H

#include <stdbool.h>

#include <sptrsm_schur.h>

#include "common/cli.h"

/* K = L L' in the order of dissection; L by columns. */
typedef struct {
  int32_t size[3], n;
  int32_t *perm, *inverse; /* perm[i]: point of row i */
  int64_t *ptr;
  int32_t *idx;
  double *val;
} schur_factor;

/* B' by columns, rows as points: one entry, in every other column two, on the faces of the box. */
typedef struct {
  int64_t count;
  int64_t *ptr;
  int32_t *idx;
  double *val;
} schur_columns;

enum { SCHUR_SHAPES = 7 };
/* Boxes of nearly side^3 points with patterns of their own, factorised by a thread each. */
int schur_factors_create(schur_factor[SCHUR_SHAPES], int32_t side);
void schur_factor_free(schur_factor *);
int schur_columns_create(schur_columns *, const schur_factor *, int64_t count);
void schur_columns_free(schur_columns *);

/* What is compared: item i has factor i % SCHUR_SHAPES, and S of a peer's item 0 is left in `S`, row-major, its lower triangle. */
typedef struct {
  const schur_factor *factors;
  const schur_columns *columns; /* [SCHUR_SHAPES] */
  int64_t items, count;         /* subdomains; columns of each */
  void *stream;
} schur_case;

/* A way to make S; `run` queues the work for `items` subdomains. */
typedef struct {
  void *self;
  int (*run)(void *self);
  void (*end)(void *self);
  int64_t items;
  double *S;                              /* device: of item 0 */
  double analysis_ms, reached, workspace; /* of an item: NaN unknown; bytes */
} schur_way;

int schur_own_begin(schur_way *, const schur_case *, int64_t items, bool dense, const char *method);
int schur_spsm_begin(schur_way *, const schur_case *, int64_t items);
int schur_trsm_begin(schur_way *, const schur_case *, int64_t items);
/* S of item 0 by sptrsm_schur on the host, row-major, its lower triangle. */
int schur_on_host(double *S, const schur_case *);
sptrsm_status schur_direct_create(sptrsm_direct **, sptrsm_context *, const schur_factor *, const char *method);
/* B' of an item as a dense block in the order of the factor's rows (permuted) or of points, column-major, in device memory. */
int schur_dense_columns(double **out, const schur_case *, int64_t item, bool permuted);

#endif
