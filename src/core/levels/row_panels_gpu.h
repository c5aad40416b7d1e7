/* row_panels_gpu.h -- the rows of a pull view cut into panels on the device, and the level sets of the panels (row_panel_kernels.cu). They
 * tell whether a triangle is worth solving by panels, and are the first step of the method that does so (`block`). */
#ifndef SPTI_CORE_LEVELS_ROW_PANELS_GPU_H
#define SPTI_CORE_LEVELS_ROW_PANELS_GPU_H

#include "core/base/error.h"
#include "core/levels/row_panel_kernels.h"

typedef struct spti_row_panels {
  int32_t n, count, levels;     /* places; panels; levels of panels */
  int32_t rows, least;          /* arguments of spti_row_panels_create */
  int32_t *panel;               /* device, [n]: panel of each place; all arrays are one allocation, which begins here */
  int32_t *first;               /* device, [count+1]: first place of each panel */
  int32_t *number;              /* device, [count]: 0, 1, 2, ... */
  int32_t *level;               /* device, [count]: level of each panel, counted from 1 */
  spti_row_panels_facts *facts; /* device */
  size_t bytes;                 /* of device memory */
} spti_row_panels;

/* Cuts a pull view in device memory into panels. A panel has at most `rows` rows (up to 64); after `least` rows it also ends before a row
 * that depends on none of its rows. Deterministic. Waits for the device once. */
sptrsm_status spti_row_panels_create(spti_row_panels *out, const spti_view *, sptrsm_context *, int32_t rows, int32_t least);
void spti_row_panels_free(spti_row_panels *, const sptrsm_context *);

/* The same in two steps: _start queues all the work, and _finish takes over the facts once they are on the host. The levels of panels are
 * not searched, and `levels` is 0, if a panel has on average fewer than `dense` entries in each panel that it depends on and in itself;
 * with dense = 0 they are always searched. */
sptrsm_status spti_row_panels_start(spti_row_panels *out, const spti_view *, const sptrsm_context *, int32_t rows, int32_t least,
                                    int32_t dense);
void spti_row_panels_finish(spti_row_panels *, const spti_row_panels_facts *facts /* host */);

/* The panels of `block`, which the survey of `auto` uses too (core/select/survey_gpu.h). */
enum { SPTI_FACTOR_PANEL_ROWS = 64, SPTI_FACTOR_PANEL_LEAST = 16 };

#endif
