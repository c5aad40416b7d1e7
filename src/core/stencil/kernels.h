/* kernels.h -- a pattern held against a stencil on the device (stencil.h). A launcher queues on the stream and returns a
 * cudaError_t as int; it allocates nothing. */
#ifndef SPTI_CORE_STENCIL_KERNELS_H
#define SPTI_CORE_STENCIL_KERNELS_H

#include "core/device/launch.h"
#include "core/stencil/stencil.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  spti_view view; /* pull */
  int32_t grid[3];
  int32_t count;
  int8_t offset[SPTI_STENCIL_ENTRIES][3];
  int32_t *strange; /* n - i for the first row i that has an entry which the stencil has not; 0: none. Zero before; or NULL */
  int32_t *present; /* [n] by solve position: bit o for each entry at offset[o] that the row has; or NULL */
} spti_stencil_check_args;

typedef struct {
  spti_view view; /* pull, n > 0 */
  /* Host memory as the device sees it. */
  int32_t *count;    /* of what the last row in solve order needs; */
  int32_t *distance; /* [SPTI_STENCIL_ENTRIES]: its distances in positions, ascending, if they are so few */
} spti_stencil_last_args;

int spti_stencil_last_launch(const spti_stencil_last_args *, void *stream);
int spti_stencil_check_launch(const spti_stencil_check_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
