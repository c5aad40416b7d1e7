/* tile_compare.h -- tiles parted on a device, or an emulated one, against the host's. */
#ifndef TESTS_TILE_COMPARE_H
#define TESTS_TILE_COMPARE_H

#include "core/tile_arrays.h"

#ifdef __cplusplus
extern "C" {
#endif
/* Names the first array or number in which the two differ by a bit; NULL: none. */
const char *tile_difference(const spti_tiles *expected, const spti_gpu_tiles *found, const sptrsm_plan *);
#ifdef __cplusplus
}
#endif
#endif
