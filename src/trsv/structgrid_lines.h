/* structgrid_lines.h -- structgrid's other way, a warp for each grid line, as published: settings, per-solve state and solve. */
#ifndef SPTI_STRUCTGRID_LINES_H
#define SPTI_STRUCTGRID_LINES_H

#include "core/carve.h"
#include "core/plan.h"
#include "core/stencil.h"
#include "core/launch.h"

typedef struct {
  int32_t stream, by_line, acquire, warps; /* map, state, poll; warps of a plane */
} spti_structgrid_lines;

/* UNSUPPORTED where lines can't be solved so. */
sptrsm_status spti_structgrid_lines_check(const sptrsm_plan *);
/* Bytes of per-solve state. */
sptrsm_status spti_structgrid_lines_bytes(size_t *out, const sptrsm_plan *, const spti_stencil *, const spti_structgrid_lines *);
/* Queues the solve of all right-hand sides, one after another. `memory` has that many bytes. */
sptrsm_status spti_structgrid_lines_solve(const sptrsm_plan *, const spti_stencil *, const spti_structgrid_lines *, void *memory,
                                          const spti_transfer *);

#endif
