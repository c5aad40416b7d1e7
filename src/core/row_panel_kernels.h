/* row_panel_kernels.h -- kernels that cut the rows of a pull view into panels and find the panels' levels, as C functions
 * (row_panel_kernels.cu). Pointers are device pointers; a launcher queues on the stream, returns a cudaError_t as int, and allocates
 * nothing. */
#ifndef SPTI_ROW_PANEL_KERNELS_H
#define SPTI_ROW_PANEL_KERNELS_H

#include "core/launch.h"
#include "core/view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_ROW_PANEL_ROWS = 64, SPTI_ROW_PANEL_CHUNK = 1024 };
enum { SPTI_ROW_PANELS_COUNT, SPTI_ROW_PANELS_LEVELS, SPTI_ROW_PANELS_FACTS };

typedef struct {
  spti_view view;      /* pull */
  int32_t rows, least; /* of a panel: at most, up to SPTI_ROW_PANEL_ROWS; before it may end at a row that needs none of it */
  int32_t chunk;       /* places cut by one block: a multiple of 32 from SPTI_ROW_PANEL_ROWS to SPTI_ROW_PANEL_CHUNK */
  int32_t threads;     /* that share a panel's entries: whole warps, at most 1024 */
  int32_t *exits;      /* [chunks * SPTI_ROW_PANEL_ROWS] */
  int32_t *entry;      /* [2 chunks] */
  int32_t *panel;      /* [n]: of each place */
  int32_t *first;      /* [spti_row_panels_most + 1]: first place of each panel */
  int32_t *number;     /* [spti_row_panels_most]: 0, 1, 2, ... */
  int32_t *level;      /* [spti_row_panels_most]: from 1 */
  int32_t *facts;      /* [SPTI_ROW_PANELS_FACTS]: panels, levels of panels */
  spti_syncfree sync;  /* control: set by spti_row_panels_cut_launch */
} spti_row_panels_args;

/* Panels there can be of n > 0 rows; all but the last have `least` rows or more. */
static inline SPTI_ANYWHERE int32_t spti_row_panels_most(int32_t n, int32_t least) { return (n - 1) / least + 1; }
static inline SPTI_ANYWHERE int32_t spti_row_panels_chunks(int32_t n, int32_t chunk) { return (int32_t)(((int64_t)n + chunk - 1) / chunk); }

int spti_row_panels_cut_launch(const spti_row_panels_args *, void *stream);    /* -> panel, first, number, count; level: -1 */
int spti_row_panels_levels_launch(const spti_row_panels_args *, void *stream); /* -> level, levels */

#ifdef __cplusplus
}
#endif
#endif
