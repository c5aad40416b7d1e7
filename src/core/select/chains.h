/* chains.h -- how much of a triangle lies in supernodes, told without looking for them. */
#ifndef SPTI_CORE_SELECT_CHAINS_H
#define SPTI_CORE_SELECT_CHAINS_H

#include "core/matrix/view.h"

/* The share of off-diagonal entries in chains of at least 4 lines, each of which has an entry for the next and one entry more than it:
 * what a run of equal columns of a factor L looks like, or of rows of U and L^T. From a host view in either orientation; O(n) in the one
 * in which factors have their supernodes, else O(nnz). 0 for a diagonal. */
sptrsm_status spti_chained_share(double *out, const spti_view *);

#endif
