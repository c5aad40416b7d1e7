/* row_panels_gpu.h -- the rows of a pull view cut into panels on the device, and the levels of the panels (core/levels/row_panel_kernels.cu): what
 * tells whether a triangle is worth solving by panels, and the beginning of doing so. */
#ifndef SPTI_CORE_LEVELS_ROW_PANELS_GPU_H
#define SPTI_CORE_LEVELS_ROW_PANELS_GPU_H

#include "core/base/error.h"
#include "core/levels/row_panel_kernels.h"

typedef struct spti_row_panels {
  int32_t n, count, levels;     /* places; panels; levels of panels */
  int32_t rows, least;          /* as asked for */
  int32_t *panel;               /* device, [n]: panel of each place; the arrays are one allocation, which begins here */
  int32_t *first;               /* device, [count+1]: first place of each panel */
  int32_t *number;              /* device, [count]: 0, 1, 2, ... */
  int32_t *level;               /* device, [count]: from 1; a panel needs none of its own level */
  spti_row_panels_facts *facts; /* device */
  size_t bytes;                 /* of device memory */
} spti_row_panels;

/* Panels of a pull view in device memory: of `rows` rows at most (up to 64), of `least` or more where the next row
 * needs none of them. Deterministic. Waits for the device once. */
sptrsm_status spti_row_panels_create(spti_row_panels *out, const spti_view *, sptrsm_context *, int32_t rows, int32_t least);
void spti_row_panels_free(spti_row_panels *, const sptrsm_context *);

/* The same in two steps: all of it queued, then what the facts say. Levels are not looked for, and are 0, where a panel has fewer than
 * `dense` entries on average in each panel that it needs and in itself; dense 0: always. */
sptrsm_status spti_row_panels_start(spti_row_panels *out, const spti_view *, const sptrsm_context *, int32_t rows, int32_t least,
                                    int32_t dense);
void spti_row_panels_finish(spti_row_panels *, const spti_row_panels_facts *facts /* host */);

/* Panels of `block`, which the survey of `auto` looks for too (core/select/survey_gpu.h). */
enum { SPTI_FACTOR_PANEL_ROWS = 64, SPTI_FACTOR_PANEL_LEAST = 16 };

#endif
