/* grid.h -- what structgrid and structgrid-lines share: the check that a triangle is a stencil on a grid, and the text that
 * describes that stencil. */
#ifndef SPTI_TRSV_STRUCTGRID_GRID_H
#define SPTI_TRSV_STRUCTGRID_GRID_H

#include <stddef.h>

#include "core/plan/plan.h"
#include "core/stencil/stencil.h"

/* The stencil and grid of the plan's triangle: from the options, else from the last row in solve order; checked against all rows.
 * Errors, with `method` in the message: UNSUPPORTED for more rows than the kernels count in 32 bits; else those of spti_gpu_stencil. */
sptrsm_status spti_structgrid_find(spti_stencil *out, const sptrsm_plan *, const char *method);

/* Writes "stencil=S grid=X,Y,Z". Returns the number of characters, or 0 if they do not fit. */
size_t spti_structgrid_describe(char *out, size_t room, const spti_stencil *);

#endif
