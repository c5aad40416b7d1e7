/* levels.h -- level sets on the host. level(i) = 1 + the highest level of the rows that row i depends on, and 0 without dependencies. */
#ifndef SPTI_CORE_LEVELS_LEVELS_H
#define SPTI_CORE_LEVELS_LEVELS_H

#include "core/matrix/view.h"

typedef struct {
  int32_t count;  /* number of levels; 0 for n = 0 */
  int32_t *ptr;   /* [count+1]: rows of level l are order[ptr[l] .. ptr[l+1]) */
  int32_t *order; /* [n]: rows by level, in solve order within a level */
} spti_levels;

/* The level sets of a view in host memory, pull or push, in O(n + nnz) time. The caller frees them. */
sptrsm_status spti_levels_build(spti_levels *out, const spti_view *);
void spti_levels_free(spti_levels *);

#endif
