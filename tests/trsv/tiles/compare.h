/* compare.h -- tiles parted on a device, or an emulated one, against the host's. */
#ifndef TESTS_TRSV_TILES_COMPARE_H
#define TESTS_TRSV_TILES_COMPARE_H

#include "trsv/tiles/arrays.h"

#ifdef __cplusplus
extern "C" {
#endif
/* Names the first array or number in which the two differ by a bit; NULL: none. */
const char *tile_difference(const spti_tiles *expected, const spti_gpu_tiles *found, const sptrsm_plan *);
#ifdef __cplusplus
}
#endif
#endif
