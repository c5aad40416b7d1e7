/* arrays.h -- a triangle as tiles (trsv/tiles/tiles.h) in device memory: the arrays as kernels see them, and the partition. */
#ifndef SPTI_TRSV_TILES_ARRAYS_H
#define SPTI_TRSV_TILES_ARRAYS_H

#include "trsv/tiles/tiles.h"

/* The arrays of spti_tiles under the same names; device pointers. */
typedef struct {
  int32_t tile_rows, items;
  const int32_t *row;
  const uint8_t *used;
  const int32_t *word;
  const uint8_t *shape, *coo_position;
  const void *coo_value;
  const uint8_t *position;
  const void *value;
  const uint8_t *inner_byte;
  const void *inner_value, *diagonal;
  const int32_t *item;
} spti_tile_arrays;

/* What a method keeps. */
typedef struct {
  spti_tiles host; /* sizes and levels only: its arrays are on the device */
  spti_tile_arrays arrays;
  void *tile_rows, *memory; /* device memory: row and used; all other arrays */
} spti_gpu_tiles;

#ifdef __cplusplus
extern "C" {
#endif
struct sptrsm_plan;

/* Of plan->view, reordered by level, or as it is solved; parted on the device. Makes the plan's levels and drops them. Waits for
 * the device a few times. After a failure spti_gpu_tiles_free is due. */
sptrsm_status spti_gpu_tiles_create(spti_gpu_tiles *out, struct sptrsm_plan *, bool by_level, const spti_tiles_settings *);
sptrsm_status spti_gpu_tiles_update(spti_gpu_tiles *, const struct sptrsm_plan *); /* new values of the same pattern */
void spti_gpu_tiles_free(spti_gpu_tiles *, const struct sptrsm_plan *);
#ifdef __cplusplus
}
#endif
#endif
