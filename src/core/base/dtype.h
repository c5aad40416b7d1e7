/* dtype.h -- questions about the four types of values. */
#ifndef SPTI_CORE_BASE_DTYPE_H
#define SPTI_CORE_BASE_DTYPE_H

#include <stdbool.h>

#include <sptrsm.h>

static inline bool spti_is_complex(sptrsm_dtype dtype) { return dtype == SPTRSM_C64 || dtype == SPTRSM_C128; }

#endif
