/* gpu.h -- finds the stencil and the grid of a view in device memory, or checks those that the caller names. */
#ifndef SPTI_CORE_STENCIL_GPU_H
#define SPTI_CORE_STENCIL_GPU_H

#include "core/context/context.h"
#include "core/stencil/stencil.h"

/* The stencil and grid of `told` (options->stencil and options->grid) if these are set, else those that fit the last row in solve order.
 * All rows are checked. Fails with ARGUMENT if the options name no stencil or grid, with UNSUPPORTED if they name none and the last row
 * fits none, or at the first row with an entry that is not in the stencil. Waits for the device. */
sptrsm_status spti_gpu_stencil(spti_stencil *out, const spti_view *, const sptrsm_context *, const sptrsm_options *told);
/* The same without the check of all rows; out->name is NULL if the last row fits no stencil. */
sptrsm_status spti_gpu_stencil_shown(spti_stencil *out, const spti_view *, const sptrsm_context *, const sptrsm_options *told);
/* present: [n] by position in solve order: bit o is set if the row has the entry at offset o (spti_stencil_offsets). Every entry must
 * belong to the stencil. */
sptrsm_status spti_gpu_stencil_presence(int32_t *present, const spti_view *, const sptrsm_context *, const spti_stencil *);

#endif
