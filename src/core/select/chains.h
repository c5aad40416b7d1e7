/* chains.h -- how much of a triangle lies in supernodes, estimated without finding the supernodes. */
#ifndef SPTI_CORE_SELECT_CHAINS_H
#define SPTI_CORE_SELECT_CHAINS_H

#include "core/matrix/view.h"

/* The share of off-diagonal entries that lie in chains of at least 4 lines. In a chain each line has an entry for the
 * next line and one entry more than it, as the columns of a supernode of L have, or the rows of U and of L^T; or the
 * lines belong to a wide band and have about as many entries. 0 for a diagonal matrix. An estimate: patterns are not
 * compared beyond the entries next to the diagonal, and for a band with gaps both orientations may differ. v: host view
 * in either orientation; O(n) in the one in which factors have their supernodes, else O(nnz). */
sptrsm_status spti_chained_share(double *out, const spti_view *);

#endif
