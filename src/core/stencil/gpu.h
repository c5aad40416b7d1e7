/* gpu.h -- is a plan's view, in device memory, what a stencil on a grid makes? */
#ifndef SPTI_CORE_STENCIL_GPU_H
#define SPTI_CORE_STENCIL_GPU_H

#include "core/plan/plan.h"
#include "core/stencil/stencil.h"

/* The stencil and grid that the plan's options say, else those that the last row in solve order shows; checked against all rows. ARGUMENT:
 * what the options say is none. UNSUPPORTED: nothing is said and the row shows none, or the first row that has an entry which the
 * stencil has not. Waits for the device. */
sptrsm_status spti_plan_stencil(spti_stencil *out, const sptrsm_plan *);
/* The same without the check against all rows: a name only where the last row is some stencil's. */
sptrsm_status spti_plan_stencil_shown(spti_stencil *out, const sptrsm_plan *);
/* present [n], by solve position: which of the stencil's entries a row has, a bit each (spti_stencil_offsets). All are the stencil's. */
sptrsm_status spti_stencil_presence(int32_t *present, const sptrsm_plan *, const spti_stencil *);

#endif
