/* patterns.h -- which items of a mixed batch have one pattern: the same factors in everything but their values. On the host. */
#ifndef SPTI_CORE_BATCH_PATTERNS_H
#define SPTI_CORE_BATCH_PATTERNS_H

#include "core/batch/batch.h"

/* like[i] is the first item with the pattern of item i, which may be i itself: same triangles, U, permutations, conventions, and the same
 * parts, whatever their values. Arrays are compared entry by entry where their hashes agree. An item whose factors could not be read this
 * far (wrong pointers of lines, NULL) is like none, so that its creation says what is wrong with it. */
sptrsm_status spti_batch_find_patterns(int64_t *like /* [count] */, const sptrsm_batch *, const spti_batch_source *);

#endif
