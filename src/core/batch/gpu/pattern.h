/* pattern.h -- the pattern of an item, checked without its values. */
#ifndef SPTI_CORE_BATCH_GPU_PATTERN_H
#define SPTI_CORE_BATCH_GPU_PATTERN_H

#include <sptrsm.h>

/* Everything that sptrsm_matrix_create checks of T, which is in host memory, but for its values: T->val is not read. */
sptrsm_status spti_batch_check_pattern(const sptrsm_sparse *T);

#endif
