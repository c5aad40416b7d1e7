/* view.h -- one description of op(T) for all methods, so that none of them asks for format, triangle or operation.
 *
 * The 12 combinations of 2 formats, 2 triangles and 3 operations become four facts:
 *   pull      line i is row i of op(T), it lists the columns that row i depends on (CSR); else line j is column j, it lists
 *             the rows that depend on it (CSC);
 *   backward  rows become ready from n-1 down to 0; else from 0 up;
 *   conj      values are to be conjugated (operation C on a complex type);
 *   unit      the diagonal is one and is not read.
 * Off-diagonal entries of line i: p in [ptr[i] + head, ptr[i+1] - tail). The stored diagonal, if any, is the first
 * entry (head 1) or the last (tail 1) of its line. idx ascends within a line.
 */
#ifndef SPTI_CORE_MATRIX_VIEW_H
#define SPTI_CORE_MATRIX_VIEW_H

#include <stdbool.h>

#include "core/base/error.h"

typedef enum { SPTI_PULL, SPTI_PUSH, SPTI_ANY } spti_orientation;

typedef struct {
  int32_t n;
  int64_t nnz; /* stored entries, diagonals included */
  sptrsm_dtype dtype;
  sptrsm_place place;
  const int64_t *ptr; /* [n+1] */
  const int32_t *idx; /* [nnz] */
  const void *val;    /* [nnz] */
  int32_t head, tail;
  bool pull, backward, conj, unit;
} spti_view;

/* An operation as two independent flags; transposes of partial systems conjugate without transposing. */
typedef struct {
  bool transpose, conj;
} spti_op;

spti_op spti_op_from(sptrsm_op);

/* Position of line i's diagonal, where head or tail is 1. */
static inline int64_t spti_view_diagonal(const spti_view *v, int32_t i) { return v->head ? v->ptr[i] : v->ptr[i + 1] - 1; }

static inline int64_t spti_view_begin(const spti_view *v, int32_t i) { return v->ptr[i] + v->head; }
static inline int64_t spti_view_end(const spti_view *v, int32_t i) { return v->ptr[i + 1] - v->tail; }

/* The s-th line in solve order. */
static inline int32_t spti_view_line(const spti_view *v, int32_t s) { return v->backward ? v->n - 1 - s : s; }

#endif
