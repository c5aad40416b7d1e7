/* column.h -- what residual.c asks of the two ways to compute residuals, and what it gets for each column. */
#ifndef APPS_COMMON_RESIDUAL_COLUMN_H
#define APPS_COMMON_RESIDUAL_COLUMN_H

#include <float.h>

#include "common/residual/residual.h"

/* Results of one column. */
typedef struct {
  double berr, normwise, g1, g2;
  int64_t g1_row;
} column_result;

/* One sparse matrix by rows: both triangles, with its diagonal, conjugated and transposed as the chain says. */
typedef struct {
  int64_t *ptr; /* [n+1] */
  int32_t *idx;
  double *val; /* one number for each entry, or two: real and imaginary part */
} panel_rows;

/* Input of all columns. */
typedef struct {
  const chain *S;
  const void *alpha;
  const sptrsm_block *B, *X;
  panel_rows rows;        /* of S, for panel.c; ptr NULL: column by column */
  double norm_f, norm_1;  /* of a single sparse matrix, else 0 */
  const int32_t *lengths; /* [n] entries of the rows of a triangle, else NULL */
} job;

static inline double unit_roundoff(sptrsm_dtype t) { return t == SPTRSM_F32 || t == SPTRSM_C64 ? FLT_EPSILON / 2 : DBL_EPSILON / 2; }

/* panel.c: RESIDUAL_PANEL columns at once. */
bool panel_takes(const chain *);                        /* whether S is one sparse matrix */
size_t panel_work_bytes(const chain *);                 /* of the workspace of a thread */
size_t panel_rows_bytes(const chain *);                 /* of the matrix by rows */
bool panel_rows_create(panel_rows *out, const chain *); /* false: no memory */
void panel_rows_free(panel_rows *);
/* Columns [first, first + width). Returns the columns, as bits, whose numbers are too large, too small or not finite for this way. */
unsigned panel_columns(column_result *out, const job *, int64_t first, int width, void *workspace);

#endif
