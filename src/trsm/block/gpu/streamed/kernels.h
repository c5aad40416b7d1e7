/* kernels.h -- tiles that cross the bus without their missing entries, and are unpacked on the device. Plain C; pointers are device
 * pointers. */
#ifndef SPTI_TRSM_BLOCK_GPU_STREAMED_KERNELS_H
#define SPTI_TRSM_BLOCK_GPU_STREAMED_KERNELS_H

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_STREAMED_WORDS = 4 }; /* of 32 bits: one bit for each value of a tile */

typedef struct {
  int64_t tiles;
  const uint32_t *there; /* [4 tiles]: bit b of word w: value 32 w + b of the tile is there; else it is +0 */
  const int32_t *start;  /* [tiles]: the tile's first value */
  const void *value;     /* those that are there, tile after tile */
  void *tile;            /* [128 tiles] */
} spti_streamed_unpack_args;

int spti_streamed_unpack_launch(const spti_streamed_unpack_args *, sptrsm_dtype, void *stream);

#ifdef __cplusplus
}
#endif
#endif
