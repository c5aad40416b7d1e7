/* reach.h -- the rows of the factors that a sparse right-hand side reaches and the wanted rows need, and the part they make. */
#ifndef SPTI_CORE_REACH_REACH_H
#define SPTI_CORE_REACH_REACH_H

#include <sptrsm_reach.h>

#include "core/direct/systems.h"

/* Which rows: one byte each, 0 or 1. */
typedef unsigned char spti_row_set;

/* Between what is asked and the part: rows as the factors number them. */
typedef struct {
  const sptrsm_factors *f;
  int32_t n, m;
  spti_row_set *worked[3]; /* [n] by spti_factor: rows that the stage with this factor works on; NULL: no such stage */
  int32_t *rows;           /* [m] ascending: rows of the part */
  int32_t *number;         /* [n] the row's number in the part, or -1 */
} spti_reach_rows;

/* op(T) x = b with b zero outside the set: adds the rows where x may be nonzero. For op turned round: the rows that x needs. */
void spti_reach_close(spti_row_set *, const sptrsm_sparse *T, bool transpose);

/* cut.c. Arrays of the results are allocated, also where they fail: free what is not NULL. */

/* Lines and entries between the rows worked on; the others have a one on their diagonal. */
sptrsm_status spti_reach_cut_triangle(sptrsm_sparse *out, const spti_reach_rows *, const sptrsm_sparse *T, const spti_row_set *worked,
                                      bool conj);
/* part 0: D, the identity in rows that are not worked on; part 1: D_sub, there zero. */
sptrsm_status spti_reach_cut_diagonal(void **out, const spti_reach_rows *, const void *values, int part);

#endif
