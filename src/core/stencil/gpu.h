/* gpu.h -- is a view in device memory what a stencil on a grid makes? */
#ifndef SPTI_CORE_STENCIL_GPU_H
#define SPTI_CORE_STENCIL_GPU_H

#include "core/context/context.h"
#include "core/stencil/stencil.h"

/* The stencil and grid that `told` names (options->stencil and options->grid), else those that the last row in solve order shows; checked
 * against all rows. ARGUMENT: what is told is no stencil. UNSUPPORTED: nothing is told and the row shows none, or the first row that has an
 * entry which the stencil has not. Waits for the device. */
sptrsm_status spti_gpu_stencil(spti_stencil *out, const spti_view *, const sptrsm_context *, const sptrsm_options *told);
/* The same without the check against all rows: a name only where the last row is some stencil's. */
sptrsm_status spti_gpu_stencil_shown(spti_stencil *out, const spti_view *, const sptrsm_context *, const sptrsm_options *told);
/* present [n], by solve position: which of the stencil's entries a row has, a bit each (spti_stencil_offsets). All are the stencil's. */
sptrsm_status spti_gpu_stencil_presence(int32_t *present, const spti_view *, const sptrsm_context *, const spti_stencil *);

#endif
