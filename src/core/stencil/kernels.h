/* kernels.h -- kernels that compare a pattern with a stencil (stencil.h). A launcher queues on the stream, returns a cudaError_t and
 * allocates nothing. */
#ifndef SPTI_CORE_STENCIL_KERNELS_H
#define SPTI_CORE_STENCIL_KERNELS_H

#include "core/stencil/stencil.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  spti_view view; /* pull */
  int32_t grid[3];
  int32_t count;
  int8_t offset[SPTI_STENCIL_ENTRIES][3];
  int32_t *strange; /* n - i for the first row i with an entry that is not in the stencil; must be 0 before; or NULL */
  int32_t *present; /* [n] by position in solve order: bit o is set if the row has the entry at offset[o]; or NULL */
} spti_stencil_check_args;

typedef struct {
  spti_view view; /* pull, n > 0 */
  /* Mapped host memory. */
  int32_t *count;    /* off-diagonal entries of the last row in solve order */
  int32_t *distance; /* [SPTI_STENCIL_ENTRIES]: their distances from the diagonal in positions, ascending; unset if count is larger */
} spti_stencil_last_args;

int spti_stencil_last_launch(const spti_stencil_last_args *, void *stream);
int spti_stencil_check_launch(const spti_stencil_check_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
