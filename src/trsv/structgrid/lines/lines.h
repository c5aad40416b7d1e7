/* lines.h -- structgrid's other way, a warp for each grid line, as published: settings, per-solve state and solve. */
#ifndef SPTI_TRSV_STRUCTGRID_LINES_LINES_H
#define SPTI_TRSV_STRUCTGRID_LINES_LINES_H

#include "core/base/carve.h"
#include "core/device/transfer.h"
#include "core/plan/plan.h"
#include "core/stencil/stencil.h"

typedef struct {
  int32_t stream, by_line, acquire, warps, clock; /* map, state, poll; warps of a plane; count cycles */
  double *cycles;                                 /* [2] in device memory, of all solves: in waits and in all; or NULL */
} spti_structgrid_lines;

/* UNSUPPORTED where lines can't be solved so. Allocates `cycles` if they are to be counted; the caller frees them. */
sptrsm_status spti_structgrid_lines_prepare(const sptrsm_plan *, spti_structgrid_lines *);
/* Of the warps' time in all solves until now, the percentage in waits; -1: none is known. Waits for the device. */
double spti_structgrid_lines_waited(const sptrsm_plan *, const spti_structgrid_lines *);
/* Bytes of per-solve state. */
sptrsm_status spti_structgrid_lines_bytes(size_t *out, const sptrsm_plan *, const spti_stencil *, const spti_structgrid_lines *);
/* Queues the solve of all right-hand sides, one after another. `memory` has that many bytes. */
sptrsm_status spti_structgrid_lines_solve(const sptrsm_plan *, const spti_stencil *, const spti_structgrid_lines *, void *memory,
                                          const spti_transfer *);

#endif
