/* reach.h -- the rows of the factors that a sparse right-hand side reaches and on which the wanted rows of X depend, and the smaller
 * factor set of the entries between these rows (the part). */
#ifndef SPTI_CORE_REACH_REACH_H
#define SPTI_CORE_REACH_REACH_H

#include <sptrsm_reach.h>

#include "core/direct/systems.h"

/* A set of rows: a byte for each row, 0 or 1. */
typedef unsigned char spti_row_set;

/* The result of the search, from which the part is cut. Rows are numbered as in the factors. */
typedef struct {
  const sptrsm_factors *f;
  int32_t n, m;            /* order of the factors and of the part */
  spti_row_set *worked[3]; /* [n] by spti_factor: rows that the stage with this factor works on; NULL if no stage has it */
  int32_t *rows;           /* [m] rows of the part, ascending */
  int32_t *number;         /* [n] the row's number in the part, or -1 */
} spti_reach_rows;

/* ---- passes.c: passes over all entries ---- */

/* Adds to the set the rows in which x may be nonzero if op(T) x = b and b is zero outside the set. With op transposed it adds the rows
 * on which the rows of the set depend instead. Of the request only `passed` is used. */
void spti_reach_close(spti_row_set *, const sptrsm_sparse *T, bool transpose, const sptrsm_reach_request *);
sptrsm_status spti_reach_validate(const sptrsm_sparse *T, const sptrsm_reach_request *); /* as spti_validate; likewise */

/* ---- cut.c: results are host memory. The caller frees all arrays that are not NULL, also after a failure ---- */

/* The triangle of the part: the entries between the rows worked on, and a one on the diagonal of every other row. conj: conjugated. */
sptrsm_status spti_reach_cut_triangle(sptrsm_sparse *out, const spti_reach_rows *, const sptrsm_sparse *T, const spti_row_set *worked,
                                      bool conj);
/* part 0: D, with a one in rows that are not worked on. part 1: D_sub, with a zero there. */
sptrsm_status spti_reach_cut_diagonal(void **out, const spti_reach_rows *, const void *values, int part);

#endif
